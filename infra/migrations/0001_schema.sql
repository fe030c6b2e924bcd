-- The whole schema, in the order in which a page passes through it. Ids are UUIDv7 and made by the application.
-- What a release adds is a file of its own, numbered on from here: migrations only go forward.

-- Users and tokens ----------------------------------------------------------------------------------------------------

create table users (
  id uuid primary key,
  name text not null,
  time_zone text not null default 'UTC',
  interests text not null default '',
  created_at timestamptz not null default now(),
  credits bigint check (credits >= 0) -- null: not metered
);
create unique index users_name on users (lower(name));

create table user_deletions (
  user_id uuid primary key references users on delete cascade,
  asked_at timestamptz not null default now(),
  source_ids uuid[] not null default '{}'
);
comment on table user_deletions is 'accounts that are being deleted; gone with them';
comment on column user_deletions.source_ids is 'what they alone followed: to go too, once their items are gone';

create table access_tokens (
  id uuid primary key,
  user_id uuid not null references users on delete cascade,
  name text not null,
  token_sha256 bytea not null unique check (octet_length(token_sha256) = 32),
  scopes text[] not null,
  created_at timestamptz not null default now(),
  expires_at timestamptz,
  revoked_at timestamptz,
  made_by uuid references access_tokens on delete cascade
);
comment on column access_tokens.made_by is 'the token that made it; null for one that an operator made, or from before';
create index access_tokens_user on access_tokens (user_id);
create index access_tokens_made_by on access_tokens (made_by) where made_by is not null;

-- Tokens in the addresses of feeds, which open nothing else. kind: the feed they open; null: all.
create table feed_tokens (
  id uuid primary key,
  user_id uuid not null references users on delete cascade,
  name text not null,
  kind text check (kind in ('feed', 'editions')),
  token_sha256 bytea not null unique check (octet_length(token_sha256) = 32),
  created_at timestamptz not null default now(),
  revoked_at timestamptz,
  made_by uuid references access_tokens on delete cascade,
  expires_at timestamptz
);
comment on column feed_tokens.made_by is 'the access token that made it; null for one from before';
comment on column feed_tokens.expires_at is 'when the token that made it ends; null for never';
create index feed_tokens_user on feed_tokens (user_id, created_at desc, id desc);
create index feed_tokens_made_by on feed_tokens (made_by) where made_by is not null;

create unlogged table request_counts (
  token_id uuid primary key,
  minute bigint not null,
  taken integer not null
);
comment on table request_counts is
  'a row a token, access or feed: what it took of its minute; unlogged, for a crash may forget it';
comment on column request_counts.minute is 'minutes since 1970';

-- Sources -------------------------------------------------------------------------------------------------------------

-- Shared by all subscribers: one fetch serves everyone, so nothing personal stands here.
create table sources (
  id uuid primary key,
  kind text not null check (kind in ('rss', 'web', 'reddit')),
  url text not null,
  url_key text not null unique,
  -- Where permanent redirects led for the last resolved_polls polls; once they have held, it becomes adopted_url.
  resolved_url text,
  resolved_since timestamptz,
  title text,
  site_url text,
  etag text, -- byte for byte, as last_modified
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
  granular_topics jsonb not null default '[]', -- siftline.analyze.analyze_store
  first_import text check (first_import ~ '^(skip|all|newest:[1-9][0-9]{0,5})$'),
  imported_at timestamptz,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  -- What all subscribers together want; null: nobody said.
  wished_minutes integer,
  refresh_min_minutes integer,
  refresh_max_minutes integer,
  -- What the last whole feed said of its rhythm: gap_minutes, newest_at, ttl_minutes, skip_hours, skip_days.
  rhythm jsonb not null default '{}',
  fresh_until timestamptz, -- the server says that there is nothing new before
  resolved_polls integer not null default 0,
  adopted_url text,
  options jsonb not null default '{}', -- by kind: {"selector": "article h2 a"} for web, {"format": "atom"} for reddit
  feed_url text, -- polled instead of url, which is a page that names it
  candidates jsonb not null default '[]', -- feeds to choose from: [{"url": …, "title": …, "media_type": …}]
  typed_origin text
);
comment on column sources.granular_topics is
  'what its newest contents were about, [{"topic", "score"}], the score being a share; from public texts alone';
comment on column sources.typed_origin is
  'scheme, host and port of this machine that a follower typed: its polls, and pages of it there, reach no other';
create index sources_due on sources (next_fetch_at) where health <> 'inactive';
create index sources_degraded on sources (consecutive_failures desc) where health = 'degraded';
create index sources_under_way on sources (updated_at) where fetch_status in ('QUEUED', 'FETCHING');

create table subscriptions (
  id uuid primary key,
  user_id uuid not null references users on delete cascade,
  source_id uuid not null references sources on delete cascade,
  title text,
  topics jsonb not null default '[]',
  refresh_minutes integer check (refresh_minutes between 5 and 10080),
  created_at timestamptz not null default now(),
  -- Bounds within which the feed's rhythm decides, where refresh_minutes does not.
  refresh_min_minutes integer check (refresh_min_minutes between 5 and 10080),
  refresh_max_minutes integer check (refresh_max_minutes between 5 and 10080),
  url text, -- as the user spelt it; null: as the source does
  unique (user_id, source_id)
);
create index subscriptions_source on subscriptions (source_id);

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
comment on table folders is 'folders of sources; names are unique for a user, whatever their case';
create unique index folders_name on folders (user_id, folder_key(name));

