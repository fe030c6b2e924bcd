"""What the publisher and the sweep ask of ``jobs``: which to hand out now, which were lost, which to park."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from psycopg.rows import kwargs_row, scalar_row

from siftline.contracts import JobType, Queue
from siftline.jobs import credits_store
from siftline.jobs import subjects_store as subjects
from siftline.jobs.states import PENDING, known, ordered
from siftline.kit.db import Connection, nearest

# SQS can hold a message back for at most this long.
SQS_DELAY_MAX_S = 900
# What a job waits for that has a turn: at a host (``siftline.net.pacing``), among its tenant's (``jobs.tenants``).
_IN_TURN = ["host_busy", "tenant_busy"]
_TOGETHER = timedelta(seconds=10)


@dataclass(frozen=True, slots=True)
class Outgoing:
    """A job as a message needs it."""

    id: UUID
    job_type: JobType
    queue: Queue
    subject_id: UUID
    group_key: str
    url: str | None
    """The page to read, where the message names it."""
    park_id: UUID | None
    error_code: str | None
    error_message: str | None
    attempts: int
    wait_s: float
    """Seconds until it is due by the database's clock; negative when it is overdue."""


@dataclass(frozen=True, slots=True)
class Swept:
    """What one sweep of lost leases did."""

    retried: int
    failed: int
    failed_types: tuple[str, ...] = field(default=(), compare=False)
    """The job type of each failed one."""


_OUTGOING = f"""jobs.id, jobs.job_type, jobs.queue, jobs.subject_id, jobs.group_key, jobs.payload ->> 'url' as url,
  jobs.park_id, jobs.error_code, jobs.error_message, jobs.attempts,
  extract(epoch from {nearest("jobs.due_at")} - now())::float8 as wait_s"""

# Whether it is due is asked of each, not looked for: in the index by time stands all that waits, handed out or not.
_OUTSTANDING = f"""
select least(count(*) filter (where due_at <= now()), %(cap)s)::int8 from jobs
where queue = %(queue)s and state = 'pending' and published_at is not null and {known("jobs")}
"""  # noqa: S608  -- constants of ours

# Hand-outs of a queue go one after the other: two at once would count the same jobs as outstanding and choose the same
# ones, and one of them would come away with nothing while others wait.
# Until a young table is analysed, the planner expects one row of any condition, and would rather read and sort all that
# waits, for each tenant again, than take a few rows in the order of an index.
_ONE_AT_A_TIME = """
select pg_advisory_xact_lock(hashtextextended('hand_out ' || %(queue)s, 0)), set_config('enable_sort', 'off', true)
"""

# That a message was sent need not be on disk: were that lost with the server, the message would be sent once more.
# Of each tenant only its share is handed out at a time: messages stand in SQS in the order they came, and nobody's can
# pass a thousand of somebody else's there. Messages that SQS still holds back (due later) stand in nobody's way.
# Who waits for a host's turn is handed out with it, for behind those that were never tried it would be missed; of
# these no more than a share become due together.
# A job that somebody else has in hand at this moment is theirs: a publisher sends it, who enqueues onto it publishes it
# after. So it is skipped, and nobody who takes jobs ever waits for a row: two that wait for each other cannot be.
_TAKE = f"""
with wanted as materialized (
  select id, queue, group_key, due_at, waits_for,
    row_number() over (partition by queue, group_key order by priority desc, due_at, id) as place
  from jobs
  where id = any(%(ids)b::uuid[]) and state = {PENDING} and published_at is null and due_at <= now() + %(ahead)s
    and {known("jobs")}),
tenants as materialized (
  select queue, group_key, (select count(*) filter (where out.due_at <= now()) from jobs out
    where out.queue = one.queue and out.group_key = one.group_key and out.state = 'pending'
      and out.published_at is not null and {known("out")}) as already
  from (select distinct queue, group_key from wanted) one),
chosen as (
  select wanted.id from wanted join tenants using (queue, group_key)
  where place + already <= %(share)s or (waits_for = any(%(in_turn)s) and wanted.due_at > now()
    and place + (select count(*) from jobs out where out.queue = wanted.queue and out.group_key = wanted.group_key
      and out.state = 'pending' and out.published_at is not null and {known("out")}
      and out.due_at > wanted.due_at - %(together)s and out.due_at <= wanted.due_at) <= %(share)s)),
mine as (
  select jobs.id from chosen join jobs using (id) where jobs.state = {PENDING} and jobs.published_at is null
  order by {ordered()} for no key update of jobs skip locked)
update jobs set published_at = now(), publish_count = least(publish_count + 1, 100), updated_at = now()
from mine where jobs.id = mine.id and set_config('synchronous_commit', 'off', true) is not null
returning {_OUTGOING}
"""  # noqa: S608  -- constants of ours

