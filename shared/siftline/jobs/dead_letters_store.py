"""What operators ask of the jobs that were parked: the dead letters as PostgreSQL knows them, whatever SQS still holds.

The view ``dead_letters`` says what one is and whether it can be redriven.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from psycopg.rows import class_row

from siftline.contracts import Queue
from siftline.jobs.states import known
from siftline.kit.db import Connection

SAMPLES = 3


@dataclass(frozen=True, slots=True)
class DeadCause:
    """Dead letters of one queue, job type and error."""

    queue: str
    job_type: str
    error_code: str
    jobs: int
    redrivable: int
    """Those whose work no other job does, or did since; none of a kind that this code does not know."""
    oldest_at: datetime
    newest_at: datetime


@dataclass(frozen=True, slots=True)
class DeadJob:
    """One dead letter."""

    id: UUID
    queue: str
    job_type: str
    error_code: str
    subject_id: UUID
    error_message: str | None
    attempts: int
    failed_at: datetime
    parked_at: datetime | None
    park_id: UUID


@dataclass(frozen=True, slots=True)
class Redrivable:
    """A dead letter that may be given back to work."""

    id: UUID
    park_id: UUID
    job_type: str
    error_code: str


@dataclass(frozen=True, slots=True)
class CauseCount:
    """How many jobs of one cause."""

    job_type: str
    error_code: str
    jobs: int


_KNOWN = known("dead_letters")

_CAUSES = f"""
select queue, job_type, error_code, count(*) as jobs, count(*) filter (where redrivable and {_KNOWN}) as redrivable,
  min(failed_at) as oldest_at, max(failed_at) as newest_at
from dead_letters
where %(queue)s::text is null or queue = %(queue)s
group by queue, job_type, error_code
order by jobs desc, queue, job_type, error_code
"""  # noqa: S608  -- constants of ours

_SAMPLES = """
select id, queue, job_type, error_code, subject_id, error_message, attempts, failed_at, parked_at, park_id
from (
  select id, queue, job_type, error_code, subject_id, error_message, attempts, failed_at, parked_at, park_id,
    row_number() over (partition by queue, job_type, error_code order by failed_at desc, id desc) as place
  from dead_letters
  where %(queue)s::text is null or queue = %(queue)s) placed
where place <= %(samples)s
order by failed_at desc, id desc
"""

_REDRIVABLE = f"""
select id, park_id, job_type, error_code
from dead_letters
where queue = %(queue)s and (%(error_code)s::text is null or error_code = %(error_code)s) and redrivable and {_KNOWN}
order by failed_at, id limit %(limit)s
"""  # noqa: S608  -- constants of ours

_COUNTED = f"""
select job_type, error_code, count(*) as jobs
from (
  select job_type, error_code from dead_letters
  where queue = %(queue)s and (%(error_code)s::text is null or error_code = %(error_code)s) and redrivable
    and {_KNOWN}
  order by failed_at, id limit %(limit)s) chosen
group by job_type, error_code
order by jobs desc, job_type, error_code
"""  # noqa: S608  -- constants of ours

_STILL_DEAD = """
select dead_letters.park_id
from dead_letters join unnest(%(ids)b::uuid[], %(park_ids)b::uuid[]) as copy (id, park_id)
  on dead_letters.id = copy.id and dead_letters.park_id = copy.park_id
"""


def causes(connection: Connection, queue: Queue | None) -> list[DeadCause]:
    """Return the dead letters of a queue, or of all, by cause, the most frequent first."""
    with connection.cursor(row_factory=class_row(DeadCause)) as cursor:
        return cursor.execute(_CAUSES, {"queue": queue.value if queue else None}).fetchall()


def samples(connection: Connection, queue: Queue | None) -> list[DeadJob]:
    """Return the newest ``SAMPLES`` dead letters of each cause, newest first."""
    values = {"queue": queue.value if queue else None, "samples": SAMPLES}
    with connection.cursor(row_factory=class_row(DeadJob)) as cursor:
        return cursor.execute(_SAMPLES, values).fetchall()


def redrivable(connection: Connection, queue: Queue, error_code: str | None, *, limit: int | None) -> list[Redrivable]:
    """Return the dead letters of a queue (of one cause) that may go back to work, oldest first; no limit is all."""
    values = {"queue": queue.value, "error_code": error_code, "limit": limit}
    with connection.cursor(row_factory=class_row(Redrivable)) as cursor:
        return cursor.execute(_REDRIVABLE, values).fetchall()


def count_redrivable(
    connection: Connection, queue: Queue, error_code: str | None, *, limit: int | None
) -> list[CauseCount]:
    """Count by cause what ``redrivable`` returns."""
    values = {"queue": queue.value, "error_code": error_code, "limit": limit}
    with connection.cursor(row_factory=class_row(CauseCount)) as cursor:
        return cursor.execute(_COUNTED, values).fetchall()


def still_dead(connection: Connection, copies: Sequence[tuple[UUID, UUID]]) -> set[UUID]:
    """Return the park ids of those (job id, park id) whose job is still failed by that very parking."""
    values = {"ids": [job_id for job_id, _ in copies], "park_ids": [park_id for _, park_id in copies]}
    return {park_id for (park_id,) in connection.execute(_STILL_DEAD, values).fetchall()}