-- The keys see to it that an unfollowed source leaves its folders, and that no folder holds another user's source.
create table folder_sources (
  folder_id uuid not null,
  user_id uuid not null,
  source_id uuid not null,
  primary key (folder_id, source_id),
  foreign key (folder_id, user_id) references folders (id, user_id) on delete cascade,
  foreign key (user_id, source_id) references subscriptions (user_id, source_id) on delete cascade
);
comment on table folder_sources is 'which subscriptions are in which folders of the same user';
create index folder_sources_source on folder_sources (user_id, source_id);

-- The pace of hosts, shared by all workers. scope: a host; a domain with all its subdomains; or 'domain queue', the
-- requests of one queue to a registrable domain.
create table fetch_hosts (
  scope text primary key,
  -- When the next request would be due at an even pace (the theoretical arrival time of GCRA).
  next_at timestamptz not null default '-infinity',
  asked_at timestamptz, -- when the last request that was let through was to go out
  -- Seconds between requests: what refusals taught (null: as everywhere), and what was last refused.
  learned_s double precision check (learned_s > 0),
  refused_s double precision,
  refused_at timestamptz,
  -- Until when this domain and all below it are left alone, and why.
  blocked_until timestamptz,
  blocked_reason text,
  updated_at timestamptz not null default now(),
  -- Who holds one of its places since when (Unix seconds). A place that is never given back expires.
  in_work jsonb not null default '{}',
  held_s double precision, -- how long a place was held lately: when it pays to ask again
  answered_at timestamptz,
  answered_by uuid,
  refusal_ratio double precision not null default 0,
  refused jsonb not null default '{}'
);
comment on column fetch_hosts.answered_at is 'when it last answered well, to a minute';
comment on column fetch_hosts.refusal_ratio is
  'the share of late requests that it refused, old ones counting ever less';
comment on column fetch_hosts.refused is 'how often it refused each source since it last answered that';
create index fetch_hosts_updated on fetch_hosts (updated_at);

-- Who waits for a host's pace, first come first served; turn_at: when they were told to come back.
create table fetch_turns (
  scope text not null,
  who uuid not null,
  since timestamptz not null,
  turn_at timestamptz not null,
  primary key (scope, who)
);

-- Contents ------------------------------------------------------------------------------------------------------------

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
  published_at timestamptz, -- as claimed
  first_seen_at timestamptz not null default now(),
  sort_at timestamptz not null default now(), -- the earlier of the two
  content_sha256 bytea,
  duplicate_of uuid references contents on delete set null,
  http_status integer,
  topics jsonb, -- null: not analysed
  summary text,
  tags text[] not null default '{}',
  notice_code text,
  error_code text,
  error_detail text,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  duplicate_kind text check (duplicate_kind in ('exact', 'near', 'url')),
  -- null: no video or audio. url, media_type and duration_s of the file; feed_tracks and tracks (of the feed and of the
  -- page; each url, media_type, language, label); transcript_state, transcript_source, transcript_language.
  media jsonb,
  reading_notice_code text, -- what reading the page had to say, while notice_code says that analysis waits for credit
  ready_at timestamptz, -- when it first became READY: editions go by that, not by published_at
  -- A claimed date that is not used, and why (siftline.text.instants): date_unreadable, date_ambiguous or
  -- date_implausible.
  undated_code text,
  undated_claim text,
  typed_origin text,
  check ((status = 'FAILED') = (error_code is not null))
);
comment on column contents.typed_origin is 'as that of sources, of who saved it or of the source that brought it';
create index contents_sort on contents (sort_at desc, id desc);
create index contents_same_text on contents (content_sha256) where content_sha256 is not null;
create index contents_duplicates on contents (duplicate_of) where duplicate_of is not null;
create index contents_under_way on contents (updated_at) where status in ('PENDING', 'PROCESSING');
create index contents_without_credit on contents (first_seen_at) where notice_code = 'no_credit';

-- Whoever writes it: published_at is never an instant at which nothing can have been published, and columns that are
-- sorted by and calculated with hold none that programs cannot (infinity, before year 1, after 9999).
create function contents_undated() returns trigger language plpgsql as $$
begin
  if new.published_at < '1900-01-03 00:00+00' or new.published_at >= '2200-01-01 00:00+00' then
    new.undated_code := 'date_implausible';
    new.undated_claim := left(new.published_at::text, 100);
    new.published_at := null;
  end if;
  if new.first_seen_at < '0001-01-01 00:00+00' or new.first_seen_at >= '9999-12-31 00:00+00' then
    new.first_seen_at := now();
  end if;
  new.sort_at := least(new.published_at, new.first_seen_at);
  return new;
end
$$;
create trigger contents_undated before insert or update of published_at, first_seen_at, sort_at on contents
  for each row when (new.published_at < '1900-01-03 00:00+00' or new.published_at >= '2200-01-01 00:00+00'
    or new.sort_at < '0001-01-01 00:00+00' or new.sort_at >= '9999-12-31 00:00+00'
    or new.first_seen_at < '0001-01-01 00:00+00' or new.first_seen_at >= '9999-12-31 00:00+00')
  execute function contents_undated();

create function contents_ready() returns trigger language plpgsql as $$
begin
  new.ready_at := coalesce(new.ready_at, now());
  return new;
end $$;
create trigger contents_ready before insert or update of status on contents
  for each row when (new.status = 'READY') execute function contents_ready();

-- An original that fails or goes is succeeded by the oldest of its duplicates: all the others point to that one.
create function contents_heir() returns trigger language plpgsql as $$
declare
  heir uuid;
  heir_kind text;
