drop index jobs_handed_out;
create index jobs_handed_out on jobs (queue, published_at) where state = 'pending' and published_at is not null;
