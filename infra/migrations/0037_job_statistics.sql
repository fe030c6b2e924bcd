-- Of a queue's states no statistics are kept: a moment later they are of another time. Once ANALYZE had seen no job that
-- waits, the planner took the indexes over jobs that wait for empty, and read them whole, thousands of jobs, to find one
-- by its id. Without statistics it takes every state for as rare as any, and finds a job by its id.
-- depends: 0004_recovery 0005_dead_letters

-- To change a column's type to what it is drops what is known of it by now; what looks at it has to step aside.
drop trigger jobs_moved on jobs;
drop view dead_letters;
alter table jobs alter column state type text, alter column published_at type timestamptz;
create trigger jobs_moved after update on jobs
  for each row when (old.state <> new.state or old.queue <> new.queue) execute function tally_moved_job();
create view dead_letters as
select jobs.id, jobs.queue, jobs.job_type, coalesce(jobs.error_code, 'unknown') as error_code, jobs.subject_id,
  jobs.error_message, jobs.attempts, jobs.finished_at as failed_at, jobs.parked_at, jobs.park_id,
  not exists (select from jobs other
    where other.job_type = jobs.job_type and other.subject_id = jobs.subject_id and other.id <> jobs.id
      and (other.state in ('pending', 'processing') or (other.created_at, other.id) > (jobs.created_at, jobs.id))
  ) as redrivable
from jobs
where jobs.state = 'failed' and jobs.park_id is not null;
alter table jobs alter column state set statistics 0, alter column published_at set statistics 0;
