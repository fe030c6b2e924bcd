"""The caller: time zone, interests and credits."""

from datetime import datetime
from typing import Literal
from uuid import UUID

from aws_lambda_powertools.event_handler import Response
from psycopg.errors import UniqueViolation
from pydantic import BaseModel, ConfigDict, Field

from siftline.api.account import me_store
from siftline.api.account.me_store import CreditEntry, Usage
from siftline.api.http.auth import CurrentCaller, lacking, unauthorized
from siftline.api.http.callers import Caller, Scope
from siftline.api.http.paging import DEFAULT_LIMIT, Cursor, Limit, Next, decode, page
from siftline.api.http.problems import Fault, conflict, faulty
from siftline.api.http.routing import BODY_PROBLEMS, Resource, answer, route
from siftline.api.http.shapes import Asked, Changes, Name, Page
from siftline.api.items.scores import Scores
from siftline.jobs import deletions
from siftline.kit.db import Connection, Database


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


class CreditEntries(Page):
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


class MeRoutes(Resource):
    """``/v1/me``."""

    def __init__(self, database: Database, scores: Scores) -> None:
        self._database = database
        self._scores = scores

    @route(
        "GET /v1/me",
        (200, Me, "Your account"),
        summary="Get your account",
        operation_id="getMe",
        tag="me",
    )
    def show(self, caller: CurrentCaller) -> Me:
        """Show the caller."""
        with self._database.transaction() as connection:
            return self._view(connection, caller)

    @route(
        "PATCH /v1/me",
        (200, Me, "Your updated account"),
        summary="Update your account",
        operation_id="updateMe",
        tag="me",
        problems=(*BODY_PROBLEMS, 409),
    )
    def change(self, body: ChangeMe, caller: CurrentCaller) -> Me:
        """Change the caller."""
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
            scoring = self._scores.ask(connection, caller.user_id) if "interests" in changes else []
        self._scores.hand_out(scoring)
        return shown

    @route(
        "DELETE /v1/me",
        (202, Deleting, "Your account is being deleted"),
        summary="Delete your account and everything only you have",
        operation_id="deleteMe",
        tag="me",
        problems=BODY_PROBLEMS,
    )
    def delete(self, body: DeleteMe, caller: CurrentCaller) -> Response[Deleting]:
        """Delete the caller, who says their name to show that they mean it, by a token that may read and write."""
        if Scope.READ not in caller.scopes:
            raise lacking(Scope.READ)
        with self._database.transaction() as connection:
            if body.name != self._view(connection, caller).name:
                detail = "Must be your name exactly as returned by GET /v1/me"
                raise faulty([Fault(code="name_differs", detail=detail, pointer="#/name")])
            deletions.begin(connection, caller.user_id)
        return answer(202, Deleting())

    @route(
        "GET /v1/me/credits",
        (200, CreditEntries, "A page of the ledger"),
        summary="List your credit ledger",
        operation_id="listCredits",
        tag="me",
    )
    def ledger(
        self,
        caller: CurrentCaller,
        limit: Limit = DEFAULT_LIMIT,
        next: Next = None,  # noqa: A002  # the parameter's name in the API
    ) -> CreditEntries:
        """List the caller's own ledger."""
        with self._database.transaction() as connection:
            rows = me_store.ledger(connection, caller.user_id, decode(next), limit + 1)
        shown, following = page(rows, limit, lambda row: Cursor(row.created_at, row.id).encode())
        return CreditEntries(items=shown, next=following)

    @staticmethod
    def _view(connection: Connection, caller: Caller) -> Me:
        row = me_store.find_user(connection, caller.user_id)
        if row is None:  # deleted while the authorizer's answer is still kept
            raise unauthorized()
        return Me(
            id=row.id,
            name=row.name,
            time_zone=row.time_zone,
            interests=row.interests,
            credits=row.credits,
            usage=me_store.usage(connection, caller.user_id),
            scopes=sorted(caller.scopes),
            created_at=row.created_at,
        )
