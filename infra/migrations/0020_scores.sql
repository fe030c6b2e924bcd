-- How relevant an item is to who holds it, and what that is judged by. All of it is personal: no shared row holds any.
-- depends: 0001_house 0022_readings

-- score: relevance in [0, 1] without freshness, which is added when it is read. score_reasons: what it is made up of,
-- [{"code", "weight", "value", …}]. scored_with: the profile it was judged by. It is due where score_wanted, which counts
-- what happened to its content, is ahead of score_made, the count that the score was made at.
alter table items add column score double precision check (score between 0 and 1);
alter table items add column score_reasons jsonb;
alter table items add column scored_with uuid;
alter table items add column score_wanted integer not null default 1;
alter table items add column score_made integer not null default 0;
create index items_score_due on items (user_id) where score_wanted <> score_made;

-- What a user cares about, as it stood at made_at. vectors: float32, little-endian, unit length but for the first: the
-- mean of what they hold, then the direction of their history, then one a line of details.interests.
-- evidence: what they have starred and read since. applied_at: when all their items had been judged by it.
create table score_profiles (
  user_id uuid primary key references users on delete cascade,
  id uuid not null,
  model_version text not null,
  recipe text not null,
  interests text not null,
  vectors bytea not null,
  details jsonb not null,
  evidence double precision not null default 0 check (evidence >= 0),
  made_at timestamptz not null default now(),
  applied_at timestamptz
);
create index score_profiles_evidence on score_profiles (made_at) where evidence > 0;

-- What lists are sorted by and the API shows: freshness halves every half_life_s from at backwards, and nothing that is
-- dated later than at is fresher than fresh. Exact for the same arguments, so that a page can begin behind a row.
create function item_rank(
  score double precision, sort_at timestamptz, at timestamptz, weight double precision, half_life_s double precision
) returns double precision language sql immutable parallel safe as $$
  select (1 - weight) * score + weight * power(
    0.5::float8, least(greatest(extract(epoch from at - sort_at)::float8, 0) / half_life_s, 1000))
$$;

-- A content that was read, or could not be, and a vector: the scores of all who hold it are due.
create function items_score_due_by_content() returns trigger language plpgsql as $$
begin
  update items set score_wanted = score_wanted + 1 where content_id = new.id;
  return null;
end
$$;
create trigger items_score_due_by_content after update of status, topics on contents
  for each row when (new.status in ('READY', 'FAILED')
    and (new.status <> old.status or new.topics is distinct from old.topics))
  execute function items_score_due_by_content();

-- Vectors of another model than a profile was made of, such as one whose vectors are only being made, change no score.
create function items_score_due_by_vector() returns trigger language plpgsql as $$
begin
  update items set score_wanted = score_wanted + 1
  where content_id = new.content_id and not exists (select from score_profiles
    where score_profiles.user_id = items.user_id and score_profiles.model_version <> new.model_version);
  return null;
end
$$;
create trigger items_score_due_by_vector after insert or update of vector on embeddings
  for each row execute function items_score_due_by_vector();

-- Unread items are judged by what their source is said to write about: by its readers, once enough was read of it, and
-- by its follower.
create function items_score_due_by_source() returns trigger language plpgsql as $$
begin
  update items set score_wanted = score_wanted + 1
  from contents where contents.id = items.content_id and contents.topics is null and items.source_id = new.id;
  return null;
end
$$;
create trigger items_score_due_by_source after update of granular_topics on sources
  for each row when (old.granular_topics = '[]' and new.granular_topics <> '[]')
  execute function items_score_due_by_source();

-- A user's own topics for what they hold.
create function items_score_due_by_reading() returns trigger language plpgsql as $$
begin
  update items set score_wanted = score_wanted + 1 where user_id = new.user_id and content_id = new.content_id;
  return null;
end
$$;
create trigger items_score_due_by_reading after update of topics, replaces on readings
  for each row when (new.topics <> old.topics or new.replaces <> old.replaces)
  execute function items_score_due_by_reading();

create function items_score_due_by_follower() returns trigger language plpgsql as $$
begin
  update items set score_wanted = score_wanted + 1 where user_id = new.user_id and source_id = new.source_id;
  return null;
end
$$;
create trigger items_score_due_by_follower after update of topics on subscriptions
  for each row when (new.topics is distinct from old.topics) execute function items_score_due_by_follower();
