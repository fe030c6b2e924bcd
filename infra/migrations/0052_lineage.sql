-- Who made a token: what a token made never outlives it, and ends with it.
-- depends: 0001_house 0027_feed

alter table access_tokens add column made_by uuid references access_tokens on delete cascade;
create index access_tokens_made_by on access_tokens (made_by) where made_by is not null;
comment on column access_tokens.made_by is 'the token that made it; null for one that an operator made, or from before';

alter table feed_tokens
  add column made_by uuid references access_tokens on delete cascade,
  add column expires_at timestamptz;
create index feed_tokens_made_by on feed_tokens (made_by) where made_by is not null;
comment on column feed_tokens.made_by is 'the access token that made it; null for one from before';
comment on column feed_tokens.expires_at is 'when the token that made it ends; null for never';
