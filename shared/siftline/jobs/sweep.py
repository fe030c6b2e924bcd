"""The sweep: heals what crashes left, from its own schedule, outside the queues it heals, re-entrant.

It takes back lost jobs, has contents go on once there is credit, and brings subjects on their way again that say
somebody is at work on them, while no job is. Nothing in the house leaves one like that: a subject's status and its job
change in one transaction. But a row may be deleted by hand, a backup restored, a fault of ours written; such a subject
would wait for ever, and in the dark.

Each step is conditional and takes only what no other sweep holds, so that two at once do nothing twice, and a sweep
that is killed leaves nothing locked. Each step is for itself: one that fails keeps no other from running.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from uuid import UUID

from siftline.contracts import JobType, Priority, Queue
from siftline.jobs import credits_store, jobs_store, recovery_store
from siftline.jobs import outbox_store as outbox
from siftline.jobs import subjects_store as subjects
from siftline.jobs.credits_store import Payable
from siftline.jobs.job_model import NewJob, user
from siftline.jobs.publish import Publisher
from siftline.jobs.set_aside import checked, tell
from siftline.jobs.statistics import Statistics
from siftline.kit.clock import Clock, SystemClock
from siftline.kit.db import Connection, Database, settled
from siftline.kit.errors import SiftlineError, TransientError
from siftline.kit.log import logger
from siftline.kit.metrics import COUNT, emit
from siftline.settings.functions import JobSettings

WORK_S = 40.0
"""How long a tick goes on at most: below the function's timeout of 50 s, with room for its last part."""
_log = logger("jobs")
RESUME = "resume"
"""Under this name contents are set aside that could not go on."""
_log = logger("jobs")
_BATCH = 1_000
_RESUME_BATCH = 200  # each in a transaction of its own


class TickIncompleteError(TransientError):
    """Some parts of a tick failed; all others ran. The next tick is the retry."""

    code = "tick_incomplete"


class Steps:
    """Runs the parts of a tick in their order, for ``work_s`` seconds: less than the function's timeout."""

    def __init__(self, tick: str, clock: Clock, *, work_s: float = WORK_S) -> None:
        self._tick = tick
        self._clock = clock
        self._end = clock.monotonic() + work_s

    def out_of_time(self) -> bool:
        """Whether what is left has to wait for the next tick."""
        return self._clock.monotonic() >= self._end

    def repeat(self, batch: Callable[[], int], *, full: int) -> int:
        """Run ``batch`` until it brings less than ``full`` or time is up; return the sum of what it brought."""
        total = 0
        while not self.out_of_time():
            brought = batch()
            total += brought
            if brought < full:
                break
        return total

    def run(self, steps: Mapping[str, Callable[[], int]]) -> dict[str, int]:
        """Run every step and return what each did, in counts. Raises ``TickIncompleteError`` when any failed."""
        done: dict[str, int] = {}
        failed: dict[str, Exception] = {}
        for name, step in steps.items():
            if self.out_of_time():
                _log.warning("tick_out_of_time", tick=self._tick, left=[*steps][len(done) + len(failed) :])
                break
            try:
                done[name] = step()
            except Exception as error:  # noqa: BLE001 - told at once and raised at the end: no part may stop another
                failed[name] = error
                self._tell(name, error)
        done |= dict.fromkeys(steps.keys() - done.keys(), 0)
        if failed:
            _log.error("tick_incomplete", tick=self._tick, failed=[*failed], done=done)
            detail = f"Parts of the tick {self._tick} failed: {', '.join(failed)}."
            raise TickIncompleteError(detail) from next(iter(failed.values()))
        return {name: done[name] for name in steps}

    def _tell(self, step: str, error: Exception) -> None:
        if isinstance(error, SiftlineError):
            _log.error("step_failed", tick=self._tick, step=step, error_code=error.error_code, detail=error.detail)
        else:
            _log.error("step_failed", tick=self._tick, step=step, error_code="unexpected_error", exc_info=error)
        emit({"StepFailures": (1, COUNT)}, {"tick": self._tick})


_log = logger("jobs")
STUCK_S = 600
"""What says for so long, without a job, that somebody is at work on it is queued again."""
# So many ids of one batch stand in the log; the timeline of each says the same.
_IDS_TOLD = 10


@dataclass(frozen=True, slots=True)
class Recovered:
    """A subject that was stuck, with the job that takes it on; ``None`` where nobody wants it worked on."""

    subject_id: UUID
    reason: str
    job: NewJob | None


