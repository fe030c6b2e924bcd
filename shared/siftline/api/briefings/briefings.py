"""The briefings resource: what one wants told when, and an edition now."""

import secrets
from collections.abc import Mapping
from dataclasses import asdict
from datetime import datetime, time
from enum import StrEnum
from typing import Annotated, Any, Literal
from uuid import UUID

from aws_lambda_powertools.event_handler import Response
from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StrictBool,
    StrictInt,
    StringConstraints,
    WithJsonSchema,
)

from siftline.api.briefings import briefings_store as store
from siftline.api.briefings.mail_addresses import WrittenMailAddress
from siftline.api.http.auth import CurrentCaller, lacking
from siftline.api.http.callers import Caller, Scope
from siftline.api.http.destinations import check_webhook
from siftline.api.http.problems import Fault, conflict, faulty, not_found
from siftline.api.http.routing import BODY_PROBLEMS, NO_CONTENT, answer, route
from siftline.api.http.shapes import EXAMPLE_ID, Asked, Cause, Changes, ListPage, Name
from siftline.api.items.scores import ask_for_scores
from siftline.api.parts import Routes
from siftline.contracts import JobType, Priority
from siftline.jobs import jobs_store as jobs
from siftline.jobs.job_model import NewJob
from siftline.kit.db import Connection
from siftline.kit.errors import PermanentError
from siftline.kit.ids import new_id
from siftline.kit.zones import zone_names
from siftline.text.mail_address import mail_address

BRIEFINGS_MAX = 50
Interests = Annotated[str, StringConstraints(max_length=10_000)]
Zone = Annotated[str, StringConstraints(max_length=64)]
Destination = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=2_048)]
_AT = "Publication time in its time zone; a time skipped by a clock change moves to the first time after it"
_ZONE = "IANA name; null: your own time zone"
_INTERESTS = "Topics of this briefing in your own words; empty: everything, ranked by your own interests"


class Frequency(StrEnum):
    """How often a briefing is published."""

    DAILY = "DAILY"
    WEEKLY = "WEEKLY"


class Channel(StrEnum):
    """How an edition is delivered; ``none``: it is only available through the API."""

    NONE = "none"
    EMAIL = "email"
    WEBHOOK = "webhook"


class OnEmpty(StrEnum):
    """What happens when there is nothing new."""

    SKIP = "skip"
    SAY = "say"


class BriefingStatus(StrEnum):
    """Processing status of a briefing."""

    ACTIVE = "ACTIVE"
    QUEUED = "QUEUED"
    PROCESSING = "PROCESSING"
    ERROR = "ERROR"


_STATES = {"pending": BriefingStatus.QUEUED, "processing": BriefingStatus.PROCESSING}


def _written(value: Any) -> Any:
    if not isinstance(value, str):
        raise ValueError('Must be a local time as "HH:MM", such as "07:00"')  # noqa: TRY004  # a fault of who asks
    return value


def _minutes(value: time) -> time:
    if value.tzinfo is not None:
        raise ValueError("Must not have an offset; set the zone in time_zone")
    if value.second or value.microsecond:
        raise ValueError('Must not have seconds: write the time as "HH:MM"')
    return value


# JSON Schema's own format of times has an offset, which a wall clock has not.
WallClock = Annotated[
    time,
    BeforeValidator(_written),
    AfterValidator(_minutes),
    WithJsonSchema({"type": "string", "pattern": "^([01][0-9]|2[0-3]):[0-5][0-9]$", "examples": ["07:00"]}),
]


class NoDelivery(Asked):
    """Editions are not delivered; read them through the API."""

    channel: Literal["none"]
    destination: None = None


class MailDelivery(Asked):
    """Editions are sent to an email address whose owner has confirmed it (`/v1/mail-addresses`)."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"channel": "email", "destination": "reader@example.org"}]}
    )

    channel: Literal["email"]
    destination: WrittenMailAddress = Field(description="An email address", examples=["reader@example.org"])


class WebhookDelivery(Asked):
    """Editions are posted to a webhook, signed with the `signing_key` that is shown only once."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"channel": "webhook", "destination": "https://example.org/hooks/siftline"}]}
    )

    channel: Literal["webhook"]
    destination: Destination = Field(
        description="HTTPS URL of the webhook", examples=["https://example.org/hooks/siftline"]
    )


