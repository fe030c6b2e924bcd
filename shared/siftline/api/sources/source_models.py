"""Sources as the API takes and shows them."""

from datetime import datetime
from enum import StrEnum
from typing import Annotated
from uuid import UUID

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    StrictInt,
    StringConstraints,
    ValidationInfo,
    field_validator,
)

from siftline.api.http.shapes import Asked, Cause, Changes, Label, Name, Page
from siftline.api.sources.folder_models import FolderIds, FolderName
from siftline.api.sources.source_addresses import SourceKind

_ID = "018f4e5a-7b1c-7000-8000-0123456789ab"

Minutes = Annotated[StrictInt, Field(ge=5, le=10_080)]
_EXACTLY = (
    "Exactly how often you want it polled; the most frequent wish of all who follow it counts. Without any it follows "
    "the rhythm in which it brings something, within the limits"
)
_AT_MOST = "It need not be polled sooner again than this; counts if all who follow it say so"
_AT_LEAST = "However rarely it brings something, it is polled again after this"
Selector = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=500)]
Topics = Annotated[list[Label], Field(max_length=20)]


class FetchStatus(StrEnum):
    """Where a source is in its round."""

    IDLE = "IDLE"
    QUEUED = "QUEUED"
    FETCHING = "FETCHING"
    ERROR = "ERROR"


class Health(StrEnum):
    """Whether a source answers as it should."""

    ACTIVE = "active"
    DEGRADED = "degraded"
    INACTIVE = "inactive"


class Subscribe(Asked):
    """A source to follow."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {"url": "https://example.org/"},
                {"url": "https://example.org/notices", "kind": "web", "selector": "main h3 a"},
                {"url": "r/python"},
            ]
        }
    )

    url: str = Field(
        description="A feed, a site whose feed is to be found, a page or a listing of Reddit (`r/python`, `u/name`)",
        json_schema_extra={"maxLength": 8192},
        examples=["https://example.org/feed.xml"],
    )
    kind: SourceKind | None = Field(
        default=None,
        description="`rss` stands for RSS, Atom and JSON Feed, `web` for the article links of a page, `reddit` for a "
        "subreddit or a user; without it Reddit's listings are `reddit` and all else is `rss`",
    )
    selector: Selector | None = Field(
        default=None,
        description="A CSS selector of the links to follow, for `web` only; without it they are found by themselves",
        examples=["main h3 a"],
    )
    title: Name | None = Field(default=None, description="Your own name for it")
    topics: Topics = Field(default=[], description="Your own topics, for items that have none yet")
    folder_ids: FolderIds = Field(default=[], description="Folders of yours to put it in")
    refresh_minutes: Minutes | None = Field(default=None, description=_EXACTLY)
    refresh_min_minutes: Minutes | None = Field(default=None, description=_AT_MOST)
    refresh_max_minutes: Minutes | None = Field(default=None, description=_AT_LEAST)
    first_import: Annotated[str, StringConstraints(pattern=r"^(skip|all|newest:[1-9][0-9]{0,5})$")] | None = Field(
        default=None,
        description="How much of the first import is analysed; counts for whoever subscribes first",
        examples=["newest:10"],
    )

    @field_validator("selector")
    @classmethod
    def _for_pages_only(cls, selector: str | None, info: ValidationInfo) -> str | None:
        if selector is not None and info.data.get("kind") is not SourceKind.WEB:
            raise ValueError("Only sources of the kind web have a selector")
        return selector


class Choose(Asked):
    """One of a source's candidates."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"url": "https://example.org/world.xml"}]})

    url: str = Field(description="As it stands among them")


class Candidate(BaseModel):
    """A feed that a site's page names."""

    url: str = Field(examples=["https://example.org/world.xml"])
    title: str = Field(description="As the page calls it, possibly empty", examples=["World"])
    media_type: str | None = Field(examples=["application/rss+xml"])


class ChangeSource(Changes):
    """What to change about your subscription; what is left out stays."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"title": "Local news", "refresh_minutes": 30}]})

    title: Name | None = Field(default=None, description="Your own name for it; null takes the feed's")
    topics: Topics = Field(default=[], description="Your own topics, replacing those before")
    folder_ids: FolderIds = Field(default=[], description="The folders that it is in, replacing those before")
    refresh_minutes: Minutes | None = Field(default=None, description=_EXACTLY)
    refresh_min_minutes: Minutes | None = Field(default=None, description=_AT_MOST)
    refresh_max_minutes: Minutes | None = Field(default=None, description=_AT_LEAST)


class Subscribed(BaseModel):
    """A source that is followed, now or before."""

    id: UUID = Field(examples=[_ID])
    status: FetchStatus
    health: Health
    items: int = Field(
        description="How many of the items that it had became yours by this; 0 where you followed it before",
        examples=[0],
    )


class Source(BaseModel):
    """A source the caller follows, with its health."""

    id: UUID = Field(examples=[_ID])
    kind: str = Field(examples=["rss"])
    url: str = Field(description="As it was given")
    selector: str | None = Field(description="Which links of the page are followed, where that was said")
    feed_url: str | None = Field(description="The feed that was found there, which is polled in its place")
    candidates: list[Candidate] = Field(description="The feeds of which one has to be chosen (`several_feeds`)")
    resolved_url: str | None = Field(description="Where it says to have moved to for good; polled once that held")
    site_url: str | None
    title: str | None = Field(description="The caller's name for it, else the feed's")
    topics: list[str] = Field(description="The caller's own")
    folders: list[FolderName] = Field(description="The caller's folders that it is in, by name")
    refresh_minutes: int = Field(description="How often it is polled")
    own_refresh_minutes: int | None = Field(description="How often the caller wants it polled")
    own_refresh_min_minutes: int | None = Field(description="The caller's limits of it")
    own_refresh_max_minutes: int | None
    status: FetchStatus
    health: Health
    consecutive_failures: int
    last_fetch_at: datetime | None
    last_success_at: datetime | None
    next_fetch_at: datetime | None = Field(
        description="When it is asked next: now while its fetch is queued or in work; null while it is not polled"
    )
    next_fetch_reason: str = Field(
        description="Why then, or why it is not polled", examples=["new entries about 4 times a day: every 3 hours"]
    )
    waiting_until: datetime | None = Field(description="When its fetch is tried next, or its worker counts as lost")
    waiting_reason: str | None = Field(description="What its fetch waits for")
    last_error: Cause | None
    skipped_entries: int = Field(description="Entries of the last fetch that could not be used")
    imported_at: datetime | None = Field(description="When the first import was done")
    items: int = Field(description="How many of the caller's items it brought or lists too")
    subscribed_at: datetime


class Sources(Page):
    """A page of a list."""

    items: list[Source]
