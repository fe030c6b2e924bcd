-- Counts of jobs, kept as they change, so that telling them costs the same at any size; where recovery looks for what
-- is stuck.
-- depends: 0001_house

-- How many jobs of a type are in a queue and a state: this number plus the changes that were not added to it yet. A
-- change is a row of its own, so that no two workers ever wait for one another's count.
create table job_tallies (
  job_type text not null,
  queue text not null,
  state text not null,
  jobs bigint not null,
  primary key (job_type, queue, state)
);
create table job_tally_changes (
  job_type text not null,
  queue text not null,
  state text not null,
  jobs bigint not null
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 10000);

create function tally_added_jobs() returns trigger language plpgsql as $$
begin
  insert into job_tally_changes (job_type, queue, state, jobs)
  select job_type, queue, state, count(*) from added group by job_type, queue, state;
  return null;
end $$;

create function tally_deleted_jobs() returns trigger language plpgsql as $$
begin
  insert into job_tally_changes (job_type, queue, state, jobs)
  select job_type, queue, state, -count(*) from deleted group by job_type, queue, state;
  return null;
end $$;

create function tally_moved_job() returns trigger language plpgsql as $$
begin
  insert into job_tally_changes (job_type, queue, state, jobs)
  values (old.job_type, old.queue, old.state, -1), (new.job_type, new.queue, new.state, 1);
  return null;
end $$;

create trigger jobs_added after insert on jobs
  referencing new table as added for each statement execute function tally_added_jobs();
create trigger jobs_deleted after delete on jobs
  referencing old table as deleted for each statement execute function tally_deleted_jobs();
create trigger jobs_moved after update on jobs
  for each row when (old.state <> new.state or old.queue <> new.queue) execute function tally_moved_job();

insert into job_tallies (job_type, queue, state, jobs)
select job_type, queue, state, count(*) from jobs group by job_type, queue, state;

-- The oldest due job of a queue, and what is put off, without reading the rest.
create index jobs_due on jobs (queue, job_type, due_at) where state = 'pending';
create index sources_under_way on sources (updated_at) where fetch_status in ('QUEUED', 'FETCHING');
create index contents_under_way on contents (updated_at) where status in ('PENDING', 'PROCESSING');
