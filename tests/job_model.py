"""The job life of docs/jobs.md once more, in memory and without SQL: what the job store is compared with."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from uuid import UUID

from siftline.contracts import JobType, Queue, queue_of
from siftline.jobs.job_model import NewJob

CONTENT_JOBS = (JobType.INGEST_CONTENT, JobType.ANALYZE_CONTENT)
LIVE = ("pending", "processing")
UNKNOWN = "chosen by the database"
NOW, SOON, FAR = "now", "soon", "far"
"""When a job is due: now, within SQS's longest delay, or beyond it."""


@dataclass(eq=False)
class Job:
    """One row of ``jobs`` and its timeline."""

    job_type: JobType
    subject_id: UUID
    queue: Queue
    group_key: str
    priority: int
    max_attempts: int
    id: UUID | None = None
    """``None`` while only the database knows it."""
    due: str = NOW
    state: str = "pending"
    attempts: int = 0
    published: bool = False
    publish_count: int = 0
    unanswered: bool = False
    token: UUID | None = None
    expired: bool = False
    again: bool = False
    again_for: str | None = None
    deferred: bool = False
    origin: str | None = None
    error_code: str | None = None
    park_id: UUID | str | None = None
    parked: bool = False
    events: list[tuple[str, int]] = field(default_factory=lambda: [("enqueued", 0)])

    @property
    def known_id(self) -> UUID:
        """The id, once the database has told it."""
        assert self.id is not None
        return self.id

    def put_off(self, due: str, error_code: str) -> None:
        """Wait for another try."""
        self.state, self.due, self.error_code = "pending", due, error_code
        self.token, self.expired, self.publish_count = None, False, 0
        self.unpublish()

    def unpublish(self) -> None:
        """Wait to be handed out."""
        self.published = self.unanswered = False

    def publish(self) -> None:
        """Be handed out."""
        self.published, self.unanswered, self.publish_count = True, False, self.publish_count + 1


