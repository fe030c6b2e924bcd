"""What operators look at: how deep the queues are and how jobs fare."""

from typing import Protocol

from aws_lambda_powertools.event_handler.api_gateway import Router
from pydantic import BaseModel, Field

from siftline.api import ops_store
from siftline.api.routing import new_router, responses
from siftline.contracts import JobType, Queue
from siftline.jobs.counts_store import counts
from siftline.jobs.queues import Depth, QueueUnavailableError
from siftline.kit.db import Database


class Depths(Protocol):
    """Knows how deep a queue is (``siftline.jobs.queues.SqsQueues``)."""

    def depth(self, queue: Queue) -> Depth:
        """Return SQS's approximate counts. Raises ``QueueUnavailableError``."""
        ...


class QueueView(BaseModel):
    """One queue. SQS's own counts are approximate, and null while it does not answer."""

    name: str = Field(examples=["content-processing"])
    depth: int | None = Field(description="Messages ready to be received")
    in_flight: int | None = Field(description="Messages being worked on")
    delayed: int | None = Field(description="Messages held back for later")
    dead_letters: int | None = Field(description="Messages on its dead-letter queue")
    oldest_age_s: float = Field(description="For how long its oldest due job has been waiting to be taken, in seconds")


class JobCounts(BaseModel):
    """Jobs of one type by state."""

    job_type: str = Field(examples=["analyze_content"])
    pending: int = 0
    processing: int = 0
    completed: int = 0
    failed: int = 0
    cancelled: int = 0


class QueuesView(BaseModel):
    """All queues and all job types."""

    queues: list[QueueView]
    jobs: list[JobCounts]


class QueueStats(BaseModel):
    """Analysis by state."""

    pending: int
    processing: int
    completed: int
    failed: int


class OpsRoutes:
    """``/v1/ops`` and ``/admin``."""

    def __init__(self, database: Database, depths: Depths) -> None:
        self._database = database
        self._depths = depths

    def router(self) -> Router:
        """Return the routes."""
        router = new_router()
        router.get(
            "/v1/ops/queues",
            summary="Show every queue's depth and age, and every job type's states",
            responses=responses((200, QueuesView, "Queues and jobs")),
            tags=["operations"],
        )(self.queues)
        router.get(
            "/admin/queue-stats",
            summary="Count the analysis jobs by state",
            responses=responses((200, QueueStats, "Analysis by state")),
            tags=["operations"],
        )(self.queue_stats)
        return router

    def queues(self) -> QueuesView:
        """Show queues and jobs."""
        with self._database.transaction() as connection:
            oldest_s = ops_store.oldest_due_s(connection)
        return QueuesView(
            queues=[self._queue(queue, oldest_s.get(queue.value, 0.0)) for queue in Queue],
            jobs=list(self._jobs().values()),
        )

    def queue_stats(self) -> QueueStats:
        """Count the analysis jobs."""
        found = self._jobs()[JobType.ANALYZE_CONTENT]
        return QueueStats(
            pending=found.pending, processing=found.processing, completed=found.completed, failed=found.failed
        )

    def _jobs(self) -> dict[str, JobCounts]:
        by_type: dict[str, dict[str, int]] = {job_type.value: {} for job_type in JobType}
        with self._database.transaction() as connection:
            for row in counts(connection):
                by_type.setdefault(row.job_type, {})[row.state] = row.jobs
        return {name: JobCounts(job_type=name, **states) for name, states in by_type.items()}

    def _queue(self, queue: Queue, oldest_age_s: float) -> QueueView:
        try:
            depth = self._depths.depth(queue)
        except QueueUnavailableError:
            depth = None
        return QueueView(
            name=queue.value,
            depth=depth.visible if depth else None,
            in_flight=depth.in_flight if depth else None,
            delayed=depth.delayed if depth else None,
            dead_letters=depth.dead if depth else None,
            oldest_age_s=round(oldest_age_s, 3),
        )
