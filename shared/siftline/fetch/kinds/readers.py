"""Reads feeds and pages in child processes that are kept warm and can be killed.

A stranger's XML may hang or swell only there. Every feed goes this way, small ones too: a warm child costs about a
millisecond, and one path is to be trusted.
"""

from collections.abc import Sequence
from typing import ClassVar, Self, TypeVar

from siftline.fetch.feed.feeds import Feed, FeedTooComplexError, FeedUnreadableError
from siftline.fetch.feed.identity import Identified, Mark, marked
from siftline.fetch.kinds.feed_locations import Discovered
from siftline.kit.confined import ChildLostError, Confined, TooMuchMemoryError, TooSlowError, UnexpectedInChildError
from siftline.kit.errors import PermanentError
from siftline.net.reddit_address import Listing

MEMORY_BYTES = 256 * 1024 * 1024
"""Address space that one body may add: a feed or a page at the size cap as a tree, and what is made of it."""
_T = TypeVar("_T")

_PARSE = "siftline.fetch.feed.feed_parser:parse"
_PARSE_IDENTIFIED = "siftline.fetch.feed.feed_parser:parse_identified"
_POSTS = "siftline.fetch.kinds.reddit:posts"
ENTRIES_MAX = 50_000
"""What a feed lists beyond is skipped: each entry is looked up and written in one transaction."""

_FEEDS = "siftline.fetch.kinds.discovery:find"
_LINKS = "siftline.fetch.kinds.web_page:article_links"

PAGE_READ_S = 5.0
"""A page of links that takes longer is not read: it holds a thread that polls."""
LINKS_MAX = 100
"""Article links that one page may bring: beyond are its archive and its navigation."""


class _ConfinedReader:
    """Reads what strangers wrote, each body in a child of its own while it lasts, as many at once as callers ask.

    Thread-safe. ``what`` is the noun for it; ``too_complex`` is raised when a limit of time or memory is passed, and
    ``unreadable`` when the child did not survive.
    """

    what: ClassVar[str]
    too_complex: ClassVar[type[PermanentError]]
    unreadable: ClassVar[type[PermanentError]]

    def __init__(self, functions: Sequence[str], *, timeout_s: float, memory_bytes: int) -> None:
        self._timeout_s = timeout_s
        self._confined = Confined(*functions, memory_bytes=memory_bytes, what=self.what)

    def _call(self, returns: type[_T], function: str, body: bytes, **named: object) -> _T:
        try:
            return self._confined.call(returns, function, body, within_s=self._timeout_s, **named)
        except (TooSlowError, TooMuchMemoryError) as error:
            raise self.too_complex(error.detail) from error
        except (ChildLostError, UnexpectedInChildError) as error:
            raise self.unreadable(f"The {self.what} could not be read.") from error

    def close(self) -> None:
        """End the children."""
        self._confined.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class FeedReader(_ConfinedReader):
    """Parses feeds. What a feed lists beyond ``max_entries`` is skipped."""

    what = "feed"
    too_complex = FeedTooComplexError
    unreadable = FeedUnreadableError

    def __init__(
        self, *, timeout_s: float = 15.0, max_entries: int = ENTRIES_MAX, memory_bytes: int = MEMORY_BYTES
    ) -> None:
        super().__init__((_PARSE, _PARSE_IDENTIFIED, _POSTS), timeout_s=timeout_s, memory_bytes=memory_bytes)
        self._max_entries = max_entries

    def read(self, body: bytes, *, url: str, content_type: str = "") -> Feed:
        """Return what a feed says; as ``siftline.fetch.feed.feed_parser.parse``, and under a limit of time and memory.

        Raises ``NotAFeedError``, ``FeedTooComplexError`` (also when a limit is passed) and ``FeedUnreadableError``.
        """
        named = {"url": url, "content_type": content_type, "max_entries": self._max_entries}
        return self._call(Feed, _PARSE, body, **named)

    def read_identified(self, body: bytes, *, url: str, content_type: str = "") -> tuple[Feed, list[Identified]]:
        """Return what a feed says, and its entries identified (``fetch.feed.identity``); otherwise as ``read``."""
        named = {"url": url, "content_type": content_type, "max_entries": self._max_entries}
        feed, marks = self._call(tuple[Feed, list[Mark]], _PARSE_IDENTIFIED, body, **named)
        return feed, marked(feed, marks)

    def posts(self, body: bytes, *, listing: Listing) -> Feed:
        """Return the posts of Reddit's JSON; as ``siftline.fetch.kinds.reddit.posts``, and under the same limits."""
        return self._call(Feed, _POSTS, body, listing=listing, max_entries=self._max_entries)


class LinkPageTooComplexError(PermanentError):
    """The page is built to cost more time or memory than a page may."""

    code = "page_too_complex"


class PageUnreadableError(PermanentError):
    """The parser did not survive the page."""

    code = "page_unreadable"


class LinkReader(_ConfinedReader):
    """Reads pages. Both ways of reading raise ``LinkPageTooComplexError`` and ``PageUnreadableError``."""

    what = "page"
    too_complex = LinkPageTooComplexError
    unreadable = PageUnreadableError

    def __init__(self, *, timeout_s: float = PAGE_READ_S, max_links: int = LINKS_MAX) -> None:
        super().__init__((_FEEDS, _LINKS), timeout_s=timeout_s, memory_bytes=MEMORY_BYTES)
        self._max_links = max_links

    def feeds(self, body: bytes, *, url: str, content_type: str = "") -> Discovered:
        """Return the feeds that a page names; as ``siftline.fetch.kinds.discovery.find``."""
        return self._call(Discovered, _FEEDS, body, url=url, content_type=content_type)

    def links(self, body: bytes, *, url: str, content_type: str = "", selector: str | None = None) -> Feed:
        """Return the articles that a page links to; as ``siftline.fetch.kinds.web_page.article_links``.

        Raises ``InvalidSelectorError`` too.
        """
        request = {"url": url, "content_type": content_type, "selector": selector, "max_links": self._max_links}
        return self._call(Feed, _LINKS, body, **request)
