"""How often PostgreSQL had to break a deadlock, by its own count."""

import time

import psycopg

from siftline.kit.db import Connection

_WAIT_S = 30.0


def tell(connection: Connection) -> None:
    """Have this connection's figures counted at once, where the server would do so within a second."""
    connection.execute("select pg_stat_force_next_flush()")


def deadlocks(database_url: str) -> int:
    """Return how many there were: all of those who have told, or who have left the database, which is waited for.

    Who leaves has told: call it once every other connection has been closed or has told.
    """
    with psycopg.connect(database_url, autocommit=True) as connection:
        until_s = time.monotonic() + _WAIT_S
        while _leaving(connection) and time.monotonic() < until_s:
            time.sleep(0.02)
        row = connection.execute("select deadlocks from pg_stat_database where datname = current_database()").fetchone()
    assert row is not None
    return int(row[0])


def _leaving(connection: Connection) -> bool:
    """Return whether a connection does something still."""
    row = connection.execute(
        "select exists (select from pg_stat_activity where datname = current_database() and state <> 'idle'"
        " and backend_type = 'client backend' and pid <> pg_backend_pid())"
    ).fetchone()
    return row is not None and bool(row[0])
