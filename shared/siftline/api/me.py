"""The caller: time zone and interests."""

from datetime import datetime
from uuid import UUID

from aws_lambda_powertools.event_handler.api_gateway import Router
from pydantic import BaseModel, ConfigDict, Field, model_validator

from siftline.api import me_store
from siftline.api.auth import CurrentCaller, unauthorized
from siftline.api.callers import Caller, Scope
from siftline.api.problems import Fault, faulty
from siftline.api.routing import BODY_PROBLEMS, new_router, responses
from siftline.api.shapes import Asked, Name
from siftline.kit.db import Connection, Database


class Me(BaseModel):
    """The caller."""

    id: UUID
    name: str = Field(examples=["Ada"])
    time_zone: str = Field(description="IANA name", examples=["Europe/Berlin"])
    interests: str = Field(description="In the caller's words", examples=["solar energy, chess"])
    scopes: list[Scope] = Field(description="What the token in use allows")
    created_at: datetime


class ChangeMe(Asked):
    """What to change; what is left out stays."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"time_zone": "Europe/Berlin"}]})

    name: Name = Field(default="", validate_default=False, examples=["Ada"])
    time_zone: str = Field(default="", max_length=64, description="IANA name", examples=["Europe/Berlin"])
    interests: str = Field(default="", max_length=10_000, examples=["solar energy, chess"])

    @model_validator(mode="after")
    def _something(self) -> "ChangeMe":
        if not self.model_fields_set:
            raise ValueError("Name at least one of name, time_zone, interests")
        return self


class MeRoutes:
    """``/v1/me``."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def router(self) -> Router:
        """Return the routes."""
        router = new_router()
        router.get("/v1/me", summary="Show who you are", responses=responses((200, Me, "The caller")), tags=["me"])(
            self.show
        )
        router.patch(
            "/v1/me",
            summary="Change your name, time zone or interests",
            responses=responses((200, Me, "The caller as they are now"), problems=BODY_PROBLEMS),
            tags=["me"],
        )(self.change)
        return router

    def show(self, caller: CurrentCaller) -> Me:
        """Show the caller."""
        with self._database.transaction() as connection:
            return self._view(connection, caller)

    def change(self, body: ChangeMe, caller: CurrentCaller) -> Me:
        """Change the caller."""
        changes = body.model_dump(include=body.model_fields_set)
        with self._database.transaction() as connection:
            if "time_zone" in changes and not me_store.is_time_zone(connection, changes["time_zone"]):
                detail = "There is no such time zone; use a name such as Europe/Berlin or UTC"
                raise faulty([Fault(code="unknown_time_zone", detail=detail, pointer="#/time_zone")])
            me_store.change_user(connection, caller.user_id, changes)
            return self._view(connection, caller)

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
            scopes=sorted(caller.scopes),
            created_at=row.created_at,
        )