class Recovery:
    """Finds stuck subjects of each kind and enqueues their job again."""

    def __init__(self, database: Database, publisher: Publisher, settings: JobSettings) -> None:
        self._database = database
        self._publisher = publisher
        self._settings = settings
        # Work may take as long as a lease.
        self._stuck_s = max(STUCK_S, settings.job_lease_s)

    def contents(self, *, limit: int) -> int:
        """Recover contents that are ``PENDING`` or ``PROCESSING`` without a job; returns how many."""
        unchanged_s = self._stuck_s

        def find(connection: Connection) -> list[Recovered]:
            found = recovery_store.stuck_contents(connection, unchanged_s=unchanged_s, limit=limit)
            return [_recovered_content(stuck) for stuck in found]

        return self._recover("item", find)

    def sources(self, *, limit: int) -> int:
        """Recover sources that are ``QUEUED`` or ``FETCHING`` without a job; those nobody follows become ``IDLE``."""
        unchanged_s = self._stuck_s

        def find(connection: Connection) -> list[Recovered]:
            found = recovery_store.stuck_sources(connection, unchanged_s=unchanged_s, limit=limit)
            recovery_store.idle(connection, [stuck.id for stuck in found if not stuck.wanted])
            return [_recovered_source(stuck) for stuck in found]

        return self._recover("source", find)

    def scores(self, *, limit: int) -> int:
        """Have items scored that nobody asked to have scored; returns for how many users.

        Who makes an item READY without its analysis, or gives one to a user, need not know of scores.
        """
        with self._database.transaction() as connection:
            users = recovery_store.unscored_users(connection, limit=limit)
            jobs = [NewJob(JobType.SCORE_USER, user_id, user(user_id)) for user_id in users]
            ids = jobs_store.enqueue(connection, jobs, max_attempts=self._settings.job_max_attempts)
        self._publisher.publish(ids)
        return len(users)

    def _recover(self, kind: str, find: Callable[[Connection], Sequence[Recovered]]) -> int:
        def recover(connection: Connection) -> tuple[Sequence[Recovered], list[UUID]]:
            found = find(connection)
            return found, self._enqueue(connection, [one for one in found if one.job is not None])

        found, ids = settled(self._database, recover)
        if found:
            told = [str(one.subject_id) for one in found[:_IDS_TOLD]]
            _log.warning("stuck_recovered", kind=kind, subjects=len(found), reason=found[0].reason, ids=told)
        self._publisher.publish(ids)
        return len(found)

    def _enqueue(self, connection: Connection, found: Sequence[Recovered]) -> list[UUID]:
        """Enqueue the jobs in the transaction that holds their subjects, and let each timeline say why."""
        jobs = [one.job for one in found if one.job is not None]
        # First: a subject that was being worked on waits again, whatever enqueueing then makes of it.
        for job_type in {job.job_type for job in jobs}:
            subjects.waiting(connection, job_type, [job.subject_id for job in jobs if job.job_type is job_type])
        ids = jobs_store.enqueue(connection, jobs, max_attempts=self._settings.job_max_attempts)
        recovery_store.explain(connection, ids, {one.subject_id: one.reason for one in found})
        return ids


def _recovered_content(stuck: recovery_store.StuckContent) -> Recovered:
    job_type = JobType(stuck.job_type)
    job = NewJob(
        job_type=job_type,
        subject_id=stuck.id,
        group_key=stuck.group_key,
        priority=Priority.SAVED if stuck.saved else Priority.OLDER,
        payload={"url": stuck.url} if job_type is JobType.INGEST_CONTENT else {},
    )
    return Recovered(stuck.id, _reason(stuck.status, stuck.unchanged_s), job)


def _recovered_source(stuck: recovery_store.StuckSource) -> Recovered:
    reason = _reason(stuck.status, stuck.unchanged_s)
    if not stuck.wanted:
        return Recovered(stuck.id, reason, None)
    job = NewJob(
        job_type=JobType.FETCH_SOURCE,
        subject_id=stuck.id,
        group_key=stuck.group_key,
        priority=Priority.UNDER_24_HOURS,
    )
    return Recovered(stuck.id, reason, job)


def _reason(status: str, unchanged_s: float) -> str:
    return f"It was {status} without a job for {round(unchanged_s / 60)} minutes; it was requeued."


def resume_waiting(database: Database, *, limit: int, max_attempts: int) -> int:
    """Make the analysis jobs of contents that waited for credit, oldest first, as far as credit reaches.

    Each stands in a transaction of its own, and many may resume at once. Returns how many contents went on; the sweep
    hands their jobs out.
    """
    with database.transaction() as connection:
        found = credits_store.payable(connection, limit=limit)
    went_on = []

    def resume(waiting: Payable) -> None:
        went_on.append(settled(database, partial(_resumed, waiting=waiting, max_attempts=max_attempts)))

    good, aside = checked(found, resume, row_id=lambda waiting: waiting.content_id, kind="content")
    if found:
        with database.transaction() as connection:
            tell(connection, RESUME, aside, [waiting.content_id for waiting in good])
    return sum(went_on)


