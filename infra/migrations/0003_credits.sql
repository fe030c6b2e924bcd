-- Credits: what a user may still have analysed, and the ledger of every analysis, one row a job.
-- depends: 0001_house

-- Null: this user is not metered.
alter table users add column credits bigint check (credits >= 0);

-- A user's balance is the sum of their amounts, released ones left out. The ledger outlives jobs, pages and users.
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
-- No version is paid twice unless somebody asked for it again.
create unique index credit_entries_paid_once on credit_entries (content_id, content_version)
  where kind = 'analysis' and state <> 'released';

-- Who can pay for a content now; their turn is: savers by time, subscribers by age, other holders.
create view content_payers as
select items.content_id, items.user_id, users.credits, items.saved,
  case when items.saved then items.created_at else subscriptions.created_at end as since, items.id as item_id
from items join users on users.id = items.user_id and (users.credits is null or users.credits >= 1)
left join subscriptions on subscriptions.user_id = items.user_id and subscriptions.source_id = items.source_id;

create index contents_without_credit on contents (first_seen_at) where notice_code = 'no_credit';
