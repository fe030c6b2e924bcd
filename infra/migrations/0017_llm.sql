-- What a language model was asked, what it cost whom, and when it wants to be left alone.
-- depends: 0001_house 0015_media

-- Whose money it is (null: everybody's), for which job, which model counted which tokens.
alter table spendings add column user_id uuid references users on delete set null;
alter table spendings add column job_id uuid;
alter table spendings add column model text;
alter table spendings add column tokens_in bigint;
alter table spendings add column tokens_out bigint;
create index spendings_user on spendings (user_id, day);

-- What a day has cost so far, what is set aside included: of all together (user_id null), and of each user. One row is
-- locked and looked at, however many calls a day has.
create table spending_days (
  kind text not null,
  day date not null,
  user_id uuid references users on delete cascade,
  micro_usd bigint not null check (micro_usd >= 0),
  unique nulls not distinct (kind, day, user_id)
);
insert into spending_days (kind, day, micro_usd)
select kind, day, sum(micro_usd) from spendings where state <> 'released' group by kind, day;

-- The last reply for a content, stored in the transaction that settles it: what was paid for is not asked for again.
-- reply is null where nothing of it could be used; reason then says why.
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

-- Until when a provider that answered 429 is left alone, by all workers.
create table provider_pauses (
  provider text primary key,
  until timestamptz not null
);