# One row of each waiting tenant is found by skipping through the index, so that a tenant with many jobs costs no more
# than one with few; the turns then go round: everyone's first, everyone's second, within a priority.
_TAKE_TURNS = f"""
with recursive tenants as (
  (select group_key from jobs where queue = %(queue)s and state = 'pending' and published_at is null
   order by group_key limit 1)
  union all
  select (select next.group_key from jobs next where next.queue = %(queue)s and next.state = 'pending'
            and next.published_at is null and next.group_key > tenants.group_key order by next.group_key limit 1)
  from tenants where tenants.group_key is not null),
turns as (
  select own.id, own.priority, own.due_at,
    row_number() over (partition by tenants.group_key order by own.priority desc, own.due_at) as turn
  from tenants cross join lateral (
    select count(*) filter (where due_at <= now()) as already from (
      select due_at from jobs
      where queue = %(queue)s and state = 'pending' and published_at is not null and group_key = tenants.group_key
        and {known("jobs")}
      order by published_at) handed_out) out
  cross join lateral (
    select id, priority, due_at from jobs
    where queue = %(queue)s and state = 'pending' and published_at is null and group_key = tenants.group_key
      and due_at <= now() + %(ahead)s and {known("jobs")}
    order by priority desc, due_at limit least(%(limit)s, greatest(%(share)s - out.already, 0))) own
  where tenants.group_key is not null),
chosen as (select id from turns order by priority desc, turn, due_at limit %(limit)s),
mine as (
  select id from jobs
  where id = any(array(select id from chosen)) and state = {PENDING} and published_at is null
  order by {ordered()} for no key update skip locked)
update jobs set published_at = now(), publish_count = least(publish_count + 1, 100), updated_at = now()
from mine where jobs.id = mine.id and set_config('synchronous_commit', 'off', true) is not null
returning {_OUTGOING}
"""  # noqa: S608  -- constants of ours

_TAKE_UNANSWERED = f"""
with quiet as (
  select id from jobs
  where state = 'pending' and published_at < now() - %(quiet)s and {known("jobs")}
    and greatest(published_at, due_at) < now() - %(quiet)s * power(2, least(publish_count - 1, 6))
  order by published_at limit %(limit)s for update skip locked)
update jobs set published_at = now(), publish_count = least(publish_count + 1, 100), updated_at = now()
from quiet where jobs.id = quiet.id
returning {_OUTGOING}
"""  # noqa: S608  -- constants of ours

_QUEUES_OF = f"""
select distinct queue from jobs where id = any(%(ids)b::uuid[]) and {known("jobs")} order by queue
"""  # noqa: S608  -- constants of ours

_NOT_SENT = f"""
with mine as (
  select id from jobs where id = any(%(ids)b::uuid[]) and state = {PENDING}
  order by {ordered()} for no key update)
update jobs set published_at = null, updated_at = now() from mine where jobs.id = mine.id
"""  # noqa: S608  -- constants of ours

_SWEEP_LOST = f"""
with lost as (
  select id from jobs where state = 'processing' and lease_until < now() and {known("jobs")}
  order by lease_until limit %(limit)s for update skip locked),
ended as (
  update jobs set
    state = case when attempts >= max_attempts then 'failed' else 'pending' end,
    finished_at = case when attempts >= max_attempts then now() end,
    park_id = case when attempts >= max_attempts then gen_random_uuid() end,
    due_at = now(), published_at = null, publish_count = 0, lease_token = null, lease_until = null,
    error_code = 'worker_lost', error_message = %(detail)s, updated_at = now()
  from lost where jobs.id = lost.id
  returning jobs.*),
follow as (
  insert into jobs (id, job_type, queue, subject_id, group_key, payload, priority, max_attempts)
  select gen_random_uuid(), job_type, queue, subject_id, coalesce(again_for, group_key), payload, priority,
    max_attempts
  from ended where state = 'failed' and again
  returning id, job_type, subject_id),
event as (
  insert into job_events (job_id, event, attempt, error_code)
  select id, case state when 'failed' then 'failed' else 'lease_expired' end, attempts, 'worker_lost' from ended
  union all select id, 'enqueued', 0, null from follow)
select ended.job_type, ended.subject_id, ended.state = 'failed' and follow.id is null as failed,
  case when ended.state = 'failed' then ended.id end as ended_id, follow.id as follow_id
from ended left join follow on follow.job_type = ended.job_type and follow.subject_id = ended.subject_id
"""  # noqa: S608  -- constants of ours

