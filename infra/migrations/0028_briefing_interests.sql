-- How near what came in lately lies to what a briefing is about; personal, as the briefing is.
-- depends: 0001_house 0023_briefings

-- digest: of the interests and the model that value and about were made with. value: likeness in [0, 1]; about: the
-- interest that is nearest.
create table briefing_likeness (
  briefing_id uuid not null references briefings on delete cascade,
  content_id uuid not null references contents on delete cascade,
  digest text not null,
  value double precision not null check (value between 0 and 1),
  about text not null,
  made_at timestamptz not null default now(),
  primary key (briefing_id, content_id)
);
create index briefing_likeness_content on briefing_likeness (content_id);
