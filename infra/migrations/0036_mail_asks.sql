-- Questions to owners of mail addresses, kept apart from the addresses: who deletes one may not have its owner asked anew.
-- depends: 0001_house 0025_delivery

create table mail_asks (
  id uuid primary key,
  address text not null check (address = lower(address)),
  user_id uuid references users on delete set null,
  asked_at timestamptz not null
);
comment on table mail_asks is 'a row a question, forgotten after two days: one a day and address, so many a day and user';
create index mail_asks_address on mail_asks (address, asked_at);
create index mail_asks_user on mail_asks (user_id, asked_at);
create index mail_asks_asked on mail_asks (asked_at);
insert into mail_asks (id, address, user_id, asked_at)
select gen_random_uuid(), address, user_id, asked_at from mail_addresses where asked_at > now() - interval '1 day';
comment on column mail_addresses.asked_at is 'when the newest mail that asks was begun for this user';