begin
  select id, duplicate_kind into heir, heir_kind from contents
  where duplicate_of = old.id and (tg_op = 'DELETE' or status <> 'FAILED')
  order by status = 'FAILED', first_seen_at, id limit 1;
  if heir is null then
    return null;
  end if;
  update contents set duplicate_of = nullif(heir, id), duplicate_kind = case when id <> heir then duplicate_kind end
  where duplicate_of = old.id;
  if tg_op = 'UPDATE' then
    update contents set duplicate_of = heir, duplicate_kind = heir_kind where id = old.id;
  end if;
  return null;
end
$$;
-- Triggers fire in the order of their names: these before the foreign key's own (RI_…), which would cut the links.
create trigger "Contents_heir_of_deleted" after delete on contents for each row execute function contents_heir();
create trigger "Contents_heir_of_failed" after update of status on contents
  for each row when (new.status = 'FAILED' and old.status <> 'FAILED') execute function contents_heir();

-- What was never analysed, and contents of the very same text that were: what was found there holds here too.
create view analysed_twins as
select mine.id as content_id, twin.id as twin_id, twin.first_seen_at
from contents as mine join contents as twin on twin.content_sha256 = mine.content_sha256 and twin.id <> mine.id
where mine.topics is null and twin.topics is not null and twin.status = 'READY'
  and twin.notice_code is distinct from 'no_credit'
  -- A reading begins with the title: the same words under another one are read anew.
  and mine.title is not distinct from twin.title;

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

-- MinHash of a text (siftline.ingest.duplicates.signature), compared only with those of its own version. analysed: the
-- signature of the text that was last sent to analysis; what differs little from it is not sent again.
create table content_signatures (
  content_id uuid primary key references contents on delete cascade,
  version smallint not null,
  hashes smallint[] not null,
  bands integer[] not null,
  analysed smallint[],
  analysed_words integer,
  analysed_at timestamptz
);
-- No pending list (fastupdate): every look-up would read through it.
create index content_signatures_bands on content_signatures using gin (bands) with (fastupdate = off);

-- The planner does not know how rare a band is, and under a limit would take a scan of the whole table for cheaper.
create function contents_alike(wanted integer[], of_version smallint, at_most integer)
returns table (content_id uuid, hashes smallint[]) language sql stable rows 5 set enable_seqscan = off as $$
  select signed.content_id, signed.hashes from content_signatures as signed
  where signed.bands && wanted and signed.version = of_version limit at_most
$$;

-- The words of a video or audio, apart from the text that they are part of: what was paid for is not asked for again.
create table transcripts (
  content_id uuid primary key references contents on delete cascade,
  state text not null,
  source text,
  language text,
  text text not null,
  word_count integer not null,
  made_at timestamptz not null default now()
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
-- How much each model made, and which contents, without reading all of them.
create index derivations_made_by on derivations (kind, model_version);

-- An outbox: deleted contents whose points are still to be removed from Qdrant.
create table unindexed (
  content_id uuid primary key,
  deleted_at timestamptz not null default now()
);

create function unindexed_of_contents() returns trigger language plpgsql as $$
begin
  insert into unindexed (content_id) select id from gone on conflict (content_id) do nothing;
  return null;
end
$$;
create trigger contents_unindexed after delete on contents
  referencing old table as gone for each statement execute function unindexed_of_contents();

-- Vectors -------------------------------------------------------------------------------------------------------------

-- Before the items: a deleted content takes its rows along in the order of this file, and whoever writes a vector locks
-- that before the items of its content.

-- Which model's vectors count, for all processes at once, and which one's are being made beside them. uri: a model
-- folder, s3://bucket/prefix, or api:<model>; empty: whatever MODEL_URI names. sealed_until: until then no vector of
-- this version is written, because the next one is about to take over.
create table embedding_versions (
  model_version text primary key,
  uri text not null,
  chunks smallint not null default 1 check (chunks > 0),
  dimensions integer not null check (dimensions > 0),
  state text not null check (state in ('building', 'active', 'retired')),
  sealed_until timestamptz,
  started_at timestamptz not null default now(),
  activated_at timestamptz,
  retired_at timestamptz,
  check ((state = 'retired') = (retired_at is not null))
);
create unique index embedding_versions_active on embedding_versions (state) where state = 'active';
create unique index embedding_versions_building on embedding_versions (state) where state = 'building';

-- float32 little-endian, unit length; one row per content and model version.
create table embeddings (
  content_id uuid not null references contents on delete cascade,
  model_version text not null,
  dimensions smallint not null check (dimensions > 0),
  vector bytea not null check (octet_length(vector) = dimensions * 4),
  indexed_at timestamptz,
  made_at timestamptz not null default now(),
  text_version integer, -- the contents.version that it was made from
  primary key (content_id, model_version)
);
create index embeddings_version on embeddings (model_version, content_id);

-- Texts for which a model makes no vector: a re-embedding does not wait for them, and each try waits longer.
create table embedding_refusals (
  content_id uuid not null references contents on delete cascade,
  model_version text not null,
  text_version integer,
  error_code text not null,
  made_at timestamptz not null default now(),
  tries integer not null default 1 check (tries > 0),
  primary key (content_id, model_version)
);

-- Running mean vectors for centring, by topic so that each weighs the same: sum of unit vectors (float64), and how
-- many.
create table topic_means (
  model_version text not null,
  lang text not null,
  topic text not null,
  documents bigint not null check (documents >= 0),
  vector_sum bytea not null,
  updated_at timestamptz not null default now(),
  primary key (model_version, lang, topic)
);

-- Items, and what feeds list ------------------------------------------------------------------------------------------

-- A user's hold on a content, with all that is personal about it.
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
  -- Relevance without freshness, which is added when it is read; what it is made up of, [{"code", "weight", "value",
  -- …}]; the profile that it was judged by.
  score double precision check (score between 0 and 1),
  score_reasons jsonb,
  scored_with uuid,
  -- A score is due where wanted, a count of what happened to the content, is ahead of made.
  score_wanted integer not null default 1,
  score_made integer not null default 0,
  url text, -- as the user spelt it; null: as the content does
  told_title text,
  told_at timestamptz,
  unique (user_id, content_id)
);
comment on column items.told_title is 'what the feed that brought it calls it, where that may not speak for its page';
comment on column items.told_at is 'when that feed says that it was published';
create index items_content on items (content_id);
create index items_source on items (source_id);
create index items_saved on items (user_id) where saved;
create index items_score_due on items (user_id) where score_wanted <> score_made;

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
  url_key text, -- that of the content, which may be gone
  exact_sha256 bytea, -- of title and text, to the letter
  gone_at timestamptz,
  -- What a feed says of another site's page is for its followers alone, as long as the page itself says nothing.
  told_title text,
  told_at timestamptz,
  told jsonb,
  primary key (source_id, entry_key)
);
comment on column source_entries.told is
  'what else the feed says of a page that is not its own to describe: {"html", "description", "author", "image_url"}';
