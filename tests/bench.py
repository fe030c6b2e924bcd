"""A batch consumer of the analysis queue with its parts at hand, on a real PostgreSQL and a fake SQS."""

from typing import Any
from uuid import UUID

from siftline.contracts import JobType, Queue
from siftline.jobs.consume import BatchConsumer
from siftline.jobs.publish import Publisher
from siftline.kit.clock import Clock, SystemClock
from siftline.kit.db import Database
from siftline.kit.ids import new_id
from siftline.settings.functions import JobSettings
from tests.factories import FakeContext, sqs_event
from tests.fakes import FakeProcessor, FakeSender

ANALYZE = JobType.ANALYZE_CONTENT


class Bench:
    """A consumer of the analysis queue with its parts at hand."""

    def __init__(self, database: Database, work: Any, providers: frozenset[str] = frozenset(), **settings: Any) -> None:
        self.database = database
        self.sender = FakeSender()
        self.settings = JobSettings(**settings)
        self.publisher = Publisher(database, self.sender, self.settings)
        self.processor = FakeProcessor(work, providers=providers)
        self.consumer = self.make(database)

    def make(self, database: Database, subjects: Any = None, clock: Clock | None = None) -> BatchConsumer:
        """Return a consumer over another database, with other subjects or another clock."""
        return BatchConsumer(
            queues={"siftline-local-analysis-queue": Queue.ANALYSIS},
            database=database,
            publisher=self.publisher,
            sender=self.sender,
            processors=[self.processor],
            subjects=subjects or {ANALYZE: lambda connection, message: self.known(connection, message.subject_id)},
            settings=self.settings,
            clock=clock or SystemClock(),
        )

    @staticmethod
    def known(connection: Any, subject_id: UUID) -> UUID | None:
        found = connection.execute("select id from contents where id = %s", (subject_id,)).fetchone()
        return found[0] if found else None

    def knock(self, *bodies: Any, context: FakeContext | None = None, **more: Any) -> list[str]:
        event = sqs_event("analysis", *bodies, **more)
        answer = self.consumer.handle(event, context or FakeContext())
        return [str(failure["itemIdentifier"]) for failure in answer["batchItemFailures"]]

    def message(self, job_id: UUID, **more: Any) -> dict[str, Any]:
        return {"job_type": "analyze_content", "job_id": job_id, "shared_content_id": new_id(), **more}

    def states(self) -> list[str]:
        with self.database.transaction() as connection:
            return [state for (state,) in connection.execute("select state from jobs order by id").fetchall()]

    def column(self, name: str, job_id: UUID) -> Any:
        with self.database.transaction() as connection:
            [(value,)] = connection.execute(f"select {name} from jobs where id = %s", (job_id,)).fetchall()
        return value
