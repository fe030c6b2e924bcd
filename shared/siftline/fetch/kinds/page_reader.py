"""Reads pages for the feeds or the article links in them, in a child process that is kept warm and can be killed."""

from siftline.fetch.feed.feeds import Feed
from siftline.fetch.kinds.confined_reader import MEMORY_BYTES, ConfinedReader
from siftline.fetch.kinds.feed_locations import Discovered
from siftline.kit.errors import PermanentError

_FEEDS = "siftline.fetch.kinds.discovery:find"
_LINKS = "siftline.fetch.kinds.web_page:article_links"

READ_S = 5.0
"""A page of links that takes longer is not read: it holds a thread that polls."""
LINKS_MAX = 100
"""Article links that one page may bring: beyond are its archive and its navigation."""


class PageTooComplexError(PermanentError):
    """The page is built to cost more time or memory than a page may."""

    code = "page_too_complex"


class PageUnreadableError(PermanentError):
    """The parser did not survive the page."""

    code = "page_unreadable"


class PageReader(ConfinedReader):
    """Reads pages. Both ways of reading raise ``PageTooComplexError`` and ``PageUnreadableError``."""

    what = "page"
    too_complex = PageTooComplexError
    unreadable = PageUnreadableError

    def __init__(self, *, timeout_s: float = READ_S, max_links: int = LINKS_MAX) -> None:
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
