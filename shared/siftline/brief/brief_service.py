"""The work of ``run_briefing``: one edition of a briefing, made of what came in, frozen, and handed on for delivery."""

import secrets
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from uuid import UUID

from siftline.brief import brief_store
from siftline.brief.deliveries_store import settle as settle_delivery
from siftline.brief.delivery import STOPPED, WHY
from siftline.brief.edition import Covered, Links, document, telling
from siftline.brief.edition_model import Briefing, CameIn, Choice, Coverage, EditionCandidate, Freshness, Window
from siftline.brief.edition_times import CATCH_UP, LENGTH, Frequency, Period, Rhythm, following, missed, passed_over
from siftline.brief.rendering import render
from siftline.brief.selection import choose
from siftline.contracts import JobType, Message
from siftline.contracts import RunBriefing as RunMessage
from siftline.jobs.job_model import ClaimedJob, Done, NewJob
from siftline.jobs.set_aside import checked, tell
from siftline.jobs.set_aside_store import SetAside
from siftline.kit.clock import Clock
from siftline.kit.db import Connection, Database
from siftline.kit.errors import NotTriedError, PermanentError, SiftlineError
from siftline.kit.ids import new_id
from siftline.kit.zones import zone

NEWS_MAX_AGE = timedelta(days=7)
"""What was published so long before the window is no news, unless it was saved by hand."""
_COMPARED_WITHIN_S = 600.0
_COMPARED_SOON_S = 15.0
_FRESHNESS = Freshness()
_READ_TOKEN_BYTES = 24


@dataclass(frozen=True, slots=True)
class _Input:
    """What a run works on, all of one moment."""

    briefing: Briefing
    rhythm: Rhythm
    period: Period
    asked: bool
    passed_over: int
    """How many periods before it have no edition, as this one tells what came in during them."""
    looking: brief_store.Looking
    came_in: CameIn
    looked_at: Sequence[UUID]
    choice: Choice
    coverage: Coverage
    aside: Sequence[SetAside]


class InterestsNotComparedError(NotTriedError):
    """What came in has not been compared with the briefing's interests yet: it will be in some seconds."""

    code = "interests_not_compared"


