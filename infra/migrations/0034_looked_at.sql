-- What an edition looked at shortly before its window closed, so that the next, which looks back for what was committed
-- late, does not tell as new what was seen and left out.
-- depends: 0001_house 0023_briefings

alter table editions add column looked_at uuid[] not null default '{}';
comment on column editions.looked_at is 'contents of the last minutes of its window that it saw, told or not';
