-- Topics of a user's own and what they found with them; what texts are read with now; runs that read texts again.
-- depends: 0001_house

-- A user's own topics, for all they hold (source_id null) or for what one source brings them.
-- topics: [{"id", "descriptions": {language: text}, "examples": {language: [text]}}]
-- only_topics: of what the source brings, these topics alone count, of whoever; null: all.
-- version goes up with every change; spread_version is the one for which all holdings were marked as due.
create table topic_sets (
  id uuid primary key,
  user_id uuid not null references users on delete cascade,
  source_id uuid,
  topics jsonb not null default '[]',
  only_topics text[],
  version integer not null default 1,
  spread_version integer not null default 0,
  updated_at timestamptz not null default now(),
  unique nulls not distinct (user_id, source_id),
  foreign key (user_id, source_id) references subscriptions (user_id, source_id) on delete cascade,
  check (source_id is not null or only_topics is null)
);

-- What the descriptions and examples of a set's topics are to a model: embedded once. lang is that of a description;
-- empty: what the examples pull towards. digest: what it was made from.
create table topic_set_vectors (
  set_id uuid not null references topic_sets on delete cascade,
  model_version text not null,
  topic text not null,
  lang text not null,
  digest text not null,
  vector bytea not null,
  primary key (set_id, model_version, topic, lang)
);

-- What is personal about a shared content. topics: those of the user's own sets; replaces: they stand in place of the
-- shared ones, because its source's set says which count. due: to be read (again) since asked_at; what was found before
-- stands meanwhile. Gone with the item.
create table readings (
  user_id uuid not null,
  content_id uuid not null,
  topics jsonb not null default '[]',
  replaces boolean not null default false,
  model_version text,
  due boolean not null default true,
  asked_at timestamptz not null default clock_timestamp(),
  made_at timestamptz,
  primary key (user_id, content_id),
  foreign key (user_id, content_id) references items (user_id, content_id) on delete cascade
);
create index readings_due on readings (user_id) where due;
create index readings_content on readings (content_id);

-- Whoever gains an item of a content that has a vector, and whoever holds one that gains a vector, has it read by their
-- own topics, if they have any.
create function readings_of_items() returns trigger language plpgsql as $$
begin
  insert into readings (user_id, content_id)
  select added.user_id, added.content_id from added
  where exists (select from topic_sets where topic_sets.user_id = added.user_id)
    and exists (select from embeddings where embeddings.content_id = added.content_id)
  order by added.user_id, added.content_id
  on conflict (user_id, content_id) do update set due = true, asked_at = clock_timestamp();
  return null;
end
$$;
create trigger items_to_read after insert on items
  referencing new table as added for each statement execute function readings_of_items();
create function readings_of_vectors() returns trigger language plpgsql as $$
begin
  insert into readings (user_id, content_id)
  select items.user_id, items.content_id from added join items on items.content_id = added.content_id
  where exists (select from topic_sets where topic_sets.user_id = items.user_id)
  order by items.user_id, items.content_id for key share of items
  on conflict (user_id, content_id) do update set due = true, asked_at = clock_timestamp();
  return null;
end
$$;
create trigger embeddings_added after insert on embeddings
  referencing new table as added for each statement execute function readings_of_vectors();
create trigger embeddings_changed after update on embeddings
  referencing new table as added for each statement execute function readings_of_vectors();

-- A set that goes, with its subscription too, takes back what it found: all is read anew by the sets that are left.
create function readings_without_set() returns trigger language plpgsql as $$
begin
  update topic_sets set version = version + 1 where user_id = old.user_id;
  if not found then
    delete from readings where user_id = old.user_id;
  end if;
  return null;
end
$$;
create trigger topic_sets_gone after delete on topic_sets for each row execute function readings_without_set();

-- What analysis reads with now, as it told when it was opened last: {"topics": [...], "versions": {kind: [version]},
-- "label_digests": [...], "llm": {...} or null} (siftline.jobs.reading_profile).
create table reading_profile (
  singleton boolean primary key default true check (singleton),
  profile jsonb not null,
  told_at timestamptz not null default now()
);

-- Which model made what: how much of it, and which contents, without reading all of them.
create index derivations_made_by on derivations (kind, model_version);

-- A run reads again what other versions made, slice by slice; one at a time.
create table reprocess_runs (
  id uuid primary key,
  kind text,
  model_version text,
  older_than timestamptz,
  at_most integer check (at_most > 0),
  state text not null default 'running' check (state in ('running', 'completed', 'cancelled')),
  planned integer not null,
  waits_for text,
  started_at timestamptz not null default now(),
  finished_at timestamptz,
  check ((state = 'running') = (finished_at is null))
);
create unique index reprocess_runs_running on reprocess_runs (state) where state = 'running';
create table reprocess_contents (
  run_id uuid not null references reprocess_runs on delete cascade,
  content_id uuid not null,
  job_id uuid not null,
  enqueued_at timestamptz not null default now(),
  primary key (run_id, content_id)
);
create index reprocess_contents_job on reprocess_contents (job_id);
