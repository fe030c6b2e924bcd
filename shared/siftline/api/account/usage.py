"""What was spent: money and credits, by day and model."""

import re
from dataclasses import asdict
from datetime import date, timedelta
from typing import Annotated, Any

from aws_lambda_powertools.event_handler.openapi.params import Query
from pydantic import BaseModel, BeforeValidator, Field

from siftline.api.account import usage_store
from siftline.api.http.auth import CurrentCaller
from siftline.api.http.callers import Scope
from siftline.api.http.problems import Fault, faulty
from siftline.api.http.routing import Resource, route
from siftline.kit.clock import Clock
from siftline.kit.db import Database

_DAYS = 30
_DAYS_MAX = 366
_MICRO = 1_000_000

_DAY = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)


def _written(day: Any) -> Any:
    if isinstance(day, str) and not _DAY.fullmatch(day):
        raise ValueError("must be a date (RFC 3339), such as 2026-11-28")
    return day


Day = Annotated[date, BeforeValidator(_written)]
Since = Annotated[Day | None, Query(description="First day (UTC); default: 30 days before `until`")]
Until = Annotated[Day | None, Query(description="Last day (UTC); default: today")]


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


class Spent(BaseModel):
    """Money and credits spent in a period."""

    since: date
    until: date
    everybody: bool = Field(description="Whether this covers all users and the system itself, as with an `ops` token")
    usd: float = Field(description="Total cost in USD")
    credits: int = Field(description="Total credits")
    money: list[MoneySpent]
    analyses: list[CreditsSpent]


class UsageRoutes(Resource):
    """``/v1/usage``."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    @route(
        "GET /v1/usage",
        (200, Spent, "Money and credits"),
        summary="Get your usage",
        operation_id="getUsage",
        tag="me",
    )
    def show(self, caller: CurrentCaller, since: Since = None, until: Until = None) -> Spent:
        """Show what was spent for the caller; with the scope ``ops``, for everybody."""
        last = until or self._clock.now().date()
        first = since or last - timedelta(days=_DAYS)
        if not timedelta() <= last - first <= timedelta(days=_DAYS_MAX):
            detail = f"Must be before `until`, by at most {_DAYS_MAX} days."
            raise faulty([Fault(code="invalid_range", detail=detail, parameter="since")])
        everybody = Scope.OPS in caller.scopes
        whose = None if everybody else caller.user_id
        with self._database.transaction() as connection:
            money = usage_store.money(connection, first, last, whose)
            taken = usage_store.credits_taken(connection, first, last, whose)
        return Spent(
            since=first,
            until=last,
            everybody=everybody,
            usd=sum(row.micro_usd for row in money) / _MICRO,
            credits=sum(row.credits for row in taken),
            money=[_shown(row) for row in money],
            analyses=[CreditsSpent(**asdict(row)) for row in taken],
        )


def _shown(row: usage_store.MoneyRow) -> MoneySpent:
    fields = asdict(row)
    return MoneySpent(usd=fields.pop("micro_usd") / _MICRO, **fields)
