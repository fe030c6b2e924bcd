-- The files and words of videos and audio, and what was paid by the day.
-- depends: 0001_house

-- null: no video or audio. An object: url, media_type and duration_s of the file, feed_tracks and tracks (of the feed
-- and of the page; each url, media_type, language, label), and how its words were got: transcript_state, transcript_source, transcript_language.
-- When they are tried again is what the content's transcribe_content job says.
alter table contents add column media jsonb;

-- The words that were got, apart from the text they are a part of: what was paid for is not asked for again.
create table transcripts (
  content_id uuid primary key references contents on delete cascade,
  state text not null,
  source text,
  language text,
  text text not null,
  word_count integer not null,
  made_at timestamptz not null default now()
);

-- One row a paid call. What is reserved and never settled stays counted: a worker that was killed may have been billed.
create table spendings (
  id uuid primary key,
  kind text not null,
  day date not null,
  subject_id uuid not null,
  state text not null default 'reserved' check (state in ('reserved', 'settled', 'released')),
  micro_usd bigint not null check (micro_usd >= 0),
  made_at timestamptz not null default now(),
  ended_at timestamptz,
  check ((state = 'reserved') = (ended_at is null))
);
create index spendings_day on spendings (kind, day) where state <> 'released';
create index spendings_open on spendings (subject_id) where state = 'reserved';
