"""Which token made which, in PostgreSQL: what a token makes begins within its life and ends with it."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from psycopg.rows import class_row, scalar_row

from siftline.kit.db import Connection


@dataclass(frozen=True, slots=True)
class Parent:
    """A live token that makes another one."""

    id: UUID
    expires_at: datetime | None
    scopes: list[str]


# Held until the end: whoever revokes it waits, and then finds what it made.
_HOLD = """
select id, expires_at, scopes from access_tokens
where id = %(id)s and user_id = %(user_id)s and revoked_at is null and (expires_at is null or expires_at > now())
for share
"""
_REVOKE = """
update access_tokens set revoked_at = coalesce(revoked_at, now()) where id = %(id)s and user_id = %(user_id)s
returning id
"""
_REVOKE_MADE = """
with made as (select id from access_tokens where made_by = any(%(ids)b::uuid[]) order by id for update)
update access_tokens set revoked_at = coalesce(revoked_at, now()) from made where access_tokens.id = made.id
returning access_tokens.id
"""
_REVOKE_FEEDS = """
with made as (select id from feed_tokens where made_by = any(%(ids)b::uuid[]) order by id for update)
update feed_tokens set revoked_at = coalesce(revoked_at, now()) from made where feed_tokens.id = made.id
"""


def hold_parent(connection: Connection, user_id: UUID, token_id: UUID) -> Parent | None:
    """Return the user's token, held until the transaction ends; ``None`` if it is revoked or past its time."""
    with connection.cursor(row_factory=class_row(Parent)) as cursor:
        return cursor.execute(_HOLD, {"id": token_id, "user_id": user_id}).fetchone()


def revoke_line(connection: Connection, user_id: UUID, token_id: UUID) -> bool:
    """End the life of a token and of all that it made, and so on; says whether this user has such a token.

    A generation at a time, each in a statement of its own: it sees what was made until the one before was held.
    """
    ended: list[UUID] = []
    with connection.cursor(row_factory=scalar_row) as cursor:
        generation: Sequence[UUID] = cursor.execute(_REVOKE, {"id": token_id, "user_id": user_id}).fetchall()
        while generation:
            ended += generation
            generation = cursor.execute(_REVOKE_MADE, {"ids": list(generation)}).fetchall()
    connection.execute(_REVOKE_FEEDS, {"ids": ended})
    return bool(ended)
