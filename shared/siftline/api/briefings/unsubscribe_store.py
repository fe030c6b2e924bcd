"""Briefings by the token in their unsubscribe link, in PostgreSQL."""

from dataclasses import dataclass

from psycopg.rows import class_row, scalar_row

from siftline.kit.db import Connection

_FIND = "select name, stopped_code from briefings where unsubscribe_token = %(token)s"
_STOP = """
update briefings set stopped_code = coalesce(stopped_code, 'unsubscribed'), updated_at = now()
where unsubscribe_token = %(token)s returning name
"""


@dataclass(frozen=True, slots=True)
class Subscribed:
    """A briefing as its link shows it."""

    name: str
    stopped_code: str | None


def find(connection: Connection, token: str) -> Subscribed | None:
    """Return the briefing of a token."""
    with connection.cursor(row_factory=class_row(Subscribed)) as cursor:
        return cursor.execute(_FIND, {"token": token}).fetchone()


def stop(connection: Connection, token: str) -> str | None:
    """Stop the delivery of a token's briefing and return its name."""
    with connection.cursor(row_factory=scalar_row) as cursor:
        name: str | None = cursor.execute(_STOP, {"token": token}).fetchone()
    return name
