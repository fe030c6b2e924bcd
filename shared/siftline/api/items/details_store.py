"""What is known of a content besides its own row: duplicates, what made its values, its jobs' walk.

A source's live job too.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from psycopg.rows import class_row

from siftline.api.items.item_models import Derivation, Duplicate, Vector
from siftline.contracts import JobType
from siftline.kit.db import Connection


@dataclass(frozen=True, slots=True)
class RecordingRow:
    """A content's video or audio and its transcript."""

    media: Any
    """To be as ``infra/migrations/0001_schema.sql`` says."""
    next_try_at: datetime | None


@dataclass(frozen=True, slots=True)
class LiveJobRow:
    """The job by which a content or a source goes on: the one in work, or else the next due."""

    subject_id: UUID
    state: str
    queue: str
    due_at: datetime
    put_off: bool
    next_at: datetime
    """When it is taken, at the earliest: now, unless it is put off."""
    deferred: bool
    """Whether it is put off without a try being used, as servers ask by Retry-After."""
    published: bool
    lease_until: datetime | None
    lease_expired: bool
    attempts: int
    max_attempts: int
    waits_for: str | None
    error_message: str | None
    outstanding: int
    """Unanswered messages of its queue, as long as it has none itself; counted no further than 10,000."""


@dataclass(frozen=True, slots=True)
class StepRow:
    """One line of the timeline."""

    at: datetime
    job_type: str
    job_id: UUID
    event: str
    attempt: int
    duration_ms: int | None
    error_code: str | None
    detail: str | None
    due_at: datetime | None


# Which was first among the user's own: what others hold of the group is none of their business.
_DUPLICATES = """
select id, url, title, original
from (
  select i.id, c.id as content_id, coalesce(i.url, c.url) as url,
    coalesce(nullif(c.title, ''), i.told_title) as title, c.sort_at,
    row_number() over (order by i.created_at, c.id = mine.original desc, i.id) = 1 as original
  from (select coalesce(duplicate_of, id) as original from contents where id = %(content_id)s) mine
  join contents c on c.id = mine.original or c.duplicate_of = mine.original
  join items i on i.content_id = c.id and i.user_id = %(user_id)s) as own
where content_id <> %(content_id)s
order by sort_at desc, id limit 50
"""

_DERIVATIONS = """
select kind, model_id, model_version, greatest(made_at, %(since)s) as made_at
from derivations where content_id = %(content_id)s order by kind
"""

_VECTOR = """
select model_version, dimensions::int as dimensions from embeddings
where content_id = %(content_id)s order by made_at desc limit 1
"""

_RECORDING = """
select media, (
  select due_at from jobs
  where subject_id = contents.id and job_type = 'transcribe_content' and state in ('pending', 'processing')
  limit 1) as next_try_at
from contents where id = %(content_id)s and media is not null
"""

_LIVE_JOBS = """
with live as (
  select distinct on (subject_id) subject_id, state, queue, due_at, state = 'pending' and due_at > now() as put_off,
    case state when 'pending' then greatest(due_at, now()) else now() end as next_at,
    deferred_since is not null as deferred, published_at is not null as published, lease_until,
    coalesce(lease_until < now(), false) as lease_expired, attempts, max_attempts, waits_for, error_message,
    state = 'pending' and published_at is null and due_at <= now() as in_turn
  from jobs
  where subject_id = any(%(subject_ids)b::uuid[]) and state in ('pending', 'processing')
    and job_type = any(%(job_types)b::text[])
  order by subject_id, state = 'processing' desc, due_at),
out as materialized (
  select queue, (
    select count(*)::int from (
      select from jobs other
      where other.queue = queues.queue and other.state = 'pending' and other.published_at is not null
      limit 10000) as message) as messages
  from (select distinct queue from live where in_turn) as queues)
select subject_id, state, queue, due_at, put_off, next_at, deferred, published, lease_until, lease_expired, attempts,
  max_attempts, waits_for, error_message, case when in_turn then coalesce(messages, 0) else 0 end as outstanding
from live left join out using (queue)
"""

_STEPS = """
select e.at, j.job_type, j.id as job_id, e.event, e.attempt, e.duration_ms, e.error_code, e.detail, e.due_at
from jobs j join job_events e on e.job_id = j.id
where j.subject_id = %(content_id)s and e.at >= %(since)s
order by e.at, e.id limit 1000
"""


def duplicates(connection: Connection, user_id: UUID, content_id: UUID) -> list[Duplicate]:
    """Return the same user's other items in the content's group of duplicates, newest first."""
    with connection.cursor(row_factory=class_row(Duplicate)) as cursor:
        return cursor.execute(_DUPLICATES, {"user_id": user_id, "content_id": content_id}).fetchall()


def derivations(connection: Connection, content_id: UUID, *, since: datetime) -> list[Derivation]:
    """Return what made the content's derived values; for who came at ``since``, nothing was made before."""
    with connection.cursor(row_factory=class_row(Derivation)) as cursor:
        return cursor.execute(_DERIVATIONS, {"content_id": content_id, "since": since}).fetchall()


def vector(connection: Connection, content_id: UUID) -> Vector | None:
    """Return the shape of the content's newest vector."""
    with connection.cursor(row_factory=class_row(Vector)) as cursor:
        return cursor.execute(_VECTOR, {"content_id": content_id}).fetchone()


def recording(connection: Connection, content_id: UUID) -> RecordingRow | None:
    """Return what is known of the content's video or audio; ``None`` when it has none."""
    with connection.cursor(row_factory=class_row(RecordingRow)) as cursor:
        return cursor.execute(_RECORDING, {"content_id": content_id}).fetchone()


def live_job(connection: Connection, content_id: UUID) -> LiveJobRow | None:
    """Return the job by which a content goes on, if there is one."""
    return live_jobs(connection, [content_id]).get(content_id)


def live_jobs(connection: Connection, content_ids: Sequence[UUID]) -> dict[UUID, LiveJobRow]:
    """Return the jobs by which contents go on, by content, where there is one."""
    return _live_jobs(connection, content_ids, [JobType.INGEST_CONTENT, JobType.ANALYZE_CONTENT])


def live_polls(connection: Connection, source_ids: Sequence[UUID]) -> dict[UUID, LiveJobRow]:
    """Return the jobs by which sources are polled next, by source, where there is one."""
    return _live_jobs(connection, source_ids, [JobType.FETCH_SOURCE])


def steps(connection: Connection, content_id: UUID, *, since: datetime) -> list[StepRow]:
    """Return the content's timeline from ``since`` on, oldest first, at most a thousand lines."""
    with connection.cursor(row_factory=class_row(StepRow)) as cursor:
        return cursor.execute(_STEPS, {"content_id": content_id, "since": since}).fetchall()


def _live_jobs(
    connection: Connection, subject_ids: Sequence[UUID], job_types: Sequence[JobType]
) -> dict[UUID, LiveJobRow]:
    values = {"subject_ids": list(subject_ids), "job_types": [job_type.value for job_type in job_types]}
    with connection.cursor(row_factory=class_row(LiveJobRow)) as cursor:
        return {row.subject_id: row for row in cursor.execute(_LIVE_JOBS, values)}
