"""Fairness: how many jobs of a flooding tenant are claimed before another's one. ``make bench BENCH=fairness``

The real parts: PostgreSQL, SQS (MiniStack), publisher and batch loop; the work itself is none. One tenant has 10,000
pages waiting, and workers are at them, when another saves one page. Beside it, in the same run, the same without shares
and with fewer pages.
"""

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import UUID

from benchmarks.database import databases
from benchmarks.queueing.line import Line
from benchmarks.report import Report, durability, timed
from infra.local.aws import MiniStack
from infra.local.machine import ROOT
from infra.local.ministack_environment import ministack_python
from infra.local.queues import sqs_client
from siftline.contracts import JobType, Priority, Queue
from siftline.jobs import store
from siftline.jobs.model import NewJob
from siftline.kit.db import Database
from siftline.kit.ids import new_id
from siftline.settings import JobSettings

if TYPE_CHECKING:
    from mypy_boto3_sqs import SQSClient

FLOOD = 10_000
_FLOOD_WITHOUT_SHARES = 1_500  # enough to be seen
_SAVED_AT_ONCE = 500  # what one POST /v1/items/batch takes
_BEFORE = 200  # of the flood's jobs are done when the other tenant comes
_WITHOUT_SHARES = 1_000_000


class _Trial:
    """One queue with its consumer."""

    def __init__(self, database: Database, sqs: "SQSClient", job_type: JobType, queue: Queue, share: int) -> None:
        url = sqs.create_queue(QueueName=f"fairness-{new_id().hex}")["QueueUrl"]
        self._database, self._job_type, self._queue = database, job_type, queue
        self._line = Line(database, sqs, url, queue, job_type, JobSettings(job_tenant_share=share))

    def waited_behind(self, jobs: int) -> int:
        """Return how many of the flood's jobs were claimed between the other tenant's save and its own claim."""
        publisher, claimed = self._line.publisher, self._line.claimed
        flood = self._enqueue("user:flood", jobs)
        for start in range(0, len(flood), _SAVED_AT_ONCE):
            publisher.publish(flood[start : start + _SAVED_AT_ONCE])
        while len(claimed) < _BEFORE:
            self._line.work_batch()
        claimed.clear()
        publisher.publish(self._enqueue("user:single", 1))
        while "user:single" not in claimed:
            self._line.work_batch()
        return claimed.index("user:single")

    def _enqueue(self, tenant: str, count: int) -> Sequence[UUID]:
        jobs = [
            NewJob(self._job_type, new_id(), tenant, priority=Priority.SAVED, queue=self._queue) for _ in range(count)
        ]
        with self._database.transaction() as connection:
            return store.enqueue(connection, jobs)


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
    python = ministack_python(ROOT / ".local" / "ministack")
    with (
        tempfile.TemporaryDirectory(prefix="siftline-bench-") as folder,
        MiniStack(python, Path(folder), persists=False) as aws,
        closing(sqs_client(aws.endpoint)) as client,
    ):
        yield client
