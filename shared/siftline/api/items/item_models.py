"""Items as the API takes and shows them."""

from datetime import datetime
from enum import StrEnum
from typing import Annotated, Any
from uuid import UUID

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StrictBool

from siftline.api.http.shapes import Asked, Cause, Changes, Label, Note, Page, Waiting
from siftline.api.items.scores import Reason

_ID = "018f4e5a-7b1c-7000-8000-0123456789ab"
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
    """How far reading has come."""

    NEW = "NEW"
    PENDING = "PENDING"
    PROCESSING = "PROCESSING"
    READY = "READY"
    FAILED = "FAILED"


class SaveItem(Asked):
    """A page to be read."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"url": "https://example.org/story", "tags": ["energy"]}]}
    )

    # Its length is judged with the rest of the address, so that every bad address gets the same code.
    url: str = Field(
        description="http or https; https where it has no scheme",
        json_schema_extra={"maxLength": 8192},
        examples=["https://example.org/story"],
    )
    tags: Tags = Field(default=[], description=f"Your own tags; added to those it has; the newest {TAGS_MAX} stay")
    note: Note | None = Field(default=None, description="Your own note")


class SavedItem(BaseModel):
    """An item that was saved, now or before."""

    id: UUID = Field(examples=[_ID])
    content_id: UUID = Field(description="The page behind the item, shared by all who hold it", examples=[_ID])
    status: Status = Field(examples=["PENDING"])
    waiting: Waiting | None = Field(
        default=None, description="Until when and why its reading is put off, where it cannot be tried now"
    )


class SaveItems(Asked):
    """Pages to be read, each answered on its own."""

    items: Annotated[list[Any], Field(min_length=1, max_length=BATCH_MAX)] = Field(
        description=f"1 to {BATCH_MAX} of what `POST /v1/items` takes",
        json_schema_extra={"items": {"$ref": "#/components/schemas/SaveItem"}},
        examples=[[{"url": "https://example.org/story"}]],
    )


class BatchAnswer(BaseModel):
    """What became of one entry of a batch."""

    status_code: int = Field(
        description="What `POST /v1/items` would have answered: 202, 200, 409 or 422", examples=[202]
    )
    item: SavedItem | None = None
    error: Cause | None = Field(default=None, description="Why it was refused")


class BatchAnswers(BaseModel):
    """One answer an entry, in the order of the request."""

    items: list[BatchAnswer]


class Topic(BaseModel):
    """What a page is about, and how surely."""

    topic: str = Field(description="Its id in the file of topics", examples=["politics"])
    score: float = Field(description="How surely; 0.3 is the default threshold", examples=[0.62])


class Item(BaseModel):
    """One page in the caller's hands."""

    id: UUID = Field(examples=[_ID])
    content_id: UUID = Field(examples=[_ID])
    url: str = Field(examples=["https://example.org/story"])
    status: Status
    title: str | None = Field(description="Text, never HTML")
    author: str | None
    site_name: str | None
    image_url: str | None
    kind: str = Field(
        description="`list`: a page of links; `note`: an entry without a page; `unsupported`: nothing that is read",
        json_schema_extra={"enum": [*_KINDS]},
        examples=["article"],
    )
    lang: str | None = Field(description="ISO 639-1", examples=["en"])
    word_count: int | None
    reading_minutes: int | None = Field(
        description="At 230 words a minute; 500 characters of Chinese or Japanese, 900 of Thai, Lao, Khmer or Burmese"
    )
    published_at: datetime | None = Field(description="As the page claims; null without a date that can be so")
    undated: Cause | None = Field(
        description="Why the date that is claimed is not used: `date_unreadable`, `date_ambiguous`, `date_implausible`"
    )
    first_seen_at: datetime = Field(description="When it came to the caller")
    sort_at: datetime = Field(description="The earlier of the two; lists are sorted by it, newest first")
    summary: str | None
    topics: list[Topic] | None = Field(
        description="Everybody's, best first; null until analysed; none where your set of its source takes their place"
    )
    own_topics: list[Topic] | None = Field(
        description="By your own topics (`/v1/topics`), best first; null without any, or until they were compared"
    )
    tags: list[str] = Field(description="The caller's own, then those found by reading")
    own_tags: list[str] = Field(description="The caller's own")
    note: str | None
    source_id: UUID | None = Field(description="The source that brought it")
    saved: bool = Field(description="Whether the caller saved it by hand")
    read_at: datetime | None
    starred_at: datetime | None
    score: float | None = Field(
        description="How relevant it is to the caller at this moment, from 0 to 1; null: not scored yet",
        examples=[0.62],
    )
    notice: Cause | None = Field(description="What limits what could be read")
    error: Cause | None = Field(description="Why it is FAILED")
    created_at: datetime
    updated_at: datetime


