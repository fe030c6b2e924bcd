"""Users and their access tokens in PostgreSQL. Of a token only its SHA-256 is kept.

What a token makes begins within its life and ends with it."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Annotated
from uuid import UUID

from psycopg.errors import UniqueViolation
from psycopg.rows import class_row, scalar_row
from pydantic import BaseModel, BeforeValidator, Field

from siftline.api.http import callers_store
from siftline.api.http.callers import Scope, new_token, token_sha256
from siftline.api.http.paging import Cursor, behind
from siftline.kit.db import Connection
from siftline.kit.errors import PermanentError
from siftline.kit.ids import new_id
from siftline.kit.stored import all_readable


class Token(BaseModel):
    """A token without its secret."""

    id: UUID
    name: str = Field(examples=["laptop"])
    scopes: Annotated[list[Scope], BeforeValidator(partial(all_readable, Scope))]
    created_at: datetime
    expires_at: datetime | None
    revoked_at: datetime | None


@dataclass(frozen=True, slots=True)
class Parent:
    """A live token that makes another one."""

    id: UUID
    expires_at: datetime | None
    scopes: list[str]


_ADD_USER = """
insert into users (id, name, time_zone)
select %(id)s, %(name)s, name from pg_timezone_names where name = %(time_zone)s
returning id
"""

_ADD = """
insert into access_tokens (id, user_id, name, token_sha256, scopes, expires_at, made_by)
values (%(id)s, %(user_id)s, %(name)s, %(sha256)b, %(scopes)s, %(expires_at)s, %(made_by)s)
returning id, name, scopes, created_at, expires_at, revoked_at
"""

_LIST = """
select id, name, scopes, created_at, expires_at, revoked_at from access_tokens
where user_id = %(user_id)s
  and (%(after_at)s::timestamptz is null or (created_at, id) < (%(after_at)s, %(after_id)s::uuid))
order by created_at desc, id desc limit %(limit)s
"""

_REVOKE_ALL = """
with live as (select id from access_tokens where user_id = %(user_id)s and revoked_at is null order by id for update)
update access_tokens set revoked_at = now() from live where access_tokens.id = live.id
"""
_REVOKE_ALL_FEEDS = """
with live as (select id from feed_tokens where user_id = %(user_id)s and revoked_at is null order by id for update)
update feed_tokens set revoked_at = now() from live where feed_tokens.id = live.id
"""
_COUNT_LIVE = """
select count(*) from access_tokens
where user_id = %(user_id)s and revoked_at is null and (expires_at is null or expires_at > now())
"""
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


class UnknownTimeZoneError(PermanentError):
    """The name is not one of the IANA time zone database."""

    code = "unknown_time_zone"


class NameTakenError(PermanentError):
    """Somebody else has this name; capital letters make no other of it."""

    code = "name_taken"


def add_user(connection: Connection, name: str, time_zone: str) -> UUID:
    """Make a user and return their id. Raises ``NameTakenError`` and ``UnknownTimeZoneError``."""
    user_id = new_id()
    try:
        added = connection.execute(_ADD_USER, {"id": user_id, "name": name, "time_zone": time_zone}).fetchone()
    except UniqueViolation as error:
        raise NameTakenError(f"The user {name} already exists.") from error
    if added is None:
        raise UnknownTimeZoneError("Unknown time zone; use an IANA name such as Europe/Berlin or UTC.")
    return user_id


def add_token(
    connection: Connection,
    user_id: UUID,
    name: str,
    scopes: Iterable[Scope],
    expires_at: datetime | None = None,
    *,
    made_by: UUID | None = None,
) -> tuple[str, Token]:
    """Make a token for a user and return its secret, which cannot be had again, with its row.

    ``made_by`` is the token that makes it, if one does.
    """
    token = new_token()
    values = {
        "id": new_id(),
        "user_id": user_id,
        "name": name,
        "sha256": token_sha256(token),
        "scopes": sorted({scope.value for scope in scopes}),
        "expires_at": expires_at,
        "made_by": made_by,
    }
    with connection.cursor(row_factory=class_row(Token)) as cursor:
        [row] = cursor.execute(_ADD, values).fetchall()
    return token, row


def list_tokens(connection: Connection, user_id: UUID, after: Cursor | None, limit: int) -> list[Token]:
    """Return a user's tokens, newest first, at most ``limit``, beginning behind ``after``."""
    values = {
        "user_id": user_id,
        **behind(after),
        "limit": limit,
    }
    with connection.cursor(row_factory=class_row(Token)) as cursor:
        return cursor.execute(_LIST, values).fetchall()


def revoke_all(connection: Connection, user_id: UUID) -> int:
    """Revoke all of a user's tokens, feed tokens among them; returns how many."""
    values = {"user_id": user_id}
    return sum(connection.execute(sql, values).rowcount for sql in (_REVOKE_ALL, _REVOKE_ALL_FEEDS))


def count_live(connection: Connection, user_id: UUID) -> int:
    """Return how many live tokens a user has; until the transaction ends nobody makes them another."""
    callers_store.hold(connection, user_id, "tokens")
    [(count,)] = connection.execute(_COUNT_LIVE, {"user_id": user_id}).fetchall()
    return int(count)


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
