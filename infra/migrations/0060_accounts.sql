-- Accounts: a name is one person's, and who wants to be gone is deleted batch by batch.
-- depends: 0001_house

update users set name = left(users.name, 150) || ' (' || users.id || ')'
from (select id, row_number() over (partition by lower(name) order by created_at, id) as place from users) as numbered
where numbered.id = users.id and numbered.place > 1;
create unique index users_name on users (lower(name));

create table user_deletions (
  user_id uuid primary key references users on delete cascade,
  asked_at timestamptz not null default now(),
  source_ids uuid[] not null default '{}'
);
comment on table user_deletions is 'accounts that are being deleted; gone with them';
comment on column user_deletions.source_ids is 'what they alone followed: to go too, once their items are gone';
