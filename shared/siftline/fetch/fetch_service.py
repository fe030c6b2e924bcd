"""Polls one source: asks under its stored validators, and saves all that is new in one transaction.

The request starts at the address that the user gave; what temporary redirects say today is forgotten tomorrow.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from siftline.contracts import JobType, Priority
from siftline.fetch.feed.feeds import Feed
from siftline.fetch.feed.identity import (
    Identified,
    Known,
    PollChanges,
    doubtful,
    guids_are_places,
    identify,
    judge,
    without_guids,
)
from siftline.fetch.feed.ledger_store import alike, asked, distrusts_guids, ledger, wanted, with_words
from siftline.fetch.kinds import discovery_store
from siftline.fetch.kinds.feed_locations import NeedsPersonError
from siftline.fetch.kinds.fetcher import Again, Fetched, FoundFeed, SourceFetcher, may_mean_pace
from siftline.fetch.poll import health_store
from siftline.fetch.poll.answers import validators, what_it_says
from siftline.fetch.poll.health_store import Polled, Source
from siftline.fetch.poll.poll_intake import Intake
from siftline.jobs import followers_store
from siftline.jobs.job_model import ClaimedJob, Done, NewJob, person
from siftline.kit.clock import Clock
from siftline.kit.db import Connection, Database
from siftline.kit.errors import PermanentError, SiftlineError, TransientError
from siftline.kit.log import logger
from siftline.net.blocks import named_refusal
from siftline.net.http_model import Requester, StatusRefusedError, StatusTransientError
from siftline.net.pacing import Pacing
from siftline.settings.functions import FetchSettings

DEGRADED_FAILURES = 5
"""Failures in a row until a source is degraded, and asked ever more rarely: fewer are a server's bad day."""
_SEARCH_AGAIN_S = 7 * 86_400
"""How long a page is left alone whose feed is to be chosen, or was not found, or whose selector is none."""
_log = logger("fetch")


class SourceGoneError(PermanentError):
    """The source was deleted."""

    code = "source_gone"


class UnsupportedSourceError(PermanentError):
    """The source is of a kind that cannot be polled."""

    code = "unsupported_source"