_END_LEASES = f"""
with held as (
  select id from jobs where state = 'processing' and lease_until > now() and {known("jobs")}
    and coalesce(claimed_at, updated_at) < %(claimed_before)s
  order by {ordered()} for no key update)
update jobs set lease_until = now(), updated_at = now() from held where jobs.id = held.id
"""  # noqa: S608  -- constants of ours

_LOST = f"""
with mine as (
  select id from jobs where state = 'pending' and published_at < %(sent_before)s and {known("jobs")}
  order by {ordered()} for no key update)
update jobs set published_at = null, updated_at = now() from mine where jobs.id = mine.id
"""  # noqa: S608  -- constants of ours

_TO_PARK = f"""
select {_OUTGOING}
from jobs
where park_id is not null and parked_at is null and finished_at <= now() - %(quiet)s and {known("jobs")}
order by finished_at limit %(limit)s for update skip locked
"""  # noqa: S608  -- constants of ours

_TO_PARK_ONE = f"""
select {_OUTGOING}
from jobs
where id = %(job_id)s and (park_id is not null and parked_at is null) = (select true) and {known("jobs")}
for update skip locked
"""  # noqa: S608  -- constants of ours

_PARKED = f"""
with mine as (
  select id from jobs where park_id = any(%(park_ids)b::uuid[]) and parked_at is null
  order by {ordered()}, id for no key update)
update jobs set parked_at = now() from mine where jobs.id = mine.id
"""  # noqa: S608  -- constants of ours

_CLEAN_UP = f"""
with old as (
  select id from jobs
  where state in ('completed', 'failed', 'cancelled') and finished_at < now() - %(age)s and {known("jobs")}
    and (park_id is null or parked_at is not null)
    and (state <> 'failed' or coalesce((select status from contents where contents.id = jobs.subject_id), '')
      not in ('NEW', 'PENDING', 'PROCESSING'))
    and (state <> 'cancelled' or not exists (select from contents
      where contents.id = jobs.subject_id and contents.status = 'READY' and contents.notice_code = 'no_credit'))
  order by finished_at limit %(limit)s for update skip locked)
delete from jobs using old where jobs.id = old.id returning jobs.id
"""  # noqa: S608  -- constants of ours


def in_turn(connection: Connection, queue: Queue, *, counted_to: int) -> Callable[[], int]:
    """Wait until nobody else hands out jobs of a queue, and keep others from it until the transaction ends.

    What is returned fetches how many of its messages are handed out, due and unclaimed by then, counting no further
    than ``counted_to``: 0 where that is 0, for nobody needs to know. What SQS still holds back stands in nobody's way.
    """
    connection.execute(_ONE_AT_A_TIME, {"queue": queue.value})
    if not counted_to:
        return lambda: 0
    values = {"queue": queue.value, "cap": counted_to}
    cursor = connection.cursor(row_factory=scalar_row).execute(_OUTSTANDING, values)
    return lambda: cursor.fetchone() or 0


def take(connection: Connection, ids: Sequence[UUID], *, share: int) -> list[Outgoing]:
    """Mark these jobs as published where they wait for it and are due within SQS's longest delay.

    No tenant gets more than ``share`` messages of a queue handed out and due; the rest wait for a turn.
    """
    values = {
        "ids": list(ids),
        "share": share,
        "ahead": timedelta(seconds=SQS_DELAY_MAX_S),
        "in_turn": _IN_TURN,
        "together": _TOGETHER,
    }
    return _outgoing(connection, _TAKE, values)