def _resumed(connection: Connection, waiting: Payable, max_attempts: int) -> bool:
    if not credits_store.take_waiting(connection, waiting.content_id):
        return False
    job = NewJob(
        job_type=JobType.ANALYZE_CONTENT,
        subject_id=waiting.content_id,
        group_key=f"user:{waiting.user_id}",
        priority=Priority.SAVED if waiting.saved else Priority.OLDER,
    )
    jobs_store.enqueue(connection, [job], max_attempts=max_attempts)
    return True


@dataclass(frozen=True, slots=True)
class SweepResult:
    """What one sweep did, in jobs."""

    recovered: int
    """Jobs whose lease had run out, pending again."""
    failed: int
    """Jobs whose lease had run out on their last attempt."""
    stuck: int
    """Sources and items on their way without a job, brought back on it."""
    unscored: int
    """Users who hold what is not scored yet, or who did something since that is worth a new profile."""
    parked: int
    resumed: int
    """Contents that had waited for credit, on their way again."""
    handed_out: int
    repeated: int


class Sweep:
    """Recovers lost jobs and stuck subjects, parks what was not parked, hands out what waits, repeats the unanswered.

    ``work_s`` is how long one sweep goes on at most; what is left then is the next one's. With ``statistics`` each
    sweep also tells how the queues are.
    """

    def __init__(
        self,
        database: Database,
        publisher: Publisher,
        settings: JobSettings,
        *,
        statistics: Statistics | None = None,
        clock: Clock | None = None,
        work_s: float = WORK_S,
    ) -> None:
        self._database = database
        self._publisher = publisher
        self._settings = settings
        self._statistics = statistics
        self._clock = clock or SystemClock()
        self._work_s = work_s
        self._recovery = Recovery(database, publisher, settings)

    def run(self) -> SweepResult:
        """Run once. Raises ``TickIncompleteError`` at its end when a step failed."""
        steps = Steps("sweep", self._clock, work_s=self._work_s)
        lost: Counter[str] = Counter()
        parts: dict[str, Callable[[], int]] = {
            "recover_lost": lambda: steps.repeat(lambda: self._recover_lost(lost), full=_BATCH),
            "recover_items": lambda: steps.repeat(lambda: self._recovery.contents(limit=_BATCH), full=_BATCH),
            "recover_sources": lambda: steps.repeat(lambda: self._recovery.sources(limit=_BATCH), full=_BATCH),
            "score": lambda: steps.repeat(lambda: self._recovery.scores(limit=_BATCH), full=_BATCH),
            "park": self._park,
            "resume": lambda: steps.repeat(self._resume, full=_RESUME_BATCH),
            **{f"hand_out {queue}": partial(self._publisher.hand_out, queue) for queue in Queue},
            "repeat_unanswered": lambda: self._publisher.repeat_unanswered(limit=_BATCH),
        }
        if self._statistics is not None:
            parts["statistics"] = self._report
        done = steps.run(parts)
        return SweepResult(
            recovered=lost["recovered"],
            failed=lost["failed"],
            stuck=done["recover_items"] + done["recover_sources"],
            unscored=done["score"],
            parked=done["park"],
            resumed=done["resume"],
            handed_out=sum(done[f"hand_out {queue}"] for queue in Queue),
            repeated=done["repeat_unanswered"],
        )

    def _recover_lost(self, lost: Counter[str]) -> int:
        """Return one batch of lost jobs to waiting, or fail those on their last attempt."""
        with self._database.transaction() as connection:
            swept = outbox.sweep_lost(connection, limit=_BATCH)
        lost["recovered"] += swept.retried
        lost["failed"] += swept.failed
        if swept.retried or swept.failed:
            _log.warning("leases_expired", recovered=swept.retried, failed=swept.failed, error_code="worker_lost")
        for job_type, jobs in Counter(swept.failed_types).items():
            emit({"Jobs": (jobs, COUNT)}, {"job_type": job_type, "status": "exhausted"})
        return swept.retried + swept.failed

    def _park(self) -> int:
        with self._database.transaction() as connection:
            waiting = outbox.to_park(connection, quiet_s=self._settings.job_quiet_s, limit=_BATCH)
        return self._publisher.park(waiting)

    def _resume(self) -> int:
        return resume_waiting(self._database, limit=_RESUME_BATCH, max_attempts=self._settings.job_max_attempts)

    def _report(self) -> int:
        if self._statistics is not None:
            self._statistics.report()
        return 0
