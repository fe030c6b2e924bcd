-- The house: users and tokens, sources and their entries, contents and items, jobs and their timeline, vectors, clusters.
-- depends:

create table users (
  id uuid primary key,
  name text not null,
  time_zone text not null default 'UTC',
  interests text not null default '',
  created_at timestamptz not null default now()
);

create table access_tokens (
  id uuid primary key,
  user_id uuid not null references users on delete cascade,
  name text not null,
  token_sha256 bytea not null unique check (octet_length(token_sha256) = 32),
  scopes text[] not null,
  created_at timestamptz not null default now(),
  expires_at timestamptz,
  revoked_at timestamptz
);
create index access_tokens_user on access_tokens (user_id);

-- Shared by all subscribers: one fetch serves everyone, so nothing personal stands here.
create table sources (
  id uuid primary key,
  kind text not null check (kind in ('rss', 'web', 'reddit')),
  url text not null,
  url_key text not null unique,
  resolved_url text,
  resolved_since timestamptz,
  title text,
  site_url text,
  etag text,
  last_modified text,
  body_sha256 bytea,
  fetch_status text not null default 'IDLE' check (fetch_status in ('IDLE', 'QUEUED', 'FETCHING', 'ERROR')),
  health text not null default 'active' check (health in ('active', 'degraded', 'inactive')),
  consecutive_failures integer not null default 0 check (consecutive_failures >= 0),
  last_fetch_at timestamptz,
  last_success_at timestamptz,
  last_full_at timestamptz,
  last_error_code text,
  last_error_detail text,
  skipped_entries integer not null default 0,
  next_fetch_at timestamptz not null default now(),
  next_fetch_reason text not null default 'new source',
  refresh_minutes integer not null default 60 check (refresh_minutes between 5 and 10080),
  granular_topics jsonb not null default '[]',
  first_import text check (first_import ~ '^(skip|all|newest:[1-9][0-9]{0,5})$'),
  imported_at timestamptz,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now()
);
create index sources_due on sources (next_fetch_at) where health <> 'inactive';
create index sources_degraded on sources (consecutive_failures desc) where health = 'degraded';

create table subscriptions (
  id uuid primary key,
  user_id uuid not null references users on delete cascade,
  source_id uuid not null references sources on delete cascade,
  title text,
  topics jsonb not null default '[]',
  refresh_minutes integer check (refresh_minutes between 5 and 10080),
  created_at timestamptz not null default now(),
  unique (user_id, source_id)
);
create index subscriptions_source on subscriptions (source_id);

-- One row per canonical URL, shared by all who hold it.
create table contents (
  id uuid primary key,
  url_key text not null unique,
  url text not null,
  status text not null default 'NEW' check (status in ('NEW', 'PENDING', 'PROCESSING', 'READY', 'FAILED')),
  version integer not null default 1,
  kind text not null default 'article',
  title text,
  author text,
  site_name text,
  image_url text,
  description text,
  entry_html text,
  text text,
  lang text,
  word_count integer,
  published_at timestamptz,
  first_seen_at timestamptz not null default now(),
  sort_at timestamptz not null default now(),
  content_sha256 bytea,
  duplicate_of uuid references contents on delete set null,
  http_status integer,
  topics jsonb,
  summary text,
  tags text[] not null default '{}',
  notice_code text,
  error_code text,
  error_detail text,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  check ((status = 'FAILED') = (error_code is not null))
);
create index contents_sort on contents (sort_at desc, id desc);
create index contents_same_text on contents (content_sha256) where content_sha256 is not null;
create index contents_topics on contents using gin (topics jsonb_path_ops);
create index contents_not_ready on contents (status, created_at) where status in ('NEW', 'PENDING', 'PROCESSING');

-- Earlier text of a content that was edited in place.
create table content_revisions (
  content_id uuid not null references contents on delete cascade,
  version integer not null,
  title text,
  text text,
  content_sha256 bytea,
  replaced_at timestamptz not null default now(),
  primary key (content_id, version)
);

-- What made each derived value.
create table derivations (
  content_id uuid not null references contents on delete cascade,
  kind text not null,
  model_id text not null,
  model_version text not null,
  input_sha256 bytea not null,
  details jsonb not null default '{}',
  made_at timestamptz not null default now(),
  primary key (content_id, kind)
);

-- float32 little-endian, unit length; one row per content and model version.
create table embeddings (
  content_id uuid not null references contents on delete cascade,
  model_version text not null,
  dimensions smallint not null check (dimensions > 0),
  vector bytea not null check (octet_length(vector) = dimensions * 4),
  indexed_at timestamptz,
  made_at timestamptz not null default now(),
  primary key (content_id, model_version)
);