class JobModel:
    """Every job and subject; each method is an arrow or a question of the store, and says what must come of it."""

    def __init__(self, contents: Sequence[UUID], sources: Sequence[UUID], max_attempts: int) -> None:
        self.jobs: list[Job] = []
        self.max_attempts = max_attempts
        self.settled: dict[UUID, str] = {**dict.fromkeys(contents, "NEW"), **dict.fromkeys(sources, "IDLE")}
        """What a subject's status is while no job of it lives."""
        self._sources = frozenset(sources)

    def __iter__(self) -> Iterator[Job]:
        return iter(self.jobs)

    def of(self, job_id: UUID) -> Job | None:
        """Return the job of an id, unless it was cleaned up."""
        return next((job for job in self.jobs if job.id == job_id), None)

    def held(self, job_id: UUID, token: UUID) -> Job | None:
        """Return the job that this lease token still guards."""
        job = self.of(job_id)
        return job if job is not None and job.state == "processing" and job.token == token else None

    def live(self, job_type: JobType, subject_id: UUID) -> Job | None:
        """Return the one live job of a subject."""
        found = [j for j in self.jobs if (j.job_type, j.subject_id) == (job_type, subject_id) and j.state in LIVE]
        assert len(found) <= 1, found
        return found[0] if found else None

    def status(self, subject_id: UUID) -> str:
        """Return what a subject's own status must be."""
        states = {job.state for job in self.jobs if job.subject_id == subject_id}
        source = subject_id in self._sources
        if "processing" in states:
            return "FETCHING" if source else "PROCESSING"
        if "pending" in states:
            return "QUEUED" if source else "PENDING"
        return self.settled[subject_id]

    def enqueue(self, new: NewJob, *, origin: str | None = None) -> Job:
        """One live job a subject: a running one runs again, a waiting one becomes as urgent as the newer asks."""
        queue = new.queue or queue_of(new.job_type, new.priority)
        live = self.live(new.job_type, new.subject_id)
        if live is None:
            live = Job(new.job_type, new.subject_id, queue, new.group_key, new.priority, self.max_attempts)
            self.jobs.append(live)
        elif live.state == "processing":
            live.again, live.again_for = True, live.again_for or new.group_key
            if new.priority > live.priority:
                live.queue = queue
        elif new.priority > live.priority:
            if queue is not live.queue:
                live.unpublish()
            live.queue, live.group_key = queue, new.group_key
        live.priority = max(live.priority, new.priority)
        live.origin = live.origin or origin
        return live

    def try_now(self, job_type: JobType, subject_id: UUID) -> None:
        """What waits after a failed try is due at once; what was told when to come back waits on."""
        live = self.live(job_type, subject_id)
        if live is not None and live.state == "pending" and live.due != NOW and not live.deferred:
            live.due, live.publish_count, live.attempts = NOW, 0, max(live.attempts - 1, 0)
            live.unpublish()

    def claim(self, job: Job | None) -> bool:
        """A due or lost job is taken; a knock that comes too early makes the job be handed out again."""
        if job is None or job.attempts >= job.max_attempts:
            return False
        if job.state == "pending" and job.due != NOW:
            job.unpublish()
        if not ((job.state == "pending" and job.due == NOW) or (job.state == "processing" and job.expired)):
            return False
        job.state, job.attempts, job.expired, job.again = "processing", job.attempts + 1, False, False
        job.again_for = None
        job.events.append(("claimed", job.attempts))
        return True

    def end(self, job: Job, state: str, *, error_code: str | None = None, park_id: UUID | str | None = None) -> None:
        """End a job; what changed meanwhile runs once more, as one job of its own."""
        job.state, job.error_code, job.park_id, job.token, job.expired = state, error_code, park_id, None, False
        job.events.append((state, job.attempts))
        if state == "failed" and job.subject_id in self.settled:
            self.settled[job.subject_id] = "ERROR" if job.subject_id in self._sources else "FAILED"
        if job.again:
            self.jobs.append(
                Job(
                    job_type=job.job_type,
                    subject_id=job.subject_id,
                    queue=job.queue,
                    group_key=job.again_for or job.group_key,
                    priority=job.priority,
                    max_attempts=job.max_attempts,
                )
            )

    def retry(self, job: Job, due: str, error_code: str) -> bool:
        """Put a job off, its attempt used; there is none to use after the last."""
        if job.attempts >= job.max_attempts:
            return False
        job.put_off(due, error_code)
        job.events.append(("retry", job.attempts))
        job.deferred = False
        return True

    def defer(self, job: Job, due: str, error_code: str) -> bool:
        """Put a job off and give its attempt back."""
        job.put_off(due, error_code)
        job.events.append(("deferred", job.attempts))
        job.attempts -= 1
        job.deferred = True
        return True

    def sweep(self) -> tuple[int, int]:
        """Return lost jobs to waiting, or end them; returns how many of each, as a person is told."""
        lost = [job for job in self.jobs if job.state == "processing" and job.expired]
        failed = 0
        for job in lost:
            if job.attempts >= job.max_attempts:
                job.put_off(NOW, "worker_lost")
                self.end(job, "failed", error_code="worker_lost", park_id=UNKNOWN)
                failed += not job.again
            else:
                job.put_off(NOW, "worker_lost")
                job.events.append(("lease_expired", job.attempts))
        return len(lost) - failed, failed

    def redrive(self, job: Job | None, park_id: UUID) -> bool:
        """Bring a failed job back, once for each parking, unless another lives."""
        if job is None or job.state != "failed" or job.park_id != park_id:
            return False
        if self.live(job.job_type, job.subject_id) is not None:
            return False
        job.put_off(NOW, "")
        job.error_code = None
        job.attempts, job.park_id, job.parked, job.deferred = 0, None, False, False
        job.events.append(("redriven", 0))
        return True

    def cancel(self, subject_id: UUID) -> int:
        """End every live job of a subject that goes away, and with it the subject."""
        ended = [job for job in self.jobs if job.subject_id == subject_id and job.state in LIVE]
        for job in ended:
            job.again = False
            self.end(job, "cancelled", error_code=job.error_code, park_id=job.park_id)
        del self.settled[subject_id]
        return len(ended)

    def can_hand_out(self, *queues: Queue) -> list[Job]:
        """Return what may be handed out on these queues."""
        return [
            job
            for job in self.jobs
            if job.queue in queues and job.state == "pending" and not job.published and job.due != FAR
        ]

    def unanswered(self) -> list[Job]:
        """Return what was handed out and has been quiet for too long."""
        return [job for job in self.jobs if job.state == "pending" and job.published and job.unanswered]

    def to_park(self) -> list[Job]:
        """Return what has to go to a dead-letter queue and has not."""
        return [job for job in self.jobs if job.park_id is not None and not job.parked]

    def clean_up(self) -> int:
        """Forget finished jobs past their age, never one that has to be parked or whose content is on its way."""
        gone = [
            job
            for job in self.jobs
            if job.state not in LIVE
            and (job.park_id is None or job.parked)
            and not (job.state == "failed" and self._on_its_way(job.subject_id))
        ]
        self.jobs = [job for job in self.jobs if job not in gone]
        return len(gone)

    def _on_its_way(self, subject_id: UUID) -> bool:
        return subject_id in self.settled and self.status(subject_id) in ("NEW", "PENDING", "PROCESSING")
