"""Jobs made, cancelled and brought back: the arrows that no lease guards (those of a worker: ``lease_store``).

Every arrow also writes its line of the timeline (``job_events``) and what it means for the subject's own status, in the
transaction of the caller.
"""

import json
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TypeVar
from uuid import UUID

from psycopg.errors import LockNotAvailable, UniqueViolation
from psycopg.rows import scalar_row
from psycopg.types.json import Jsonb

from siftline.contracts import JobType, Priority, Queue, queue_of
from siftline.jobs import credits_store
from siftline.jobs import subjects_store as subjects
from siftline.jobs.job_model import NewJob
from siftline.jobs.states import FAILED, PENDING, known, ordered
from siftline.kit.db import Connection
from siftline.kit.errors import TransientError
from siftline.kit.ids import new_id

# A row that the insert met already bears this transaction's mark (xmax); only one made now begins a timeline.
# A page is read for who asks most urgently, within what they typed; a turn among those in no hurry is not waited for by
# who is. Who asks as a job runs has the follow-up. Who brings a new text where a free repeat waits has that job: now it
# costs. A queue that this code does not know is a newer release's: what is asked for again leaves it for one of ours.
_ENQUEUE = f"""
with live as (
insert into jobs (id, job_type, queue, subject_id, group_key, priority, payload, due_at, max_attempts,
  origin_message_id)
select id, job_type, queue, subject_id, group_key, priority, payload::jsonb, coalesce(due_at, now()), max_attempts,
  origin_message_id
from unnest(%(ids)b::uuid[], %(types)b::text[], %(queues)b::text[], %(subjects)b::uuid[], %(groups)b::text[],
            %(priorities)b::int2[], %(payloads)b::text[], %(due)s::timestamptz[],
            array_fill(%(max_attempts)s::int2, array[%(count)s::int]), %(origins)s::text[])
  as new (id, job_type, queue, subject_id, group_key, priority, payload, due_at, max_attempts, origin_message_id)
order by {ordered("new")}
on conflict (job_type, subject_id) where state in ('pending', 'processing') do update set
  again = jobs.again or jobs.state = 'processing',
  again_for = case when jobs.state = 'processing' then coalesce(jobs.again_for, excluded.group_key) end,
  priority = greatest(jobs.priority, excluded.priority),
  payload = case when excluded.job_type = 'ingest_content' and excluded.priority > jobs.priority then excluded.payload
    else jobs.payload end,
  queue = case when excluded.priority > jobs.priority or (jobs.state = 'pending' and not {known("jobs")})
    then excluded.queue else jobs.queue end,
  group_key = case when jobs.state = 'pending' and (excluded.priority > jobs.priority or exists (
      select from credit_entries own join contents on contents.id = own.content_id
      where own.job_id = jobs.id and own.state = 'reserved' and own.kind = 'repeat'
        and own.content_version < contents.version)) then excluded.group_key
    else jobs.group_key end,
  published_at = case when jobs.state = 'pending' and (excluded.priority > jobs.priority or not {known("jobs")})
    and excluded.queue <> jobs.queue then null else jobs.published_at end,
  due_at = case when excluded.priority > jobs.priority and jobs.waits_for in ('host_busy', 'tenant_busy')
    then least(jobs.due_at, excluded.due_at) else jobs.due_at end,
  origin_message_id = coalesce(jobs.origin_message_id, excluded.origin_message_id),
  updated_at = now()
returning id, xmax = 0 as fresh),
event as (insert into job_events (job_id, event, attempt) select id, 'enqueued', 0 from live where fresh)
select id from live
"""  # noqa: S608  -- constants of ours

_WAITING = """
select queue, group_key, count(*)::int as jobs
from unnest(%(queues)b::text[], %(groups)b::text[]) as asked (queue, group_key)
cross join lateral (
  select from jobs where jobs.queue = asked.queue and jobs.group_key = asked.group_key and state = 'pending'
  limit %(most)s) as waiting
group by queue, group_key
"""

# In the order of ``_HOLD``, which the caller's own statement holds them in.
_HASTEN = f"""
with live as (
  select id, queue, %(queues)s::jsonb ->> job_type as foreground from jobs
  where subject_id = any(%(subjects)b::uuid[]) and job_type = any(%(types)s) and state in ('pending', 'processing')
    and priority < %(priority)s
  order by {ordered()} for no key update)
update jobs set priority = %(priority)s, queue = live.foreground, group_key = %(group_key)s,
  published_at = case when live.queue = live.foreground then published_at end, updated_at = now(),
  due_at = case when waits_for in ('host_busy', 'tenant_busy') then least(due_at, now()) else due_at end
from live where jobs.id = live.id
"""  # noqa: S608  -- constants of ours

