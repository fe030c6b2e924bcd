"""Hours that pass in a moment: one time for Python's clock and for SQL's ``now()``, moved by the test.

The database finds a ``now()`` of its own before PostgreSQL's (``search_path``), so that every statement of the product
runs as it is and sees the simulated time. Only what stands in a column's default is real.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta

import psycopg
from psycopg import sql

from siftline.kit.db import Database, Pool

START = datetime(2026, 11, 27, 12, tzinfo=UTC)
_SCHEMA = """
create schema simulated;
create unlogged table simulated.clock (at timestamptz not null);
create function simulated.now() returns timestamptz language sql stable as 'select at from simulated.clock';
"""


class SimulatedTime:
    """The time of Python and of one database."""

    def __init__(self, url: str) -> None:
        self._at = START
        self._connection = psycopg.connect(url, autocommit=True, options="-c synchronous_commit=off")
        self._connection.execute(_SCHEMA)
        self._connection.execute("insert into simulated.clock values (%s)", [self._at])
        name = sql.Identifier(self._connection.info.dbname)
        self._connection.execute(
            sql.SQL("alter database {} set search_path = simulated, public, pg_catalog").format(name)
        )

    def now(self) -> datetime:
        """Return the simulated time."""
        return self._at

    def monotonic(self) -> float:
        """Return the simulated seconds since the start."""
        return (self._at - START).total_seconds()

    def sleep(self, seconds: float) -> None:
        """Let time pass."""
        self.move_to(self._at + timedelta(seconds=seconds))

    def move_to(self, at: datetime) -> None:
        """Go forward to a time; back, never."""
        if at > self._at:
            self._at = at
            self._connection.execute("update simulated.clock set at = %s", [at])

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()


@contextmanager
def simulated_time(make_database: Callable[..., str]) -> Iterator[tuple[SimulatedTime, Database]]:
    """Make a migrated database whose time stands still until it is moved."""
    url = make_database(pooled=False)
    time = SimulatedTime(url)
    database = Pool(url, size=4)
    try:
        yield time, database
    finally:
        database.close()
        time.close()
