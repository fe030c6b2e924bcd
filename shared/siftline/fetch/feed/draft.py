"""A feed between its format and our result: what was found in XML, as it stands there, not yet sanitised.

``siftline.fetch.feed.xml_feed`` fills these, and ``siftline.fetch.feed.finish`` makes entries of them.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import NamedTuple

PLAIN = "text/plain"
HTML = "text/html"
XHTML = "application/xhtml+xml"
_PAGE = re.compile(r"(?:https?:)?/", re.IGNORECASE)


def names_page(guid: str) -> bool:
    """Return whether a GUID of RSS can be an address, as it stands there.

    It is one unless it says otherwise (RSS 2.0), and many a name (``12345``) does not.
    """
    return _PAGE.match(guid) is not None


class Text(NamedTuple):
    """A text construct. ``base`` is the address that its relative links count from."""

    value: str
    media_type: str
    base: str


class Link(NamedTuple):
    """A link of an entry or a feed, an enclosure among them. The address is as absolute as its reader made it."""

    href: str
    rel: str = "alternate"
    media_type: str = ""
    attributes: Mapping[str, str] = {}
    """The others: ``length``, ``duration``, ``language``."""


class Tag(NamedTuple):
    """A category."""

    term: str | None
    label: str | None = None


@dataclass(slots=True)
class EntryDraft:
    """One entry as found."""

    guid: str = ""
    permalink: str = ""
    """The GUID or id, where it says that it is an address, and can be one."""
    original_link: str = ""
    """The address behind a counting redirect (FeedBurner)."""
    links: list[Link] = field(default_factory=list)
    title: Text | None = None
    summary: Text | None = None
    contents: list[Text] = field(default_factory=list)
    authors: list[str] = field(default_factory=list)
    """Names, and what stands for one: an address, or both in one text."""
    published_at: datetime | str = ""
    """An instant in the usual form, else what is written there: what it is worth depends on the whole feed."""
    updated_at: datetime | str = ""
    created_at: datetime | str = ""
    media: list[Mapping[str, str]] = field(default_factory=list)
    """The attributes of each media:content."""
    thumbnails: list[str] = field(default_factory=list)
    image: str = ""
    tags: list[Tag] = field(default_factory=list)
    transcripts: list[Mapping[str, str]] = field(default_factory=list)
    """The attributes of each podcast:transcript."""
    duration: str = ""
    comments: str = ""


@dataclass(slots=True)
class FeedDraft:
    """A feed as found."""

    is_atom: bool = False
    title: Text | None = None
    description: Text | None = None
    links: list[Link] = field(default_factory=list)
    authors: list[str] = field(default_factory=list)
    image: str = ""
    language: str = ""
    ttl: str = ""
    skip_hours: list[str] = field(default_factory=list)
    skip_days: list[str] = field(default_factory=list)
    entries: list[EntryDraft] = field(default_factory=list)
    skipped: int = 0
