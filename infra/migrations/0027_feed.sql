-- The ranked feed: orders that are paged through, tokens for feed readers, and when what a reader was given changed.
-- depends: 0001_house

-- An order as it was at a moment. item_ids: 16 bytes an item, place after place, not compressed so that a slice is read
-- alone. places: 12 bytes a place, big-endian: how many items stand in it and before it (uint32), what it was ordered by
-- (float32), and the how manyth story of its source and day it is (uint32). The newest of a user are kept, for a day.
create table feed_orders (
  id uuid primary key,
  user_id uuid not null references users on delete cascade,
  digest bytea not null,
  at timestamptz not null,
  item_ids bytea not null,
  places bytea not null,
  made_at timestamptz not null default now(),
  unique (user_id, digest)
);
alter table feed_orders alter column item_ids set storage external;
alter table feed_orders alter column places set storage external;
create index feed_orders_made on feed_orders (made_at);

-- Tokens that stand in the address of a feed and open nothing else. kind: of which feed; null: of all.
create table feed_tokens (
  id uuid primary key,
  user_id uuid not null references users on delete cascade,
  name text not null,
  kind text check (kind in ('feed', 'editions')),
  token_sha256 bytea not null unique check (octet_length(token_sha256) = 32),
  created_at timestamptz not null default now(),
  revoked_at timestamptz
);
create index feed_tokens_user on feed_tokens (user_id, created_at desc, id desc);

-- What a token's feed held when it was read last, and since when: its Last-Modified.
create table feed_states (
  token_id uuid not null references feed_tokens on delete cascade,
  kind text not null check (kind in ('feed', 'editions')),
  digest bytea not null,
  changed_at timestamptz not null,
  primary key (token_id, kind)
);