create index source_entries_content on source_entries (content_id);
create index source_entries_newest on source_entries (source_id, first_seen_at desc);

-- Whatever deleted the content, a retention rule or its last holder: earlier followers are not given it again.
create function source_entries_gone() returns trigger language plpgsql as $$
begin
  new.gone_at := case when new.content_id is null then now() end;
  return new;
end
$$;
create trigger source_entries_gone before update of content_id on source_entries
  for each row when (new.content_id is distinct from old.content_id) execute function source_entries_gone();

-- Pages that could not be read though a feed lists them.
create table page_asks (
  content_id uuid primary key references contents on delete cascade,
  source_id uuid not null references sources on delete cascade,
  asks int not null,
  error_code text not null,
  error_detail text not null,
  again_at timestamptz
);
comment on table page_asks is 'gone once the page was read, or its feed lists it no longer';
comment on column page_asks.again_at is 'null once it is asked for, or was asked for often enough';
create index page_asks_due on page_asks (again_at) where again_at is not null;
create index page_asks_source on page_asks (source_id);

-- What a user deleted and a feed had brought, by the key of the content, which may be gone.
create table item_tombstones (
  url_key text not null,
  user_id uuid not null references users on delete cascade,
  deleted_at timestamptz not null default now(),
  primary key (url_key, user_id)
);
create index item_tombstones_user on item_tombstones (user_id);

-- item_ids: what a batch made, in the order of its entries, without those that were refused; item_id is the first.
create table idempotency_keys (
  user_id uuid not null references users on delete cascade,
  key text not null,
  request_sha256 bytea not null,
  item_id uuid not null,
  created_at timestamptz not null default now(),
  item_ids uuid[],
  primary key (user_id, key)
);

-- Jobs ----------------------------------------------------------------------------------------------------------------

-- The truth and the outbox at once (docs/jobs.md).
create table jobs (
  id uuid primary key,
  job_type text not null,
  queue text not null,
  subject_id uuid not null,
  group_key text not null,
  payload jsonb not null default '{}' constraint jobs_payload_is_an_object check (jsonb_typeof(payload) = 'object'),
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
  again boolean not null default false, -- to be run once more when this run ends
  origin_message_id text,
  error_code text,
  error_message text,
  result jsonb,
  park_id uuid,
  parked_at timestamptz,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  finished_at timestamptz,
  claimed_at timestamptz, -- the start of this run, which a renewed lease does not tell
  again_for text, -- the group_key of who first asked for the run that follows: their tenant pays for it
  check ((state = 'processing') = (lease_token is not null)),
  check ((state in ('completed', 'failed', 'cancelled')) = (finished_at is not null))
);
-- ANALYZE sees a moment of a queue. Once it saw no waiting job, the planner took the partial indexes of waiting jobs
-- for empty and read them whole to find one job by its id. Without statistics every state counts as rare.
alter table jobs alter column state set statistics 0, alter column published_at set statistics 0;
create unique index jobs_one_live on jobs (job_type, subject_id) where state in ('pending', 'processing');
-- Partial: only a message that came without a job leaves its id on one.
create unique index jobs_origin on jobs (origin_message_id) where origin_message_id is not null;
create index jobs_to_hand_out on jobs (queue, group_key, priority desc, due_at)
  where state = 'pending' and published_at is null;
-- How much of each tenant is handed out is counted at every hand-out.
create index jobs_handed_out on jobs (queue, group_key, published_at)
  where state = 'pending' and published_at is not null;
-- The oldest due job of a queue, and what is put off.
create index jobs_due on jobs (queue, job_type, due_at) where state = 'pending';
create index jobs_lease on jobs (lease_until) where state = 'processing';
create index jobs_to_park on jobs (finished_at) where park_id is not null and parked_at is null;
create index jobs_dead on jobs (queue, error_code, finished_at) where state = 'failed' and park_id is not null;
create index jobs_finished on jobs (finished_at) where state in ('completed', 'failed', 'cancelled');
create index jobs_subject on jobs (subject_id, created_at);

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

-- How many jobs of a type are in a queue and a state, so that counting costs the same at any size: this number plus the
-- changes that are not added to it yet. A change is a row of its own, so that no two workers wait for each other.
create table job_tallies (
  job_type text not null,
  queue text not null,
  state text not null,
  jobs bigint not null,
  primary key (job_type, queue, state)
);
create table job_tally_changes (
  job_type text not null,
  queue text not null,
  state text not null,
  jobs bigint not null
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 10000);