Delivery = Annotated[
    NoDelivery | MailDelivery | WebhookDelivery,
    Field(
        discriminator="channel",
        examples=[
            {"channel": "none"},
            {"channel": "email", "destination": "reader@example.org"},
            {"channel": "webhook", "destination": "https://example.org/hooks/siftline"},
        ],
    ),
]
"""Where editions are delivered."""


def _nowhere() -> NoDelivery:
    return NoDelivery(channel="none")


class NewBriefing(Asked):
    """A new briefing."""

    model_config = ConfigDict(
        use_enum_values=True,
        json_schema_extra={
            "examples": [
                {"name": "Morning", "frequency": "DAILY", "at": "07:00"},
                {
                    "name": "Week",
                    "frequency": "WEEKLY",
                    "weekday": 7,
                    "at": "18:30",
                    "time_zone": "Europe/Berlin",
                    "delivery": {"channel": "email", "destination": "reader@example.org"},
                },
            ]
        },
    )

    name: Name = Field(examples=["Morning"])
    frequency: Frequency
    weekday: StrictInt = Field(
        default=1, ge=1, le=7, description="ISO 8601: 1 Monday, 7 Sunday; for weekly briefings only"
    )
    at: WallClock = Field(description=_AT, examples=["07:00"])
    time_zone: Zone | None = Field(default=None, description=_ZONE, examples=["Europe/Berlin"])
    interests: Interests = Field(default="", description=_INTERESTS)
    stories_max: StrictInt = Field(default=10, ge=1, le=50, description="Maximum number of stories per edition")
    on_empty: OnEmpty = Field(
        default=OnEmpty.SKIP,
        validate_default=True,
        description="When there is nothing new: no edition, or one that says so",
    )
    delivery: Delivery = Field(default_factory=_nowhere, description="Where editions are delivered")
    enabled: StrictBool = Field(default=True)


class ChangeBriefing(Changes):
    """Changes; fields left out stay as they are."""

    model_config = ConfigDict(
        use_enum_values=True, json_schema_extra={"examples": [{"at": "06:30"}, {"enabled": False}]}
    )

    name: Name = Field(default="", validate_default=False)
    frequency: Frequency = Field(default=Frequency.DAILY, validate_default=True)
    weekday: StrictInt = Field(default=1, ge=1, le=7)
    at: WallClock = Field(default=time(7), description=_AT, examples=["06:30"])
    time_zone: Zone | None = Field(default=None, description=_ZONE)
    interests: Interests = Field(default="", description=_INTERESTS)
    stories_max: StrictInt = Field(default=10, ge=1, le=50)
    on_empty: OnEmpty = Field(default=OnEmpty.SKIP, validate_default=True)
    delivery: Delivery = Field(
        default_factory=_nowhere, description="Sets channel and destination; restarts delivery if it was stopped"
    )
    enabled: StrictBool = Field(default=True)


class Stopped(BaseModel):
    """Why delivery was stopped."""

    code: str = Field(description="`unsubscribed`, `bounced`, `complained` or `gone`", examples=["unsubscribed"])


class ShownDelivery(BaseModel):
    """Where editions are delivered."""

    channel: Channel
    destination: str | None
    stopped: Stopped | None = Field(description="Why delivery was stopped; set `delivery` again to restart it")


class Briefing(BaseModel):
    """A briefing."""

    id: UUID = Field(examples=[EXAMPLE_ID])
    name: str = Field(examples=["Morning"])
    frequency: Frequency
    weekday: int | None = Field(description="ISO 8601: 1 Monday, 7 Sunday; null for daily briefings")
    at: str = Field(description="Local time of publication", examples=["07:00"])
    time_zone: str = Field(description="The time zone in effect: its own or yours", examples=["Europe/Berlin"])
    own_time_zone: bool = Field(description="Whether it has a time zone of its own")
    interests: str
    stories_max: int
    on_empty: OnEmpty
    delivery: ShownDelivery
    enabled: bool
    status: BriefingStatus
    error: Cause | None = Field(description="Why the last edition could not be created")
    next_due_at: datetime | None = Field(
        description="When the next edition is due; null while it is being computed or the briefing is disabled"
    )
    last_edition_id: UUID | None
    created_at: datetime
    updated_at: datetime


