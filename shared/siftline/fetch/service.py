"""Polls one source: asks under its stored validators, and saves all that is new in one transaction.

The request always starts at the address the user gave; what temporary redirects say today is forgotten tomorrow.
"""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Protocol
from urllib.parse import urlsplit
from uuid import UUID

from siftline.contracts import JobType, Priority
from siftline.fetch import discovery_store, health_store
from siftline.fetch.feed_places import NoFeedFoundError, SeveralFeedsError
from siftline.fetch.feeds import Feed
from siftline.fetch.fetcher import Again, Fetched, Found, SourceFetcher
from siftline.fetch.health_store import Polled, Source
from siftline.fetch.identity import identify, judge
from siftline.fetch.intake import Intake
from siftline.fetch.ledger_store import ledger, wanted
from siftline.jobs.model import ClaimedJob, Done, NewJob
from siftline.kit.clock import Clock
from siftline.kit.db import Connection, Database
from siftline.kit.errors import PermanentError, SiftlineError, TransientError
from siftline.kit.http_errors import http_date

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


class FetchOptions(Protocol):
    """The settings of a poll."""

    @property
    def first_import(self) -> str:
        """``skip``, ``all`` or ``newest:N``."""
        ...

    @property
    def source_degraded_failures(self) -> int:
        """Failures in a row until a source is degraded."""
        ...

    @property
    def discovery_again_s(self) -> int:
        """How long a page is left alone whose feed is to be chosen, or was not found."""
        ...


class FetchSource:
    """Does ``fetch_source`` jobs. ``fetchers`` are by the kind of source; health, identity and saving are alike."""

    job_type = JobType.FETCH_SOURCE
    providers: frozenset[str] = frozenset()

    def __init__(
        self, database: Database, fetchers: Mapping[str, SourceFetcher], clock: Clock, options: FetchOptions
    ) -> None:
        self._database = database
        self._fetchers = fetchers
        self._clock = clock
        self._options = options

    def process(self, job: ClaimedJob) -> Done:
        """Poll the source. Raises the errors of the HTTP client and of the readers."""
        with self._database.transaction() as connection:
            source = health_store.load_source(connection, job.subject_id)
        if source is None:
            raise SourceGoneError("The source no longer exists.")
        if source.health == "inactive":
            return Done(lambda connection: health_store.idle(connection, source.id), result={"skipped": "inactive"})
        fetcher = self._fetchers.get(source.kind)
        if fetcher is None:
            raise UnsupportedSourceError(f"Sources of the kind {source.kind} cannot be polled.")
        return self._poll(source, fetcher)

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
        if isinstance(error, (SeveralFeedsError, NoFeedFoundError)):
            discovery_store.undecided(
                connection, job.subject_id, error.candidates, wait_s=self._options.discovery_again_s
            )

    def _poll(self, source: Source, fetcher: SourceFetcher) -> Done:
        fetched = fetcher.fetch(source, _validators(source, self._clock.now()))
        if isinstance(fetched, Found):
            return self._found(source, fetched.url)
        if isinstance(fetched, Again):
            options = fetched.options
            return Done(
                lambda connection: discovery_store.asked_otherwise(connection, source.id, options),
                follow=[_poll_of(source.id, source.url)],
                result={"again": sorted(options)},
            )
        polled = _polled(source, fetched)
        if fetched.feed is None:
            why = "not modified" if fetched.response.status == 304 else "same body"
            return Done(lambda connection: health_store.polled(connection, polled), result={"unchanged": why})
        return self._changed(source, fetched.feed, polled)

    def _found(self, source: Source, feed_url: str) -> Done:
        """Keep the feed that a page led to; the first one is polled next, in a job of its own."""
        degraded_at = self._options.source_degraded_failures
        return Done(
            lambda connection: discovery_store.found(connection, source.id, feed_url, degraded_at=degraded_at),
            follow=[_poll_of(source.id, feed_url)] if source.feed_url is None else [],
            result={"found": feed_url},
        )

    def _changed(self, source: Source, feed: Feed, polled: Polled) -> Done:
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


def _poll_of(source_id: UUID, url: str) -> NewJob:
    """Return the job of a poll that follows this one at once."""
    return NewJob(JobType.FETCH_SOURCE, source_id, f"host:{urlsplit(url).hostname}", priority=Priority.SAVED)


def _validators(source: Source, now: datetime) -> dict[str, str]:
    """Return the conditional headers to send: byte for byte what the server gave, unless it is not to be believed."""
    if source.last_full_at is None or now - source.last_full_at > _FULL_EVERY:
        return {}
    modified_at = http_date(source.last_modified or "")
    believed = modified_at is None or modified_at <= now + _CLOCK_SKEW
    headers = {"If-None-Match": source.etag, "If-Modified-Since": source.last_modified if believed else None}
    return {name: value for name, value in headers.items() if value}


def _polled(source: Source, fetched: Fetched) -> Polled:
    """Return what an answer says about the source. A 304 need not repeat a validator; a 200 without one has none."""
    response = fetched.response
    full = response.status != 304
    permanent = response.redirects and all(status in _PERMANENT_REDIRECTS for status, _ in response.redirects)
    return Polled(
        source_id=source.id,
        etag=response.headers.get("etag", None if full else source.etag),
        last_modified=response.headers.get("last-modified", None if full else source.last_modified),
        resolved_url=response.url if permanent else None,
        before_full_at=source.last_full_at,
        full=full,
        body_sha256=fetched.body_sha256,
        options=fetched.options,
    )
