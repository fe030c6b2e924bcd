"""Fetches sources of the kind ``rss`` by whatever address a person gives: a feed's own, or that of a site that has one.

Feeds are RSS, Atom, RDF and JSON Feed. Where a page answers, its feed is searched: what the page names, else where
sites use to have one. A feed found is kept as the source's ``feed_url``; when that is gone the page is asked once more.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from siftline.fetch.feed.feeds import NotAFeedError
from siftline.fetch.kinds.feed_locations import (
    NoFeedFoundError,
    SeveralFeedsError,
    guesses,
    is_page,
    known_feed,
)
from siftline.fetch.kinds.fetcher import Fetched, FoundFeed, unmodified
from siftline.fetch.kinds.readers import FeedReader, LinkReader
from siftline.fetch.poll.answers import strayed
from siftline.fetch.poll.health_store import Source
from siftline.kit.clock import Clock
from siftline.kit.errors import NotTriedError, PermanentError, TransientError
from siftline.net.blocks import BLOCKED, BlockedBySiteError, is_block
from siftline.net.http_model import Http, Requester, Response, StatusRefusedError, StatusTransientError
from siftline.net.pacing import Pacing
from siftline.net.urls import canonical_url

ACCEPT = (
    "application/atom+xml, application/rss+xml, application/feed+json, application/rdf+xml;q=0.9, "
    "application/xml;q=0.8, text/xml;q=0.8, application/json;q=0.7, */*;q=0.1"
)

FEED_MAX_BYTES = 10 * 1024 * 1024
"""A larger feed is not read: it is parsed whole, in a child whose memory is made for this size."""

_GONE = frozenset({404, 410})
_PATIENCE = frozenset({429, 503})
GUESSES_MAX = 8
"""Usual addresses of feeds that are tried where a page names none: each is one more request to a stranger."""
SEARCH_S = 10.0
"""A poll that looks for a feed begins no request after this: it holds a thread, and comes on top of the poll."""
SEARCH_REQUEST_S = 5.0
"""The longest that such a request may take."""


class PageInsteadError(NotAFeedError):
    """The address holds a web page."""

    def __init__(self, response: Response) -> None:
        super().__init__("The address is a web page, not a feed.")
        self.response = response
        self.at = response.url


class FeedFetcher:
    """Asks for a feed and reads it, unless it is the same as at the last poll."""

    tracks_refusals: ClassVar[bool] = False

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


class SearchInterruptedError(TransientError):
    """The host is asked too much already for a feed to be looked for now."""

    code = "search_interrupted"


@dataclass(frozen=True, slots=True)
class _Poll:
    source: Source
    requester: Requester
    until_s: float


class RssFetcher:
    """Fetches sources of the kind ``rss``: a feed through ``FeedFetcher``, and where a page answers, finds its feed.

    ``searching`` asks where a feed might be: a client of little patience, for those requests come on top.
    """

    tracks_refusals: ClassVar[bool] = False

    def __init__(
        self,
        feeds: FeedFetcher,
        searching: Http,
        reader: FeedReader,
        pages: LinkReader,
        pace: Pacing,
        clock: Clock,
    ) -> None:
        self._feeds = feeds
        self._searching = searching
        self._reader = reader
        self._pages = pages
        self._pace = pace
        self._clock = clock

    def fetch(self, source: Source, validators: Mapping[str, str], requester: Requester) -> Fetched | FoundFeed:
        """Return the feed, or where it is.

        Raises the errors of the HTTP client and of the readers, ``SeveralFeedsError``, ``NoFeedFoundError`` and
        ``BlockedBySiteError``; of a source that had a feed before what was wrong with that.
        """
        poll = _Poll(source, requester, self._clock.monotonic() + SEARCH_S)
        known = None if source.feed_url else known_feed(source.url)
        if known is not None:
            return FoundFeed(known)
        try:
            return self._feeds.fetch(source, validators, requester)
        except PageInsteadError as error:
            if strayed(source, error):
                raise  # what stands there now is another's page: the feed is where it had moved to
            if source.feed_url is None:
                return self._of_page(poll, error)
            return self._again(poll, error)
        except (NotAFeedError, StatusRefusedError) as error:
            refused = isinstance(error, StatusRefusedError) and error.status not in _GONE
            if source.feed_url is None or refused or strayed(source, error):
                raise
            return self._again(poll, error)

    def _of_page(self, poll: _Poll, error: PageInsteadError) -> FoundFeed:
        try:
            return FoundFeed(self._feed_of(poll, error.response))
        except (SeveralFeedsError, NoFeedFoundError):
            if is_block(error.response.body.decode("utf-8", "replace"), error.response.headers):
                raise BlockedBySiteError(BLOCKED) from None
            if poll.source.imported_at is None:
                raise
            raise error from None  # it was a feed before, and may be one again

    def _again(self, poll: _Poll, error: PermanentError) -> FoundFeed:
        """Ask the page once more for its feed, now that the one it had named is gone. Raises ``error`` in vain."""
        if self._clock.monotonic() >= poll.until_s:
            raise error
        try:
            response = self._get(poll, poll.source.url)
            if is_page(response.body, response.content_type):
                return FoundFeed(self._feed_of(poll, response))
            if self._holds_feed(response):
                return FoundFeed(poll.source.url)
        except PermanentError as vain:
            raise error from vain
        raise error

    def _feed_of(self, poll: _Poll, response: Response) -> str:
        """Return the feed of a page, which is another one than the source had before."""
        source = poll.source
        content_type = response.headers.get("content-type", "")
        discovered = self._pages.feeds(response.body, url=response.url, content_type=content_type)
        first = discovered.candidates[0].url if discovered.clear else None
        if first is not None and (source.feed_url is None or canonical_url(first) != canonical_url(source.feed_url)):
            if discovered.announced or self._try(poll, first):
                return first
        elif len(discovered.candidates) > 1:
            raise SeveralFeedsError(discovered.candidates)
        guessed = self._guessed(poll, response.url) if source.imported_at is None else None
        if guessed is not None:
            return guessed
        if discovered.announced and not discovered.clear:
            raise SeveralFeedsError(discovered.candidates)
        raise NoFeedFoundError

    def _guessed(self, poll: _Poll, page_url: str) -> str | None:
        return next((url for url in guesses(page_url, GUESSES_MAX) if self._try(poll, url)), None)

    def _try(self, poll: _Poll, url: str) -> bool:
        """Return whether there is a feed; raises where the server, or its pace, asks for patience."""
        if self._clock.monotonic() >= poll.until_s:
            return False
        try:
            return self._holds_feed(self._get(poll, url))
        except PermanentError:
            return False
        except TransientError as error:
            refused = isinstance(error, StatusTransientError) and error.status in _PATIENCE
            if refused or error.retry_after_s is not None or isinstance(error, SearchInterruptedError):
                raise
            return False

    def _holds_feed(self, response: Response) -> bool:
        if is_page(response.body, response.content_type):
            return False
        self._reader.read(response.body, url=response.url, content_type=response.headers.get("content-type", ""))
        return True

    def _get(self, poll: _Poll, url: str) -> Response:
        """Ask in the host's pace, as for every request.

        A search has no turn of its own to wait for: it would begin with the page, and wait again, for ever.
        """
        try:
            with self._pace.asking(url, poll.requester) as admitted:
                return self._searching.get(url, requester=admitted, max_bytes=FEED_MAX_BYTES, accept=ACCEPT)
        except NotTriedError as error:
            raise SearchInterruptedError(error.detail) from error
