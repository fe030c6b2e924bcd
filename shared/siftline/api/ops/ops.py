"""What operators look at: how deep the queues are and how jobs fare."""

from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from datetime import datetime
from typing import Annotated
from uuid import UUID

from aws_lambda_powertools.event_handler.openapi.params import Query
from pydantic import BaseModel, Field

from siftline.api.http.routing import route
from siftline.api.http.shapes import ListPage
from siftline.api.parts import Routes
from siftline.contracts import JobType, Queue
from siftline.jobs import set_aside_store
from siftline.jobs.breakers_store import open_breakers
from siftline.jobs.counts_store import QueueCount, counts, duplicates, unknown
from siftline.jobs.queues import QueueUnavailableError


class QueueView(BaseModel):
    """A queue. Counts from SQS are approximate, and null while SQS does not answer."""

    name: str = Field(examples=["content-processing"])
    depth: int | None = Field(description="Messages ready to be received")
    in_flight: int | None = Field(description="Messages being processed")
    delayed: int | None = Field(description="Delayed messages")
    dead_letters: int | None = Field(description="Messages in its dead-letter queue")
    pending: int = Field(description="Jobs in PostgreSQL that no worker has claimed: handed out, waiting or postponed")
    processing: int = Field(description="Jobs in PostgreSQL that a worker is processing")
    oldest_age_s: float = Field(description="Time its oldest due job has been waiting, in seconds")
    oldest_running_s: float = Field(description="Time its longest-running job has been running, in seconds")


class JobCounts(BaseModel):
    """Jobs of one type by state."""

    job_type: str = Field(examples=["analyze_content"])
    pending: int = 0
    processing: int = 0
    completed: int = 0
    failed: int = 0
    cancelled: int = 0
    delayed: int = Field(default=0, description="Pending jobs that are postponed")
    oldest_age_s: float = Field(default=0, description="Time the oldest due job has been waiting, in seconds")
    oldest_running_s: float = Field(default=0, description="Time the longest-running job has been running, in seconds")


class BreakerView(BaseModel):
    """A misconfigured dependency: jobs that need it wait, without using up attempts, until it works again."""

    provider: str = Field(examples=["model"])
    error_code: str = Field(examples=["model_missing"])
    error_detail: str
    probing: bool = Field(description="Whether a job is trying it now")
    next_try_s: float = Field(description="Time until the next try, in seconds")


class DuplicatesView(BaseModel):
    """Share of duplicates among the contents read in the last 24 hours."""

    contents: int = Field(description="New contents that were read")
    exact: int = Field(description="Duplicates with identical text")
    near: int = Field(description="Duplicates with nearly identical text")
    url: int = Field(description="Duplicates whose page declares another address as canonical")
    ratio: float = Field(description="Share of duplicates, 0 to 1", examples=[0.07])


class UnknownJobsView(BaseModel):
    """Jobs left by a newer release before a rollback to this one. They wait, untouched, for that release."""

    job_type: str
    queue: str
    jobs: int = Field(description="Jobs that are waiting, running or still to be parked")


class QueuesView(BaseModel):
    """All queues and job types, and what is blocking jobs."""

    queues: list[QueueView]
    jobs: list[JobCounts]
    unknown_jobs: list[UnknownJobsView] = Field(description="Jobs of a type or in a queue unknown to this release")
    breakers: list[BreakerView]
    duplicates: DuplicatesView


class SetAsideCount(BaseModel):
    """Number of rows a job type could not use, by reason."""

    job_type: str = Field(examples=["join_stories"])
    kind: str = Field(description="Type of the rows", examples=["content"])
    reason_code: str = Field(examples=["unusable_vector"])
    rows: int


class SetAsideView(BaseModel):
    """A row that a job could not use and skipped."""

    job_type: str = Field(examples=["join_stories"])
    kind: str = Field(examples=["content"])
    id: UUID
    reason_code: str = Field(examples=["unusable_vector"])
    detail: str = Field(examples=["The vector contains a value that is not a number."])
    times: int = Field(description="How often a job skipped it")
    first_at: datetime
    last_at: datetime


