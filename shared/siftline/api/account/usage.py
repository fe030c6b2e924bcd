"""What was spent: money and credits, by day and model."""

import re
from datetime import date, timedelta
from typing import Annotated, Any

from aws_lambda_powertools.event_handler.openapi.params import Query
from pydantic import BaseModel, BeforeValidator, Field

from siftline.api.account import usage_store
from siftline.api.account.usage_store import CreditsSpent, MoneySpent
from siftline.api.http.auth import CurrentCaller
from siftline.api.http.callers import Scope
from siftline.api.http.problems import Fault, faulty
from siftline.api.http.routing import Resource, route
from siftline.kit.clock import Clock
from siftline.kit.db import Database

_DAYS = 30
_DAYS_MAX = 366
_DAY = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)


def _written(day: Any) -> Any:
    if isinstance(day, str) and not _DAY.fullmatch(day):
        raise ValueError("must be a date (RFC 3339), such as 2026-11-28")
    return day


Day = Annotated[date, BeforeValidator(_written)]
Since = Annotated[Day | None, Query(description="First day (UTC); default: 30 days before `until`")]
Until = Annotated[Day | None, Query(description="Last day (UTC); default: today")]


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
            usd=round(sum(row.usd for row in money), 6),
            credits=sum(row.credits for row in taken),
            money=money,
            analyses=taken,
        )
