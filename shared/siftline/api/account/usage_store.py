"""What was spent, by day: money by model, and credits, in PostgreSQL and as the API shows it."""

from datetime import date
from uuid import UUID

from psycopg.rows import class_row
from pydantic import BaseModel, Field

from siftline.kit.db import Connection

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


def money(connection: Connection, first: date, last: date, user_id: UUID | None) -> list[MoneySpent]:
    """Return what was spent from the first to the last day (UTC) for a user, or for all of them and nobody."""
    with connection.cursor(row_factory=class_row(MoneySpent)) as cursor:
        return cursor.execute(_MONEY, {"first": first, "last": last, "user_id": user_id}).fetchall()


def credits_taken(connection: Connection, first: date, last: date, user_id: UUID | None) -> list[CreditsSpent]:
    """Return the analyses of these days and their credits, likewise."""
    with connection.cursor(row_factory=class_row(CreditsSpent)) as cursor:
        return cursor.execute(_CREDITS, {"first": first, "last": last, "user_id": user_id}).fetchall()
