"""Items as the API takes and shows them."""

from datetime import datetime
from enum import StrEnum
from typing import Annotated, Any
from uuid import UUID

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StrictBool

from siftline.api.http.shapes import EXAMPLE_ID, Asked, Cause, Changes, Label, ListPage, Note, Waiting

_TIME = "2026-03-02T09:30:00Z"
BATCH_MAX = 500
TAGS_MAX = 50
"""Of one item; as many as ``siftline.ingest.ingest_store`` keeps."""


_KINDS = ["article", "list", "video", "audio", "pdf", "note", "unsupported"]


def _distinct(tags: list[str]) -> list[str]:
    return list(dict.fromkeys(tags))


Tags = Annotated[list[Label], Field(max_length=TAGS_MAX), AfterValidator(_distinct)]
"""Each once, in the order given."""


class Status(StrEnum):
    """Processing status of an item."""

    NEW = "NEW"
    PENDING = "PENDING"
    PROCESSING = "PROCESSING"
    READY = "READY"
    FAILED = "FAILED"


class SaveItem(Asked):
    """A page to save."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"url": "https://example.org/story", "tags": ["energy"]}]}
    )

    # Its length is judged with the rest of the address, so that every bad address gets the same code.
    url: str = Field(
        description="http or https URL; https if it has no scheme",
        json_schema_extra={"maxLength": 8192},
        examples=["https://example.org/story"],
    )
    tags: Tags = Field(default=[], description=f"Your own tags, added to existing ones; the newest {TAGS_MAX} are kept")
    note: Note | None = Field(default=None, description="Your own note")


class SavedItem(BaseModel):
    """A saved item, new or existing."""

    id: UUID = Field(examples=[EXAMPLE_ID])
    content_id: UUID = Field(
        description="Id of the page behind the item, shared by all users who have it", examples=[EXAMPLE_ID]
    )
    status: Status = Field(examples=["PENDING"])
    waiting: Waiting | None = Field(
        default=None, description="Until when and why processing is postponed, if it cannot start now"
    )


class SaveItems(Asked):
    """Pages to save; each gets its own result."""

    items: Annotated[list[Any], Field(min_length=1, max_length=BATCH_MAX)] = Field(
        description=f"1 to {BATCH_MAX} bodies of `POST /v1/items`",
        json_schema_extra={"items": {"$ref": "#/components/schemas/SaveItem"}},
        examples=[[{"url": "https://example.org/story"}]],
    )


class BatchAnswer(BaseModel):
    """The result of one entry of a batch."""

    status_code: int = Field(
        description="The status `POST /v1/items` would have returned: 202, 200, 409 or 422", examples=[202]
    )
    item: SavedItem | None = None
    error: Cause | None = Field(default=None, description="Why it was rejected")


class BatchAnswers(BaseModel):
    """One result per entry, in the order of the request."""

    items: list[BatchAnswer]


class Topic(BaseModel):
    """A topic of a page, with its confidence."""

    topic: str = Field(description="Topic id", examples=["politics"])
    score: float = Field(description="Confidence; the default threshold is 0.3", examples=[0.62])


class Item(BaseModel):
    """A page in your collection."""

    id: UUID = Field(examples=[EXAMPLE_ID])
    content_id: UUID = Field(examples=[EXAMPLE_ID])
    url: str = Field(examples=["https://example.org/story"])
    status: Status
    title: str | None = Field(description="Plain text, never HTML")
    author: str | None
    site_name: str | None
    image_url: str | None
    kind: str = Field(
        description="`list`: a page of links; `note`: a feed entry without a page; `unsupported`: an unreadable type",
        json_schema_extra={"enum": [*_KINDS]},
        examples=["article"],
    )
    lang: str | None = Field(description="ISO 639-1", examples=["en"])
    word_count: int | None
    reading_minutes: int | None = Field(
        description="At 230 words per minute; Chinese and Japanese: 500 characters; Thai, Lao, Khmer and Burmese: 900"
    )
    published_at: datetime | None = Field(
        description="As stated by the feed or the page; null if there is no plausible date"
    )
    undated: Cause | None = Field(
        description="Why the stated date is not used: `date_unreadable`, `date_ambiguous`, `date_implausible`"
    )
    first_seen_at: datetime = Field(description="When you first received it")
    sort_at: datetime = Field(
        description="The earlier of `published_at` and `first_seen_at`; lists are sorted by it, newest first"
    )
    summary: str | None
    topics: list[Topic] | None = Field(
        description="Default topics, best first; null until analysed; empty if your set for its source replaces them"
    )
    own_topics: list[Topic] | None = Field(
        description="Your own topics (`/v1/topics`), best first; null if you have none or it was not compared yet"
    )
    tags: list[str] = Field(description="Your own tags, then automatic ones")
    own_tags: list[str] = Field(description="Your own tags")
    note: str | None
    source_id: UUID | None = Field(description="The source that delivered it")
    saved: bool = Field(description="Whether you saved it yourself")
    read_at: datetime | None
    starred_at: datetime | None
    score: float | None = Field(
        description="Current relevance to you, from 0 to 1; null: not scored yet",
        examples=[0.62],
    )
    notice: Cause | None = Field(description="Why it was read only in part")
    error: Cause | None = Field(description="Why processing failed")
    created_at: datetime
    updated_at: datetime


class Duplicate(BaseModel):
    """Another of your items with the same text."""

    id: UUID
    url: str
    title: str | None
    original: bool = Field(description="Whether it was the first of the group; the others refer to it")


class Derivation(BaseModel):
    """The model that produced a derived value."""

    kind: str = Field(examples=["summary"])
    model_id: str
    model_version: str
    made_at: datetime = Field(examples=[_TIME])


class Vector(BaseModel):
    """The vector used to find it by meaning."""

    model_version: str
    dimensions: int = Field(examples=[384])


class TranscriptState(StrEnum):
    """Where the transcript of a video or audio came from, or why there is none."""

    PAGE = "page"
    CAPTIONS = "captions"
    YOUTUBE = "youtube"
    FEED = "feed"
    GENERATED = "generated"
    BLOCKED = "blocked"
    NONE = "none"
    PRIVATE = "private"
    TOO_LONG = "too_long"
    OVER_BUDGET = "over_budget"


class Transcript(BaseModel):
    """The transcript of a video or audio. If there is one, it is the last part of the item's text."""

    state: TranscriptState | None = Field(
        description="`page`, `captions`, `youtube`, `feed` (found there), `generated` (by the audio model), `blocked` "
        "(the site refuses our requests), `none`, `private` (the video is private), `too_long`, `over_budget` "
        "(not generated for that reason); null: not known yet"
    )
    source: str | None = Field(description="The caption file, the video's page, or the audio model")
    language: str | None = Field(examples=["en"])
    next_try_at: datetime | None = Field(description="Time of the next attempt to find one, if any")


