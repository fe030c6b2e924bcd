-- Folders: each user's own, of the sources that they follow; a source may be in several.
-- depends: 0001_house 0027_feed

create function folder_key(name text) returns text language sql immutable parallel safe as
  $$ select lower(upper(normalize(name, NFKC))) $$;
comment on function folder_key is 'what two spellings of one name share: case and ways to write a sign do not count';

create table folders (
  id uuid primary key,
  user_id uuid not null references users on delete cascade,
  name text not null,
  created_at timestamptz not null default now(),
  unique (id, user_id)
);
create unique index folders_name on folders (user_id, folder_key(name));
comment on table folders is 'folders of sources; names are unique for a user, whatever their case';

-- Whoever follows a source no longer has it in no folder; a folder never holds what is another user's.
create table folder_sources (
  folder_id uuid not null,
  user_id uuid not null,
  source_id uuid not null,
  primary key (folder_id, source_id),
  foreign key (folder_id, user_id) references folders (id, user_id) on delete cascade,
  foreign key (user_id, source_id) references subscriptions (user_id, source_id) on delete cascade
);
create index folder_sources_source on folder_sources (user_id, source_id);
comment on table folder_sources is 'which subscriptions are in which folders of the same user';

alter table feed_states drop constraint feed_states_kind_check;
comment on column feed_states.kind is 'which feed; of one folder alone: feed:<id>';
