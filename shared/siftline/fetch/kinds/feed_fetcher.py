"""Fetches sources of the kind ``rss``: RSS, Atom, RDF and JSON Feed."""

import hashlib
from collections.abc import Mapping
from typing import ClassVar

from siftline.fetch.feed.feeds import NotAFeedError
from siftline.fetch.kinds.feed_locations import is_page
from siftline.fetch.kinds.feed_reader import FeedReader
from siftline.fetch.kinds.fetcher import Fetched, unmodified
from siftline.fetch.poll.health_store import Source
from siftline.kit.clock import Clock
from siftline.net.http_model import Http, Requester, Response

ACCEPT = (
    "application/atom+xml, application/rss+xml, application/feed+json, application/rdf+xml;q=0.9, "
    "application/xml;q=0.8, text/xml;q=0.8, application/json;q=0.7, */*;q=0.1"
)

FEED_MAX_BYTES = 10 * 1024 * 1024
"""A larger feed is not read: it is parsed whole, in a child whose memory is made for this size."""


class PageInsteadError(NotAFeedError):
    """The address holds a web page."""

    def __init__(self, response: Response) -> None:
        super().__init__("The address is a web page, not a feed.")
        self.response = response
        self.at = response.url


class FeedFetcher:
    """Asks for a feed and reads it, unless it is the same as at the last poll."""

    tells_pace: ClassVar[bool] = False

    def __init__(self, http: Http, reader: FeedReader, clock: Clock) -> None:
        self._http = http
        self._reader = reader
        self._clock = clock

    def fetch(self, source: Source, validators: Mapping[str, str], requester: Requester) -> Fetched:
        """Return the feed. Raises the errors of the HTTP client and of the feed reader, and ``PageInsteadError``."""
        response = self._http.get(
            source.polled_url, requester=requester, headers=validators, max_bytes=FEED_MAX_BYTES, accept=ACCEPT
        )
        if response.status == 304:
            return unmodified(response, validators, self._clock)
        body_sha256 = hashlib.sha256(response.body).digest()
        if body_sha256 == source.body_sha256:
            return Fetched(response, None, body_sha256)
        if is_page(response.body, response.content_type):
            raise PageInsteadError(response)
        content_type = response.headers.get("content-type", "")
        try:
            feed, identified = self._reader.read_identified(response.body, url=response.url, content_type=content_type)
        except NotAFeedError as error:
            error.at = response.url
            raise
        return Fetched(response, feed, body_sha256, identified=identified)
