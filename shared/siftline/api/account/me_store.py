"""The caller's own row, ledger and spending in PostgreSQL, as the API shows them."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime
from enum import StrEnum
from typing import Any
from uuid import UUID

from psycopg.rows import class_row
from pydantic import BaseModel, Field

from siftline.api.http.paging import Cursor, behind
from siftline.kit.db import Connection


@dataclass(frozen=True, slots=True)
class UserRow:
    """A user."""

    id: UUID
    name: str
    time_zone: str
    interests: str
    created_at: datetime
    credits: int | None


class Usage(BaseModel):
    """Usage in the last 30 days."""

    analyses: int = Field(description="Analyses done for you, paid or free")
    spent: int = Field(description="Credits spent on them")
    reserved: int = Field(description="Credits reserved by running analyses; returned if they fail")


class EntryKind(StrEnum):
    """Type of a ledger entry."""

    GRANT = "grant"
    ANALYSIS = "analysis"
    REPEAT = "repeat"
    REPROCESS = "reprocess"


class EntryState(StrEnum):
    """State of a ledger entry."""

    RESERVED = "reserved"
    SETTLED = "settled"
    RELEASED = "released"


class CreditEntry(BaseModel):
    """An entry in your credit ledger."""

    id: UUID
    kind: EntryKind = Field(
        description="`grant`: given by an operator; `analysis`: of a page's text; `repeat`: an analysis already paid "
        "for, free; `reprocess`: requested by you"
    )
    amount: int = Field(
        description="Change in credits; your balance is the sum without `released` entries", examples=[-1]
    )
    state: EntryState = Field(description="`reserved` while running, `released` if it failed")
    item_id: UUID | None = Field(description="Your item, while you have it")
    content_id: UUID | None
    content_version: int | None = Field(description="Version of the page's text; increases when the text changes")
    job_id: UUID | None
    created_at: datetime
    settled_at: datetime | None = Field(description="When it was settled or released")


class MoneySpent(BaseModel):
    """What one model cost on one day."""

    day: date
    kind: str = Field(description="`llm`, `embedding` or `transcription`", examples=["llm"])
    model: str = Field(description="Empty for calls made before models were recorded", examples=["gpt-4.1-mini"])
    calls: int = Field(description="Calls that cost or may have cost something")
    unsettled: int = Field(
        description="Calls among them whose answer is pending or was lost; counted at their maximum cost"
    )
    rejected: int = Field(description="Calls that were refused or not answered and cost nothing")
    tokens_in: int
    tokens_out: int
    usd: float = Field(examples=[0.0132])


class CreditsSpent(BaseModel):
    """The analyses of one day."""

    day: date
    analyses: int
    credits: int = Field(description="Credits spent, or reserved while running")


_FIND = "select id, name, time_zone, interests, created_at, credits from users where id = %(id)s"
_KNOWN_ZONE = "select exists (select from pg_timezone_names where name = %(name)s)"
_CHANGE = """
update users set name = coalesce(%(name)s, name), time_zone = coalesce(%(time_zone)s, time_zone),
  interests = coalesce(%(interests)s, interests)
where id = %(id)s
"""
_USAGE = """
select count(*) filter (where state = 'settled') as analyses,
  coalesce(-sum(amount) filter (where state = 'settled'), 0)::int8 as spent,
  coalesce(-sum(amount) filter (where state = 'reserved'), 0)::int8 as reserved
from credit_entries
where user_id = %(user_id)s and created_at > now() - interval '30 days' and kind <> 'grant'
"""
_LEDGER = """
select entries.id, entries.kind, entries.amount, entries.state, items.id as item_id, entries.content_id,
  entries.content_version, entries.job_id, entries.created_at, entries.settled_at
from credit_entries entries
left join items on items.user_id = entries.user_id and items.content_id = entries.content_id
where entries.user_id = %(user_id)s
  and (%(after_at)s::timestamptz is null or (entries.created_at, entries.id) < (%(after_at)s, %(after_id)s::uuid))
order by entries.created_at desc, entries.id desc limit %(limit)s
"""
_HAS_CREDIT = "select coalesce(credits > 0, true) from users where id = %(id)s"
_MONEY = """
select day, kind, coalesce(model, '') as model, count(*) filter (where state <> 'released') as calls,
  count(*) filter (where state = 'reserved') as unsettled, count(*) filter (where state = 'released') as rejected,
  coalesce(sum(tokens_in), 0)::int8 as tokens_in, coalesce(sum(tokens_out), 0)::int8 as tokens_out,
  (sum(micro_usd) / 1000000.0)::float8 as usd
from spendings
where day >= %(first)s and day <= %(last)s and (%(user_id)s::uuid is null or user_id = %(user_id)s)
group by day, kind, model order by day, kind, model
"""
_CREDITS = """
select (created_at at time zone 'UTC')::date as day, count(*) as analyses, coalesce(-sum(amount), 0)::int8 as credits
from credit_entries
where created_at >= %(first)s::timestamp at time zone 'UTC'
  and created_at < (%(last)s::date + 1)::timestamp at time zone 'UTC'
  and (%(user_id)s::uuid is null or user_id = %(user_id)s) and kind <> 'grant' and state <> 'released'
group by 1 order by 1
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


def usage(connection: Connection, user_id: UUID) -> Usage:
    """Return what a user had analysed in the last 30 days, and what is reserved for them now."""
    with connection.cursor(row_factory=class_row(Usage)) as cursor:
        [row] = cursor.execute(_USAGE, {"user_id": user_id}).fetchall()
    return row


def ledger(connection: Connection, user_id: UUID, after: Cursor | None, limit: int) -> list[CreditEntry]:
    """Return a user's own ledger, newest first, at most ``limit`` lines, beginning behind ``after``."""
    values = {
        "user_id": user_id,
        **behind(after),
        "limit": limit,
    }
    with connection.cursor(row_factory=class_row(CreditEntry)) as cursor:
        return cursor.execute(_LEDGER, values).fetchall()


def has_credit(connection: Connection, user_id: UUID) -> bool:
    """Say whether a user is not metered or has a credit left."""
    row = connection.execute(_HAS_CREDIT, {"id": user_id}).fetchone()
    return bool(row and row[0])


def money(connection: Connection, first: date, last: date, user_id: UUID | None) -> list[MoneySpent]:
    """Return what was spent from the first to the last day (UTC) for a user, or for all of them and nobody."""
    with connection.cursor(row_factory=class_row(MoneySpent)) as cursor:
        return cursor.execute(_MONEY, {"first": first, "last": last, "user_id": user_id}).fetchall()


def credits_taken(connection: Connection, first: date, last: date, user_id: UUID | None) -> list[CreditsSpent]:
    """Return the analyses of these days and their credits, likewise."""
    with connection.cursor(row_factory=class_row(CreditsSpent)) as cursor:
        return cursor.execute(_CREDITS, {"first": first, "last": last, "user_id": user_id}).fetchall()