class SetAsideList(ListPage):
    """Rows that jobs set aside: counts by reason, and the newest rows."""

    counts: list[SetAsideCount]
    items: list[SetAsideView]


class QueueStats(BaseModel):
    """Number of analysis jobs by state."""

    pending: int
    processing: int
    completed: int
    failed: int


class OpsRoutes(Routes):
    """``/v1/ops`` and ``/admin``."""

    tag = "operations"

    @route("GET /v1/ops/queues", (200, QueuesView, "Queues and jobs"), operation_id="getQueues")
    def queues(self) -> QueuesView:
        """Get the state of queues and jobs."""
        with self._database.transaction() as connection:
            rows = counts(connection)
            unknown_jobs = [UnknownJobsView.model_validate(one, from_attributes=True) for one in unknown(connection)]
            breakers = [
                BreakerView.model_validate(asdict(one) | {"next_try_s": round(one.wait_s, 1)})
                for one in open_breakers(connection)
            ]
            found = duplicates(connection)

        def view(queue: Queue) -> QueueView:
            return self._queue(queue, [row for row in rows if row.queue == queue])

        with ThreadPoolExecutor(len(Queue)) as threads:  # at once: one that does not answer is waited for
            queues = list(threads.map(view, Queue))
        return QueuesView(
            queues=queues,
            jobs=[_jobs(job_type, rows) for job_type in JobType],
            unknown_jobs=unknown_jobs,
            breakers=breakers,
            duplicates=DuplicatesView.model_validate(asdict(found) | {"ratio": round(found.ratio, 4)}),
        )

    @route(
        "GET /v1/ops/set-aside",
        (200, SetAsideList, "Counts by reason, and the newest rows"),
        operation_id="listSetAside",
    )
    def set_aside(self, limit: Annotated[int, Query(ge=1, le=200)] = 50) -> SetAsideList:
        """List rows that jobs set aside."""
        with self._database.transaction() as connection:
            counted = set_aside_store.counts(connection)
            rows = set_aside_store.newest(connection, limit=limit)
        return SetAsideList(
            counts=[SetAsideCount.model_validate(one, from_attributes=True) for one in counted],
            items=[SetAsideView.model_validate(asdict(row) | {"id": row.row_id}) for row in rows],
        )

    @route("GET /admin/queue-stats", (200, QueueStats, "Analysis jobs by state"), operation_id="getQueueStats")
    def queue_stats(self) -> QueueStats:
        """Count analysis jobs by state."""
        with self._database.transaction() as connection:
            found = _jobs(JobType.ANALYZE_CONTENT, counts(connection))
        return QueueStats.model_validate(found, from_attributes=True)

    def _queue(self, queue: Queue, rows: Sequence[QueueCount]) -> QueueView:
        try:
            depth = self._parts.queues.depth(queue)
        except QueueUnavailableError:
            depth = None
        return QueueView(
            name=queue.value,
            depth=depth.visible if depth else None,
            in_flight=depth.in_flight if depth else None,
            delayed=depth.delayed if depth else None,
            dead_letters=depth.dead if depth else None,
            pending=sum(row.pending for row in rows),
            processing=sum(row.processing for row in rows),
            oldest_age_s=_longest(row.oldest_due_s for row in rows),
            oldest_running_s=_longest(row.oldest_running_s for row in rows),
        )


def _jobs(job_type: JobType, rows: Sequence[QueueCount]) -> JobCounts:
    mine = [row for row in rows if row.job_type == job_type]
    return JobCounts(
        job_type=job_type,
        pending=sum(row.pending for row in mine),
        processing=sum(row.processing for row in mine),
        completed=sum(row.completed for row in mine),
        failed=sum(row.failed for row in mine),
        cancelled=sum(row.cancelled for row in mine),
        delayed=sum(row.delayed for row in mine),
        oldest_age_s=_longest(row.oldest_due_s for row in mine),
        oldest_running_s=_longest(row.oldest_running_s for row in mine),
    )


def _longest(ages_s: Iterable[float]) -> float:
    return round(max(ages_s, default=0.0), 3)
