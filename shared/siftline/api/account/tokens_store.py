"""Users and their access tokens in PostgreSQL. Of a token only its SHA-256 is kept."""

from collections.abc import Sequence
from datetime import datetime
from functools import partial
from typing import Annotated
from uuid import UUID

from psycopg.rows import class_row
from pydantic import BaseModel, BeforeValidator, Field

from siftline.api.http import callers_store
from siftline.api.http.callers import Scope
from siftline.api.http.paging import Cursor, behind
from siftline.kit.db import Connection
from siftline.kit.stored import all_readable


class Token(BaseModel):
    """A token without its secret."""

    id: UUID
    name: str = Field(examples=["laptop"])
    scopes: Annotated[list[Scope], BeforeValidator(partial(all_readable, Scope))]
    created_at: datetime
    expires_at: datetime | None
    revoked_at: datetime | None


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


def add_user(connection: Connection, user_id: UUID, name: str, time_zone: str) -> bool:
    """Insert a user; false if the time zone is not known."""
    values = {"id": user_id, "name": name, "time_zone": time_zone}
    return connection.execute(_ADD_USER, values).fetchone() is not None


def add_token(
    connection: Connection,
    token_id: UUID,
    user_id: UUID,
    *,
    name: str,
    sha256: bytes,
    scopes: Sequence[str],
    expires_at: datetime | None,
    made_by: UUID | None = None,
) -> Token:
    """Insert a token."""
    values = {
        "id": token_id,
        "user_id": user_id,
        "name": name,
        "sha256": sha256,
        "scopes": list(scopes),
        "expires_at": expires_at,
        "made_by": made_by,
    }
    with connection.cursor(row_factory=class_row(Token)) as cursor:
        [row] = cursor.execute(_ADD, values).fetchall()
    return row


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
