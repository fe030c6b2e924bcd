"""What ingest reads: a page, and what a feed brings of one."""

from dataclasses import dataclass
from datetime import datetime

MAX_TEXT_CHARS = 500_000
"""What is longer is cut at a paragraph: a book's length, and far below what full-text search can index."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stated:
    """What a page says of itself; ``None`` where it says nothing."""

    title: str | None = None
    author: str | None = None
    site_name: str | None = None
    published_at: datetime | None = None
    image_url: str | None = None
    description: str | None = None
    html_lang: str | None = None
    """The language as the page writes it."""
    lang_hint: str | None = None
    """Its primary subtag in lower case, as ``en``."""
    canonical_url: str | None = None
    kind: str = "article"
    """``article``, ``video`` or ``audio``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Page(Stated):
    """What a page holds."""

    text: str
    """Paragraphs parted by an empty line, at most ``MAX_TEXT_CHARS`` characters, never empty."""
    word_count: int


@dataclass(frozen=True, slots=True)
class EntryText:
    """A feed entry's own text; paragraphs parted by an empty line, ``""`` when it has none."""

    text: str
    word_count: int
