-- Dead letters: failed jobs that were parked, whatever SQS still holds of them.
-- depends: 0001_house

create index jobs_dead on jobs (queue, error_code, finished_at) where state = 'failed' and park_id is not null;

-- One can be redriven while no other job of its type does or did the same work since: a live one would run twice, and a
-- later one has overtaken it.
create view dead_letters as
select jobs.id, jobs.queue, jobs.job_type, coalesce(jobs.error_code, 'unknown') as error_code, jobs.subject_id,
  jobs.error_message, jobs.attempts, jobs.finished_at as failed_at, jobs.parked_at, jobs.park_id,
  not exists (select from jobs other
    where other.job_type = jobs.job_type and other.subject_id = jobs.subject_id and other.id <> jobs.id
      and (other.state in ('pending', 'processing') or (other.created_at, other.id) > (jobs.created_at, jobs.id))
  ) as redrivable
from jobs
where jobs.state = 'failed' and jobs.park_id is not null;
