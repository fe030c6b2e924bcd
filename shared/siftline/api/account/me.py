"""The caller: name, time zone, interests, credits, and what was spent."""

import re
from dataclasses import asdict
from datetime import date, datetime, timedelta
from typing import Annotated, Any, Literal
from uuid import UUID

from aws_lambda_powertools.event_handler import Response
from aws_lambda_powertools.event_handler.openapi.params import Query
from psycopg.errors import UniqueViolation
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from siftline.api.account import me_store
from siftline.api.account.me_store import CreditEntry, CreditsSpent, MoneySpent, Usage
from siftline.api.http.auth import CurrentCaller, lacking, unauthorized
from siftline.api.http.callers import Caller, Scope
from siftline.api.http.paging import DEFAULT_LIMIT, Cursor, Limit, Next, decode, page
from siftline.api.http.problems import Fault, conflict, faulty
from siftline.api.http.routing import BODY_PROBLEMS, answer, route
from siftline.api.http.shapes import Asked, Changes, ListPage, Name
from siftline.api.items.scores import ask_for_scores
from siftline.api.parts import Routes
from siftline.jobs import deletions
from siftline.kit.db import Connection

_DAYS = 30
_DAYS_MAX = 366
_DAY = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)


def _written(day: Any) -> Any:
    if isinstance(day, str) and not _DAY.fullmatch(day):
        raise ValueError("Must be a date (RFC 3339), such as 2026-11-28")
    return day


Day = Annotated[date, BeforeValidator(_written)]
Since = Annotated[Day | None, Query(description="First day (UTC); default: 30 days before `until`")]
Until = Annotated[Day | None, Query(description="Last day (UTC); default: today")]


class Me(BaseModel):
    """Your account."""

    id: UUID
    name: str = Field(examples=["Ada"])
    time_zone: str = Field(description="IANA name", examples=["Europe/Berlin"])
    interests: str = Field(description="Your interests in your own words", examples=["solar energy, chess"])
    credits: int | None = Field(description="Remaining analyses; null: unmetered", examples=[42])
    usage: Usage
    scopes: list[Scope] = Field(description="Scopes of the token in use")
    created_at: datetime


class CreditEntries(ListPage):
    """A page of the ledger."""

    items: list[CreditEntry]


class ChangeMe(Changes):
    """Changes; fields left out stay as they are."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"time_zone": "Europe/Berlin"}]})

    name: Name = Field(default="", validate_default=False, examples=["Ada"])
    time_zone: str = Field(default="", max_length=64, description="IANA name", examples=["Europe/Berlin"])
    interests: str = Field(
        default="",
        max_length=10_000,
        description="In any language, separated by commas or newlines; your items are rescored",
        examples=["solar energy, chess"],
    )


class DeleteMe(Asked):
    """Confirmation that you want to delete your account."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"name": "Ada"}]})

    name: Name = Field(description="Your name exactly as returned by `GET /v1/me`", examples=["Ada"])


class Deleting(BaseModel):
    """An account that is being deleted."""

    status: Literal["DELETING"] = Field(
        default="DELETING", description="Your tokens are deleted; your data follows within minutes"
    )


class Spent(BaseModel):
    """Money and credits spent in a period."""

    since: date
    until: date
    everybody: bool = Field(description="Whether this covers all users and the system itself, as with an `ops` token")
    usd: float = Field(description="Total cost in USD")
    credits: int = Field(description="Total credits")
    money: list[MoneySpent]
    analyses: list[CreditsSpent]