create function tally_added_jobs() returns trigger language plpgsql as $$
begin
  insert into job_tally_changes (job_type, queue, state, jobs)
  select job_type, queue, state, count(*) from added group by job_type, queue, state;
  return null;
end $$;
create trigger jobs_added after insert on jobs
  referencing new table as added for each statement execute function tally_added_jobs();

create function tally_deleted_jobs() returns trigger language plpgsql as $$
begin
  insert into job_tally_changes (job_type, queue, state, jobs)
  select job_type, queue, state, -count(*) from deleted group by job_type, queue, state;
  return null;
end $$;
create trigger jobs_deleted after delete on jobs
  referencing old table as deleted for each statement execute function tally_deleted_jobs();

create function tally_moved_job() returns trigger language plpgsql as $$
begin
  insert into job_tally_changes (job_type, queue, state, jobs)
  values (old.job_type, old.queue, old.state, -1), (new.job_type, new.queue, new.state, 1);
  return null;
end $$;
create trigger jobs_moved after update on jobs
  for each row when (old.state <> new.state or old.queue <> new.queue) execute function tally_moved_job();

-- Failed jobs that were parked, whatever SQS still holds of them. One can be redriven while no other job of its type
-- did or does the same work since: a live one would run twice, and a later one has overtaken it.
create view dead_letters as
select jobs.id, jobs.queue, jobs.job_type, coalesce(jobs.error_code, 'unknown') as error_code, jobs.subject_id,
  jobs.error_message, jobs.attempts, jobs.finished_at as failed_at, jobs.parked_at, jobs.park_id,
  not exists (select from jobs other
    where other.job_type = jobs.job_type and other.subject_id = jobs.subject_id and other.id <> jobs.id
      and (other.state in ('pending', 'processing') or (other.created_at, other.id) > (jobs.created_at, jobs.id))
  ) as redrivable
from jobs
where jobs.state = 'failed' and jobs.park_id is not null;

-- A misconfigured provider is left alone for a while, so that it does not use up every job. A row means open, or being
-- tried by one job (probe) once open_until has passed; no row means closed.
create table breakers (
  provider text primary key,
  error_code text not null,
  error_detail text not null,
  openings integer not null default 1 check (openings > 0),
  opened_at timestamptz not null default now(),
  open_until timestamptz not null,
  probe_until timestamptz
);

-- Rows that a job could not use, so that it did the rest without them: listed for operators until they can be used or
-- are gone. kind: the table of the row. mark: what the row was like; the job passes over it until that changes.
create table set_aside (
  job_type text not null,
  row_id uuid not null,
  kind text not null,
  reason_code text not null,
  detail text not null,
  mark text not null default '',
  times integer not null default 1,
  first_at timestamptz not null default now(),
  last_at timestamptz not null default now(),
  primary key (job_type, row_id)
);
create index set_aside_last on set_aside (last_at);

-- Credits and spending ------------------------------------------------------------------------------------------------

-- The ledger of every analysis, one row a job. A user's balance is the sum of their amounts, without released ones. It
-- outlives jobs, contents and users.
create table credit_entries (
  id uuid primary key,
  user_id uuid references users on delete set null,
  kind text not null check (kind in ('grant', 'analysis', 'repeat', 'reprocess')),
  job_id uuid unique,
  content_id uuid,
  content_version integer,
  amount bigint not null,
  state text not null check (state in ('reserved', 'settled', 'released')),
  created_at timestamptz not null default now(),
  settled_at timestamptz,
  check ((kind = 'grant') = (job_id is null)),
  check ((job_id is null) = (content_id is null) and (job_id is null) = (content_version is null)),
  check (kind = 'grant' or amount between -1 and 0),
  check (kind <> 'repeat' or amount = 0),
  check ((state = 'reserved') = (settled_at is null))
);
create index credit_entries_user on credit_entries (user_id, created_at desc, id desc);
create index credit_entries_content on credit_entries (content_id, content_version);
-- No version is paid for twice, unless somebody asked for it again.
create unique index credit_entries_paid_once on credit_entries (content_id, content_version)
  where kind = 'analysis' and state <> 'released';

-- Who can pay for a content now, in this order: savers by time, subscribers by age, other holders. follows_since: since
-- when they have followed the source that brought it to them.
create view content_payers as
select items.content_id, items.user_id, users.credits, items.saved,
  case when items.saved then items.created_at else subscriptions.created_at end as since, items.id as item_id,
  subscriptions.created_at as follows_since
from items join users on users.id = items.user_id and (users.credits is null or users.credits >= 1)
left join subscriptions on subscriptions.user_id = items.user_id and subscriptions.source_id = items.source_id;

