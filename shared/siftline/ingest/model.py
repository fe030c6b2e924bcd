"""What ingest reads: a page, and what a feed brings of one."""

from dataclasses import dataclass
from datetime import datetime

MAX_TEXT_CHARS = 500_000
"""What is longer is cut at a paragraph: a book's length, and far below what full-text search can index."""


@dataclass(frozen=True, slots=True)
class Page:
    """What a page holds; ``None`` where it says nothing."""

    title: str | None
    author: str | None
    site_name: str | None
    published_at: datetime | None
    image_url: str | None
    description: str | None
    lang_hint: str | None
    canonical_url: str | None
    text: str
    """Paragraphs parted by an empty line, at most ``MAX_TEXT_CHARS`` characters, never empty."""
    html_lang: str | None
    kind: str
    word_count: int


@dataclass(frozen=True, slots=True)
class EntryText:
    """A feed entry's own text; paragraphs parted by an empty line, ``""`` when it has none."""

    text: str
    word_count: int
