"""Parses feeds in a child process that is kept warm and can be killed: a stranger's XML may hang or swell only there.

Every feed goes this way, small ones too: a warm child costs about a millisecond, and one path is to be trusted.
"""

from typing import Protocol, Self, cast

from siftline.fetch.feeds import Feed, FeedTooComplexError, FeedUnreadableError
from siftline.kit.confined import ChildLostError, Confined, TooMuchMemoryError, TooSlowError, UnexpectedInChildError
from siftline.kit.reddit_address import Listing

MEMORY_BYTES = 512 * 1024 * 1024
"""Address space that one feed may add; what a feed at the size cap needs, several times over."""
_PARSE = "siftline.fetch.feeds:parse"
_POSTS = "siftline.fetch.reddit:posts"


class ReaderOptions(Protocol):
    """The settings that a reader is made from (``siftline.settings.FetchSettings``)."""

    @property
    def feed_parse_s(self) -> float:
        """A feed that takes longer to parse is not read."""
        ...

    @property
    def feed_max_entries(self) -> int:
        """What a feed lists beyond this is skipped."""
        ...

    @property
    def feed_parse_memory_bytes(self) -> int:
        """Address space that one feed may add."""
        ...


class FeedReader:
    """Parses feeds, each in a child of its own while it lasts. Thread-safe: as many children as callers at once."""

    def __init__(self, *, timeout_s: float = 15.0, max_entries: int = 50_000, memory_bytes: int = MEMORY_BYTES) -> None:
        self._timeout_s = timeout_s
        self._max_entries = max_entries
        self._confined = Confined(_PARSE, _POSTS, memory_bytes=memory_bytes, what="feed")

    @classmethod
    def of(cls, options: ReaderOptions) -> Self:
        """Return a reader made from settings."""
        return cls(
            timeout_s=options.feed_parse_s,
            max_entries=options.feed_max_entries,
            memory_bytes=options.feed_parse_memory_bytes,
        )

    def read(self, body: bytes, *, url: str, content_type: str = "") -> Feed:
        """Return what a feed says; as ``siftline.fetch.feeds.parse``, and under a limit of time and memory.

        Raises ``NotAFeedError``, ``FeedTooComplexError`` (also when a limit is passed) and ``FeedUnreadableError``.
        """
        return self._call(_PARSE, body, url=url, content_type=content_type)

    def posts(self, body: bytes, *, listing: Listing) -> Feed:
        """Return the posts of Reddit's JSON; as ``siftline.fetch.reddit.posts``, and under the same limits."""
        return self._call(_POSTS, body, listing=listing)

    def _call(self, function: str, body: bytes, **named: object) -> Feed:
        named["max_entries"] = self._max_entries
        try:
            return cast("Feed", self._confined.call(function, body, within_s=self._timeout_s, **named))
        except (TooSlowError, TooMuchMemoryError) as error:
            raise FeedTooComplexError(error.detail) from error
        except (ChildLostError, UnexpectedInChildError) as error:
            raise FeedUnreadableError("The feed could not be read.") from error

    def close(self) -> None:
        """End the children."""
        self._confined.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
