"""One try of one claimed job: the work under a lease that is kept alive, then the one arrow its outcome asks for."""

import math
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any
from uuid import UUID

from siftline.contracts import JobType, Queue
from siftline.jobs import breakers_store, jobs_store, lease_store, outbox_store, subjects_store
from siftline.jobs.job_model import DEFER_MAX_S, ClaimedJob, Done, NewJob, Processor, Selective
from siftline.jobs.lease_store import Ended
from siftline.jobs.publish import Publisher
from siftline.jobs.queues import QueueUnavailableError
from siftline.jobs.tenants import Tenants
from siftline.kit.clock import Clock
from siftline.kit.db import Connection, Database, DatabaseUnavailableError, settled, settled_after
from siftline.kit.errors import ConfigurationError, NotTriedError, PermanentError, SiftlineError, TransientError
from siftline.kit.heartbeat import Heartbeat
from siftline.kit.ids import new_id
from siftline.kit.lines import line
from siftline.kit.log import logger
from siftline.kit.metrics import COUNT, MILLISECONDS, emit
from siftline.settings.functions import JobSettings

MISCONFIGURED_S = 300
"""What is set up wrongly is left alone this long, doubling up to 16 times, at no attempt: somebody has to mend it."""
# The share of a delay that jitter may take off: downward only, because SQS delays at most 900 s.
JITTER_RATIO = 0.1
_CLOCK_GRACE_S = 2.0
"""How much too early a claim may come: SQS's clock is not the database's."""
_log = logger("jobs")
# What goes on with a content; and what is done for its holders, which waits for nothing that the job writes.
_READ_ON = frozenset({JobType.TRANSCRIBE_CONTENT, JobType.ANALYZE_CONTENT})
_FOR_PEOPLE = frozenset(
    {
        JobType.CLUSTER_USER,
        JobType.JOIN_STORIES,
        JobType.LABEL_USER,
        JobType.NAME_CLUSTERS,
        JobType.SCORE_USER,
    }
)
# What a user is told of a fault of the set-up, whose detail (a path, an address) is for operators.
_SET_UP_WRONGLY = "A required service ({}) is misconfigured. The operator has been notified."
_BREAKER_OPEN = "A required service ({}) is unavailable ({}). We retry automatically."
# A far side that asks for a moment again and again gets ever more: at least this share of how long it has asked so far.
_WIDENING_RATIO = 0.25


class BreakerOpenError(NotTriedError):
    """What the job needs does not serve and is left alone for a while."""

    code = "breaker_open"


@dataclass(frozen=True, slots=True)
class Claim:
    """A job in hand, and the breakers it found on its way that are not closed."""

    job: ClaimedJob
    standings: Sequence[breakers_store.Standing] = ()

    @property
    def probes(self) -> frozenset[str]:
        """The providers that this job may try first after their breaker was open."""
        return frozenset(standing.provider for standing in self.standings if standing.probing)

    @property
    def blocked_by(self) -> breakers_store.Standing | None:
        """The breaker that keeps the job from being tried at all, the longest one first."""
        closed = [standing for standing in self.standings if not standing.probing]
        return max(closed, key=lambda standing: standing.wait_s, default=None)


def breaker_open(standing: breakers_store.Standing) -> BreakerOpenError:
    """Return what keeps a job from being tried while a breaker is open."""
    detail = _BREAKER_OPEN.format(standing.provider, standing.error_code)
    return BreakerOpenError(detail, retry_after_s=standing.wait_s)


@dataclass(frozen=True, slots=True)
class _Outcome:
    status: str
    again: UUID | None = None
    park_id: UUID | None = None
    breaker_opened: bool = False


def delay_s(attempts: int, backoff_s: Sequence[float], rng: random.Random) -> float:
    """Return the seconds to wait after try number ``attempts`` (1 is the first), jittered downward by up to 10 %.

    Tries beyond the list's end wait as long as its last entry.
    """
    step = backoff_s[min(max(attempts, 1), len(backoff_s)) - 1]
    return step * (1 - JITTER_RATIO * rng.random())