class MadeBriefing(Briefing):
    """A briefing that was just created or given a webhook."""

    signing_key: str | None = Field(
        description="Key for the webhook's signatures (HMAC-SHA256); shown only once", examples=[None]
    )


class Briefings(ListPage):
    """All your briefings, oldest first."""

    items: list[Briefing]


class EditionRequest(BaseModel):
    """A requested edition."""

    job_id: UUID = Field(examples=[EXAMPLE_ID])


class BriefingRoutes(Routes):
    """``/v1/briefings``."""

    tag = "briefings"

    @route(
        "POST /v1/briefings",
        (201, MadeBriefing, "Created"),
        operation_id="createBriefing",
        problems=(*BODY_PROBLEMS, 409),
        located=True,
    )
    def make(self, body: NewBriefing, caller: CurrentCaller) -> Response[MadeBriefing]:
        """Create a briefing.

        Its first edition is the next one due.
        """
        _check_scope(body.delivery, caller)
        delivery = self._checked(body.delivery, "#/delivery/destination")
        _check_zone(body.time_zone)
        _check_weekday(body, body.frequency)
        values = {
            "id": new_id(),
            **body.model_dump(exclude={"delivery"}),
            **delivery,
            "unsubscribe_token": secrets.token_urlsafe(32),
        }
        with self._database.transaction() as connection:
            if not store.add_briefing(connection, caller.user_id, values, at_most=BRIEFINGS_MAX):
                raise conflict("too_many_briefings", f"You have reached the limit of {BRIEFINGS_MAX} briefings.")
            job_ids = ask_for_scores(connection, self._outbox, caller.user_id) if body.interests else []
            made = self._find(connection, caller, values["id"])
        self._outbox.publish(job_ids)
        shown = MadeBriefing(**made.model_dump(), signing_key=delivery["signing_key"])
        return answer(201, shown, location=f"/v1/briefings/{made.id}")

    @route("GET /v1/briefings", (200, Briefings, "All your briefings"), operation_id="listBriefings")
    def browse(self, caller: CurrentCaller) -> Briefings:
        """List your briefings."""
        with self._database.transaction() as connection:
            return Briefings(items=[_shown(row) for row in store.list_briefings(connection, caller.user_id)])

    @route(
        "GET /v1/briefings/<briefing_id>",
        (200, Briefing, "The briefing"),
        operation_id="getBriefing",
        problems=(404,),
    )
    def show(self, briefing_id: UUID, caller: CurrentCaller) -> Briefing:
        """Get a briefing."""
        with self._database.transaction() as connection:
            return self._find(connection, caller, briefing_id)

    @route(
        "PATCH /v1/briefings/<briefing_id>",
        (200, MadeBriefing, "The updated briefing"),
        operation_id="updateBriefing",
        problems=(*BODY_PROBLEMS, 404),
    )
    def change(self, briefing_id: UUID, body: ChangeBriefing, caller: CurrentCaller) -> MadeBriefing:
        """Update a briefing.

        A new time begins with the next edition due by it.
        """
        changes: dict[str, Any] = body.model_dump(include=body.model_fields_set - {"delivery"})
        if "time_zone" in changes:
            _check_zone(changes["time_zone"])
        if "delivery" in body.model_fields_set:
            _check_scope(body.delivery, caller)
            changes |= self._checked(body.delivery, "#/delivery/destination")
        with self._database.transaction() as connection:
            before = self._find(connection, caller, briefing_id)
            _check_weekday(body, changes.get("frequency", before.frequency))
            job_ids = ask_for_scores(connection, self._outbox, caller.user_id) if changes.get("interests") else []
            store.change_briefing(connection, caller.user_id, briefing_id, changes)
            changed = self._find(connection, caller, briefing_id)
        self._outbox.publish(job_ids)
        return MadeBriefing(**changed.model_dump(), signing_key=changes.get("signing_key"))

    @route("DELETE /v1/briefings/<briefing_id>", NO_CONTENT, operation_id="deleteBriefing", problems=(404,))
    def delete(self, briefing_id: UUID, caller: CurrentCaller) -> Response[None]:
        """Delete a briefing and its editions.

        What is under way for it is called off.
        """
        with self._database.transaction() as connection:
            subjects = [briefing_id, *store.live_deliveries(connection, caller.user_id, briefing_id)]
            self._find(connection, caller, briefing_id)
            jobs.hold(connection, subjects, JobType.RUN_BRIEFING, JobType.DELIVER_BRIEFING)
            if not store.delete_briefing(connection, caller.user_id, briefing_id):
                raise not_found("briefing")
            jobs.cancel(connection, subjects)
        return Response(status_code=204)

    @route(
        "POST /v1/briefings/<briefing_id>/run",
        (202, EditionRequest, "It will be created"),
        operation_id="runBriefing",
        problems=(404, 409),
    )
    def run(self, briefing_id: UUID, caller: CurrentCaller) -> Response[EditionRequest]:
        """Create an edition now.

        Of what came in since the last one.
        """
        job = NewJob(JobType.RUN_BRIEFING, briefing_id, f"user:{caller.user_id}", priority=Priority.SAVED, asked=True)
        with self._database.transaction() as connection:
            if not self._find(connection, caller, briefing_id).enabled:
                raise conflict("briefing_off", "This briefing is disabled. Enable it first.")
            # The job before its briefing, as a worker takes them (``jobs.hold``).
            job_ids = self._outbox.enqueue(connection, job)
            if not store.ask(connection, caller.user_id, briefing_id):
                raise not_found("briefing")
        self._outbox.publish(job_ids)
        return answer(202, EditionRequest(job_id=job_ids[0]))

    def _checked(self, delivery: Delivery, pointer: str) -> Mapping[str, Any]:
        """Return the columns of a delivery; a webhook gets a new key each time it is set."""
        allow_loopback = self._parts.settings.webhook_allow_loopback
        destination: str | None = None
        signing_key = None
        try:
            if isinstance(delivery, MailDelivery):
                destination = mail_address(delivery.destination)
            elif isinstance(delivery, WebhookDelivery):
                destination = check_webhook(delivery.destination, allow_loopback=allow_loopback)
                signing_key = secrets.token_urlsafe(32)
        except PermanentError as error:
            raise faulty([Fault(code=error.error_code, detail=error.detail, pointer=pointer)]) from error
        return {"channel": delivery.channel, "destination": destination, "signing_key": signing_key}

    @staticmethod
    def _find(connection: Connection, caller: Caller, briefing_id: UUID) -> Briefing:
        row = store.find_briefing(connection, caller.user_id, briefing_id)
        if row is None:
            raise not_found("briefing")
        return _shown(row)


