"""What operators and alarms see of the jobs: a log line and metrics by queue and job type, now and then."""

import threading
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict

from siftline.contracts import Queue
from siftline.jobs import counts_store
from siftline.jobs.counts_store import QueueCount, UnknownCount
from siftline.jobs.states import is_known
from siftline.kit.clock import Clock
from siftline.kit.db import Database
from siftline.kit.errors import TransientError
from siftline.kit.log import logger
from siftline.kit.metrics import COUNT, PERCENT, SECONDS, Figure, emit

EVERY_S = 60.0
"""After a batch a process tells a queue's counts, but not sooner again: alarms look at minutes."""
BACKLOG_HIGH = 10_000
"""More pending jobs in a queue are warned of; the alarm of ``infra/observability.yaml`` rings at the same."""
_log = logger("jobs")
_QUEUES = frozenset(queue.value for queue in Queue)


def measured(rows: Sequence[QueueCount]) -> dict[str, Figure]:
    """Return the figures of these jobs.

    Those that a newer release left are due for ever, and have an alarm of their own: they count in no age of due jobs.
    """
    return {
        "JobsPending": (sum(row.pending for row in rows), COUNT),
        "JobsProcessing": (sum(row.processing for row in rows), COUNT),
        "OldestDueAge": (
            max((row.oldest_due_s for row in rows if is_known(row.job_type, row.queue)), default=0.0),
            SECONDS,
        ),
        "OldestRunningAge": (max((row.oldest_running_s for row in rows), default=0.0), SECONDS),
    }


def unattended(rows: Sequence[QueueCount]) -> dict[str, Figure]:
    """Return for how long the oldest due job of a queue has waited while nobody works on that queue; else 0."""
    figures = measured(rows)
    return {"UnattendedAge": (0.0, SECONDS) if figures["JobsProcessing"][0] else figures["OldestDueAge"]}


class Statistics:
    """Counts from PostgreSQL, told in logs and metrics.

    ``names`` are the real names of the queues, which carry the stage: two stages of one account stay apart by them.
    """

    def __init__(self, database: Database, names: Mapping[Queue, str], clock: Clock) -> None:
        self._database = database
        self._names = names
        self._clock = clock
        self._next: dict[Queue, float] = {}
        self._lock = threading.Lock()

    def after_batch(self, queue: Queue) -> None:
        """Tell how a queue's jobs are, unless this process did so within ``EVERY_S``.

        Never raises for a database that is away: the batch is over, and its outcome is committed.
        """
        if not self._due(queue):
            return
        try:
            self._tell([row for row in self._counts() if row.queue == queue], attended=True)
        except TransientError as error:
            _log.warning("statistics_failed", queue=queue.value, error_code=error.error_code)

    def report(self) -> list[QueueCount]:
        """Tell how the jobs of every queue are, and how much of the last day's contents is told twice; return the jobs'
        counts.
        """
        found = self._counts()
        self._tell(found)
        with self._database.transaction() as connection:
            unknown, duplicates = counts_store.unknown(connection), counts_store.duplicates(connection)
        self._tell_unknown(unknown)
        self._tell_duplicates(duplicates)
        return found

    def _due(self, queue: Queue) -> bool:
        now = self._clock.monotonic()
        with self._lock:
            if now < self._next.get(queue, now):
                return False
            self._next[queue] = now + EVERY_S
            return True

    def _counts(self) -> list[QueueCount]:
        with self._database.transaction() as connection:
            counts_store.fold(connection)
            return counts_store.counts(connection)

    def _tell(self, rows: Sequence[QueueCount], *, attended: bool = False) -> None:
        """Tell the jobs' counts; ``attended``: somebody was at work just now, though nothing may be in hand now."""
        by_queue: dict[str, list[QueueCount]] = defaultdict(list)
        for row in rows:
            _log.info("queue_stats", **asdict(row))
            if row.queue in _QUEUES:  # another one has no real name by which two stages stay apart
                by_queue[row.queue].append(row)
                emit(measured([row]), {"queue": self._real(Queue(row.queue)), "job_type": row.job_type})
        for queue, mine in by_queue.items():
            waited = {"UnattendedAge": (0.0, SECONDS)} if attended else unattended(mine)
            emit({**measured(mine), **waited}, {"queue": self._real(Queue(queue))})
            pending = sum(row.pending for row in mine)
            if pending > BACKLOG_HIGH:
                _log.warning(
                    "Enrichment queue backlog high",
                    queue=queue,
                    pending=pending,
                    limit=BACKLOG_HIGH,
                    oldest_due_s=max(row.oldest_due_s for row in mine),
                )

    def _tell_unknown(self, found: Sequence[UnknownCount]) -> None:
        """Ring for jobs that a newer release left: nobody here works on them."""
        for one in found:
            _log.error("unknown_jobs", **asdict(one))
        emit({"UnknownJobs": (sum(one.jobs for one in found), COUNT)}, {"queue": self._real(Queue.CONTENT_PROCESSING)})

    def _tell_duplicates(self, found: counts_store.DuplicateCount) -> None:
        kinds = {"exact": found.exact, "near": found.near, "url": found.url}
        _log.info("duplicate_stats", **asdict(found), ratio=round(found.ratio, 4))
        for kind, contents in kinds.items():
            percent = 100 * contents / found.contents if found.contents else 0.0
            emit({"Duplicates": (percent, PERCENT)}, {"queue": self._real(Queue.CONTENT_PROCESSING), "kind": kind})

    def _real(self, queue: Queue) -> str:
        return self._names.get(queue, queue.value)
