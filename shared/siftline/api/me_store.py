"""The caller's own row in PostgreSQL."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from psycopg.rows import class_row

from siftline.kit.db import Connection


@dataclass(frozen=True, slots=True)
class UserRow:
    """A user."""

    id: UUID
    name: str
    time_zone: str
    interests: str
    created_at: datetime


_FIND = "select id, name, time_zone, interests, created_at from users where id = %(id)s"
_KNOWN_ZONE = "select exists (select from pg_timezone_names where name = %(name)s)"
_CHANGE = """
update users set name = coalesce(%(name)s, name), time_zone = coalesce(%(time_zone)s, time_zone),
  interests = coalesce(%(interests)s, interests)
where id = %(id)s
"""


def find_user(connection: Connection, user_id: UUID) -> UserRow | None:
    """Return a user."""
    with connection.cursor(row_factory=class_row(UserRow)) as cursor:
        return cursor.execute(_FIND, {"id": user_id}).fetchone()


def is_time_zone(connection: Connection, name: str) -> bool:
    """Say whether PostgreSQL's copy of the IANA database knows this zone by exactly this name."""
    row = connection.execute(_KNOWN_ZONE, {"name": name}).fetchone()
    return bool(row and row[0])


def change_user(connection: Connection, user_id: UUID, changes: Mapping[str, Any]) -> None:
    """Change those of name, time zone and interests that are given."""
    fields = ("name", "time_zone", "interests")
    connection.execute(_CHANGE, {"id": user_id} | {name: changes.get(name) for name in fields})