def _check_scope(delivery: Delivery, caller: Caller) -> None:
    """Refuse a token that may not read: what is delivered tells all that the account holds."""
    if not isinstance(delivery, NoDelivery) and Scope.READ not in caller.scopes:
        raise lacking(Scope.READ)


def _check_zone(name: str | None) -> None:
    if name is not None and name not in zone_names():
        detail = "Unknown time zone; use an IANA name such as Europe/Berlin or UTC"
        raise faulty([Fault(code="unknown_time_zone", detail=detail, pointer="#/time_zone")])


def _check_weekday(body: NewBriefing | ChangeBriefing, frequency: str) -> None:
    if "weekday" in body.model_fields_set and frequency == Frequency.DAILY:
        detail = "A daily briefing has no weekday: leave it out, or set the frequency to WEEKLY"
        raise faulty([Fault(code="weekday_of_daily", detail=detail, pointer="#/weekday")])


def _shown(row: store.BriefingRow) -> Briefing:
    status = _STATES.get(row.state or "", BriefingStatus(row.status))
    stopped = Stopped(code=row.stopped_code) if row.stopped_code else None
    return Briefing.model_validate(
        asdict(row)
        | {
            "weekday": row.weekday if row.frequency == "WEEKLY" else None,
            "at": f"{row.at:%H:%M}",
            "delivery": ShownDelivery(channel=row.channel, destination=row.destination, stopped=stopped),
            "status": status,
            "error": Cause(code=row.error_code, detail=row.error_detail or "") if row.error_code else None,
            "next_due_at": row.next_due_at if row.enabled else None,
        }
    )