class Attempts:
    """Does claimed jobs, one at a time a thread. ``names`` are the real names of the queues, which carry the stage."""

    def __init__(
        self,
        *,
        names: Mapping[Queue, str],
        database: Database,
        publisher: Publisher,
        processors: Mapping[JobType, Processor],
        settings: JobSettings,
        clock: Clock,
    ) -> None:
        self._names = names
        self._database = database
        self._publisher = publisher
        self._processors = processors
        self._settings = settings
        self._clock = clock
        self._heartbeat = Heartbeat()
        self._tenants = Tenants(clock, threads=settings.job_tenant_threads)
        self._rng = random.Random()  # noqa: S311 - jitter, not a secret

    def claim(self, connection: Connection, job_id: UUID, job_type: JobType) -> Claim | None:
        """Take a job, in the caller's transaction, and look at the breakers of what it needs."""
        job = lease_store.claim(
            connection,
            job_id,
            job_type,
            lease_s=self._settings.job_lease_s,
            grace_s=_CLOCK_GRACE_S,
        )
        if job is None:
            return None
        processor = self._processors[job_type]
        needed = processor.providers
        if needed and isinstance(processor, Selective):
            needed = processor.needed(connection, job)
        if not needed:
            return Claim(job)
        return Claim(job, breakers_store.standings(connection, needed, probe_s=self._settings.job_lease_s))

    def run(self, claim: Claim) -> None:
        """Do the work, commit its outcome, and publish what it makes due.

        Raises ``DatabaseUnavailableError`` when the outcome could not be committed; the job is claimable then.
        """
        job, started = claim.job, self._clock.monotonic()
        try:
            publish = self._try(claim, started)
        except lease_store.LeaseLostError:
            _log.warning("lease_lost", **_facts(job), status="lost", duration_ms=self._since(started))
            if claim.probes:
                with self._database.transaction() as connection:
                    breakers_store.not_proven(connection, claim.probes)
            return
        except Exception:  # whatever it was: it goes on from here, and the job must not wait for its lease to run out
            self._give_back(job)
            raise
        try:
            self._publisher.publish(publish)
        except (TransientError, QueueUnavailableError) as error:
            _log.warning("publish_failed", **_facts(job), error_code=error.error_code)

    def _try(self, claim: Claim, started: float) -> Sequence[UUID]:
        """Do the work, commit its outcome, and return the jobs to publish."""
        job = claim.job
        if claim.blocked_by is not None:
            return self._failed_try(claim, breaker_open(claim.blocked_by), self._since(started))
        try:
            with (
                self._tenants.slot(job),
                self._heartbeat.hold(lambda: self._renew(job), every_s=self._settings.job_lease_s / 3),
            ):
                done = self._processors[job.job_type].process(job)
            duration_ms = self._since(started)
            fresh = self._complete(claim, done, duration_ms)
        except lease_store.LeaseLostError:
            raise
        except SiftlineError as error:
            return self._failed_try(claim, error, self._since(started))
        except Exception as error:  # noqa: BLE001 - the one broad catch: an unknown fault counts as transient
            _log.exception("unexpected_error", **_facts(job))
            unknown = TransientError(f"Unexpected error ({type(error).__name__}).", code="unexpected_error")
            return self._failed_try(claim, unknown, self._since(started))
        self._told("job_completed", job, "completed", duration_ms)
        if claim.probes:
            _log.info("breaker_closed", providers=sorted(claim.probes))
        return fresh

    def _renew(self, job: ClaimedJob) -> None:
        with self._database.transaction() as connection:
            lease_store.renew(connection, job, lease_s=self._settings.job_lease_s)

    def _give_back(self, job: ClaimedJob) -> None:
        """Let another try have the job at once, if the database can be told; else its lease runs out."""
        try:
            with self._database.transaction() as connection:
                lease_store.give_back(connection, job)
        except DatabaseUnavailableError as error:
            _log.warning("lease_not_given_back", **_facts(job), error_code=error.error_code)

    def _complete(self, claim: Claim, done: Done, duration_ms: int) -> list[UUID]:
        """End a job well, with all that stands or falls with it; returns the jobs to publish."""
        job = claim.job
        if (
            done.writes_nothing
            and not claim.probes
            and not subjects_store.has_status(job.job_type)
            and settled(
                self._database,
                lambda connection: lease_store.complete_alone(
                    connection, job, result=done.result, duration_ms=duration_ms
                ),
                single=True,
            )
        ):
            return []
        return settled_after(
            self._database,
            lambda connection: self._completing(connection, job, done, duration_ms),
            lambda connection, ended: self._completed(connection, claim, done, ended),
        )

    @staticmethod
    def _completing(connection: Connection, job: ClaimedJob, done: Done, duration_ms: int) -> Callable[[], Ended]:
        """End the job, and hold what may be enqueued next before its subject is written (``store.hold``)."""
        ended = lease_store.completing(connection, job, done.result, duration_ms)
        if read_on := [one for one in done.follow if one.job_type in _READ_ON]:
            jobs_store.hold(connection, [one.subject_id for one in read_on], *{one.job_type for one in read_on})
        return ended

    def _completed(self, connection: Connection, claim: Claim, done: Done, ended: Ended) -> list[UUID]:
        """Write all that stands or falls with a job's completion; returns the jobs to publish.

        A job before its subject: what is done for people comes before what is written, which makes their items due, for
        who stars an item asks for a scoring and then changes the item. It comes in one statement, so that who cancels
        all that a person has waits for it in the same order. All else follows from what is written.
        """
        job, again = claim.job, ended.follow_id
        ahead = [one for one in done.follow if one.job_type in _FOR_PEOPLE]
        fresh = self._enqueue(connection, job, ended, ahead)
        told = done.write(connection) or ()
        behind = [*(one for one in done.follow if one not in ahead), *told]
        fresh += self._enqueue(connection, job, ended, behind)
        if claim.probes:
            breakers_store.closed(connection, claim.probes)
        lease_store.finished(connection, job, again)
        return fresh if again is None else [*fresh, again]

    def _enqueue(self, connection: Connection, job: ClaimedJob, ended: Ended, follow: Sequence[NewJob]) -> list[UUID]:
        urgent = [_as_urgent(one, job, ended) for one in follow]
        return jobs_store.enqueue(connection, urgent, max_attempts=self._settings.job_max_attempts)

    def _failed_try(self, claim: Claim, error: SiftlineError, duration_ms: int) -> Sequence[UUID]:
        """Draw the arrow that this error asks for, with what it means for the subject, in one transaction."""
        job = claim.job
        outcome = settled(self._database, lambda connection: self._uncompleted(connection, claim, error, duration_ms))
        self._told("job_not_completed", job, outcome.status, duration_ms, error.error_code)
        if isinstance(error, DatabaseUnavailableError) and error.__cause__ is not None:
            cause = error.__cause__
            _log.warning(
                "database_refused", **_facts(job), error_type=type(cause).__name__, detail=line(str(cause), 300)
            )
        if outcome.breaker_opened or isinstance(error, ConfigurationError):
            self._told_provider(job, error, outcome)
        if outcome.park_id is not None:
            self._park(job)
        if outcome.again is not None:
            return [outcome.again]
        return [job.id] if outcome.status in ("retry", "deferred") else []

    def _uncompleted(self, connection: Connection, claim: Claim, error: SiftlineError, duration_ms: int) -> _Outcome:
        job, breaker_opened = claim.job, False
        wait_s = self._asked_wait_s(job, error)
        provider = self._provider_at_fault(claim, error)
        if provider is not None or claim.probes:
            # The job before its breakers, as who claims or completes one takes them.
            jobs_store.hold(connection, [job.subject_id], job.job_type)
        if provider is not None:
            hold_s = MISCONFIGURED_S
            wait_s, breaker_opened = breakers_store.opened(connection, provider, error, hold_s=hold_s)
        if unproven := claim.probes - {provider}:
            breakers_store.not_proven(connection, unproven)
        if isinstance(error, ConfigurationError):
            error = SiftlineError(_SET_UP_WRONGLY.format(error.provider), code=error.error_code)
        if isinstance(error, PermanentError):
            again = lease_store.fail(connection, job, error, duration_ms=duration_ms, park_id=None)
            outcome = _Outcome("failed", again)
        elif wait_s is not None and (left_s := self._patience_s(job, error)) > 0:
            wait_s = max(min(wait_s, left_s), 1.0)
            in_turn = _in_turn(error)
            lease_store.defer(connection, job, error, delay_s=wait_s, duration_ms=duration_ms, in_turn=in_turn)
            outcome = _Outcome("deferred", breaker_opened=breaker_opened)
        elif job.attempts >= job.max_attempts:
            park_id = new_id()
            again = lease_store.fail(connection, job, error, duration_ms=duration_ms, park_id=park_id)
            outcome = _Outcome("exhausted", again, park_id, breaker_opened)
        else:
            wait_s = delay_s(job.attempts, self._settings.job_backoff_s, self._rng)
            lease_store.retry(connection, job, error, delay_s=wait_s, duration_ms=duration_ms)
            outcome = _Outcome("retry", breaker_opened=breaker_opened)
        if not isinstance(error, NotTriedError):
            self._processors[job.job_type].on_failure(connection, job, error)
        return outcome

    def _provider_at_fault(self, claim: Claim, error: SiftlineError) -> str | None:
        """Return the provider whose breaker this error opens.

        A fault of the set-up opens it at once; one that is only away when it was so at the try before too, or when the
        job was sent to see whether it serves again.
        """
        provider = error.provider if isinstance(error, ConfigurationError | TransientError) else None
        if provider is None or provider not in self._processors[claim.job.job_type].providers:
            return None
        again = claim.job.attempts > 1 or provider in claim.probes
        return provider if again or isinstance(error, ConfigurationError) else None

    def _asked_wait_s(self, job: ClaimedJob, error: SiftlineError) -> float | None:
        """Return how long the error asks to be left alone without an attempt being used, or ``None``."""
        if isinstance(error, ConfigurationError):
            return MISCONFIGURED_S
        if not isinstance(error, TransientError) or error.retry_after_s is None:
            return None
        if isinstance(error, NotTriedError):
            return error.retry_after_s
        return max(error.retry_after_s, _WIDENING_RATIO * self._waited_s(job))

    def _patience_s(self, job: ClaimedJob, error: SiftlineError) -> float:
        """Return for how long the job may still be put off, this time and those just before it together.

        Whoever waits for their turn behind others may do so for as long as it takes.
        """
        if _in_turn(error):
            return math.inf
        return DEFER_MAX_S - self._waited_s(job)

    def _waited_s(self, job: ClaimedJob) -> float:
        """Return for how long the job has been put off so far, time after time without a try between."""
        return 0.0 if job.deferred_since is None else (self._clock.now() - job.deferred_since).total_seconds()

    def _park(self, job: ClaimedJob) -> None:
        with self._database.transaction() as connection:
            waiting = outbox_store.to_park_one(connection, job.id)
        self._publisher.park(waiting)

    def _told(self, event: str, job: ClaimedJob, status: str, duration_ms: int, error_code: str | None = None) -> None:
        _log.info(event, **_facts(job), status=status, duration_ms=duration_ms, error_code=error_code)
        figures = {"Jobs": (1, COUNT), "JobDuration": (duration_ms, MILLISECONDS)}
        emit(figures, {"job_type": job.job_type.value, "status": status})

    def _told_provider(self, job: ClaimedJob, error: SiftlineError, outcome: _Outcome) -> None:
        """Tell operators what users are not told."""
        provider = getattr(error, "provider", None)
        event = "breaker_opened" if outcome.breaker_opened else "set_up_wrongly"
        _log.error(event, provider=provider, error_code=error.error_code, detail=error.detail)
        if outcome.breaker_opened:
            dimensions = {"queue": self._names.get(job.queue, job.queue.value)}
            emit({"BreakersOpened": (1, COUNT)}, dimensions, metadata={"provider": provider})

    def _since(self, started: float) -> int:
        return round((self._clock.monotonic() - started) * 1000)


def _as_urgent(follow: NewJob, job: ClaimedJob, ended: Ended) -> NewJob:
    """Return a job that goes on with the same subject, as urgent as its maker became while it was in work."""
    goes_on = follow.subject_id == job.subject_id and follow.priority == job.priority
    if not goes_on or ended.priority <= job.priority:
        return follow
    return replace(follow, priority=ended.priority, group_key=ended.group_key)


def _in_turn(error: SiftlineError) -> bool:
    return isinstance(error, NotTriedError) and error.in_turn


def _facts(job: ClaimedJob) -> dict[str, Any]:
    return {
        "job_type": job.job_type.value,
        "job_id": str(job.id),
        "subject_id": str(job.subject_id),
        "attempt": job.attempts,
    }
