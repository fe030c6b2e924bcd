"""What ingest reads, a page and what a feed brings of one; and why a page cannot be taken in.

All errors are permanent: the same page fails the same way every time.
"""

from dataclasses import dataclass, field
from datetime import datetime

from siftline.kit.errors import PermanentError
from siftline.net.blocks import PageWithheldError

MAX_TEXT_CHARS = 500_000
"""What is longer is cut at a paragraph: a book's length, and far below what full-text search can index."""

MEDIA_TYPES = frozenset(
    {
        *("text/html", "application/xhtml+xml", "application/xml", "text/xml", "text/plain"),
        *("application/pdf", "application/x-pdf", "application/octet-stream"),
        "application/json",  # of which only feeds are told apart, to say so
    }
)
"""The media types of what can be read (``siftline.ingest.page.page``); an answer that names none is looked at too."""

A_FEED = "The address is a feed, not a page. Follow it instead: POST /v1/sources."


@dataclass(frozen=True, slots=True)
class Track:
    """A caption track that a page states."""

    url: str
    media_type: str | None = None
    """As stated, in lower case without parameters."""
    language: str | None = None
    """As the page writes it."""
    label: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Stated:
    """What a page says of itself; ``None`` where it says nothing."""

    title: str | None = None
    author: str | None = None
    site_name: str | None = None
    published_at: datetime | None = None
    published_claim: str | None = field(default=None, compare=False)
    """That instant as it is written there."""
    undated_code: str | None = None
    """Why a date that is claimed is not used (``siftline.text.instants``), and what is claimed."""
    undated_claim: str | None = None
    image_url: str | None = None
    description: str | None = None
    html_lang: str | None = None
    """The language as the page writes it."""
    lang_hint: str | None = None
    """Its primary subtag in lower case, as ``en``."""
    canonical_url: str | None = None
    kind: str = "article"
    """``article``, ``list`` (a page of links), ``video``, ``audio`` or ``pdf``."""
    tracks: tuple[Track, ...] = ()
    media_url: str | None = None
    """The audio or video file itself."""
    transcript: str | None = None
    """The words of its video or audio where the page itself states them (schema.org's ``transcript``)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Page(Stated):
    """What a page holds."""

    text: str
    """Paragraphs parted by an empty line, at most ``MAX_TEXT_CHARS`` characters.

    Empty only with a ``notice_code``, or where the page is a video or audio of which it says nothing more.
    """
    word_count: int
    notice_code: str | None = None
    """Why this is not the whole article: ``consent_wall``, ``paywalled``, ``pdf_without_text``."""


@dataclass(frozen=True, slots=True)
class EntryText:
    """A feed entry's own text; paragraphs parted by an empty line, ``""`` when it has none."""

    text: str
    word_count: int


class PageTooLargeError(PermanentError):
    """More bytes than a page of text has."""

    code = "page_too_large"


class PageTooComplexError(PermanentError):
    """Markup that no page for people has: too many elements, too deep, too many attributes."""

    code = "page_too_complex"


class UnsupportedContentTypeError(PermanentError):
    """Neither HTML, plain text, PDF, audio nor video."""

    code = "unsupported_content_type"


class OnlyRedirectsError(PermanentError):
    """A page whose markup sends its visitors elsewhere and that says nothing itself."""

    code = "page_only_redirects"


class EmptyContentError(PermanentError):
    """A page without any text."""

    code = "empty_content"


class CaptionsUnreadableError(PermanentError):
    """A caption track in a form that we cannot read."""

    code = "captions_unreadable"


class VideoUnavailableError(PermanentError):
    """A video that is private, removed or never was, and of which nothing is known."""

    code = "video_unavailable"


class PdfEncryptedError(PermanentError):
    """A PDF that only a password opens."""

    code = "pdf_encrypted"


class PdfUnreadableError(PermanentError):
    """A PDF that is damaged, or only calls itself one."""

    code = "pdf_unreadable"


class ConsentWallError(PageWithheldError):
    """The site shows nothing of the page until its visitor agreed to be tracked."""

    code = "consent_wall"


class ContentDeletedError(PermanentError):
    """The row was deleted before its work began."""

    code = "content_deleted"
