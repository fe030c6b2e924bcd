"""What an edition is made of. Frozen: what is made stays as it was."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, time
from typing import Any
from uuid import UUID


@dataclass(frozen=True, slots=True)
class Briefing:
    """A briefing as a run finds it, with what came before."""

    id: UUID
    user_id: UUID
    name: str
    interests: str
    frequency: str
    weekday: int
    at: time
    time_zone: str
    """The briefing's own, or the user's."""
    on_empty: str
    stories_max: int
    channel: str
    destination: str | None
    stopped_code: str | None
    enabled: bool
    rhythm_since: datetime
    last_due_at: datetime | None
    """When the newest period that was dealt with was due; ``None`` before the first."""
    asked_at: datetime | None
    """When somebody asked for an edition out of turn that is not made yet."""
    unsubscribe_token: str
    window_from: datetime | None
    """The end of the newest edition's window; ``None`` before the first."""

    @property
    def about(self) -> bool:
        """Whether it has interests of its own."""
        return bool(self.interests.strip())


@dataclass(frozen=True, slots=True)
class Window:
    """What an edition looks at: what came in after ``start``, until ``end`` (aware)."""

    start: datetime
    end: datetime


@dataclass(frozen=True, slots=True)
class Freshness:
    """What freshness counts in a score, and in how many seconds it halves."""

    weight: float = 0.15
    half_life_s: float = 259_200.0


@dataclass(frozen=True, slots=True)
class EditionCandidate:
    """A content that came in during the window, or that belongs to a story that one of these continues."""

    content_id: UUID
    original_id: UUID
    """The content whose text it repeats; its own where it repeats none."""
    item_id: UUID
    story_key: UUID
    """Its story; a content of none is a story of its own, under its own id."""
    title: str
    url: str
    site: str
    """Where it stands: the source's title as the user has it, the page's site, or the address's host."""
    source_id: UUID | None
    lang: str | None
    summary: str | None
    topics: Sequence[str]
    published_at: datetime | None
    """When it says that it was published; ``None`` where it says nothing that can be."""
    sort_at: datetime
    """When it counts as published: as it says, or when it was first seen."""
    score: float | None
    """Its relevance for the user, in [0, 1]; ``None`` where nothing has scored it."""
    reasons: Sequence[Mapping[str, Any]]
    """The parts of its relevance, as they are kept with the item."""
    likeness: float | None
    """How near it lies to what the briefing is about, in [0, 1]; ``None`` where that is not known or asked."""
    about: str | None
    """The interest of the briefing that it is nearest to."""
    story_size: int = 1
    """How many contents of its story came in, all told."""


@dataclass(frozen=True, slots=True)
class Told:
    """What earlier editions of the briefing told of a story."""

    story_key: UUID
    content_ids: frozenset[UUID]
    sources: frozenset[str]


@dataclass(frozen=True, slots=True)
class Slot:
    """One place in an edition: a story, told by its best content, the others cited."""

    story_key: UUID
    lead: EditionCandidate
    others: Sequence[EditionCandidate]
    """The rest, best first; all of them count as told."""
    update: bool
    """Whether it was told before and has changed materially since."""

    @property
    def size(self) -> int:
        """How many contents of the story came in: of a very large one not all are among ``others``."""
        return max(self.lead.story_size, 1 + len(self.others))


@dataclass(frozen=True, slots=True)
class Choice:
    """What an edition tells, and what it told before."""

    slots: Sequence[Slot]
    told_before: int
    """Stories left out because they were told and have not changed materially."""
    items_told_before: int
    """The contents of these."""


@dataclass(frozen=True, slots=True)
class CameIn:
    """All that came in for the user during a window, in contents: each is in one of the counts below it."""

    came_in: int
    failed: int
    """Could not be read."""
    waiting: int
    """Not read yet: told by a later edition, once they are."""
    read: int
    """The user has read them."""
    too_old: int
    """News of a time before what the edition tells (``siftline.brief.edition_times.CATCH_UP``)."""
    not_about: int
    """Not near to what the briefing is about."""
    unusable: int
    """Cannot be told: found so among the best, and replaced by the next best."""
    looked_at: int
    """All others: what the edition chooses from."""
    stories: int
    """The stories that these are."""
    undated: int
    """Of those looked at: without a date that can be, so that it counts when they were first seen."""
    compared: bool
    """Whether any was compared with what the briefing is about."""
    duplicates: int
    """Of those looked at: the same text, or another address, as one that is there already."""


@dataclass(frozen=True, slots=True)
class FailedSource:
    """A source that could not be read in the window."""

    title: str
    error_code: str


@dataclass(frozen=True, slots=True)
class Coverage:
    """How the user's sources did during the window."""

    sources_read: int
    sources_failed: int
    sources_skipped: int
    """Not asked at all: paused, or not due."""
    failed: Sequence[FailedSource]
    """The first of those that failed, by title."""
