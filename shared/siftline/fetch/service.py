"""Polls one feed: asks under its stored validators, parses, and saves all that is new in one transaction.

The request always starts at the address the user gave; what temporary redirects say today is forgotten tomorrow.
"""

import hashlib
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Protocol
from urllib.parse import urlsplit

from siftline.contracts import JobType
from siftline.fetch import health_store
from siftline.fetch.feeds import Feed
from siftline.fetch.health_store import Polled, Source
from siftline.fetch.identity import identify, judge
from siftline.fetch.intake import Intake
from siftline.fetch.ledger_store import ledger, wanted
from siftline.jobs.model import ClaimedJob, Done
from siftline.kit.clock import Clock
from siftline.kit.db import Connection, Database
from siftline.kit.errors import PermanentError, SiftlineError, TransientError
from siftline.kit.http import Response
from siftline.kit.http_errors import http_date, status_error

_ACCEPT = (
    "application/atom+xml, application/rss+xml, application/feed+json, application/rdf+xml;q=0.9, "
    "application/xml;q=0.8, text/xml;q=0.8, application/json;q=0.7, */*;q=0.1"
)
# A server that answers 304 for ever, or dates its feed into the future, is asked for the whole feed now and then.
_FULL_EVERY = timedelta(days=7)
_CLOCK_SKEW = timedelta(days=1)
_PERMANENT_REDIRECTS = frozenset({301, 308})


class SourceGoneError(PermanentError):
    """The source was deleted."""

    code = "source_gone"


class UnsupportedSourceError(PermanentError):
    """The source is of a kind that cannot be polled."""

    code = "unsupported_source"


class Http(Protocol):
    """The part of the HTTP client that a poll uses."""

    def get(self, url: str, *, headers: Mapping[str, str] | None = None, max_bytes: int, accept: str) -> Response:
        """Fetch an address."""
        ...


class Reader(Protocol):
    """Parses feeds."""

    def read(self, body: bytes, *, url: str, content_type: str = "") -> Feed:
        """Return what a feed says."""
        ...


class FetchOptions(Protocol):
    """The settings of a poll."""

    @property
    def first_import(self) -> str:
        """``skip``, ``all`` or ``newest:N``."""
        ...

    @property
    def feed_max_bytes(self) -> int:
        """A larger feed is not read."""
        ...

    @property
    def source_degraded_failures(self) -> int:
        """Failures in a row until a source is degraded."""
        ...


class FetchSource:
    """Does ``fetch_source`` jobs."""

    job_type = JobType.FETCH_SOURCE
    providers: frozenset[str] = frozenset()

    def __init__(self, database: Database, http: Http, reader: Reader, clock: Clock, options: FetchOptions) -> None:
        self._database = database
        self._http = http
        self._reader = reader
        self._clock = clock
        self._options = options

    def process(self, job: ClaimedJob) -> Done:
        """Poll the source. Raises the errors of the HTTP client and of the feed reader."""
        with self._database.transaction() as connection:
            source = health_store.load_source(connection, job.subject_id)
        if source is None:
            raise SourceGoneError("The source no longer exists.")
        if source.health == "inactive":
            return Done(lambda connection: health_store.idle(connection, source.id), result={"skipped": "inactive"})
        if source.kind != "rss":
            raise UnsupportedSourceError(f"Sources of the kind {source.kind} cannot be polled.")
        return self._poll(source)

    def on_failure(self, connection: Connection, job: ClaimedJob, error: SiftlineError) -> None:
        """Count a failed try against the source's health and put its next poll off."""
        transient = isinstance(error, TransientError)
        health_store.failed(
            connection,
            job.subject_id,
            code=error.error_code,
            detail=error.detail,
            attempts=job.attempts,
            tries=job.max_attempts if transient else 1,
            wait_s=(error.retry_after_s or 0.0) if isinstance(error, TransientError) else 0.0,
            degraded_at=self._options.source_degraded_failures,
        )

    def _poll(self, source: Source) -> Done:
        validators = _validators(source, self._clock.now())
        response = self._http.get(
            source.url, headers=validators, max_bytes=self._options.feed_max_bytes, accept=_ACCEPT
        )
        if response.status == 304:
            if not validators:
                raise status_error(304, response.headers, self._clock.now())
            return _unchanged(_polled(source, response), "not modified")
        polled = _polled(source, response)
        if polled.body_sha256 == source.body_sha256:
            return _unchanged(polled, "same body")
        return self._changed(source, response, polled)

    def _changed(self, source: Source, response: Response, polled: Polled) -> Done:
        feed = self._reader.read(response.body, url=response.url, content_type=response.headers.get("content-type", ""))
        poll = identify(feed.entries)
        with self._database.transaction() as connection:
            known = ledger(connection, source.id, poll)
        verdict = judge(source.id, poll, known)
        with self._database.transaction() as connection:
            again = wanted(connection, source.id, [found.arrival.url_key for found in verdict.returns])
        intake = Intake(
            source=source,
            feed=feed,
            verdict=verdict,
            polled=polled,
            first_import=source.first_import or self._options.first_import,
            group_key=f"host:{urlsplit(source.url).hostname}",
            now=self._clock.now(),
            wanted=again,
        )
        return Done(intake.write, intake.follow, intake.counts())


def _validators(source: Source, now: datetime) -> dict[str, str]:
    """Return the conditional headers to send: byte for byte what the server gave, unless it is not to be believed."""
    if source.last_full_at is None or now - source.last_full_at > _FULL_EVERY:
        return {}
    modified_at = http_date(source.last_modified or "")
    believed = modified_at is None or modified_at <= now + _CLOCK_SKEW
    headers = {"If-None-Match": source.etag, "If-Modified-Since": source.last_modified if believed else None}
    return {name: value for name, value in headers.items() if value}


def _polled(source: Source, response: Response) -> Polled:
    """Return what an answer says about the source. A 304 need not repeat a validator; a 200 without one has none."""
    full = response.status != 304
    permanent = response.redirects and all(status in _PERMANENT_REDIRECTS for status, _ in response.redirects)
    return Polled(
        source_id=source.id,
        etag=response.headers.get("etag", None if full else source.etag),
        last_modified=response.headers.get("last-modified", None if full else source.last_modified),
        resolved_url=response.url if permanent else None,
        before_full_at=source.last_full_at,
        full=full,
        body_sha256=hashlib.sha256(response.body).digest() if full else None,
    )


def _unchanged(polled: Polled, why: str) -> Done:
    return Done(lambda connection: health_store.polled(connection, polled), result={"unchanged": why})