class MeRoutes(Routes):
    """``/v1/me``."""

    tag = "me"

    @route("GET /v1/me", (200, Me, "Your account"), operation_id="getMe")
    def show(self, caller: CurrentCaller) -> Me:
        """Get your account."""
        with self._database.transaction() as connection:
            return self._view(connection, caller)

    @route(
        "PATCH /v1/me",
        (200, Me, "Your updated account"),
        operation_id="updateMe",
        problems=(*BODY_PROBLEMS, 409),
    )
    def change(self, body: ChangeMe, caller: CurrentCaller) -> Me:
        """Update your account."""
        changes = body.model_dump(include=body.model_fields_set)
        with self._database.transaction() as connection:
            if "time_zone" in changes and not me_store.is_time_zone(connection, changes["time_zone"]):
                detail = "Unknown time zone; use an IANA name such as Europe/Berlin or UTC"
                raise faulty([Fault(code="unknown_time_zone", detail=detail, pointer="#/time_zone")])
            try:
                me_store.change_user(connection, caller.user_id, changes)
            except UniqueViolation as error:
                raise conflict("name_taken", "This name is taken. Choose another.") from error
            shown = self._view(connection, caller)
            job_ids = ask_for_scores(connection, self._outbox, caller.user_id) if "interests" in changes else []
        self._outbox.publish(job_ids)
        return shown

    @route(
        "DELETE /v1/me",
        (202, Deleting, "Your account is being deleted"),
        operation_id="deleteMe",
        problems=BODY_PROBLEMS,
    )
    def delete(self, body: DeleteMe, caller: CurrentCaller) -> Response[Deleting]:
        """Delete your account and everything only you have.

        They say their name to show that they mean it, by a token that may read and write.
        """
        if Scope.READ not in caller.scopes:
            raise lacking(Scope.READ)
        with self._database.transaction() as connection:
            if body.name != self._view(connection, caller).name:
                detail = "Must be your name exactly as returned by GET /v1/me"
                raise faulty([Fault(code="name_differs", detail=detail, pointer="#/name")])
            deletions.begin(connection, caller.user_id)
        return answer(202, Deleting())

    @route("GET /v1/me/credits", (200, CreditEntries, "A page of the ledger"), operation_id="listCredits")
    def ledger(
        self,
        caller: CurrentCaller,
        limit: Limit = DEFAULT_LIMIT,
        next: Next = None,  # noqa: A002  # the parameter's name in the API
    ) -> CreditEntries:
        """List your credit ledger."""
        with self._database.transaction() as connection:
            rows = me_store.ledger(connection, caller.user_id, decode(next), limit + 1)
        shown, following = page(rows, limit, lambda row: Cursor(row.created_at, row.id).encode())
        return CreditEntries(items=shown, next=following)

    @staticmethod
    def _view(connection: Connection, caller: Caller) -> Me:
        row = me_store.find_user(connection, caller.user_id)
        if row is None:  # deleted while the authorizer's answer is still kept
            raise unauthorized()
        usage = me_store.usage(connection, caller.user_id)
        return Me(**asdict(row), usage=usage, scopes=sorted(caller.scopes))


class UsageRoutes(Routes):
    """``/v1/usage``."""

    tag = "me"

    @route("GET /v1/usage", (200, Spent, "Money and credits"), operation_id="getUsage")
    def show(self, caller: CurrentCaller, since: Since = None, until: Until = None) -> Spent:
        """Get your usage.

        With the scope ``ops`` it is that of everybody.
        """
        last = until or self._parts.clock.now().date()
        first = since or last - timedelta(days=_DAYS)
        if not timedelta() <= last - first <= timedelta(days=_DAYS_MAX):
            detail = f"Must be before `until`, by at most {_DAYS_MAX} days."
            raise faulty([Fault(code="invalid_range", detail=detail, parameter="since")])
        everybody = Scope.OPS in caller.scopes
        whose = None if everybody else caller.user_id
        with self._database.transaction() as connection:
            money = me_store.money(connection, first, last, whose)
            taken = me_store.credits_taken(connection, first, last, whose)
        return Spent(
            since=first,
            until=last,
            everybody=everybody,
            usd=round(sum(row.usd for row in money), 6),
            credits=sum(row.credits for row in taken),
            money=money,
            analyses=taken,
        )