def take_turns(connection: Connection, queue: Queue, *, limit: int, share: int) -> list[Outgoing]:
    """Mark the next jobs of a queue as published: by priority, among tenants in turn, to each at most its share.

    Call ``in_turn`` before it in the same transaction, which also keeps the planner to the indexes.
    """
    values = {"queue": queue.value, "limit": limit, "share": share, "ahead": timedelta(seconds=SQS_DELAY_MAX_S)}
    return _outgoing(connection, _TAKE_TURNS, values)


def take_unanswered(connection: Connection, *, quiet_s: float, limit: int) -> list[Outgoing]:
    """Mark jobs whose message seems lost as published again; the quiet time doubles with each."""
    return _outgoing(connection, _TAKE_UNANSWERED, {"quiet": timedelta(seconds=quiet_s), "limit": limit})


def queues_of(connection: Connection, ids: Sequence[UUID]) -> list[Queue]:
    """Return the queues that these jobs belong to."""
    return [Queue(name) for (name,) in connection.execute(_QUEUES_OF, {"ids": list(ids)}).fetchall()]


def not_sent(connection: Connection, ids: Sequence[UUID]) -> None:
    """Take the mark back from jobs whose message the queue did not accept."""
    connection.execute(_NOT_SENT, {"ids": list(ids)})


def sweep_lost(connection: Connection, *, limit: int) -> Swept:
    """Return jobs whose lease ran out to waiting, or fail them when that was their last attempt."""
    detail = "The worker was lost while processing this."
    with connection.cursor() as cursor:
        rows = cursor.execute(_SWEEP_LOST, {"limit": limit, "detail": detail}).fetchall()
    for kind in {row[0] for row in rows}:
        mine = [row for row in rows if row[0] == kind]
        subjects.waiting(connection, JobType(kind), [row[1] for row in mine if not row[2]])
        subjects.failed(connection, JobType(kind), [row[1] for row in mine if row[2]], "worker_lost", detail)
    credits_store.release(connection, [row[3] for row in rows if row[3]])
    credits_store.reserve(connection, [row[4] for row in rows if row[4]])
    failed = tuple(row[0] for row in rows if row[2])
    return Swept(retried=len(rows) - len(failed), failed=len(failed), failed_types=failed)


def end_leases(connection: Connection, claimed_before: datetime) -> int:
    """End the leases of what was claimed before, for who knows that all workers of then are gone.

    The next sweep takes the jobs back. Returns how many there were. A worker that lives after all finds its finish
    refused: nothing is done twice.
    """
    return connection.execute(_END_LEASES, {"claimed_before": claimed_before}).rowcount


def lost(connection: Connection, sent_before: datetime) -> int:
    """Take the mark back from all jobs that were handed out before and wait, for who knows that queues were lost.

    Each is handed out again; where its message is there after all, one of the two is refused. Returns how many.
    """
    return connection.execute(_LOST, {"sent_before": sent_before}).rowcount


def to_park(connection: Connection, *, quiet_s: float, limit: int) -> list[Outgoing]:
    """Return failed jobs whose parking on the dead-letter queue was not recorded."""
    return _outgoing(connection, _TO_PARK, {"quiet": timedelta(seconds=quiet_s), "limit": limit})


def to_park_one(connection: Connection, job_id: UUID) -> list[Outgoing]:
    """Return this failed job, unless its parking is recorded."""
    return _outgoing(connection, _TO_PARK_ONE, {"job_id": job_id})


def parked(connection: Connection, park_ids: Sequence[UUID]) -> None:
    """Record that these parkings were sent."""
    connection.execute(_PARKED, {"park_ids": list(park_ids)})


def clean_up(connection: Connection, *, age_s: float, limit: int) -> int:
    """Delete at most ``limit`` finished jobs older than ``age_s``.

    Never one that still has to be parked, a failed one only once its content is at an end that says why, and a
    cancelled one only once its content no longer waits for the credit of who asked to have it read again.
    """
    return len(connection.execute(_CLEAN_UP, {"age": timedelta(seconds=age_s), "limit": limit}).fetchall())


def _outgoing(connection: Connection, statement: str, values: dict[str, Any]) -> list[Outgoing]:
    with connection.cursor(row_factory=kwargs_row(_row)) as cursor:
        return cursor.execute(statement, values).fetchall()


def _row(**columns: Any) -> Outgoing:
    columns["job_type"] = JobType(columns["job_type"])
    columns["queue"] = Queue(columns["queue"])
    return Outgoing(**columns)