# No line of the timeline: it would tell other holders of the page that somebody asks for it now.
_TRY_NOW = f"""
with waiting as (
  select id from jobs
  where subject_id = any(%(subjects)b::uuid[]) and job_type = any(%(types)s) and state in ('pending', 'processing')
    and state = {PENDING} and due_at > now() and deferred_since is null
    and coalesce(waits_for not in ('host_busy', 'tenant_busy'), true) and {known("jobs")}
  order by {ordered()} for no key update)
update jobs set due_at = now(), attempts = greatest(attempts - 1, 0), published_at = null, publish_count = 0,
  waits_for = %(asked_for)s, updated_at = now()
from waiting where jobs.id = waiting.id
"""  # noqa: S608  -- constants of ours

# In the order in which enqueueing meets them.
_HOLD = f"""
select id from jobs
where job_type = any(%(types)s) and subject_id = any(%(subjects)b::uuid[]) and state in ('pending', 'processing')
order by {ordered()} for no key update
"""  # noqa: S608  -- constants of ours
_HOLD_AT_ONCE = _HOLD + " nowait"
_LIVE = """
select subject_id from jobs
where job_type = any(%(types)s) and subject_id = any(%(subjects)b::uuid[]) and state in ('pending', 'processing')
"""

_PUT_BACK = f"""
update jobs set published_at = null, updated_at = now() where id = %(id)s and state = {PENDING}
  and {known("jobs")}
"""  # noqa: S608  -- constants of ours

_CANCEL = f"""
with live as (
  select id from jobs where subject_id = any(%(subjects)s) and state in ('pending', 'processing')
  order by {ordered()} for no key update),
ended as (
  update jobs set state = 'cancelled', finished_at = now(), lease_token = null, lease_until = null, again = false,
    waits_for = null, updated_at = now()
  from live where jobs.id = live.id
  returning jobs.id, jobs.attempts),
event as (insert into job_events (job_id, event, attempt) select id, 'cancelled', attempts from ended)
select id from ended
"""  # noqa: S608  -- constants of ours

# No poll comes into being but by who holds its source (``take``).
_HOLD_POLLED = """
select id from sources
where id in (select subject_id from jobs where id = any(%(ids)b::uuid[]) and job_type = 'fetch_source')
order by url_key for no key update
"""
_REDRIVE = f"""
with asked as (
  select jobs.id, jobs.park_id
  from jobs join unnest(%(ids)b::uuid[], %(park_ids)b::uuid[]) as dead (id, park_id)
    on jobs.id = dead.id and jobs.park_id = dead.park_id
  where jobs.state = {FAILED} and {known("jobs")}
    and not exists (select from jobs live where live.job_type = jobs.job_type
      and live.subject_id = jobs.subject_id and live.state in ('pending', 'processing'))
  order by {ordered()}, jobs.id for update of jobs),
redriven as (
  update jobs set state = 'pending', attempts = 0, due_at = now(), published_at = null, publish_count = 0,
    finished_at = null, park_id = null, parked_at = null, error_code = null, error_message = null,
    deferred_since = null, updated_at = now()
  from asked
  where jobs.id = asked.id and jobs.state = {FAILED} and jobs.park_id = asked.park_id
  returning jobs.id, jobs.job_type, jobs.subject_id),
event as (insert into job_events (job_id, event, attempt) select id, 'redriven', 0 from redriven)
select id, job_type, subject_id from redriven
"""  # noqa: S608  -- constants of ours
# A job of the same subject that was committed in the very moment between is seen by the next look.
_REDRIVE_TRIES = 5
FOREGROUND_MAX = 10
"""So many jobs of one person may wait in a foreground queue; what they ask for beyond goes with their background work.

What they wait for is the first ones, and everybody else who waits stands behind no more than so many of theirs.
"""
_Taken = TypeVar("_Taken")
_READING = (JobType.INGEST_CONTENT, JobType.TRANSCRIBE_CONTENT, JobType.ANALYZE_CONTENT)
ASKED_FOR = "asked_for"
"""What a job waits for that would have been tried later, had nobody asked for it."""


