-- Who texts are about: organisations, people and places, by an id that follows from the name until somebody tells who it is.
-- depends: 0001_house

-- temporary_id is the HMAC of the normal form of the name it was found by first; canonical_id is what a provider told.
-- reason: why an organisation has none so far (in words a person understands), null where nobody was asked.
create table entities (
  id uuid primary key,
  kind text not null check (kind in ('ORG', 'PER', 'LOC')),
  name text not null,
  temporary_id text not null,
  canonical_id text unique,
  provider text,
  reason text,
  checked_at timestamptz,
  created_at timestamptz not null default now(),
  unique (kind, temporary_id),
  check ((canonical_id is null) = (provider is null))
);

-- Every name of an entity, by its own temporary id: the mapping that is looked up before anybody is asked.
create table entity_aliases (
  kind text not null,
  temporary_id text not null,
  entity_id uuid not null references entities on delete cascade,
  name text not null,
  normalised text not null,
  created_at timestamptz not null default now(),
  primary key (kind, temporary_id)
);
create index entity_aliases_entity on entity_aliases (entity_id);
create index entity_aliases_temporary on entity_aliases (temporary_id);

create table content_entities (
  content_id uuid not null references contents on delete cascade,
  entity_id uuid not null references entities on delete cascade,
  mentions integer not null check (mentions > 0),
  primary key (content_id, entity_id)
);
create index content_entities_entity on content_entities (entity_id);

-- How often a provider was asked, by the run (hour) and the day (UTC).
create table provider_requests (
  provider text not null,
  span text not null check (span in ('run', 'day')),
  starts_at timestamptz not null,
  requests integer not null check (requests >= 0),
  primary key (provider, span, starts_at)
);
