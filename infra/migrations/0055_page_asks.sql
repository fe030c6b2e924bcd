-- Pages that could not be read though a feed lists them: when they are asked for again.
-- depends: 0001_house 0014_signatures

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
