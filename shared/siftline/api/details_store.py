"""What is known of a content besides its own row: duplicates, what made its values, its jobs' walk."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from psycopg.rows import class_row

from siftline.kit.db import Connection


@dataclass(frozen=True, slots=True)
class DuplicateRow:
    """Another item of the same user's in the same group of duplicates."""

    id: UUID
    url: str
    title: str | None


@dataclass(frozen=True, slots=True)
class DerivationRow:
    """What made a derived value."""

    kind: str
    model_id: str
    model_version: str
    made_at: datetime


@dataclass(frozen=True, slots=True)
class VectorRow:
    """A vector's shape."""

    model_version: str
    dimensions: int


@dataclass(frozen=True, slots=True)
class WaitingRow:
    """A live job that is not due yet."""

    until: datetime
    reason: str | None


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


_DUPLICATES = """
select i.id, c.url, c.title
from contents mine
join contents c on coalesce(c.duplicate_of, c.id) = coalesce(mine.duplicate_of, mine.id) and c.id <> mine.id
join items i on i.content_id = c.id and i.user_id = %(user_id)s
where mine.id = %(content_id)s
order by c.sort_at desc, i.id limit 50
"""

_DERIVATIONS = """
select kind, model_id, model_version, made_at from derivations where content_id = %(content_id)s order by kind
"""

_VECTOR = """
select model_version, dimensions::int as dimensions from embeddings
where content_id = %(content_id)s order by made_at desc limit 1
"""

_WAITING = """
select due_at as until, coalesce(error_message, waits_for) as reason
from jobs where subject_id = %(content_id)s and state = 'pending' and due_at > now()
order by due_at limit 1
"""

_STEPS = """
select e.at, j.job_type, j.id as job_id, e.event, e.attempt, e.duration_ms, e.error_code, e.detail, e.due_at
from jobs j join job_events e on e.job_id = j.id
where j.subject_id = %(content_id)s
order by e.at, e.id limit 1000
"""


def duplicates(connection: Connection, user_id: UUID, content_id: UUID) -> list[DuplicateRow]:
    """Return the same user's other items in the content's group of duplicates, newest first."""
    with connection.cursor(row_factory=class_row(DuplicateRow)) as cursor:
        return cursor.execute(_DUPLICATES, {"user_id": user_id, "content_id": content_id}).fetchall()


def derivations(connection: Connection, content_id: UUID) -> list[DerivationRow]:
    """Return what made the content's derived values."""
    with connection.cursor(row_factory=class_row(DerivationRow)) as cursor:
        return cursor.execute(_DERIVATIONS, {"content_id": content_id}).fetchall()


def vector(connection: Connection, content_id: UUID) -> VectorRow | None:
    """Return the shape of the content's newest vector."""
    with connection.cursor(row_factory=class_row(VectorRow)) as cursor:
        return cursor.execute(_VECTOR, {"content_id": content_id}).fetchone()


def waiting(connection: Connection, content_id: UUID) -> WaitingRow | None:
    """Return when the content's work goes on, if it waits for a later time."""
    with connection.cursor(row_factory=class_row(WaitingRow)) as cursor:
        return cursor.execute(_WAITING, {"content_id": content_id}).fetchone()


def steps(connection: Connection, content_id: UUID) -> list[StepRow]:
    """Return the content's timeline, oldest first, at most a thousand lines."""
    with connection.cursor(row_factory=class_row(StepRow)) as cursor:
        return cursor.execute(_STEPS, {"content_id": content_id}).fetchall()
