-- How many requests each token was let make in a minute.
-- depends: 0001_house

create unlogged table request_counts (
  token_id uuid primary key,
  minute bigint not null,
  taken integer not null
);
comment on table request_counts is 'a row a token, access or feed: what it took of its minute; unlogged, for a crash may forget it';
comment on column request_counts.minute is 'minutes since 1970';
