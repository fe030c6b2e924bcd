"""Counts of jobs by type, queue and state, and their ages: what ``/v1/ops/queues``, the statistics and the alarms show.

And of duplicates among what was read: how much of what comes in is told twice.

Nothing is counted when it is asked for: triggers (``infra/migrations/0001_schema.sql``) write each change of a count
beside the change itself, and ``fold`` adds them up, so that an answer costs the same at any number of jobs.
"""

from dataclasses import dataclass

from psycopg.rows import class_row

from siftline.jobs.states import known
from siftline.kit.db import Connection, nearest

# Jobs put off are counted one by one, but no further than this.
DELAYED_MAX = 100_000


@dataclass(frozen=True, slots=True)
class QueueCount:
    """The jobs of one type in one queue."""

    job_type: str
    queue: str
    pending: int
    processing: int
    completed: int
    failed: int
    cancelled: int
    delayed: int
    """Pending ones that are put off to a later time; counted no further than ``DELAYED_MAX``."""
    oldest_due_s: float
    """For how many seconds the oldest due job has been waiting to be taken."""
    oldest_running_s: float
    """For how many seconds the longest-held job has been in work."""


@dataclass(frozen=True, slots=True)
class UnknownCount:
    """Jobs that wait, run, or have still to be parked, of a type or in a queue that this code does not know."""

    job_type: str
    queue: str
    jobs: int


@dataclass(frozen=True, slots=True)
class DuplicateCount:
    """The contents of the last 24 hours that have been read, and how many of them are duplicates, by their kind."""

    contents: int
    exact: int
    """The same text to the letter."""
    near: int
    """Nearly the same text."""
    url: int
    """Another address of the same page, by its own word."""

    @property
    def ratio(self) -> float:
        """The share of duplicates, between 0 and 1."""
        return (self.exact + self.near + self.url) / self.contents if self.contents else 0.0


_FOLD = """
with lock as materialized (select pg_try_advisory_xact_lock(hashtext('job_tallies')) as mine),
taken as (
  delete from job_tally_changes using lock where lock.mine
  returning job_tally_changes.job_type, job_tally_changes.queue, job_tally_changes.state, job_tally_changes.jobs)
insert into job_tallies (job_type, queue, state, jobs)
select job_type, queue, state, sum(jobs) from taken group by job_type, queue, state
on conflict (job_type, queue, state) do update set jobs = job_tallies.jobs + excluded.jobs
"""

_COUNTS = f"""
with tallied as (
  select job_type, queue,
    coalesce(sum(jobs) filter (where state = 'pending'), 0)::int8 as pending,
    coalesce(sum(jobs) filter (where state = 'processing'), 0)::int8 as processing,
    coalesce(sum(jobs) filter (where state = 'completed'), 0)::int8 as completed,
    coalesce(sum(jobs) filter (where state = 'failed'), 0)::int8 as failed,
    coalesce(sum(jobs) filter (where state = 'cancelled'), 0)::int8 as cancelled
  from (select job_type, queue, state, jobs from job_tallies
        union all select job_type, queue, state, jobs from job_tally_changes) as every
  group by job_type, queue),
running as (
  select job_type, queue, extract(epoch from now() - {nearest("min(coalesce(claimed_at, updated_at))")}) as oldest_s
  from jobs where state = 'processing' group by job_type, queue)
select tallied.job_type, tallied.queue, pending, processing, completed, failed, cancelled,
  case when pending = 0 then 0 else (
    select count(*) from (
      select from jobs where jobs.state = 'pending' and jobs.queue = tallied.queue
        and jobs.job_type = tallied.job_type and jobs.due_at > now() limit %(delayed_max)s) as later)::int8
  end as delayed,
  greatest(0, coalesce((
    select extract(epoch from now() - {nearest("jobs.due_at")}) from jobs
    where jobs.state = 'pending' and jobs.queue = tallied.queue
      and jobs.job_type = tallied.job_type order by jobs.due_at limit 1), 0))::float8 as oldest_due_s,
  greatest(0, coalesce(running.oldest_s, 0))::float8 as oldest_running_s
from tallied left join running using (job_type, queue)
order by tallied.job_type, tallied.queue
"""  # noqa: S608  -- made of constants only

# Left by a newer release (``siftline.jobs.states.known``); what is over of theirs needs nobody. Of jobs that wait there
# may be millions: the kinds are found by skipping through their index, and only unknown ones are counted.
_UNKNOWN = f"""
with recursive waiting as (
  (select queue, job_type from jobs where state = 'pending' order by queue, job_type limit 1)
  union all
  select next.queue, next.job_type from waiting cross join lateral (
    select queue, job_type from jobs
    where state = 'pending' and (queue, job_type) > (waiting.queue, waiting.job_type)
    order by queue, job_type limit 1) next),
left_behind as (
  select job_type, queue, count(*) as jobs from waiting join jobs using (job_type, queue)
  where jobs.state = 'pending' and not {known("waiting")} group by job_type, queue
  union all select job_type, queue, count(*) from jobs
  where state = 'processing' and not {known("jobs")} group by job_type, queue
  union all select job_type, queue, count(*) from jobs
  where park_id is not null and parked_at is null and not {known("jobs")} group by job_type, queue)
select job_type, queue, sum(jobs)::int8 as jobs from left_behind group by job_type, queue order by job_type, queue
"""  # noqa: S608  -- constants of ours

_OLDEST_MESSAGES = f"""
select queue, extract(epoch from now() - {nearest("min(greatest(published_at, due_at))")})::float8 as age_s
from jobs where state = 'pending' and published_at is not null group by queue
"""  # noqa: S608  -- as above

# A UUIDv7 begins with the milliseconds of its making: the primary key finds what is younger than a day.
_DUPLICATES = """
select count(*)::int8 as contents, count(*) filter (where duplicate_kind = 'exact')::int8 as exact,
  count(*) filter (where duplicate_kind = 'near')::int8 as near,
  count(*) filter (where duplicate_kind = 'url')::int8 as url
from contents where content_sha256 is not null
  and id >= (lpad(to_hex((extract(epoch from now() - interval '24 hours') * 1000)::int8), 12, '0')
    || repeat('0', 20))::uuid
"""


def fold(connection: Connection) -> None:
    """Add the changes to the counts; where another is at it, leave it to that one."""
    connection.execute(_FOLD)


def counts(connection: Connection) -> list[QueueCount]:
    """Return one row a (job type, queue) that ever had a job; as of this transaction's last statement, exact."""
    with connection.cursor(row_factory=class_row(QueueCount)) as cursor:
        return cursor.execute(_COUNTS, {"delayed_max": DELAYED_MAX}).fetchall()


def unknown(connection: Connection) -> list[UnknownCount]:
    """Return how many jobs there are that this code does not know, by what they are."""
    with connection.cursor(row_factory=class_row(UnknownCount)) as cursor:
        return cursor.execute(_UNKNOWN).fetchall()


def oldest_messages_s(connection: Connection) -> dict[str, float]:
    """Return, for each queue with unanswered messages, for how many seconds the oldest could have been received."""
    return {queue: max(0.0, age_s) for queue, age_s in connection.execute(_OLDEST_MESSAGES).fetchall()}


def duplicates(connection: Connection) -> DuplicateCount:
    """Return how many of the contents of the last 24 hours are duplicates."""
    with connection.cursor(row_factory=class_row(DuplicateCount)) as cursor:
        return cursor.execute(_DUPLICATES).fetchone() or DuplicateCount(0, 0, 0, 0)