class Recording(BaseModel):
    """A video or audio."""

    url: str | None = Field(description="URL of the file itself, if known", examples=["https://example.org/talk.mp3"])
    media_type: str | None = Field(examples=["audio/mpeg"])
    duration_s: float | None = Field(description="Stated duration in seconds", examples=[1800])
    transcript: Transcript


class Reason(BaseModel):
    """One part of a score."""

    code: str = Field(
        description="`interest`, `history`, `topics`, `source` or `freshness`; more may be added", examples=["interest"]
    )
    detail: str = Field(description="Human-readable explanation", examples=['Close to your interest "solar energy".'])
    weight: float = Field(description="Its weight; all weights add up to 1", examples=[0.2975])
    value: float = Field(description="From 0 to 1", examples=[0.97])
    points: float = Field(
        description="Its contribution: `weight` times `value`; the score is the sum", examples=[0.2886]
    )


class Named(BaseModel):
    """An entity named in an item."""

    id: str = Field(description="Canonical id, or the temporary one until there is one")
    kind: str = Field(description="`ORG`, `PER` or `LOC`", examples=["ORG"])
    name: str = Field(examples=["Acme Robotics, Inc."])
    mentions: int = Field(description="Number of mentions")


class ItemDetail(Item):
    """A page in your collection with all its details."""

    description: str | None = Field(description="The page's own description")
    text: str | None = Field(description="The main text, without markup")
    recording: Recording | None = Field(description="The page's main video or audio")
    waiting_until: datetime | None = Field(description="Time of the next attempt, if it waits for a time")
    waiting_reason: str | None = Field(description="What it is waiting for")
    reasons: list[Reason] = Field(description="The parts of its score; empty until scored")
    entities: list[Named] = Field(description="Entities named in the text, most frequent first")
    duplicates: list[Duplicate]
    derivations: list[Derivation]
    vector: Vector | None


class Items(ListPage):
    """A page of items."""

    items: list[Item]


class ChangeItem(Changes):
    """Changes; fields left out stay as they are."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"read": True, "tags": ["energy"]}]})

    read: StrictBool = Field(default=False, description="Whether it has been read")
    starred: StrictBool = Field(default=False, description="Whether it is starred")
    tags: Tags = Field(default=[], description="Your own tags; replaces existing ones")
    note: Note | None = Field(default=None, description="Your own note; null removes it")


class ReprocessFrom(StrEnum):
    """Where processing restarts."""

    INGEST = "ingest"
    ANALYZE = "analyze"


class Reprocess(Asked):
    """Where to restart."""

    start: ReprocessFrom = Field(
        default=ReprocessFrom.INGEST,
        alias="from",
        description="`ingest` fetches the page again; `analyze` analyses the stored text again",
    )


class Step(BaseModel):
    """One step in an item's processing."""

    at: datetime = Field(examples=[_TIME])
    job_type: str = Field(examples=["ingest_content"])
    job_id: UUID
    event: str = Field(
        description="Its outcome: `enqueued`, `recovered`, `claimed`, `completed`, `retry`, `deferred`, `failed`, "
        "`lease_expired`, `redriven` or `cancelled`",
        examples=["claimed"],
    )
    attempt: int
    duration_ms: int | None
    error: Cause | None
    reason: str | None = Field(description="Why it happened, if it is not an error")
    due_at: datetime | None = Field(description="When the next attempt is due, for a postponed attempt")


class Timeline(BaseModel):
    """Every step in an item's processing, oldest first, and what it is waiting for now."""

    id: UUID
    status: Status
    waiting: Waiting | None
    notice: Cause | None = Field(description="Why it was read only in part, such as `no_credit`")
    undated: Cause | None = Field(description="Why the stated date is not used")
    error: Cause | None
    steps: list[Step]