def enqueue(
    connection: Connection,
    jobs: Sequence[NewJob],
    *,
    max_attempts: int = 4,
    origin_message_id: str | None = None,
) -> list[UUID]:
    """Insert jobs in the caller's transaction and return the ids to publish after it commits.

    One live job a (job type, subject): a processing one is marked to run again for who asked; a pending one takes the
    higher priority, and with it the queue and tenant of who asked more urgently, so that a person's save does not wait
    behind a feed's flood. Of what is read for one person no more than ``FOREGROUND_MAX`` wait in a foreground queue.
    """
    if not jobs:
        return []
    distinct = list(_bounded(connection, {(job.job_type, job.subject_id): job for job in jobs}.values()))
    made = [new_id() for _ in distinct]
    ids: list[UUID] = []
    with connection.cursor(row_factory=scalar_row) as cursor:
        ids = cursor.execute(
            _ENQUEUE,
            {
                "ids": made,
                "types": [job.job_type.value for job in distinct],
                "queues": [(job.queue or queue_of(job.job_type, job.priority)).value for job in distinct],
                "subjects": [job.subject_id for job in distinct],
                "groups": [job.group_key for job in distinct],
                "priorities": [job.priority for job in distinct],
                "payloads": _payloads(distinct),
                "due": [job.due_at for job in distinct],
                "max_attempts": max_attempts,
                "count": len(distinct),
                "origins": [origin_message_id] * len(distinct),
            },
        ).fetchall()
    subjects.enqueued(connection, distinct)
    if any(job.job_type is JobType.ANALYZE_CONTENT for job in distinct):
        credits_store.reserve(
            connection, ids, asked=[id_ for id_, job in zip(made, distinct, strict=True) if job.asked]
        )
    return ids


def _bounded(connection: Connection, jobs: Collection[NewJob]) -> Iterator[NewJob]:
    """Yield the jobs, those for which a person has no room left in a foreground queue as background work."""
    asked = sorted({(queue.value, job.group_key) for job in jobs if (queue := _foreground(job)) is not None})
    waiting = Counter[tuple[str, str]]()
    if asked:
        values = {"queues": [one[0] for one in asked], "groups": [one[1] for one in asked], "most": FOREGROUND_MAX}
        waiting.update({(row[0], row[1]): row[2] for row in connection.execute(_WAITING, values).fetchall()})
    for job in jobs:
        queue = _foreground(job)
        if queue is None:
            yield job
            continue
        waiting[queue.value, job.group_key] += 1
        full = waiting[queue.value, job.group_key] > FOREGROUND_MAX
        yield replace(job, priority=Priority.SAVED_MANY) if full else job


def _foreground(job: NewJob) -> Queue | None:
    """Return the foreground queue that a reading goes to by its urgency; ``None`` where it goes to none."""
    if job.queue is not None or job.job_type not in _READING or job.priority < Priority.SAVED:
        return None
    return queue_of(job.job_type, job.priority)


def _payloads(jobs: Sequence[NewJob]) -> list[str]:
    """Return the payloads in JSON, each mapping written once: the jobs of one poll share theirs."""
    written: dict[int, str] = {}
    for job in jobs:
        if id(job.payload) not in written:
            written[id(job.payload)] = json.dumps(dict(job.payload))
    return [written[id(job.payload)] for job in jobs]


def adopt(connection: Connection, job: NewJob, *, message_id: str, max_attempts: int = 4) -> UUID:
    """Return the job that a message without ``job_id`` means: the one it made before, a live one, or a new one."""
    # One at a time: of two deliveries at once the second must find the first one's job, not mark it to run again.
    connection.execute("select pg_advisory_xact_lock(hashtextextended(%(message_id)s, 0))", {"message_id": message_id})
    with connection.cursor(row_factory=scalar_row) as cursor:
        known: UUID | None = cursor.execute(
            "select id from jobs where origin_message_id = %(message_id)s", {"message_id": message_id}
        ).fetchone()
    if known is not None:
        return known
    return enqueue(connection, [job], max_attempts=max_attempts, origin_message_id=message_id)[0]


def hold(connection: Connection, subject_ids: Sequence[UUID], *job_types: JobType) -> None:
    """Hold the live jobs of these types of these subjects until the transaction ends.

    **The order of locks:** a job before its subject. So does a worker, who claims and ends a job first and then writes
    what that means for its subject. Who changes a subject and its job enqueues first, or holds what may be enqueued or
    cancelled later: else both wait for each other.
    """
    # To the planner a condition that nothing can meet goes with every index: it would read one of them whole.
    if subject_ids:
        connection.execute(_HOLD, {"types": [one.value for one in job_types], "subjects": list(subject_ids)})


