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
    """How often a briefing appears."""

    DAILY = "DAILY"
    WEEKLY = "WEEKLY"


class Channel(StrEnum):
    """How an edition reaches its reader; ``none``: it is read here."""

    NONE = "none"
    EMAIL = "email"
    WEBHOOK = "webhook"


class OnEmpty(StrEnum):
    """What is done where nothing new came in."""

    SKIP = "skip"
    SAY = "say"


class BriefingStatus(StrEnum):
    """Where a briefing is in its round."""

    ACTIVE = "ACTIVE"
    QUEUED = "QUEUED"
    PROCESSING = "PROCESSING"
    ERROR = "ERROR"


def _written(value: Any) -> Any:
    if not isinstance(value, str):
        raise ValueError('Write the time of the wall clock as "HH:MM", such as "07:00"')  # noqa: TRY004  # a fault of who asks
    return value


def _minutes(value: time) -> time:
    if value.tzinfo is not None:
        raise ValueError("A time of the wall clock has no offset; name the zone in time_zone")
    if value.second or value.microsecond:
        raise ValueError('Editions appear at a full minute: write the time as "HH:MM", without seconds')
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
_AT = "When it appears by the clock of its time zone; a time that a clock change leaves out is the first after it"
_ZONE = "IANA name; null follows your own"
_INTERESTS = "What this briefing is about, in your words; empty: all that comes in, by your own interests"


class NoDelivery(Asked):
    """Editions are read here."""

    channel: Literal["none"]
    destination: None = None


class MailDelivery(Asked):
    """Editions are sent to a mail address whose owner said yes (`/v1/mail-addresses`)."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"channel": "email", "destination": "reader@example.org"}]}
    )

    channel: Literal["email"]
    destination: WrittenMailAddress = Field(description="A mail address", examples=["reader@example.org"])


class WebhookDelivery(Asked):
    """Editions are posted to a webhook, signed with the `signing_key` that is shown once."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"channel": "webhook", "destination": "https://example.org/hooks/siftline"}]}
    )

    channel: Literal["webhook"]
    destination: Destination = Field(
        description="The URL of a webhook, https", examples=["https://example.org/hooks/siftline"]
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
"""Where editions are delivered to."""


def _nowhere() -> NoDelivery:
    return NoDelivery(channel="none")


class NewBriefing(Asked):
    """A briefing to be made."""

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
    weekday: StrictInt = Field(default=1, ge=1, le=7, description="ISO 8601: 1 Monday, 7 Sunday; for weekly ones only")
    at: WallClock = Field(description=_AT, examples=["07:00"])
    time_zone: Zone | None = Field(default=None, description=_ZONE, examples=["Europe/Berlin"])
    interests: Interests = Field(default="", description=_INTERESTS)
    stories_max: StrictInt = Field(default=10, ge=1, le=50, description="Stories of an edition at most")
    on_empty: OnEmpty = Field(
        default=OnEmpty.SKIP, validate_default=True, description="Nothing new: no edition, or one that says so"
    )
    delivery: Delivery = Field(default_factory=_nowhere, description="Where editions are delivered to")
    enabled: StrictBool = Field(default=True)


class ChangeBriefing(Changes):
    """What to change; what is left out stays."""

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
        default_factory=_nowhere, description="Sets both; delivery that was stopped begins again"
    )
    enabled: StrictBool = Field(default=True)


class Stopped(BaseModel):
    """Why nothing is delivered any more."""

    code: str = Field(description="`unsubscribed`, `bounced`, `complained` or `gone`", examples=["unsubscribed"])


class ShownDelivery(BaseModel):
    """Where editions are delivered to."""

    channel: Channel
    destination: str | None
    stopped: Stopped | None = Field(description="Set the delivery again to begin anew")


class Briefing(BaseModel):
    """A briefing."""

    id: UUID = Field(examples=[_ID])
    name: str = Field(examples=["Morning"])
    frequency: Frequency
    weekday: int | None = Field(description="ISO 8601: 1 Monday, 7 Sunday; null for daily ones")
    at: str = Field(description="Wall-clock time", examples=["07:00"])
    time_zone: str = Field(description="The one that counts: its own, or yours", examples=["Europe/Berlin"])
    own_time_zone: bool = Field(description="Whether it has a time zone of its own")
    interests: str
    stories_max: int
    on_empty: OnEmpty
    delivery: ShownDelivery
    enabled: bool
    status: BriefingStatus
    error: Cause | None = Field(description="Why the last edition could not be made")
    next_due_at: datetime | None = Field(
        description="When the next edition is due; null while it is worked out or the briefing is off"
    )
    last_edition_id: UUID | None
    created_at: datetime
    updated_at: datetime


class MadeBriefing(Briefing):
    """A briefing that was just made or given a webhook."""

    signing_key: str | None = Field(
        description="The key of a webhook's signatures (HMAC-SHA256); shown this once", examples=[None]
    )


class Briefings(Page):
    """All your briefings, oldest first."""

    items: list[Briefing]


class EditionRequest(BaseModel):
    """An edition that was asked for."""

    job_id: UUID = Field(examples=[_ID])


class DeliveryState(BaseModel):
    """How an edition's delivery stands."""

    channel: Channel
    destination: str
    state: str = Field(
        description="`pending`, `sent`, `unconfirmed` (begun twice, and no answer came: it may have arrived), "
        "`suppressed` or `failed`"
    )
    error: Cause | None
    sent_at: datetime | None


class Edition(BaseModel):
    """An edition in the list."""

    id: UUID = Field(examples=[_ID])
    briefing_id: UUID
    name: str = Field(description="The briefing's name when it was made")
    period: str = Field(
        description="A local day, an ISO week, or when it was asked for", examples=["2026-11-28", "2026-W48"]
    )
    made_at: datetime
    window_from: datetime = Field(description="What came in after this")
    window_until: datetime = Field(description="… until this")
    stories: int
    page_url: str = Field(description="Its page for a browser; whoever has this address can read the edition")
    deliveries: list[DeliveryState]


class Editions(Page):
    """A page of editions, newest first."""

    items: list[Edition]


class EditionDetail(Edition):
    """An edition with the frozen document that every channel shows."""

    document: dict[str, Any]