-- One row a paid call: whose money it is (null: everybody's), for which job, which model counted which tokens. What is
-- reserved and never settled stays counted: a worker that was killed may have been billed.
create table spendings (
  id uuid primary key,
  kind text not null,
  day date not null,
  subject_id uuid not null,
  state text not null default 'reserved' check (state in ('reserved', 'settled', 'released')),
  micro_usd bigint not null check (micro_usd >= 0),
  made_at timestamptz not null default now(),
  ended_at timestamptz,
  user_id uuid references users on delete set null,
  job_id uuid,
  model text,
  tokens_in bigint,
  tokens_out bigint,
  check ((state = 'reserved') = (ended_at is null))
);
create index spendings_day on spendings (kind, day) where state <> 'released';
create index spendings_open on spendings (subject_id) where state = 'reserved';
create index spendings_user on spendings (user_id, day);

-- What a day has cost so far, reserved amounts included: of all together (user_id null), and of each user. One row is
-- locked and read, however many calls a day has.
create table spending_days (
  kind text not null,
  day date not null,
  user_id uuid references users on delete cascade,
  micro_usd bigint not null check (micro_usd >= 0),
  unique nulls not distinct (kind, day, user_id)
);

-- Until when all workers leave a provider alone that answered 429.
create table provider_pauses (
  provider text primary key,
  until timestamptz not null
);

-- How often a provider was asked, by the run (hour) and the day (UTC).
create table provider_requests (
  provider text not null,
  span text not null check (span in ('run', 'day')),
  starts_at timestamptz not null,
  requests integer not null check (requests >= 0),
  primary key (provider, span, starts_at)
);

-- Analysis ------------------------------------------------------------------------------------------------------------

-- What analysis reads with now, as it was told when last opened: {"topics": [...], "versions": {kind: [version]},
-- "label_digests": [...], "llm": {...} or null} (siftline.analyze.analyze_wiring).
create table reading_profile (
  singleton boolean primary key default true check (singleton),
  profile jsonb not null,
  told_at timestamptz not null default now()
);

-- A run reads again, slice by slice, what other versions made; one at a time.
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

-- A language model's last reply for a content, stored in the transaction that settles it: what was paid for is not
-- asked for again. reply is null where nothing of it could be used; reason then says why.
create table llm_replies (
  content_id uuid primary key references contents on delete cascade,
  input_sha256 bytea not null check (octet_length(input_sha256) = 32),
  prompt_version text not null,
  model text not null,
  reply jsonb,
  reason text,
  made_at timestamptz not null default now(),
  check ((reply is null) = (reason is not null))
);

-- Organisations, people and places. temporary_id: the HMAC of the normal form of the name that it was first found by.
-- canonical_id: what a provider told. reason: why an organisation has none yet, in words for people; null: never asked.
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

-- Every name of an entity, by its own temporary id: looked up before a provider is asked.
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

-- A user's own topics, for all they hold (source_id null) or for what one source brings them.
-- topics: [{"id", "descriptions": {language: text}, "examples": {language: [text]}}]
-- only_topics: the only ones, of whomever, that count for what the source brings; null: all.
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

-- Descriptions and examples of a set's topics, embedded once. lang: that of a description; empty: what the examples
-- pull towards. digest: of what it was made from.
create table topic_set_vectors (
  set_id uuid not null references topic_sets on delete cascade,
  model_version text not null,
  topic text not null,
  lang text not null,
  digest text not null,
  vector bytea not null,
  primary key (set_id, model_version, topic, lang)
);

-- A user's own topics of a shared content; gone with the item. replaces: they stand in place of the shared ones,
-- because its source's set says which count. due: to be read (again) since asked_at; until then the old ones stand.
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

-- An item whose content has a vector, and a vector of a content that is held: whichever comes last makes a reading due,
-- for users with topics of their own.
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

-- A set that goes, alone or with its subscription, takes what it found with it: the sets that are left read all anew.
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

-- Search by words -----------------------------------------------------------------------------------------------------

create extension if not exists unaccent;
create extension if not exists pg_trgm;

-- Each language's stemmer behind unaccent: as a filtering dictionary it changes what is looked up, not the text.
do $$
declare
  name text;
begin
  foreach name in array array['arabic', 'armenian', 'basque', 'catalan', 'danish', 'dutch', 'english', 'finnish',
    'french', 'german', 'greek', 'hindi', 'hungarian', 'indonesian', 'irish', 'italian', 'lithuanian', 'nepali',
    'norwegian', 'portuguese', 'romanian', 'russian', 'serbian', 'simple', 'spanish', 'swedish', 'tamil', 'turkish',
    'yiddish']
  loop
    execute format('create text search configuration %I (copy = pg_catalog.%I)', 'siftline_' || name, name);
    execute format('alter text search configuration %I alter mapping for hword, hword_part, word with unaccent, %I',
      'siftline_' || name, case name when 'simple' then name else name || '_stem' end);
  end loop;
end
$$;

-- The grammar of a language (ISO 639-1); where there is none, the simple one, which stems nothing.
create function search_grammar(lang text) returns text language sql immutable parallel safe as $$
  select 'siftline_' || case lang
    when 'ar' then 'arabic' when 'hy' then 'armenian' when 'eu' then 'basque' when 'ca' then 'catalan'
    when 'da' then 'danish' when 'nl' then 'dutch' when 'en' then 'english' when 'fi' then 'finnish'
    when 'fr' then 'french' when 'de' then 'german' when 'el' then 'greek' when 'hi' then 'hindi'
    when 'hu' then 'hungarian' when 'id' then 'indonesian' when 'ga' then 'irish' when 'it' then 'italian'
    when 'lt' then 'lithuanian' when 'ne' then 'nepali' when 'no' then 'norwegian' when 'nb' then 'norwegian'
    when 'nn' then 'norwegian' when 'pt' then 'portuguese' when 'ro' then 'romanian' when 'ru' then 'russian'
    when 'sr' then 'serbian' when 'es' then 'spanish' when 'sv' then 'swedish' when 'ta' then 'tamil'
    when 'tr' then 'turkish' when 'yi' then 'yiddish' else 'simple' end
$$;

-- Scripts that put no spaces between words, and Hangul, whose words grow endings, become overlapping pairs of
-- characters, in order: abc becomes "a ab bc c". siftline.rank.query makes the same pairs of what is searched for.
create function search_parted(words text) returns text language sql immutable parallel safe as $$
  select regexp_replace(words,
    '([\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3\uf900-\ufaff])',
    '\1 \1', 'g')
$$;

-- Long runs without a space are parted too: the parser's time grows with the square of a chain-of-words-like-this.
create function search_cut(words text, chars integer) returns text language sql immutable parallel safe as $$
  select regexp_replace(search_parted(left(coalesce(words, ''), chars)), '(\S{100})', '\1 ', 'g')
$$;

-- Title before summary and tags before the page's own description before the text. Every part is cut so that no page
-- comes near the 1 MiB that a tsvector may have.
create function search_vector(
  grammar regconfig, title text, summary text, tags text[], description text, words text
) returns tsvector language sql stable parallel safe as $$
  select setweight(to_tsvector(grammar, search_cut(title, 1000)), 'A')
    || setweight(to_tsvector(grammar, search_cut(summary, 2000) || ' ' || search_cut(array_to_string(tags, ' '), 2000)), 'B')
    || setweight(to_tsvector(grammar, search_cut(description, 1000)), 'C')
    || setweight(to_tsvector(grammar, search_cut(words, 50000)), 'D')
$$;

-- A table of its own: contents are updated often, and every lexeme would be indexed anew each time. Vectors are stored
-- out of line, so that matches are joined without reading them.
create table content_words (
  content_id uuid primary key references contents on delete cascade,
  grammar text not null,
  words tsvector not null
) with (toast_tuple_target = 128);
alter table content_words alter column words set storage external;
create index content_words_words on content_words using gin (words);
create index content_words_grammar on content_words (grammar);
-- A sixteenth of the texts, by the last digit of the id: estimates how many of a user's hold a very common word.
create index content_words_sample on content_words using gin (words) where right(content_id::text, 1) = '0';

-- Words of all texts as they are written, without accents: what a mistyped one is compared with. Shown to nobody: a
-- word counts only for a user with an item that holds it.
create table search_spellings (
  word text primary key
);
create index search_spellings_trigrams on search_spellings using gin (word gin_trgm_ops);

create function search_read(content contents) returns void language plpgsql as $$
declare
  grammar text := search_grammar(content.lang);
  found tsvector;
  spelt tsvector;
begin
  begin
    found := search_vector(grammar::regconfig, content.title, content.summary, content.tags, content.description,
      content.text);
    spelt := found;
    if grammar <> 'siftline_simple' then
      spelt := search_vector('siftline_simple', content.title, content.summary, content.tags, null, content.text);
    end if;
  exception when program_limit_exceeded then
    found := search_vector(grammar::regconfig, content.title, null, null, null, null);
    spelt := found;
  end;
  insert into content_words as held (content_id, grammar, words) values (content.id, grammar, found)
  on conflict (content_id) do update set grammar = excluded.grammar, words = excluded.words
    where (held.grammar, held.words) is distinct from (excluded.grammar, excluded.words);
  -- In order, so that two writers wait for each other and do not deadlock.
  insert into search_spellings (word)
  select word from unnest(tsvector_to_array(spelt)) as spelling (word)
  where length(word) between 4 and 30 and word !~ '[^[:alpha:]]' and search_parted(word) = word
    and not exists (select from search_spellings as known where known.word = spelling.word)
  order by word on conflict (word) do nothing;
end
$$;

-- A content is found by its words as soon as its text is stored; summary and tags follow. A change of status alone
-- changes no words.
create function contents_words() returns trigger language plpgsql as $$
begin
  if tg_op = 'INSERT'
    or (old.title, old.summary, old.tags, old.description, old.text, old.lang)
      is distinct from (new.title, new.summary, new.tags, new.description, new.text, new.lang)
    or not exists (select from content_words where content_id = new.id)
  then
    perform search_read(new);
  end if;
  return null;
end
$$;
create trigger contents_words after insert or update of status, title, summary, tags, description, text, lang
  on contents for each row when (new.status = 'READY' or new.text is not null) execute function contents_words();

-- Scores and the ranked feed; all of it is personal -------------------------------------------------------------------

-- What a user cares about, as it stood at made_at. vectors: float32 little-endian, unit length but for the first: the
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

-- What lists are sorted by and the API shows. Freshness halves every half_life_s backwards from at; later dates are as
-- fresh as at. Exact for the same arguments, so that a page can begin behind a row. Epochs, because infinite times
-- cannot be subtracted.
create function item_rank(
  score double precision, sort_at timestamptz, at timestamptz, weight double precision, half_life_s double precision
) returns double precision language sql immutable parallel safe as $$
  select (1 - weight) * score + weight * power(0.5::float8,
    least(greatest((extract(epoch from at) - extract(epoch from sort_at))::float8, 0) / half_life_s, 1000))
$$;

-- A content that was read, or could not be: the scores of all its holders are due.
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

-- A vector, unless it is another model's than the profile's, such as one whose vectors are still being made.
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

-- Items without topics are judged by those of their source: as its texts show them, once enough were read, and as its
-- follower gives them.
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

create function items_score_due_by_follower() returns trigger language plpgsql as $$
begin
  update items set score_wanted = score_wanted + 1 where user_id = new.user_id and source_id = new.source_id;
  return null;
end
$$;
create trigger items_score_due_by_follower after update of topics on subscriptions
  for each row when (new.topics is distinct from old.topics) execute function items_score_due_by_follower();

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

-- An order as it was at a moment. item_ids: 16 bytes an item, not compressed, so that a slice is read alone. places: 12
-- bytes a place, big-endian: how many items stand in it and before it (uint32), what it was ordered by (float32), and
-- its position among its source's stories of the day (uint32). The newest few of a user are kept, for a day.
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
alter table feed_orders alter column item_ids set storage external, alter column places set storage external;
create index feed_orders_made on feed_orders (made_at);

-- What a token's feed held when it was last read, and since when: its Last-Modified.
create table feed_states (
  token_id uuid not null references feed_tokens on delete cascade,
  kind text not null,
  digest bytea not null,
  changed_at timestamptz not null,
  primary key (token_id, kind)
);
comment on column feed_states.kind is 'which feed; of one folder alone: feed:<id>';

-- Clusters and stories ------------------------------------------------------------------------------------------------

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
  updated_at timestamptz not null default now(),
  colour text not null default '#0072B2' check (colour ~ '^#[0-9A-F]{6}$'), -- goes with the id
  label_wanted boolean not null default false, -- a language model is still to be asked for a better label
  named_by text, -- the model that gave the label and the version of the question; null: it is of key phrases
  titled_by uuid -- no reference: the content may go first
);
comment on column clusters.titled_by is
  'the content whose title the label is made of; null: it is of phrases, or a model''s';
