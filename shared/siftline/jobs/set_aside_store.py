"""Rows that a job could not use, in PostgreSQL."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from psycopg.rows import class_row

from siftline.kit.db import Connection


@dataclass(frozen=True, slots=True)
class SetAside:
    """A row that could not be used. ``mark``: what it was like; the same row is known by it to be as bad as before."""

    row_id: UUID
    kind: str
    code: str
    detail: str
    mark: str = ""


@dataclass(frozen=True, slots=True)
class Listed:
    """A row as it is listed."""

    job_type: str
    row_id: UUID
    kind: str
    reason_code: str
    detail: str
    times: int
    first_at: datetime
    last_at: datetime


@dataclass(frozen=True, slots=True)
class Count:
    """How many rows a job type has set aside for a reason."""

    job_type: str
    kind: str
    reason_code: str
    rows: int


_NOTE = """
insert into set_aside as known (job_type, row_id, kind, reason_code, detail, mark)
select %(job_type)s, new.row_id, new.kind, new.code, new.detail, new.mark
from unnest(%(ids)b::uuid[], %(kinds)b::text[], %(codes)b::text[], %(details)b::text[], %(marks)b::text[])
  as new (row_id, kind, code, detail, mark)
order by new.row_id
on conflict (job_type, row_id) do update set kind = excluded.kind, reason_code = excluded.reason_code,
  detail = excluded.detail, mark = excluded.mark, times = known.times + 1, last_at = now()
"""
_FORGET = """
delete from set_aside where (job_type, row_id) in (
  select job_type, row_id from set_aside where job_type = %(job_type)s and row_id = any(%(ids)b::uuid[])
  order by row_id for update)
"""
_COUNTS = """
select job_type, kind, reason_code, count(*)::int as rows from set_aside
group by job_type, kind, reason_code order by rows desc, job_type, kind, reason_code
"""
_NEWEST = """
select job_type, row_id, kind, reason_code, detail, times, first_at, last_at from set_aside
order by last_at desc, job_type, row_id limit %(limit)s
"""
# What is in use meanwhile, or is no more, is not told of again.
_CLEAN_UP = """
delete from set_aside where (job_type, row_id) in (
  select job_type, row_id from set_aside where last_at < now() - %(age)s
  order by last_at, job_type, row_id limit %(limit)s for update skip locked)
"""


def note(connection: Connection, job_type: str, rows: Sequence[SetAside]) -> None:
    """Write rows that a job of this type could not use."""
    if not rows:
        return
    once = {row.row_id: row for row in rows}
    connection.execute(
        _NOTE,
        {
            "job_type": job_type,
            "ids": list(once),
            "kinds": [row.kind for row in once.values()],
            "codes": [row.code for row in once.values()],
            "details": [row.detail for row in once.values()],
            "marks": [row.mark for row in once.values()],
        },
    )


def forget(connection: Connection, job_type: str, ids: Collection[UUID]) -> None:
    """Forget rows that a job of this type could use after all."""
    if ids:
        connection.execute(_FORGET, {"job_type": job_type, "ids": list(ids)})


def counts(connection: Connection) -> list[Count]:
    """Return how many rows are set aside, by job type and reason, the most first."""
    with connection.cursor(row_factory=class_row(Count)) as cursor:
        return cursor.execute(_COUNTS).fetchall()


def newest(connection: Connection, *, limit: int) -> list[Listed]:
    """Return the rows that were set aside last."""
    with connection.cursor(row_factory=class_row(Listed)) as cursor:
        return cursor.execute(_NEWEST, {"limit": limit}).fetchall()


def clean_up(connection: Connection, *, age_s: float, limit: int) -> int:
    """Forget rows that no job met for so long; one that is met again is listed again. Returns how many."""
    return connection.execute(_CLEAN_UP, {"age": timedelta(seconds=age_s), "limit": limit}).rowcount
