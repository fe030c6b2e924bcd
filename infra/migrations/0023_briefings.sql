-- Briefings: what a user wants told when, the editions that were made and frozen, what they told, and their delivery.
-- depends: 0001_house

-- When a content first became READY: an edition tells what came in since the one before, and not what was published.
alter table contents add column ready_at timestamptz;
update contents set ready_at = updated_at where status = 'READY';
create function contents_ready() returns trigger language plpgsql as $$
begin
  new.ready_at := coalesce(new.ready_at, now());
  return new;
end $$;
create trigger contents_ready before insert or update of status on contents
  for each row when (new.status = 'READY') execute function contents_ready();

create table briefings (
  id uuid primary key,
  user_id uuid not null references users on delete cascade,
  name text not null,
  interests text not null default '',
  frequency text not null check (frequency in ('DAILY', 'WEEKLY')),
  weekday smallint not null default 1 check (weekday between 1 and 7),
  at time not null,
  time_zone text,
  on_empty text not null default 'skip' check (on_empty in ('skip', 'say')),
  stories_max smallint not null default 10 check (stories_max between 1 and 50),
  channel text not null default 'none' check (channel in ('none', 'email', 'webhook')),
  destination text,
  signing_key text,
  stopped_code text,
  unsubscribe_token text not null unique,
  enabled boolean not null default true,
  status text not null default 'ACTIVE' check (status in ('ACTIVE', 'ERROR')),
  error_code text,
  error_detail text,
  rhythm_since timestamptz not null default now(),
  next_due_at timestamptz,
  last_due_at timestamptz,
  asked_at timestamptz,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  check ((channel = 'none') = (destination is null)),
  check (channel <> 'webhook' or signing_key is not null)
);
comment on column briefings.status is 'QUEUED and PROCESSING are shown while it has a live job';
comment on column briefings.weekday is 'ISO 8601: 1 Monday, 7 Sunday; counts for weekly ones';
comment on column briefings.time_zone is 'IANA name; null: the user''s';
comment on column briefings.rhythm_since is 'what was due before is not missed: made, or time, day or zone changed then';
comment on column briefings.next_due_at is 'when the next edition is due; null: to be worked out by the next run';
comment on column briefings.last_due_at is 'when the newest period that was dealt with was due, be it with an edition or not';
comment on column briefings.asked_at is 'when somebody asked for an edition out of turn that is not made yet';
comment on column briefings.stopped_code is 'why nothing is delivered any more: unsubscribed, bounced, complained';
create index briefings_user on briefings (user_id, created_at);
create index briefings_due on briefings (next_due_at nulls first) where enabled;

-- A user's new time zone moves what follows it: worked out anew, and nothing that was due before counts as missed.
create function briefings_follow_zone() returns trigger language plpgsql as $$
begin
  update briefings set next_due_at = null, rhythm_since = now()
  where user_id = new.id and time_zone is null;
  return null;
end $$;
create trigger briefings_follow_zone after update of time_zone on users
  for each row when (old.time_zone is distinct from new.time_zone) execute function briefings_follow_zone();

-- Frozen when made: every channel shows these very renderings.
create table editions (
  id uuid primary key,
  briefing_id uuid not null references briefings on delete cascade,
  user_id uuid not null references users on delete cascade,
  period_key text not null,
  asked boolean not null default false,
  due_at timestamptz not null,
  window_from timestamptz not null,
  window_until timestamptz not null check (window_until >= window_from),
  stories integer not null check (stories >= 0),
  document jsonb not null,
  html text not null,
  plain text not null,
  made_at timestamptz not null default now(),
  unique (briefing_id, period_key)
);
comment on column editions.period_key is 'a local day (2026-11-28), an ISO week (2026-W48), or the job that asked for it';
create index editions_user on editions (user_id, made_at desc, id desc);
create index editions_briefing on editions (briefing_id, window_until desc);

-- What was told, so that it is not told again. Contents may go; that they were told stays.
create table edition_items (
  edition_id uuid not null references editions on delete cascade,
  briefing_id uuid not null references briefings on delete cascade,
  content_id uuid not null,
  story_key uuid not null,
  site text not null,
  place smallint not null,
  lead boolean not null,
  is_update boolean not null default false,
  primary key (edition_id, content_id)
);
create index edition_items_told on edition_items (briefing_id, story_key);
create index edition_items_content on edition_items (briefing_id, content_id);

create table deliveries (
  id uuid primary key,
  edition_id uuid not null references editions on delete cascade,
  user_id uuid not null references users on delete cascade,
  channel text not null check (channel in ('email', 'webhook')),
  destination text not null,
  state text not null default 'pending' check (state in ('pending', 'sent', 'unconfirmed', 'failed', 'suppressed')),
  begun integer not null default 0,
  unanswered integer not null default 0,
  provider_id text,
  error_code text,
  error_detail text,
  created_at timestamptz not null default now(),
  sent_at timestamptz,
  unique (edition_id, channel)
);
comment on column deliveries.begun is 'how often sending was begun';
comment on column deliveries.unanswered is 'of these, how often no answer came: the far side may have taken it';
create index deliveries_provider on deliveries (provider_id) where provider_id is not null;
create index deliveries_pending on deliveries (created_at) where state = 'pending';

-- Addresses that a provider said bounce, or whose owners complained: nothing is sent there any more.
create table mail_suppressions (
  address text primary key check (address = lower(address)),
  reason text not null check (reason in ('bounced', 'complained')),
  detail text,
  created_at timestamptz not null default now()
);