create index clusters_user on clusters (user_id);
create index clusters_label_wanted on clusters (user_id) where label_wanted;

-- x, y: the place on the map of its user's clusters.
create table cluster_memberships (
  cluster_id uuid not null references clusters on delete cascade,
  content_id uuid not null references contents on delete cascade,
  distance real not null,
  x real check (x between -1 and 1),
  y real check (y between -1 and 1),
  primary key (cluster_id, content_id)
);
create index cluster_memberships_content on cluster_memberships (content_id);

-- What of a user's contents tells of one event. centroid: mean of the members' vectors of model_version, float32
-- little-endian, unit length. first_at, last_at: sort_at of the first and the last member. lead_id: the member that
-- stands for all, for as long as it is a member.
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

-- A story that lost all its items goes; one that lost some shrinks, and gets another lead if it lost that.
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

-- Briefings and mail --------------------------------------------------------------------------------------------------

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
comment on column briefings.rhythm_since is
  'what was due before is not missed: made, or time, day or zone changed then';
comment on column briefings.next_due_at is 'when the next edition is due; null: to be worked out by the next run';
comment on column briefings.last_due_at is
  'when the newest period that was dealt with was due, be it with an edition or not';
comment on column briefings.asked_at is 'when somebody asked for an edition out of turn that is not made yet';
comment on column briefings.stopped_code is 'why nothing is delivered any more: unsubscribed, bounced, complained';
create index briefings_user on briefings (user_id, created_at);
create index briefings_due on briefings (next_due_at nulls first) where enabled;
create index briefings_mailed_to on briefings (lower(destination)) where channel = 'email';