class Duplicate(BaseModel):
    """Another item of the caller's with the same text."""

    id: UUID
    url: str
    title: str | None
    original: bool = Field(description="Whether it is the one that was first; the others of the group point to it")


class Derivation(BaseModel):
    """What made a derived value."""

    kind: str = Field(examples=["summary"])
    model_id: str
    model_version: str
    made_at: datetime = Field(examples=[_TIME])


class Vector(BaseModel):
    """The vector by which it is found."""

    model_version: str
    dimensions: int = Field(examples=[384])


class TranscriptState(StrEnum):
    """How the words of a video or audio were got, or why they are not there."""

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
    """The words of a video or audio. Where they were got, they are the last part of the item's text."""

    state: TranscriptState | None = Field(
        description="`page`, `captions`, `youtube`, `feed` (got there), `generated` (by the audio model), `blocked` "
        "(whoever has them refuses to be asked), `none`, `private` (the video itself is), `too_long`, `over_budget` "
        "(not generated for that reason); null: not known yet"
    )
    source: str | None = Field(description="The caption file, the video's page, or the audio model")
    language: str | None = Field(examples=["en"])
    next_try_at: datetime | None = Field(description="When they are looked for again, if they are")


class Recording(BaseModel):
    """A video or audio."""

    url: str | None = Field(description="The file itself, where it is known", examples=["https://example.org/talk.mp3"])
    media_type: str | None = Field(examples=["audio/mpeg"])
    duration_s: float | None = Field(description="Seconds, as stated", examples=[1800])
    transcript: Transcript


class Named(BaseModel):
    """One whom an item names."""

    id: str = Field(description="The canonical id, or the temporary one as long as there is none")
    kind: str = Field(description="`ORG`, `PER` or `LOC`", examples=["ORG"])
    name: str = Field(examples=["Acme Robotics, Inc."])
    mentions: int = Field(description="How often it does")


class ItemDetail(Item):
    """One page in the caller's hands, with all that is known of it."""

    description: str | None = Field(description="As the page describes itself")
    text: str | None = Field(description="The main text, without markup")
    recording: Recording | None = Field(description="The video or audio that the page is about")
    waiting_until: datetime | None = Field(description="When it is tried next, if it waits for a time")
    waiting_reason: str | None = Field(description="What it waits for")
    reasons: list[Reason] = Field(description="What its score is made up of; empty where there is none yet")
    entities: list[Named] = Field(description="Whom the text names, the most often named first")
    duplicates: list[Duplicate]
    derivations: list[Derivation]
    vector: Vector | None


class Items(Page):
    """A page of a list."""

    items: list[Item]


class ChangeItem(Changes):
    """What to change; what is left out stays."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"read": True, "tags": ["energy"]}]})

    read: StrictBool = Field(default=False, description="Whether it has been read")
    starred: StrictBool = Field(default=False, description="Whether it is starred")
    tags: Tags = Field(default=[], description="Your own tags, replacing those before")
    note: Note | None = Field(default=None, description="Your own note; null removes it")


class ReprocessFrom(StrEnum):
    """Where reading begins again."""

    INGEST = "ingest"
    ANALYZE = "analyze"


class Reprocess(Asked):
    """Where to begin again."""

    start: ReprocessFrom = Field(
        default=ReprocessFrom.INGEST,
        alias="from",
        description="`ingest` fetches the page again; `analyze` reads the stored text again",
    )


class Step(BaseModel):
    """One step of an item's walk."""

    at: datetime = Field(examples=[_TIME])
    job_type: str = Field(examples=["ingest_content"])
    job_id: UUID
    event: str = Field(
        description="What came of it: `enqueued`, `recovered`, `claimed`, `completed`, `retry`, `deferred`, `failed`, "
        "`lease_expired`, `redriven` or `cancelled`",
        examples=["claimed"],
    )
    attempt: int
    duration_ms: int | None
    error: Cause | None
    reason: str | None = Field(description="Why it came to be, where that is no error")
    due_at: datetime | None = Field(description="When the next try is due, for a try that was put off")


class Timeline(BaseModel):
    """Every step of an item's walk, oldest first, and what it waits for now."""

    id: UUID
    status: Status
    waiting: Waiting | None
    notice: Cause | None = Field(description="What limits its reading, such as `no_credit`")
    undated: Cause | None = Field(description="Why the date that it claims is not used")
    error: Cause | None
    steps: list[Step]
