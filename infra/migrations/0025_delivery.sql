-- Delivery: whose mail addresses are confirmed, and what the mail provider tells of mails that it took.
-- depends: 0001_house 0023_briefings

-- Nothing is mailed to an address until its owner has said so to the user's wish (double opt-in).
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
comment on column mail_addresses.token is 'stands in the link of the mail that asks; only the owner of the address has it';
comment on column mail_addresses.asked_at is 'when the newest mail that asks was begun: one a day, whichever user it is for';
create index mail_addresses_address on mail_addresses (address, asked_at);

-- As they came, until they are worked off: deleted then.
create table mail_events (
  id uuid primary key,
  event jsonb not null,
  received_at timestamptz not null default now()
);
create index briefings_mailed_to on briefings (lower(destination)) where channel = 'email';
