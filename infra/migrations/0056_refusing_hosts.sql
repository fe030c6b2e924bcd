-- Hosts that answer some requests and refuse others at the same time: pace, not failure.
-- depends: 0012_politeness

alter table fetch_hosts add column answered_at timestamptz;
alter table fetch_hosts add column answered_by uuid;
alter table fetch_hosts add column refusal_ratio double precision not null default 0;
alter table fetch_hosts add column refused jsonb not null default '{}';
comment on column fetch_hosts.answered_at is 'when it last answered well, to a minute';
comment on column fetch_hosts.refusal_ratio is 'the share of late requests that it refused, old ones counting ever less';
comment on column fetch_hosts.refused is 'how often it refused each source since it last answered that';
