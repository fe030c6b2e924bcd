"""Fetches sources of the kind ``web``: the articles that a page links to, where there is no feed."""

import hashlib
from collections.abc import Mapping
from typing import ClassVar

from siftline.fetch.kinds.fetcher import Fetched, unmodified
from siftline.fetch.kinds.readers import LinkReader
from siftline.fetch.poll.health_store import Source
from siftline.kit.clock import Clock
from siftline.kit.stored import readable
from siftline.net.http_model import Http, Requester

_ACCEPT = "text/html, application/xhtml+xml;q=0.9, */*;q=0.1"
PAGE_MAX_BYTES = 5_000_000
"""A larger page of links is not read: it would be parsed whole."""


class WebFetcher:
    """Asks for a page and reads its article links; two pages are the same whose links are."""

    tracks_refusals: ClassVar[bool] = False

    def __init__(self, http: Http, pages: LinkReader, clock: Clock) -> None:
        self._http = http
        self._pages = pages
        self._clock = clock

    def fetch(self, source: Source, validators: Mapping[str, str], requester: Requester) -> Fetched:
        """Return the links as a feed.

        Raises the errors of the HTTP client and of the page reader, ``NoLinksFoundError`` and ``InvalidSelectorError``.
        """
        response = self._http.get(
            source.polled_url, requester=requester, headers=validators, max_bytes=PAGE_MAX_BYTES, accept=_ACCEPT
        )
        if response.status == 304:
            return unmodified(response, validators, self._clock)
        feed = self._pages.links(
            response.body,
            url=response.url,
            content_type=response.headers.get("content-type", ""),
            selector=readable(str, source.options.get("selector")),
        )
        lines = (f"{entry.link}\t{entry.title}\n" for entry in feed.entries)
        body_sha256 = hashlib.sha256("".join(lines).encode()).digest()
        return Fetched(response, None if body_sha256 == source.body_sha256 else feed, body_sha256)
