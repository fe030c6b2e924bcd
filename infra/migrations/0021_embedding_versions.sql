-- Which model's vectors count, for every process at once, and which one's are being made beside them.
-- depends: 0001_house

-- uri: a model folder, s3://bucket/prefix of one, or api:<model>; empty: wherever MODEL_URI says, as before there was this.
-- sealed_until: until then no vector of this version is written, because the next one is about to take its place.
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

-- The version that covers most contents is the one that searches ask.
insert into embedding_versions (model_version, uri, dimensions, state, activated_at)
select model_version, '', max(dimensions), 'active', now() from embeddings
group by model_version order by count(*) desc, max(made_at) desc, model_version limit 1;

-- Of which version of the content's text (contents.version) it was made; null: of one before this was noted.
alter table embeddings add column text_version integer;
create index embeddings_version on embeddings (model_version, content_id);

-- Texts of which a model makes no vector: a re-embedding does not wait for them.
create table embedding_refusals (
  content_id uuid not null references contents on delete cascade,
  model_version text not null,
  text_version integer,
  error_code text not null,
  made_at timestamptz not null default now(),
  primary key (content_id, model_version)
);
