-- How much of each tenant is handed out is counted at every hand-out.
-- depends: 0001_house

drop index jobs_handed_out;
create index jobs_handed_out on jobs (queue, group_key, published_at) where state = 'pending' and published_at is not null;
