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

from siftline.api.http.shapes import EXAMPLE_ID, Asked, Cause, Changes, Label, ListPage, Name
from siftline.api.sources.folders_store import FolderName
from siftline.catalog.source_kinds import SourceKind

Minutes = Annotated[StrictInt, Field(ge=5, le=10_080)]
_EXACTLY = (
    "Exact polling interval; the shortest of all followers applies. If none is set, the interval adapts to how often "
    "the source publishes, within the limits"
)
_AT_MOST = "Minimum polling interval; applies if every follower sets one"
_AT_LEAST = "Maximum polling interval, however rarely the source publishes"
Selector = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=500)]
Topics = Annotated[list[Label], Field(max_length=20)]
FolderIds = Annotated[list[UUID], Field(max_length=500)]


class FetchStatus(StrEnum):
    """Fetch status of a source."""

    IDLE = "IDLE"
    QUEUED = "QUEUED"
    FETCHING = "FETCHING"
    ERROR = "ERROR"


class Health(StrEnum):
    """Whether a source can be fetched."""

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
        description="A feed, a site (its feed is discovered), a web page or a Reddit listing (`r/python`, `u/name`)",
        json_schema_extra={"maxLength": 8192},
        examples=["https://example.org/feed.xml"],
    )
    kind: SourceKind | None = Field(
        default=None,
        description="`rss`: RSS, Atom or JSON Feed; `web`: the article links of a page; `reddit`: a subreddit or a "
        "user. Default: `reddit` for Reddit listings, otherwise `rss`",
    )
    selector: Selector | None = Field(
        default=None,
        description="CSS selector for the links to follow, for `web` only; by default links are detected automatically",
        examples=["main h3 a"],
    )
    title: Name | None = Field(default=None, description="Your own title for it")
    topics: Topics = Field(default=[], description="Your own topics, for items that have no topics yet")
    folder_ids: FolderIds = Field(default=[], description="Your folders to put it in")
    refresh_minutes: Minutes | None = Field(default=None, description=_EXACTLY)
    refresh_min_minutes: Minutes | None = Field(default=None, description=_AT_MOST)
    refresh_max_minutes: Minutes | None = Field(default=None, description=_AT_LEAST)
    first_import: Annotated[str, StringConstraints(pattern=r"^(skip|all|newest:[1-9][0-9]{0,5})$")] | None = Field(
        default=None,
        description="How much of the first import is analysed; only the first subscriber's choice applies",
        examples=["newest:10"],
    )

    @field_validator("selector")
    @classmethod
    def _for_pages_only(cls, selector: str | None, info: ValidationInfo) -> str | None:
        if selector is not None and info.data.get("kind") is not SourceKind.WEB:
            raise ValueError("Only sources of the kind web can have a selector")
        return selector


class Choose(Asked):
    """The candidate to choose."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"url": "https://example.org/world.xml"}]})

    url: str = Field(description="URL of one of the source's `candidates`")


class Candidate(BaseModel):
    """A feed that the site's page links to."""

    url: str = Field(examples=["https://example.org/world.xml"])
    title: str = Field(description="Title given by the page; may be empty", examples=["World"])
    media_type: str | None = Field(examples=["application/rss+xml"])


class ChangeSource(Changes):
    """Changes to your subscription; fields left out stay as they are."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"title": "Local news", "refresh_minutes": 30}]})

    title: Name | None = Field(default=None, description="Your own title for it; null uses the feed's")
    topics: Topics = Field(default=[], description="Your own topics; replaces existing ones")
    folder_ids: FolderIds = Field(default=[], description="The folders it is in; replaces existing ones")
    refresh_minutes: Minutes | None = Field(default=None, description=_EXACTLY)
    refresh_min_minutes: Minutes | None = Field(default=None, description=_AT_MOST)
    refresh_max_minutes: Minutes | None = Field(default=None, description=_AT_LEAST)


class Subscribed(BaseModel):
    """A followed source, new or existing."""

    id: UUID = Field(examples=[EXAMPLE_ID])
    status: FetchStatus
    health: Health
    items: int = Field(
        description="Number of its existing items added to yours; 0 if you already followed it",
        examples=[0],
    )


class Source(BaseModel):
    """A source you follow, with its health."""

    id: UUID = Field(examples=[EXAMPLE_ID])
    kind: str = Field(examples=["rss"])
    url: str = Field(description="As you entered it")
    selector: str | None = Field(description="CSS selector for the links to follow, if one was set")
    feed_url: str | None = Field(description="The feed discovered there, which is polled instead")
    candidates: list[Candidate] = Field(description="The feeds to choose from (`several_feeds`)")
    resolved_url: str | None = Field(
        description="Target of its permanent redirect; polled once the redirect has proved stable"
    )
    site_url: str | None
    title: str | None = Field(description="Your title for it, otherwise the feed's")
    topics: list[str] = Field(description="Your own topics")
    folders: list[FolderName] = Field(description="Your folders that contain it, by name")
    refresh_minutes: int = Field(description="Current polling interval")
    own_refresh_minutes: int | None = Field(description="Your exact polling interval")
    own_refresh_min_minutes: int | None = Field(description="Your minimum polling interval")
    own_refresh_max_minutes: int | None
    status: FetchStatus
    health: Health
    consecutive_failures: int
    last_fetch_at: datetime | None
    last_success_at: datetime | None
    next_fetch_at: datetime | None = Field(
        description="Time of the next poll: now while a fetch is queued or running; null while it is not polled"
    )
    next_fetch_reason: str = Field(
        description="Reason for that time, or why it is not polled",
        examples=["new entries about 4 times a day: every 3 hours"],
    )
    waiting_until: datetime | None = Field(
        description="Time of the next fetch attempt, or when its worker is considered lost"
    )
    waiting_reason: str | None = Field(description="What its fetch is waiting for")
    last_error: Cause | None
    skipped_entries: int = Field(description="Number of unusable entries in the last fetch")
    imported_at: datetime | None = Field(description="When the first import finished")
    items: int = Field(description="Number of your items that it delivered or also lists")
    subscribed_at: datetime


class Sources(ListPage):
    """A page of sources."""

    items: list[Source]
