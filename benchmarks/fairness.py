"""Fairness: how many jobs of a flooding tenant are claimed before another's one. ``make bench BENCH=fairness``

The real parts: PostgreSQL, SQS (MiniStack), publisher and batch loop; the work itself is none. One tenant has 10,000
pages waiting, and workers are at them, when another saves one page. Beside it, in the same run, the same without shares
and with fewer pages.
"""

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import UUID

from benchmarks.database import databases
from benchmarks.report import Report, durability, timed
from infra.local.aws import REGION, MiniStack
from infra.local.ministack_environment import ministack_python
from infra.local.queues import sqs_client
from siftline.contracts import JobType, Priority, Queue
from siftline.jobs import store
from siftline.jobs.consume import BatchConsumer
from siftline.jobs.model import ClaimedJob, Done, NewJob
from siftline.jobs.publish import Publisher
from siftline.jobs.queues import SqsQueues
from siftline.kit.clock import SystemClock
from siftline.kit.db import Connection, Database
from siftline.kit.errors import SiftlineError
from siftline.kit.ids import new_id
from siftline.settings import JobSettings
from siftline.worker.queue import Queue as PolledQueue
from siftline.worker.records import sqs_event

if TYPE_CHECKING:
    from mypy_boto3_sqs import SQSClient

FLOOD = 10_000
_FLOOD_WITHOUT_SHARES = 1_500  # enough to be seen
_SAVED_AT_ONCE = 500  # what one POST /v1/items/batch takes
_BEFORE = 200  # of the flood's jobs are done when the other tenant comes
_WITHOUT_SHARES = 1_000_000
_PLENTY_MS = 60_000


class NoWork:
    """A processor that has nothing to do and notes whose turn it was."""

    providers: frozenset[str] = frozenset()

    def __init__(self, job_type: JobType) -> None:
        self.job_type = job_type
        self.claimed: list[str] = []

    def process(self, job: ClaimedJob) -> Done:
        """Note the tenant."""
        self.claimed.append(job.group_key)
        return Done()

    def on_failure(self, connection: Connection, job: ClaimedJob, error: SiftlineError) -> None:
        """Never happens."""


class _Context:
    def get_remaining_time_in_millis(self) -> int:
        return _PLENTY_MS


class _Trial:
    """One queue with its consumer."""

    def __init__(self, database: Database, sqs: "SQSClient", job_type: JobType, queue: Queue, share: int) -> None:
        name = f"fairness-{new_id().hex}"
        url = sqs.create_queue(QueueName=name)["QueueUrl"]
        self._polled = PolledQueue(sqs, url, f"arn:aws:sqs:{REGION}:000000000000:{name}", 300, 300)
        self._database, self._job_type, self._queue = database, job_type, queue
        settings = JobSettings(job_tenant_share=share)
        sender = SqsQueues(sqs, {queue: url}, {})
        self._publisher = Publisher(database, sender, settings)
        self._work = NoWork(job_type)
        self._consumer = BatchConsumer(
            queues={name: queue},
            database=database,
            publisher=self._publisher,
            sender=sender,
            processors=[self._work],
            subjects={},
            settings=settings,
            clock=SystemClock(),
        )

    def waited_behind(self, jobs: int) -> int:
        """Return how many of the flood's jobs were claimed between the other tenant's save and its own claim."""
        flood = self._enqueue("user:flood", jobs)
        for start in range(0, len(flood), _SAVED_AT_ONCE):
            self._publisher.publish(flood[start : start + _SAVED_AT_ONCE])
        while len(self._work.claimed) < _BEFORE:
            self._batch()
        self._work.claimed.clear()
        self._publisher.publish(self._enqueue("user:single", 1))
        while "user:single" not in self._work.claimed:
            self._batch()
        return self._work.claimed.index("user:single")

    def _enqueue(self, tenant: str, count: int) -> Sequence[UUID]:
        jobs = [
            NewJob(self._job_type, new_id(), tenant, priority=Priority.SAVED, queue=self._queue) for _ in range(count)
        ]
        with self._database.transaction() as connection:
            return store.enqueue(connection, jobs)

    def _batch(self) -> None:
        messages = self._polled.receive(10, wait_s=1)
        if messages:
            event: dict[str, Any] = dict(sqs_event(messages, self._polled.arn))
            self._consumer.handle(event, _Context())
            self._polled.delete(messages)


def main() -> None:
    report = Report("fairness")
    report.open(f"one tenant has {FLOOD:,} jobs queued, another saves one page")
    rows = []
    with _sqs() as sqs, databases("fairness") as [database]:
        with database.transaction() as connection:
            report.tell(durability(connection))
        for job_type, queue in (
            (JobType.INGEST_CONTENT, Queue.CONTENT_PROCESSING),
            (JobType.ANALYZE_CONTENT, Queue.ANALYSIS),
        ):
            for share, flood in ((JobSettings().job_tenant_share, FLOOD), (None, _FLOOD_WITHOUT_SHARES)):
                with database.transaction() as connection:
                    connection.execute("truncate jobs, job_events")
                trial = _Trial(database, sqs, job_type, queue, share or _WITHOUT_SHARES)
                took_s, behind = timed(partial(trial.waited_behind, flood))
                row = {"queue": queue.value, "flood": flood, "share": share, "claimed before it": behind}
                rows.append(row | {"run s": round(took_s, 1)})
    report.table("Jobs of the flooding tenant claimed before the other's single one (reach: at most 50)", rows)
    report.keep()


@contextmanager
def _sqs() -> Iterator["SQSClient"]:
    with tempfile.TemporaryDirectory(prefix="siftline-bench-") as folder:
        python = ministack_python(Path(__file__).resolve().parents[1] / ".local" / "ministack")
        with MiniStack(python, Path(folder), persists=False) as aws:
            client = sqs_client(aws.endpoint)
            try:
                yield client
            finally:
                client.close()
