"""Briefings and editions as the API takes and shows them."""

from datetime import datetime, time
from enum import StrEnum
from typing import Annotated, Any, Literal
from uuid import UUID

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

from siftline.api.http.shapes import Asked, Cause, Changes, Name, Page

_ID = "018f4e5a-7b1c-7000-8000-0123456789ab"


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
Interests = Annotated[str, StringConstraints(max_length=10_000)]
Zone = Annotated[str, StringConstraints(max_length=64)]
Destination = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=2_048)]
WrittenMailAddress = Annotated[str, StringConstraints(max_length=254)]
"""Judged by ``siftline.text.mail_address`` as it was given."""
_AT = "Publication time in its time zone; a time skipped by a clock change moves to the first time after it"
_ZONE = "IANA name; null: your own time zone"
_INTERESTS = "Topics of this briefing in your own words; empty: everything, ranked by your own interests"


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

    id: UUID = Field(examples=[_ID])
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


class Briefings(Page):
    """All your briefings, oldest first."""

    items: list[Briefing]


class EditionRequest(BaseModel):
    """A requested edition."""

    job_id: UUID = Field(examples=[_ID])


class DeliveryState(BaseModel):
    """Delivery status of an edition."""

    channel: Channel
    destination: str
    state: str = Field(
        description="`pending`, `sent`, `unconfirmed` (attempted twice without an answer: it may have arrived), "
        "`suppressed` or `failed`"
    )
    error: Cause | None
    sent_at: datetime | None


class Edition(BaseModel):
    """An edition as listed."""

    id: UUID = Field(examples=[_ID])
    briefing_id: UUID
    name: str = Field(description="The briefing's name at the time")
    period: str = Field(
        description="Local day or ISO week, or the time it was requested", examples=["2026-11-28", "2026-W48"]
    )
    made_at: datetime
    window_from: datetime = Field(description="Start of the period it covers (exclusive)")
    window_until: datetime = Field(description="End of the period it covers (inclusive)")
    stories: int
    page_url: str = Field(description="Web page of the edition; anyone with this URL can read it")
    deliveries: list[DeliveryState]


class Editions(Page):
    """A page of editions, newest first."""

    items: list[Edition]


class EditionDetail(Edition):
    """An edition with its content, which is the same on every channel and never changes."""

    document: dict[str, Any]
