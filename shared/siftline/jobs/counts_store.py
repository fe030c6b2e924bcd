"""Counts of jobs by type and state, and their ages: what ``/v1/ops/queues`` and the alarms show."""

from dataclasses import dataclass

from psycopg.rows import class_row

from siftline.kit.db import Connection


@dataclass(frozen=True, slots=True)
class StateCount:
    """How many jobs of one type are in one state, and how old the oldest is."""

    job_type: str
    state: str
    jobs: int
    oldest_s: float
    """Seconds since the oldest of them entered the table."""


_COUNTS = """
select job_type, state, count(*)::int as jobs, extract(epoch from now() - min(created_at))::float8 as oldest_s
from jobs group by job_type, state order by job_type, state
"""


def counts(connection: Connection) -> list[StateCount]:
    """Return one row a (job type, state) that has any job."""
    with connection.cursor(row_factory=class_row(StateCount)) as cursor:
        return cursor.execute(_COUNTS).fetchall()