class RunBriefing:
    """Makes the edition that is due, or one that was asked for.

    Whatever is missed, one run makes one edition, of the newest period (``siftline.brief.edition_times``). Its window
    reaches from the end of the edition before to the moment at which everything is read. A period is claimed by its
    row as the job completes: a second run of the same period, at once or after a crash, writes nothing.
    """

    job_type = JobType.RUN_BRIEFING
    providers: frozenset[str] = frozenset()

    def __init__(
        self,
        database: Database,
        clock: Clock,
        links: Links,
        *,
        freshness: Freshness = _FRESHNESS,
    ) -> None:
        """A window that is longer than ``CATCH_UP`` counts as if it were that long."""
        self._database = database
        self._clock = clock
        self._links = links
        self._freshness = freshness

    def process(self, job: ClaimedJob) -> Done:
        """Make the edition of the job's briefing, if one is due.

        Raises ``UnknownZoneError`` and, for some minutes at most, ``InterestsNotComparedError``.
        """
        with self._database.transaction() as connection:
            end = brief_store.snapshot(connection)
            briefing = brief_store.load(connection, job.subject_id)
            if briefing is None or not briefing.enabled:
                return Done(result={"outcome": "gone" if briefing is None else "off"})
            next_due_at = self._next_due_at(connection, briefing)
            found = self._input(connection, briefing, end)
            if found is not None and self._to_be_compared(connection, found, job):
                detail = "New items are still being compared with this briefing's topics."
                raise InterestsNotComparedError(detail, retry_after_s=_COMPARED_SOON_S)
        if found is None:
            return Done(
                lambda connection: brief_store.settle(connection, briefing.id, next_due_at=next_due_at),
                result={"outcome": "nothing_due"},
            )
        return self._done(found, next_due_at)

    def on_failure(self, connection: Connection, job: ClaimedJob, error: SiftlineError) -> None:
        """Say on the briefing why there is no edition; after the last try the next period has its turn."""
        briefing = brief_store.load(connection, job.subject_id)
        if briefing is None:
            return
        last = isinstance(error, PermanentError) or job.attempts >= job.max_attempts
        next_due_at = self._next_after_failure(connection, briefing) if last else None
        brief_store.fail(connection, briefing.id, code=error.error_code, detail=error.detail, next_due_at=next_due_at)

    def _next_due_at(self, connection: Connection, briefing: Briefing) -> datetime:
        """Return when the next edition is due: a period that has one gets no other, though its time was moved on."""
        rhythm = _rhythm(briefing)
        period = following(rhythm, self._clock.now())
        while brief_store.made(connection, briefing.id, [period.key]):
            period = following(rhythm, period.due_at)
        return period.due_at

    def _next_after_failure(self, connection: Connection, briefing: Briefing) -> datetime:
        try:
            return self._next_due_at(connection, briefing)
        except PermanentError:  # the zone itself is what is wrong: looked at again in a day, or when it is changed
            return self._clock.now() + timedelta(days=1)

    def _to_be_compared(self, connection: Connection, found: _Input, job: ClaimedJob) -> bool:
        """Say whether to wait for the comparison. Where it stays away, the edition tells of everything."""
        if not found.briefing.about or found.came_in.compared:
            return False
        since = job.deferred_since
        if since is not None and (self._clock.now() - since).total_seconds() > _COMPARED_WITHIN_S:
            return False
        return brief_store.have_vectors(connection, found.looking)

    def _input(self, connection: Connection, briefing: Briefing, end: datetime) -> _Input | None:
        rhythm = _rhythm(briefing)
        now = self._clock.now()
        since = max(filter(None, (briefing.rhythm_since, briefing.last_due_at)))
        period = missed(rhythm, now, since=since)
        if period is not None and brief_store.made(connection, briefing.id, [period.key]):
            period = None
        asked = period is None and briefing.asked_at is not None
        if asked and briefing.asked_at is not None:
            period = Period(briefing.asked_at, f"asked {briefing.asked_at.astimezone(UTC):%Y-%m-%dT%H:%M:%S.%fZ}")
        if period is None:
            return None
        length = LENGTH[rhythm.frequency]
        start = briefing.window_from or min(since, end - length)
        window = Window(min(start, end), end)
        oldest = max(window.start, end - CATCH_UP[rhythm.frequency]) - NEWS_MAX_AGE
        looking = brief_store.Looking(briefing, window, oldest, self._freshness, briefing.stories_max)
        came_in, candidates, aside = _looked(connection, looking)
        told = brief_store.told(connection, briefing, list({one.story_key for one in candidates}))
        choice = choose(candidates, told, places=briefing.stories_max)
        coverage = brief_store.coverage(connection, briefing.user_id, window.start)
        seen = brief_store.looked_at(connection, briefing, end, compared_only=briefing.about and came_in.compared)
        late = 0 if asked else passed_over(rhythm, period, since=since)
        return _Input(briefing, rhythm, period, asked, late, looking, came_in, seen, choice, coverage, aside)

    def _done(self, found: _Input, next_due_at: datetime) -> Done:
        briefing, period = found.briefing, found.period
        empty = not found.choice.slots
        dealt_with = None if found.asked else period.due_at
        # A wish that came before the edition is met by it, whichever it is.
        asked_at = briefing.asked_at

        def settle(connection: Connection) -> None:
            brief_store.settle(
                connection, briefing.id, next_due_at=next_due_at, dealt_with=dealt_with, asked_at=asked_at
            )
            told = [one.content_id for slot in found.choice.slots for one in (slot.lead, *slot.others)]
            tell(connection, self.job_type, found.aside, told)

        if empty and briefing.on_empty == "skip" and briefing.asked_at is None:  # who asks is told
            return Done(settle, result={"outcome": "empty", "period": period.key})
        edition = self._edition(found)
        delivery_id = new_id() if briefing.channel != "none" else None
        stopped = briefing.stopped_code

        def write(connection: Connection) -> None:
            if brief_store.freeze(connection, edition, found.choice) and delivery_id is not None:
                brief_store.add_delivery(connection, delivery_id, edition, briefing.channel, briefing.destination or "")
                if stopped is not None:
                    settle_delivery(connection, delivery_id, "suppressed", stopped, WHY.get(stopped, STOPPED))
            settle(connection)

        follow = []
        if delivery_id is not None and stopped is None:
            follow.append(NewJob(JobType.DELIVER_BRIEFING, delivery_id, f"user:{briefing.user_id}"))
        result = {"outcome": "made", "period": period.key, "edition_id": str(edition.id)}
        return Done(write, follow, {**result, "stories": len(found.choice.slots)})

    def _edition(self, found: _Input) -> brief_store.Edition:
        briefing = found.briefing
        edition_id, read_token = new_id(), secrets.token_urlsafe(_READ_TOKEN_BYTES)
        frozen = document(
            edition_id,
            read_token,
            briefing,
            Covered(
                found.period.key,
                found.looking.window,
                found.passed_over,
                found.looking.oldest,
                found.came_in,
            ),
            found.choice,
            found.coverage,
            self._links,
        )
        # What is only read here is not sent, so there is nothing to stop.
        stop = None if briefing.channel == "none" else self._links.unsubscribe(briefing.unsubscribe_token)
        rendered = render(frozen, unsubscribe_url=stop, zone=found.rhythm.zone)
        return brief_store.Edition(
            id=edition_id,
            briefing_id=briefing.id,
            user_id=briefing.user_id,
            period_key=found.period.key,
            asked=found.asked,
            due_at=found.period.due_at,
            start=found.looking.window.start,
            end=found.looking.window.end,
            document=frozen,
            html=rendered.html,
            plain=rendered.plain,
            read_token=read_token,
            looked_at=found.looked_at,
        )


def _looked(
    connection: Connection, looking: brief_store.Looking
) -> tuple[CameIn, Sequence[EditionCandidate], Sequence[SetAside]]:
    """Count what came in and return the best of what can be told, and what cannot, for operators to see why.

    What cannot be told is known once it is loaded. It is left out, and its place is the next one's: of which again some
    may not do, so that each look is twice as wide as the one before, until all that is loaded can be told.
    """
    aside: dict[UUID, SetAside] = {}
    wide = looking
    while True:
        came_in, looked = brief_store.look(connection, wide)
        _, bad = checked(looked, telling, row_id=lambda one: one.content_id, kind="content")
        if not bad:
            break
        aside |= {one.row_id: one for one in bad}
        wide = replace(wide, unusable=list(aside), widened=2 * wide.widened)
    if aside:
        came_in, looked = brief_store.look(connection, replace(wide, widened=1))
    return came_in, looked, list(aside.values())


def subject_of(connection: Connection, message: Message) -> UUID | None:
    """Return the briefing that a message without a job means, if it is there."""
    if not isinstance(message, RunMessage):
        return None
    found = brief_store.load(connection, message.briefing_id)
    return None if found is None else found.id


def _rhythm(briefing: Briefing) -> Rhythm:
    return Rhythm(Frequency(briefing.frequency), briefing.at, zone(briefing.time_zone), briefing.weekday)
