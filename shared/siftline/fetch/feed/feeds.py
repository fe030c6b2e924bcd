"""What a feed says, in one shape, whichever format it is written in; and the recording that an entry is about."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, TypedDict

from siftline.kit.errors import PermanentError
from siftline.net.recordings import said_kind
from siftline.text.instants import Dates

_TRANSCRIPTS_MAX = 20


class NotAFeedError(PermanentError):
    """The body is neither RSS nor Atom nor RDF nor JSON Feed."""

    code = "not_a_feed"


class FeedTooComplexError(PermanentError):
    """The body is built to cost more time or memory than a feed may."""

    code = "feed_too_complex"


class FeedUnreadableError(PermanentError):
    """The parser did not survive the feed."""

    code = "feed_unreadable"


@dataclass(frozen=True, slots=True)
class Enclosure:
    """A file that an entry brings along."""

    url: str
    media_type: str | None = None
    length_bytes: int | None = None
    duration_s: int | None = None


@dataclass(frozen=True, slots=True)
class Transcript:
    """A file that holds an entry's words in writing (podcast:transcript)."""

    url: str
    media_type: str | None = None
    language: str | None = None


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry. Text holds no control character; HTML is sanitised and its links are absolute."""

    guid: str | None
    """As the feed gives it, at most 2,000 characters."""
    link: str | None
    """Absolute http(s) address in the form of ``siftline.net.urls.validate_url``."""
    title: str
    """Plain text, possibly empty."""
    author: str | None = None
    published_at: datetime | None = None
    """Aware, in UTC, as claimed; ``None`` when the entry is undated."""
    published_claim: str | None = field(default=None, compare=False)
    """That instant as it is written there."""
    undated_code: str | None = None
    """Why a date that the entry claims is not used (``siftline.text.instants``), and what it claims."""
    undated_claim: str | None = None
    updated_at: datetime | None = None
    html: str = ""
    """The fullest body that the entry brings; its summary where there is nothing else."""
    summary_html: str = ""
    """The summary, where ``html`` is something fuller."""
    description: str = ""
    """The beginning of the summary or else of the body, as plain text."""
    image_url: str | None = None
    enclosures: tuple[Enclosure, ...] = ()
    tags: tuple[str, ...] = ()
    transcripts: tuple[Transcript, ...] = ()
    duration_s: int | None = None
    """How long the entry's audio or video runs."""
    comments_url: str | None = None
    """The page on which the entry is discussed."""


@dataclass(frozen=True, slots=True)
class Feed:
    """A whole feed, its entries in document order."""

    title: str
    site_url: str | None
    entries: tuple[Entry, ...]
    language: str | None = None
    skipped: int = 0
    """Entries that could not be read or lay beyond the cap."""
    description: str = ""
    """What the feed says of itself, as plain text."""
    author: str | None = None
    image_url: str | None = None
    """The feed's logo, absolute."""
    ttl_minutes: int | None = None
    """For how long the feed wants not to be asked again (RSS 2.0, ``ttl``)."""
    skip_hours: frozenset[int] = frozenset()
    """The hours of the day, 0 to 23 in UTC, in which it wants not to be asked (RSS 2.0, ``skipHours``)."""
    skip_days: frozenset[int] = frozenset()
    """The days of the week, 0 for Monday, on which it wants not to be asked (RSS 2.0, ``skipDays``)."""


class EntryTimes(TypedDict):
    """The fields of an ``Entry`` that its claims of dates fill."""

    published_at: datetime | None
    published_claim: str | None
    undated_code: str | None
    undated_claim: str | None
    updated_at: datetime | None


def entry_times(dates: Dates, *published: object, updated: object = None, created: object = None) -> EntryTimes:
    """Choose an entry's date, for every kind of source: the first claim that can be read, published, updated, created.

    Whether a claim can be read is for ``dates`` to say; where none can, the first that says anything is told.
    """
    chosen = dates.first(*published, updated, created)
    return {
        "published_at": chosen.at,
        "published_claim": chosen.written,
        "undated_code": chosen.undated_code,
        "undated_claim": chosen.claim,
        "updated_at": dates.first(updated).at,
    }


def recording_kind(entry: Entry) -> str | None:
    """Return ``audio`` or ``video`` for an entry that brings such a file, else ``None``."""
    found = _recording(entry)
    return None if found is None else _kind(found, entry)


def recording_url(entry: Entry) -> str | None:
    """Return where the file is."""
    found = _recording(entry)
    return None if found is None else found.url


def recording_row(entry: Entry) -> dict[str, Any] | None:
    """Return what the feed says of the file, or ``None`` when the entry brings none."""
    found = _recording(entry)
    if found is None:
        return None
    transcripts = [
        {"url": one.url, "media_type": one.media_type, "language": one.language, "label": None}
        for one in entry.transcripts[:_TRANSCRIPTS_MAX]
    ]
    return {
        "url": found.url,
        "media_type": found.media_type,
        "duration_s": entry.duration_s or found.duration_s,
        "feed_tracks": transcripts,
    }


def _recording(entry: Entry) -> Enclosure | None:
    return next((one for one in entry.enclosures if _kind(one, entry) is not None), None)


def _kind(enclosure: Enclosure, entry: Entry) -> str | None:
    return said_kind(enclosure.url, enclosure.media_type, runs=bool(enclosure.duration_s or entry.duration_s))
