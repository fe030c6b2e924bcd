-- How often a host may be asked, when a source is asked next, and where it has moved to.
-- depends: 0001_house

-- The pace of hosts, shared by all workers. scope: a host, or a domain with all its sub-domains.
create table fetch_hosts (
  scope text primary key,
  -- When the next request would be due if all came at an even pace (the theoretical arrival time of GCRA).
  next_at timestamptz not null default '-infinity',
  -- When the last one that was let through was to go out.
  asked_at timestamptz,
  -- Seconds between requests that the host's refusals taught; null: as everywhere.
  learned_s double precision check (learned_s > 0),
  -- Seconds between requests that were last refused, and when.
  refused_s double precision,
  refused_at timestamptz,
  -- Until when this domain and all below it are left alone, and why.
  blocked_until timestamptz,
  blocked_reason text,
  updated_at timestamptz not null default now()
);
create index fetch_hosts_updated on fetch_hosts (updated_at);

-- Who waits for a host's pace, in the order they came; turn_at: when they were told to come back.
create table fetch_turns (
  scope text not null,
  who uuid not null,
  since timestamptz not null,
  turn_at timestamptz not null,
  primary key (scope, who)
);

-- What a subscriber wants: every so many minutes, or as the feed's rhythm says within these bounds.
alter table subscriptions add column refresh_min_minutes integer check (refresh_min_minutes between 5 and 10080);
alter table subscriptions add column refresh_max_minutes integer check (refresh_max_minutes between 5 and 10080);
-- The same for all of them together; null: nobody said.
alter table sources add column wished_minutes integer;
alter table sources add column refresh_min_minutes integer;
alter table sources add column refresh_max_minutes integer;
update sources set wished_minutes =
  (select min(refresh_minutes) from subscriptions where subscriptions.source_id = sources.id);

-- What the last whole feed said of its rhythm: gap_minutes, newest_at, ttl_minutes, skip_hours, skip_days.
alter table sources add column rhythm jsonb not null default '{}';
-- Until when the server says that nothing new is to be had.
alter table sources add column fresh_until timestamptz;

-- resolved_url is where permanent redirects led so many polls in a row; once they held, it is polled itself.
alter table sources add column resolved_polls integer not null default 0;
alter table sources add column adopted_url text;
