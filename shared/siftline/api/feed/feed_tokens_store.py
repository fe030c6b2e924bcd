"""Feed tokens in PostgreSQL, of which only the SHA-256 is kept, and since when a feed holds what it holds."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from uuid import UUID

from psycopg.rows import class_row, scalar_row
from pydantic import BaseModel, Field

from siftline.api.account.tokens_store import Parent
from siftline.api.http import callers_store
from siftline.api.http.paging import Cursor, behind
from siftline.kit.db import Connection


class FeedKind(StrEnum):
    """Which feed a token opens."""

    FEED = "feed"
    EDITIONS = "editions"


class FeedToken(BaseModel):
    """A feed token without its secret."""

    id: UUID
    name: str = Field(examples=["reader on the phone"])
    kind: FeedKind | None = Field(description="Which feed it opens; null for both")
    created_at: datetime
    expires_at: datetime | None = Field(description="Expiry of the token that created it; null: never")
    revoked_at: datetime | None


@dataclass(frozen=True, slots=True)
class FeedHolder:
    """Whose feed a token opens, and what that held when it was read last."""

    token_id: UUID
    user_id: UUID
    digest: bytes | None
    changed_at: datetime | None


@dataclass(frozen=True, slots=True)
class EditionRow:
    """An edition as an entry."""

    id: UUID
    name: str
    period: str
    asked: bool
    due_at: datetime
    time_zone: str
    stories: int
    made_at: datetime
    read_token: str
    html: str
    lead_titles: list[str]


_ADD = """
insert into feed_tokens (id, user_id, name, kind, token_sha256, expires_at, made_by)
values (%(id)s, %(user_id)s, %(name)s, %(kind)s, %(sha256)b, %(expires_at)s, %(made_by)s)
returning id, name, kind, created_at, expires_at, revoked_at
"""
_LIVE = "revoked_at is null and (expires_at is null or expires_at > now())"
_COUNT = f"select count(*) from feed_tokens where user_id = %(user_id)s and {_LIVE}"  # noqa: S608  -- constants of ours
_LIST = """
select id, name, kind, created_at, expires_at, revoked_at from feed_tokens
where user_id = %(user_id)s
  and (%(after_at)s::timestamptz is null or (created_at, id) < (%(after_at)s, %(after_id)s::uuid))
order by created_at desc, id desc limit %(limit)s
"""
_REVOKE = """
update feed_tokens set revoked_at = coalesce(revoked_at, now()) where id = %(id)s and user_id = %(user_id)s
returning id
"""
_FIND = """
select t.id as token_id, t.user_id, s.digest, s.changed_at
from feed_tokens t left join feed_states s on s.token_id = t.id and s.kind = %(state)s
where t.token_sha256 = %(sha256)b and t.revoked_at is null and (t.expires_at is null or t.expires_at > now())
  and (t.kind is null or t.kind = %(kind)s)
"""
# HTTP's dates have whole seconds: two changes never share one. Who reads twice at once is told the same.
_NOTE = """
insert into feed_states (token_id, kind, digest, changed_at)
select id, %(state)s, %(digest)b, date_trunc('second', now()) from feed_tokens
where id = %(token_id)s and revoked_at is null for key share
on conflict (token_id, kind) do update set digest = excluded.digest, changed_at = case
  when feed_states.digest = excluded.digest then feed_states.changed_at
  else greatest(excluded.changed_at, feed_states.changed_at + interval '1 second') end
returning changed_at
"""
_EDITIONS = """
select id, coalesce(document -> 'briefing' ->> 'name',
    (select briefings.name from briefings where briefings.id = editions.briefing_id)) as name,
  period_key as period, asked, due_at,
  coalesce(document ->> 'time_zone', 'UTC') as time_zone, stories, made_at, read_token, html,
  array(select title #>> '{}'
    from jsonb_path_query(document, '$.stories[*].title ? (@.type() == "string")') as title limit 3) as lead_titles
from editions where user_id = %(user_id)s order by made_at desc, id desc limit %(limit)s
"""


def add(
    connection: Connection, token_id: UUID, user_id: UUID, parent: Parent, *, name: str, kind: str | None, sha256: bytes
) -> FeedToken:
    """Insert a token that ends with ``parent``."""
    values = {"id": token_id, "user_id": user_id, "name": name, "kind": kind, "sha256": sha256}
    values |= {"expires_at": parent.expires_at, "made_by": parent.id}
    with connection.cursor(row_factory=class_row(FeedToken)) as cursor:
        [row] = cursor.execute(_ADD, values).fetchall()
    return row


def count_live(connection: Connection, user_id: UUID) -> int:
    """Return how many live tokens a user has; until the transaction ends nobody makes them another."""
    callers_store.hold(connection, user_id, "feed_tokens")
    [(count,)] = connection.execute(_COUNT, {"user_id": user_id}).fetchall()
    return int(count)


def list_tokens(connection: Connection, user_id: UUID, after: Cursor | None, limit: int) -> list[FeedToken]:
    """Return a user's feed tokens, newest first, at most ``limit``, beginning behind ``after``."""
    with connection.cursor(row_factory=class_row(FeedToken)) as cursor:
        return cursor.execute(_LIST, {"user_id": user_id, "limit": limit, **behind(after)}).fetchall()


def revoke(connection: Connection, user_id: UUID, token_id: UUID) -> bool:
    """End a token's life, once; says whether this user has such a token."""
    return connection.execute(_REVOKE, {"id": token_id, "user_id": user_id}).fetchone() is not None


def find(connection: Connection, sha256: bytes, kind: str, state: str) -> FeedHolder | None:
    """Return the holder of a live token that opens a feed of this kind; ``state`` names what of it is read."""
    with connection.cursor(row_factory=class_row(FeedHolder)) as cursor:
        return cursor.execute(_FIND, {"sha256": sha256, "kind": kind, "state": state}).fetchone()


def note(connection: Connection, token_id: UUID, state: str, digest: bytes) -> datetime | None:
    """Note what a feed holds now and return since when; ``None`` where the token was revoked meanwhile."""
    with connection.cursor(row_factory=scalar_row) as cursor:
        changed_at: datetime | None = cursor.execute(
            _NOTE, {"token_id": token_id, "state": state, "digest": digest}
        ).fetchone()
    return changed_at


def editions(connection: Connection, user_id: UUID, limit: int) -> Sequence[EditionRow]:
    """Return the user's newest editions."""
    with connection.cursor(row_factory=class_row(EditionRow)) as cursor:
        return cursor.execute(_EDITIONS, {"user_id": user_id, "limit": limit}).fetchall()
