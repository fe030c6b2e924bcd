"""Reads pages for the feeds or the article links in them, in a child process that is kept warm and can be killed."""

from typing import Any, Self, cast

from siftline.fetch.feed_places import Discovered
from siftline.fetch.feeds import Feed
from siftline.kit.confined import ChildLostError, Confined, TooMuchMemoryError, TooSlowError, UnexpectedInChildError
from siftline.kit.errors import PermanentError

MEMORY_BYTES = 512 * 1024 * 1024
"""Address space that one page may add: a page at the size cap as a tree, several times over."""
_FEEDS = "siftline.fetch.discovery:find"
_LINKS = "siftline.fetch.web_page:article_links"


class PageTooComplexError(PermanentError):
    """The page is built to cost more time or memory than a page may."""

    code = "page_too_complex"


class PageUnreadableError(PermanentError):
    """The parser did not survive the page."""

    code = "page_unreadable"


class PageReader:
    """Reads pages, each in a child of its own while it lasts. Thread-safe: as many children as callers at once.

    Both ways of reading raise ``PageTooComplexError`` and ``PageUnreadableError``.
    """

    def __init__(self, *, timeout_s: float = 5.0, max_links: int = 100) -> None:
        self._timeout_s = timeout_s
        self._max_links = max_links
        self._confined = Confined(_FEEDS, _LINKS, memory_bytes=MEMORY_BYTES, what="page")

    def feeds(self, body: bytes, *, url: str, content_type: str = "") -> Discovered:
        """Return the feeds that a page names; as ``siftline.fetch.discovery.find``."""
        return cast("Discovered", self._call(_FEEDS, body, url=url, content_type=content_type))

    def links(self, body: bytes, *, url: str, content_type: str = "", selector: str | None = None) -> Feed:
        """Return the articles that a page links to; as ``siftline.fetch.web_page.article_links``.

        Raises ``InvalidSelectorError`` too.
        """
        request = {"url": url, "content_type": content_type, "selector": selector, "max_links": self._max_links}
        return cast("Feed", self._call(_LINKS, body, **request))

    def _call(self, function: str, body: bytes, **named: object) -> Any:
        try:
            return self._confined.call(function, body, within_s=self._timeout_s, **named)
        except (TooSlowError, TooMuchMemoryError) as error:
            raise PageTooComplexError(error.detail) from error
        except (ChildLostError, UnexpectedInChildError) as error:
            raise PageUnreadableError("The page could not be read.") from error

    def close(self) -> None:
        """End the children."""
        self._confined.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
