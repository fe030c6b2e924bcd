"""What was spent, by day: money by model, and credits."""

from dataclasses import dataclass
from datetime import date
from uuid import UUID

from psycopg.rows import class_row

from siftline.kit.db import Connection

_MONEY = """
select day, kind, coalesce(model, '') as model, count(*) filter (where state <> 'released') as calls,
  count(*) filter (where state = 'reserved') as unsettled, count(*) filter (where state = 'released') as rejected,
  coalesce(sum(tokens_in), 0)::int8 as tokens_in, coalesce(sum(tokens_out), 0)::int8 as tokens_out,
  sum(micro_usd)::int8 as micro_usd
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


@dataclass(frozen=True, slots=True)
class MoneyRow:
    """What one model cost on a day, for one kind of work."""

    day: date
    kind: str
    model: str
    calls: int
    unsettled: int
    rejected: int
    tokens_in: int
    tokens_out: int
    micro_usd: int


@dataclass(frozen=True, slots=True)
class CreditsRow:
    """The analyses of a day, and the credits they took or hold."""

    day: date
    analyses: int
    credits: int


def money(connection: Connection, first: date, last: date, user_id: UUID | None) -> list[MoneyRow]:
    """Return what was spent from the first to the last day (UTC) for a user, or for all of them and nobody."""
    with connection.cursor(row_factory=class_row(MoneyRow)) as cursor:
        return cursor.execute(_MONEY, {"first": first, "last": last, "user_id": user_id}).fetchall()


def credits_taken(connection: Connection, first: date, last: date, user_id: UUID | None) -> list[CreditsRow]:
    """Return the analyses of these days and their credits, likewise."""
    with connection.cursor(row_factory=class_row(CreditsRow)) as cursor:
        return cursor.execute(_CREDITS, {"first": first, "last": last, "user_id": user_id}).fetchall()
