"""Where the fetchers of the kinds of sources are put together."""

from collections.abc import Mapping

from siftline.catalog.source_kinds import SourceKind
from siftline.fetch.kinds.fetcher import SourceFetcher
from siftline.fetch.kinds.readers import FeedReader, LinkReader
from siftline.fetch.kinds.reddit_fetcher import RedditFetcher
from siftline.fetch.kinds.rss_fetcher import FeedFetcher, RssFetcher
from siftline.fetch.kinds.web_fetcher import WebFetcher
from siftline.kit.clock import Clock
from siftline.net.http_model import Http
from siftline.net.pacing import Pacing
from siftline.settings.functions import FetchSettings


def source_fetchers(
    http: Http,
    searching: Http,
    reader: FeedReader,
    pages: LinkReader,
    pace: Pacing,
    clock: Clock,
    settings: FetchSettings,
) -> Mapping[str, SourceFetcher]:
    """Return the fetcher of each kind; ``searching`` is the client of little patience that looks for feeds."""
    feeds = RssFetcher(FeedFetcher(http, reader, clock), searching, reader, pages, pace, clock)
    reddit = RedditFetcher(http, reader, pace, clock, base_url=settings.reddit_url, form=settings.reddit_form)
    return {SourceKind.RSS: feeds, SourceKind.WEB: WebFetcher(http, pages, clock), SourceKind.REDDIT: reddit}
