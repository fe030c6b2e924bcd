-- Intervals of a poll are what followers may ask for, and who holds a host's places stands in an object: anything else
-- would fail every poll of its source, or every request to its host.
update sources set wished_minutes = least(greatest(wished_minutes, 5), 10080)
where wished_minutes not between 5 and 10080;
update sources set refresh_min_minutes = least(greatest(refresh_min_minutes, 5), 10080)
where refresh_min_minutes not between 5 and 10080;
update sources set refresh_max_minutes = least(greatest(refresh_max_minutes, 5), 10080)
where refresh_max_minutes not between 5 and 10080;
update fetch_hosts set in_work = '{}' where jsonb_typeof(in_work) <> 'object';
update fetch_hosts set refused = '{}' where jsonb_typeof(refused) <> 'object';

alter table sources
  add constraint sources_wished_minutes_are_bounded check (wished_minutes between 5 and 10080) not valid,
  add constraint sources_refresh_min_minutes_are_bounded check (refresh_min_minutes between 5 and 10080) not valid,
  add constraint sources_refresh_max_minutes_are_bounded check (refresh_max_minutes between 5 and 10080) not valid;
alter table fetch_hosts
  add constraint fetch_hosts_in_work_is_an_object check (jsonb_typeof(in_work) = 'object') not valid,
  add constraint fetch_hosts_refused_is_an_object check (jsonb_typeof(refused) = 'object') not valid;