-- Running mean vectors for centring, by topic so that each weighs the same: sum of unit vectors (float64), their number.
create table topic_means (
  model_version text not null,
  lang text not null,
  topic text not null,
  documents bigint not null check (documents >= 0),
  vector_sum bytea not null,
  updated_at timestamptz not null default now(),
  primary key (model_version, lang, topic)
);

create table items (
  id uuid primary key,
  user_id uuid not null references users on delete cascade,
  content_id uuid not null references contents on delete cascade,
  source_id uuid references sources on delete set null,
  saved boolean not null default false,
  tags text[] not null default '{}',
  note text,
  read_at timestamptz,
  starred_at timestamptz,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  unique (user_id, content_id)
);
create index items_content on items (content_id);
create index items_source on items (source_id);

-- Identity ledger of a feed; kept after an item's deletion while the feed still lists the entry.
create table source_entries (
  source_id uuid not null references sources on delete cascade,
  entry_key text not null,
  guid text,
  link text,
  content_sha256 bytea not null,
  content_id uuid references contents on delete set null,
  first_seen_at timestamptz not null default now(),
  last_seen_at timestamptz not null default now(),
  primary key (source_id, entry_key)
);
create index source_entries_content on source_entries (content_id);

-- The truth and the outbox at once (docs/jobs.md).
create table jobs (
  id uuid primary key,
  job_type text not null,
  queue text not null,
  subject_id uuid not null,
  group_key text not null,
  payload jsonb not null default '{}',
  state text not null default 'pending' check (state in ('pending', 'processing', 'completed', 'failed', 'cancelled')),
  priority smallint not null default 0,
  attempts smallint not null default 0 check (attempts >= 0),
  max_attempts smallint not null default 4 check (max_attempts > 0),
  due_at timestamptz not null default now(),
  waits_for text,
  deferred_since timestamptz,
  published_at timestamptz,
  publish_count smallint not null default 0,
  lease_until timestamptz,
  lease_token uuid,
  again boolean not null default false,
  origin_message_id text unique,
  error_code text,
  error_message text,
  result jsonb,
  park_id uuid,
  parked_at timestamptz,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  finished_at timestamptz,
  check ((state = 'processing') = (lease_token is not null)),
  check ((state in ('completed', 'failed', 'cancelled')) = (finished_at is not null))
);
create unique index jobs_one_live on jobs (job_type, subject_id) where state in ('pending', 'processing');
create index jobs_to_hand_out on jobs (queue, group_key, priority desc, due_at)
  where state = 'pending' and published_at is null;
create index jobs_handed_out on jobs (queue, published_at) where state = 'pending' and published_at is not null;
create index jobs_lease on jobs (lease_until) where state = 'processing';
create index jobs_to_park on jobs (finished_at) where park_id is not null and parked_at is null;
create index jobs_subject on jobs (subject_id, created_at);
create index jobs_finished on jobs (finished_at) where state in ('completed', 'failed', 'cancelled');

create table job_events (
  id bigint generated always as identity primary key,
  job_id uuid not null references jobs on delete cascade,
  at timestamptz not null default clock_timestamp(),
  event text not null,
  attempt smallint not null,
  duration_ms integer,
  error_code text,
  detail text,
  due_at timestamptz
);
create index job_events_job on job_events (job_id, id);

create table idempotency_keys (
  user_id uuid not null references users on delete cascade,
  key text not null,
  request_sha256 bytea not null,
  item_id uuid not null,
  created_at timestamptz not null default now(),
  primary key (user_id, key)
);

create table cluster_runs (
  id uuid primary key,
  user_id uuid not null references users on delete cascade,
  model_version text not null,
  parameters jsonb not null,
  quality jsonb not null,
  contents integer not null,
  made_at timestamptz not null default now()
);
create index cluster_runs_user on cluster_runs (user_id, made_at desc);

create table clusters (
  id uuid primary key,
  user_id uuid not null references users on delete cascade,
  run_id uuid not null references cluster_runs on delete cascade,
  label text not null,
  keywords text[] not null,
  centroid bytea not null,
  size integer not null check (size > 0),
  first_seen_at timestamptz not null default now(),
  updated_at timestamptz not null default now()
);
create index clusters_user on clusters (user_id);

create table cluster_memberships (
  cluster_id uuid not null references clusters on delete cascade,
  content_id uuid not null references contents on delete cascade,
  distance real not null,
  primary key (cluster_id, content_id)
);
create index cluster_memberships_content on cluster_memberships (content_id);
