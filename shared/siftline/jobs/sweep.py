"""The sweep: heals what crashes left, from its own schedule, outside the queues it heals, re-entrant.

Each step is conditional and takes only what no other sweep holds, so that two at once do nothing twice, and a sweep
that is killed leaves nothing locked. Each step is for itself: one that fails keeps no other from running.
"""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

from siftline.contracts import Queue
from siftline.jobs import outbox_store as outbox
from siftline.jobs.credits import resume_waiting
from siftline.jobs.publish import Publisher
from siftline.jobs.recovery import Recovery
from siftline.jobs.statistics import Statistics
from siftline.jobs.steps import WORK_S, Steps
from siftline.kit.clock import Clock, SystemClock
from siftline.kit.db import Database
from siftline.kit.log import logger
from siftline.kit.metrics import COUNT, emit
from siftline.settings.functions import JobSettings

_log = logger("jobs")
_BATCH = 1_000
_RESUME_BATCH = 200  # each in a transaction of its own


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
            **{f"hand_out {queue}": self._handing_out(queue) for queue in Queue},
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

    def _handing_out(self, queue: Queue) -> Callable[[], int]:
        return lambda: self._publisher.hand_out(queue)

    def _report(self) -> int:
        if self._statistics is not None:
            self._statistics.report()
        return 0
