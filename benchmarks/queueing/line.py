"""One SQS queue with its publisher and its batch loop; the work itself is none."""

from typing import TYPE_CHECKING, Any

from infra.local.aws import REGION
from siftline.contracts import JobType, Queue
from siftline.jobs.consume import BatchConsumer
from siftline.jobs.job_model import ClaimedJob, Done
from siftline.jobs.publish import Publisher
from siftline.jobs.queues import SqsQueues
from siftline.kit.clock import SystemClock
from siftline.kit.db import Connection, Database
from siftline.kit.errors import SiftlineError
from siftline.settings.functions import JobSettings
from siftline.worker.queue import Queue as PolledQueue
from siftline.worker.records import sqs_event

if TYPE_CHECKING:
    from mypy_boto3_sqs import SQSClient

BATCH = 10
"""Jobs that a worker is handed at a time."""
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


class Line:
    """The queue at ``url`` as worker and publisher use it, in one process."""

    def __init__(
        self,
        database: Database,
        sqs: "SQSClient",
        url: str,
        queue: Queue,
        job_type: JobType,
        settings: JobSettings | None = None,
    ) -> None:
        name, settings = url.rpartition("/")[2], settings or JobSettings()
        self._polled = PolledQueue(sqs, url, f"arn:aws:sqs:{REGION}:000000000000:{name}", 300, 300)
        sender = SqsQueues(sqs, {queue: url}, {})
        self.publisher = Publisher(database, sender, settings)
        self._work = NoWork(job_type)
        self._consumer = BatchConsumer(
            queues={name: queue},
            database=database,
            publisher=self.publisher,
            sender=sender,
            processors=[self._work],
            subjects={},
            settings=settings,
            clock=SystemClock(),
        )

    @property
    def claimed(self) -> list[str]:
        """The tenants of the jobs that were worked on, in their order."""
        return self._work.claimed

    def work_batch(self) -> bool:
        """Receive, handle and delete one batch; says whether there was one."""
        messages = self._polled.receive(BATCH, wait_s=1)
        if messages:
            event: dict[str, Any] = dict(sqs_event(messages, self._polled.arn))
            self._consumer.handle(event, self)
            self._polled.delete(messages)
        return bool(messages)

    def get_remaining_time_in_millis(self) -> int:
        """Tell the batch loop, as Lambda's context does, that there is time."""
        return _PLENTY_MS