class FetchSource:
    """Does ``fetch_source`` jobs. ``fetchers`` are by the kind of source; health, identity and saving are alike."""

    job_type = JobType.FETCH_SOURCE
    providers: frozenset[str] = frozenset()

    def __init__(
        self,
        database: Database,
        fetchers: Mapping[str, SourceFetcher],
        pace: Pacing,
        clock: Clock,
        settings: FetchSettings,
    ) -> None:
        self._database = database
        self._fetchers = fetchers
        self._pace = pace
        self._clock = clock
        self._settings = settings

    def process(self, job: ClaimedJob) -> Done:
        """Poll the source. Raises the errors of the HTTP client and of the readers."""
        with self._database.statement() as connection:
            source = health_store.load_source(connection, job.subject_id)
        if source is None:
            raise SourceGoneError("The source no longer exists.")
        if source.health == "inactive":
            return Done(lambda connection: health_store.idle(connection, source.id), result={"skipped": "inactive"})
        fetcher = self._fetchers.get(source.kind)
        if fetcher is None:
            raise UnsupportedSourceError(f"Sources of kind {source.kind} cannot be polled.")
        return self._poll(job, source, fetcher)

    def on_failure(self, connection: Connection, job: ClaimedJob, error: SiftlineError) -> None:
        """Note why a try failed; when the job failed by it, count that against the source and put its next poll off."""
        _log.info("source_not_polled", source_id=str(job.subject_id), error_code=error.error_code, detail=error.detail)
        health_store.failed(
            connection,
            job.subject_id,
            job_id=job.id,
            code=error.error_code,
            detail=error.detail,
            at=error.at,
            wait_s=(error.retry_after_s or 0.0) if isinstance(error, TransientError) else 0.0,
            degraded_at=DEGRADED_FAILURES,
        )
        if isinstance(error, NeedsPersonError):
            discovery_store.left_alone(
                connection,
                job.subject_id,
                reason=error.next_fetch_reason,
                candidates=error.candidates,
                wait_s=_SEARCH_AGAIN_S,
            )

    def _poll(self, job: ClaimedJob, source: Source, fetcher: SourceFetcher) -> Done:
        now = self._clock.now()
        fetched = self._fetch(source, fetcher, job.requester(source.typed_origin), now)
        if isinstance(fetched, FoundFeed):
            return self._found(job, source, fetched.url)
        if isinstance(fetched, Again):
            return self._again(job, source, fetched.options)
        if fetched.feed is not None:
            return self._changed(job, source, fetched, fetched.feed)
        polled = what_it_says(source, fetched, now=now, settings=self._settings)
        why = "not modified" if fetched.response.status == 304 else "same body"
        _told(polled, fetched.response.status, {"unchanged": why})
        return Done(lambda connection: health_store.polled(connection, polled), result={"unchanged": why})

    def _fetch(
        self, source: Source, fetcher: SourceFetcher, requester: Requester, now: datetime
    ) -> Fetched | FoundFeed | Again:
        """Ask in the host's pace.

        Raises ``HostBusyError`` besides what the fetcher raises, and ``BlockedBySiteError`` for a check for robots.
        """
        url = source.polled_url
        try:
            with self._pace.asking(url, requester) as admitted:
                fetched = fetcher.fetch(source, validators(source, now), admitted)
        except (TransientError, StatusRefusedError) as error:
            if isinstance(error, TransientError):
                self._pace.told(url, error)
            named: SiftlineError = error
            if isinstance(error, StatusRefusedError | StatusTransientError):
                if may_mean_pace(error) and not fetcher.tracks_refusals:
                    busy = self._pace.refused(error.answer.url or url, who=source.id)
                    if busy is not None:
                        raise busy from error
                named = named_refusal(error)
            if named is error:
                raise
            raise named from error
        if isinstance(fetched, Fetched):
            self._pace.heard(fetched.response.url, fetched.response.headers)
            if not fetcher.tracks_refusals:
                self._pace.answered(fetched.response.url, who=source.id)
        return fetched

    def _found(self, job: ClaimedJob, source: Source, feed_url: str) -> Done:
        """Keep the feed that a page led to; the first one is polled next, in a job of its own."""
        return Done(
            lambda connection: discovery_store.found(connection, source.id, feed_url, degraded_at=DEGRADED_FAILURES),
            follow=[_poll_after(job)] if source.feed_url is None else [],
            result={"found": feed_url},
        )

    def _again(self, job: ClaimedJob, source: Source, options: Mapping[str, Any]) -> Done:
        """Ask in another way, in a job of its own, which waits for its own turn."""
        return Done(
            lambda connection: discovery_store.asked_otherwise(connection, source.id, options),
            follow=[_poll_after(job)],
            result={"asked_otherwise": True},
        )

    def _changed(self, job: ClaimedJob, source: Source, fetched: Fetched, feed: Feed) -> Done:
        poll = identify(feed.entries) if fetched.identified is None else fetched.identified
        changes = self._judged(source, poll)
        again = self._wanted(source, [found.arrival.url_key for found in changes.returns])
        now = self._clock.now()
        polled = what_it_says(source, fetched, now=now, settings=self._settings, changed=bool(changes.arrivals))
        intake = Intake(
            source=source,
            feed=feed,
            speakers=fetched.speakers,
            changes=changes,
            polled=polled,
            first_import=source.first_import or self._settings.first_import,
            tenants=self._tenants(job, source, len(changes.arrivals) + len(changes.edits) + len(changes.returns)),
            now=now,
            wanted=again,
            unlisted=self._unlisted(source, feed, changes),
        )
        _told(polled, fetched.response.status, intake.counts())
        return Done(intake.write, result=intake.counts())

    def _judged(self, source: Source, poll: Sequence[Identified]) -> PollChanges:
        """Return what a poll brought; what seems new is held against all that was listed lately."""
        poll, known = self._known(source, poll)
        changes = judge(source.id, poll, known)
        if source.imported_at is None or not changes.arrivals:
            return changes
        with self._database.statement() as connection:
            similar = alike(connection, source.id, [arrival.identified for arrival in changes.arrivals])
        return judge(source.id, poll, [*known, *similar]) if similar else changes

    def _known(self, source: Source, poll: Sequence[Identified]) -> tuple[Sequence[Identified], Sequence[Known]]:
        """Return a poll, and what the source's ledger knows of its entries; before the first import it has none.

        Guids that have turned out to be places in the feed count no more.
        """
        if source.imported_at is None:
            return poll, []
        with self._database.statement() as connection:
            known = ledger(connection, source.id, poll)
            if guids_are_places(poll, known) or distrusts_guids(connection, source.id):
                poll = without_guids(poll)
                known = ledger(connection, source.id, poll)
            keys = doubtful(poll, known)
            return poll, with_words(connection, source.id, known, keys) if keys else known

    def _tenants(self, job: ClaimedJob, source: Source, most: int) -> Sequence[str]:
        """Return in whose turns the entries of a poll are read: its followers', from whose turn the poll was."""
        if not most:
            return []
        with self._database.statement() as connection:
            return followers_store.followers(connection, source.id, first=person(job.group_key), limit=most)

    def _wanted(self, source: Source, url_keys: Sequence[str]) -> set[str]:
        """Return those of these contents, which are gone, that a subscriber waits for."""
        if not url_keys:
            return set()
        with self._database.statement() as connection:
            return wanted(connection, source.id, url_keys)

    def _unlisted(self, source: Source, feed: Feed, changes: PollChanges) -> list[UUID]:
        """Return the contents whose pages are asked for again and that a whole feed lists no longer."""
        if not source.asks_pages or feed.skipped:
            return []
        listed = {identified.key for identified in changes.seen} | {move.old_key for move in changes.moves}
        with self._database.statement() as connection:
            return [content_id for content_id, keys in asked(connection, source.id).items() if not keys & listed]


def _poll_after(job: ClaimedJob) -> NewJob:
    """Return the job of a poll that follows this one at once."""
    return NewJob(JobType.FETCH_SOURCE, job.subject_id, job.group_key, priority=Priority.SAVED)


def _told(polled: Polled, status: int, result: Mapping[str, Any]) -> None:
    facts = {
        "source_id": str(polled.source_id),
        "http_status": status,
        "next_fetch_s": round(polled.plan.wait.total_seconds()),
        "reason": polled.plan.reason,
    }
    _log.info("source_polled", extra={**result, **facts})
