-- Rows that a job could not use, so that it did the rest: listed for operators until they can be used, or are gone.
-- depends: 0001_house

-- mark: what the row was like, where a job passes over it until it is another. kind: which table it stands in.
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