-- A user's new time zone moves the briefings that follow it; nothing that was due before counts as missed.
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
  read_token text not null unique,
  -- The next edition looks back for what was committed late, and must not tell as new what this one left out.
  looked_at uuid[] not null default '{}',
  unique (briefing_id, period_key)
);
comment on column editions.period_key is
  'a local day (2026-11-28), an ISO week (2026-W48), or the job that asked for it';
comment on column editions.read_token is
  'the end of its page''s address: enough to read this edition, and nothing else';
comment on column editions.looked_at is 'contents of the last minutes of its window that it saw, told or not';
create index editions_user on editions (user_id, made_at desc, id desc);
create index editions_briefing on editions (briefing_id, window_until desc);

-- What was told, so that it is not told again, even if the content has gone.
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

-- How near a content is to what a briefing is about. value: likeness; about: the nearest of its interests. digest: of
-- the interests and the model that both were made with.
create table briefing_likeness (
  briefing_id uuid not null references briefings on delete cascade,
  content_id uuid not null references contents on delete cascade,
  digest text not null,
  value double precision not null check (value between 0 and 1),
  about text not null,
  made_at timestamptz not null default now(),
  primary key (briefing_id, content_id)
);
create index briefing_likeness_content on briefing_likeness (content_id);

-- Nothing is mailed to an address until its owner has agreed (double opt-in).
create table mail_addresses (
  id uuid primary key,
  user_id uuid not null references users on delete cascade,
  address text not null check (address = lower(address)),
  token text not null unique,
  asked_at timestamptz,
  confirmed_at timestamptz,
  created_at timestamptz not null default now(),
  unique (user_id, address)
);
comment on column mail_addresses.token is
  'stands in the link of the mail that asks; only the owner of the address has it';
comment on column mail_addresses.asked_at is 'when the newest mail that asks was begun for this user';
create index mail_addresses_address on mail_addresses (address, asked_at);

-- Kept apart from the addresses: deleting one does not let its owner be asked again.
create table mail_asks (
  id uuid primary key,
  address text not null check (address = lower(address)),
  user_id uuid references users on delete set null,
  asked_at timestamptz not null
);
comment on table mail_asks is
  'a row a question, forgotten after two days: one a day and address, so many a day and user';
create index mail_asks_address on mail_asks (address, asked_at);
create index mail_asks_user on mail_asks (user_id, asked_at);
create index mail_asks_asked on mail_asks (asked_at);

-- What the mail provider reports, as it came; deleted once it is dealt with.
create table mail_events (
  id uuid primary key,
  event jsonb not null,
  received_at timestamptz not null default now()
);

-- Addresses that bounce, or whose owners complained: nothing is sent there any more.
create table mail_suppressions (
  address text primary key check (address = lower(address)),
  reason text not null check (reason in ('bounced', 'complained')),
  detail text,
  created_at timestamptz not null default now()
);
