-- Stories: what of a user's contents tells of one event. Colours and places of clusters on the map.
-- depends: 0001_house

-- centroid: mean of the members' vectors of model_version, float32 little-endian, unit length. first_at, last_at: sort_at of
-- the first and the last member. lead: the member that stands for all; it stays the lead for as long as it is a member.
create table stories (
  id uuid primary key,
  user_id uuid not null references users on delete cascade,
  model_version text not null,
  centroid bytea not null,
  size integer not null check (size > 0),
  first_at timestamptz not null,
  last_at timestamptz not null,
  lead_id uuid references contents on delete set null,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default clock_timestamp(),
  check (first_at <= last_at)
);
create index stories_user on stories (user_id, last_at desc, id);
create index stories_lead on stories (lead_id);

-- distance: cosine distance to the centroid. stale: its vector, or what it duplicates, has changed since it joined.
create table story_items (
  user_id uuid not null,
  content_id uuid not null,
  story_id uuid not null references stories on delete cascade,
  distance real not null,
  stale boolean not null default false,
  joined_at timestamptz not null default now(),
  primary key (user_id, content_id),
  foreign key (user_id, content_id) references items (user_id, content_id) on delete cascade
);
create index story_items_story on story_items (story_id);
create index story_items_content on story_items (content_id);
create index story_items_stale on story_items (user_id) where stale;

-- A story without items is none; one that lost some is smaller, and another leads if the lead is gone.
create function stories_after_loss() returns trigger language plpgsql as $$
begin
  delete from stories
  where id in (select id from stories where id in (select story_id from gone) order by id for update)
    and not exists (select from story_items where story_items.story_id = stories.id);
  update stories set size = rest.size, first_at = rest.first_at, last_at = rest.last_at,
    lead_id = case when stories.lead_id = any(rest.members) then stories.lead_id else rest.members[1] end
  from (
    select story_items.story_id, count(*)::int as size, min(contents.sort_at) as first_at,
      max(contents.sort_at) as last_at, array_agg(contents.id order by story_items.distance, contents.id) as members
    from story_items join contents on contents.id = story_items.content_id
    where story_items.story_id in (select story_id from gone)
    group by story_items.story_id
  ) as rest
  where stories.id = rest.story_id;
  return null;
end
$$;
create trigger story_items_gone after delete on story_items
  referencing old table as gone for each statement execute function stories_after_loss();

create function story_items_of_vectors() returns trigger language plpgsql as $$
begin
  update story_items set stale = true
  from changed, stories
  where story_items.content_id = changed.content_id and stories.id = story_items.story_id
    and stories.model_version = changed.model_version;
  return null;
end
$$;
create trigger embeddings_of_stories after update on embeddings
  referencing new table as changed for each statement execute function story_items_of_vectors();

create function story_items_of_duplicates() returns trigger language plpgsql as $$
begin
  update story_items set stale = true where content_id = new.id;
  return null;
end
$$;
create trigger contents_of_stories after update of duplicate_of on contents
  for each row when (old.duplicate_of is distinct from new.duplicate_of) execute function story_items_of_duplicates();

-- A cluster's colour goes with its id; a member's place on the map of its user's clusters, from -1 to 1.
alter table clusters add column colour text not null default '#0072B2' check (colour ~ '^#[0-9A-F]{6}$');
alter table cluster_memberships add column x real check (x between -1 and 1);
alter table cluster_memberships add column y real check (y between -1 and 1);
