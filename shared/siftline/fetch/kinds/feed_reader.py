"""Parses feeds in a child process that is kept warm and can be killed: a stranger's XML may hang or swell only there.

Every feed goes this way, small ones too: a warm child costs about a millisecond, and one path is to be trusted.
"""

from siftline.fetch.feed.feeds import Feed, FeedTooComplexError, FeedUnreadableError
from siftline.fetch.feed.identity import Identified, Mark, marked
from siftline.fetch.kinds.confined_reader import MEMORY_BYTES, ConfinedReader
from siftline.net.reddit_address import Listing

_PARSE = "siftline.fetch.feed.feed_parser:parse"
_PARSE_IDENTIFIED = "siftline.fetch.feed.feed_parser:parse_identified"
_POSTS = "siftline.fetch.kinds.reddit:posts"
ENTRIES_MAX = 50_000
"""What a feed lists beyond is skipped: each entry is looked up and written in one transaction."""


class FeedReader(ConfinedReader):
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
