-- Whose deletion binds whom, and by what an entry is known again.
-- depends: 0001_house

-- What a user deleted and a feed had brought; by the content's key, for the content itself may be gone.
create table item_tombstones (
  url_key text not null,
  user_id uuid not null references users on delete cascade,
  deleted_at timestamptz not null default now(),
  primary key (url_key, user_id)
);
create index item_tombstones_user on item_tombstones (user_id);

-- The key of the entry's content, which outlives the content; and the hash of its title and text to the letter.
alter table source_entries add column url_key text;
alter table source_entries add column exact_sha256 bytea;
update source_entries set url_key = contents.url_key from contents where contents.id = source_entries.content_id;
