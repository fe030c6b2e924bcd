"""Where the fetchers of the kinds of sources are put together."""

from collections.abc import Mapping
from typing import Protocol

from siftline.fetch.kinds.feed_fetcher import FeedFetcher
from siftline.fetch.kinds.feed_reader import FeedReader
from siftline.fetch.kinds.fetcher import Http, SourceFetcher
from siftline.fetch.kinds.page_reader import PageReader
from siftline.fetch.kinds.reddit_fetcher import RedditFetcher
from siftline.fetch.kinds.site_fetcher import SiteFetcher
from siftline.fetch.kinds.web_fetcher import WebFetcher
from siftline.kit.clock import Clock
from siftline.net.pacing import Pacing


class FetcherOptions(Protocol):
    """The settings of the fetchers (``siftline.settings.functions.FetchSettings``)."""

    @property
    def feed_max_bytes(self) -> int:
        """A larger feed is not read."""
        ...

    @property
    def discovery_tries(self) -> int:
        """Usual addresses of feeds that are tried where a page names none."""
        ...

    @property
    def discovery_s(self) -> float:
        """A poll that looks for a feed begins no request after this."""
        ...

    @property
    def web_max_bytes(self) -> int:
        """A larger page of links is not read."""
        ...

    @property
    def reddit_url(self) -> str:
        """Where Reddit is asked."""
        ...

    @property
    def reddit_form(self) -> str:
        """``json``, ``atom`` or ``auto``."""
        ...

    @property
    def reddit_atom_s(self) -> int:
        """How long Atom is asked for once Reddit refused JSON."""
        ...


def source_fetchers(
    http: Http,
    searching: Http,
    reader: FeedReader,
    pages: PageReader,
    pace: Pacing,
    clock: Clock,
    options: FetcherOptions,
) -> Mapping[str, SourceFetcher]:
    """Return the fetcher of each kind; ``searching`` is the client of little patience that looks for feeds."""
    feeds = FeedFetcher(http, reader, clock, max_bytes=options.feed_max_bytes)
    sites = SiteFetcher(
        feeds,
        searching,
        reader,
        pages,
        pace,
        clock,
        max_bytes=options.feed_max_bytes,
        tries=options.discovery_tries,
        search_s=options.discovery_s,
    )
    reddit = RedditFetcher(
        http,
        reader,
        pace,
        clock,
        base_url=options.reddit_url,
        form=options.reddit_form,
        atom_s=options.reddit_atom_s,
        max_bytes=options.feed_max_bytes,
    )
    return {"rss": sites, "web": WebFetcher(http, pages, clock, max_bytes=options.web_max_bytes), "reddit": reddit}