def take(
    connection: Connection,
    subjects: Callable[[], Sequence[UUID]],
    take_subjects: Callable[[], _Taken],
    job_type: JobType,
) -> _Taken:
    """Hold the live jobs of subjects, and then the subjects' rows; returns what ``take_subjects`` returns.

    From then on the caller may enqueue, change and cancel these jobs, where none lives too: **a job that is new comes
    after its subject**, for whoever makes one has a live job of the subject, or else its row, in hand. One that came
    into being before the rows were taken may be in a worker's hand by now, who waits for the row: then all that was
    taken is let go, and taken again behind that job.
    """
    while True:
        with suppress(LockNotAvailable), connection.transaction():
            hold(connection, subjects(), job_type)
            taken = take_subjects()
            if ids := subjects():
                connection.execute(_HOLD_AT_ONCE, {"types": [job_type.value], "subjects": list(ids)})
            return taken


def live(connection: Connection, subject_ids: Sequence[UUID], job_type: JobType) -> set[UUID]:
    """Return which of these subjects have a live job of a type now."""
    if not subject_ids:
        return set()
    with connection.cursor(row_factory=scalar_row) as cursor:
        return set(cursor.execute(_LIVE, {"types": [job_type.value], "subjects": list(subject_ids)}))


def hasten(connection: Connection, subject_ids: Sequence[UUID], group_key: str) -> None:
    """Let whatever reads these contents go on in the foreground for a person who waits for them now, and in their name.

    What is in work is left alone; all that comes of it goes on there. What was handed out elsewhere has to be handed
    out again: its message is refused once the job was claimed. The caller holds these jobs (``hold``).
    """
    if not subject_ids:
        return
    values = {
        "subjects": list(subject_ids),
        "types": [one.value for one in _READING],
        "queues": Jsonb({one.value: queue_of(one, Priority.SAVED).value for one in _READING}),
        "priority": Priority.SAVED,
        "group_key": group_key,
    }
    connection.execute(_HASTEN, values)


def try_now(connection: Connection, subject_ids: Sequence[UUID], *job_types: JobType) -> None:
    """Let the next try of these subjects' jobs, which waits after a failed one, be due now that a person asks for it.

    The failed try is given back, so that asking often uses up no retry. What the far side or a breaker put off waits
    on, and so does who waits for their turn. The caller enqueued these jobs before, or holds them (``hold``), and hands
    them out after the commit.
    """
    if subject_ids:
        values = {"subjects": list(subject_ids), "types": [one.value for one in job_types], "asked_for": ASKED_FOR}
        connection.execute(_TRY_NOW, values)


def is_kept(connection: Connection, job_id: UUID) -> bool:
    """Return whether a job has its row, of whatever kind it is."""
    return connection.execute("select from jobs where id = %(id)s", {"id": job_id}).fetchone() is not None


def put_back(connection: Connection, job_id: UUID) -> None:
    """Leave an unclaimed job for a later hand-out; its message is about to be acknowledged unworked."""
    connection.execute(_PUT_BACK, {"id": job_id})


def cancel(connection: Connection, subject_ids: Sequence[UUID]) -> int:
    """Cancel every live job of deleted subjects; returns how many."""
    if not subject_ids:
        return 0
    ids = [row[0] for row in connection.execute(_CANCEL, {"subjects": list(subject_ids)}).fetchall()]
    credits_store.release(connection, ids)
    return len(ids)


def redrive(connection: Connection, job_id: UUID, park_id: UUID) -> bool:
    """Make a parked job pending again with fresh attempts, once for each parking."""
    return bool(redrive_all(connection, [(job_id, park_id)]))


def redrive_all(connection: Connection, parked: Sequence[tuple[UUID, UUID]]) -> list[UUID]:
    """Make parked jobs (job id, park id) pending again with fresh attempts; return the ids of those that now are.

    A job stays as it is whose parking is another one by now, or whose subject has a live job of the same type. Among
    ``parked`` each subject stands once a job type. Raises ``TransientError`` when others keep making such jobs.
    """
    values = {"ids": [job_id for job_id, _ in parked], "park_ids": [park_id for _, park_id in parked]}
    for _ in range(_REDRIVE_TRIES):
        try:
            with connection.transaction():
                connection.execute(_HOLD_POLLED, values)
                rows = connection.execute(_REDRIVE, values).fetchall()
        except UniqueViolation:
            continue
        for job_type in {row[1] for row in rows}:
            subjects.waiting(connection, JobType(job_type), [row[2] for row in rows if row[1] == job_type])
        ids = [row[0] for row in rows]
        credits_store.reserve(connection, ids)
        return ids
    raise TransientError("Concurrent changes kept getting in the way. Try again.", code="redrive_contended")
