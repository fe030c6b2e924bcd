"""What was parked, by cause, and back to work."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Annotated, Literal
from uuid import UUID

from aws_lambda_powertools.event_handler.openapi.params import Query
from pydantic import BaseModel, Field, StrictBool, StrictInt, StringConstraints

from siftline.api.http.routing import BODY_PROBLEMS, route
from siftline.api.http.shapes import Asked
from siftline.api.parts import Parts, Routes
from siftline.contracts import Queue
from siftline.jobs.dead_letters import DeadLetters, Letter, Order
from siftline.jobs.dead_letters_store import SAMPLES, DeadJob
from siftline.jobs.queues import QueueUnavailableError
from siftline.kit.lines import line

# A request must be answered in 29 s; this much of it goes into looking through the dead-letter queues.
_PEEK_S = 8.0
_BODY_CHARS = 500
ErrorCode = Annotated[str, StringConstraints(min_length=1, max_length=200)]


class DeadJobView(BaseModel):
    """A job that has used up its attempts."""

    job_id: UUID
    subject_id: UUID = Field(description="Id of its source, content or user")
    park_id: UUID = Field(description="Id of this parking; a message with it revives the job once")
    attempts: int
    detail: str | None = Field(
        description="Human-readable description of the last error", examples=["The site answered 503."]
    )
    failed_at: datetime
    parked_at: datetime | None = Field(description="When it was sent to the dead-letter queue; null: not yet")


class DeadCauseView(BaseModel):
    """Parked jobs that failed for the same reason."""

    queue: str = Field(examples=["analysis"])
    job_type: str = Field(examples=["analyze_content"])
    error_code: str = Field(examples=["http_503"])
    jobs: int
    redrivable: int = Field(description="Jobs whose work no other job for the same subject is doing or has done since")
    oldest_at: datetime
    newest_at: datetime
    samples: list[DeadJobView] = Field(description="The newest ones")


class DeadMessageView(BaseModel):
    """A message that belongs to no job."""

    message_id: str
    original_message_id: str | None = Field(description="Message id on its original queue")
    detail: str | None = Field(description="Human-readable description of the error")
    body: str = Field(description="Beginning of the body, with control characters replaced")
    sent_at: datetime


class DeadMessagesView(BaseModel):
    """Malformed messages with the same error code."""

    queue: Queue
    error_code: str = Field(
        description="`received_too_often`: SQS moved it after too many receives", examples=["malformed_message"]
    )
    messages: int
    oldest_at: datetime
    newest_at: datetime
    samples: list[DeadMessageView] = Field(description="The newest ones")


class DeadLettersView(BaseModel):
    """Parked jobs and malformed messages, by cause."""

    causes: list[DeadCauseView] = Field(description="Parked jobs from PostgreSQL, most frequent cause first")
    messages: list[DeadMessagesView] = Field(description="Malformed messages found in SQS")
    not_all_seen: list[Queue] = Field(
        description="Queues that may have more malformed messages than shown: too many to read, or SQS did not answer"
    )


class RedriveAsked(Asked):
    """Which dead letters to redrive."""

    queue: Queue
    error_code: ErrorCode | None = Field(default=None, description="Only jobs with this error code")
    limit: StrictInt | None = Field(default=None, ge=1, le=1_000_000, description="Maximum number, oldest first")
    dry_run: StrictBool = Field(default=False, description="Only count jobs in PostgreSQL")


class CauseCountView(BaseModel):
    """Number of jobs with the same cause."""

    job_type: str = Field(examples=["analyze_content"])
    error_code: str = Field(examples=["http_503"])
    jobs: int


class RedriveView(BaseModel):
    """The result of a redrive or a dry run."""

    queue: Queue
    dry_run: bool
    jobs: int = Field(description="Jobs that are (dry run: would be) pending again, with all their attempts")
    causes: list[CauseCountView]
    left: int = Field(description="Matching jobs that can still be redriven")
    messages: int = Field(description="Malformed messages moved back; not counted in a dry run")
    copies: int = Field(description="Copies deleted from the dead-letter queue because their job is no longer dead")
    moved_by: Literal["sqs", "siftline"] | None = Field(
        description="`sqs`: SQS moves all messages back after this response, uncounted; null: no message was moved"
    )


class DeadLetterRoutes(Routes):
    """``/v1/ops/dead-letters``."""

    tag = "operations"

    def __init__(self, parts: Parts) -> None:
        super().__init__(parts)
        self._letters = DeadLetters(parts.database, parts.dead_letter_queues, parts.outbox.publish, parts.clock)

    @route(
        "GET /v1/ops/dead-letters",
        (200, DeadLettersView, "Parked jobs and malformed messages"),
        operation_id="getDeadLetters",
    )
    def show(self, queue: Annotated[Queue | None, Query(description="Only this queue")] = None) -> DeadLettersView:
        """Report dead letters by cause.

        Parked jobs come from PostgreSQL, malformed messages from SQS.
        """
        causes, jobs = self._letters.causes(queue)
        samples: dict[tuple[str, str, str], list[DeadJobView]] = defaultdict(list)
        for job in jobs:
            samples[job.queue, job.job_type, job.error_code].append(_job(job))
        messages, not_all_seen = self._messages([queue] if queue else list(Queue))
        return DeadLettersView(
            causes=[
                DeadCauseView(
                    **asdict(cause) | {"error_code": line(cause.error_code)},
                    samples=samples[cause.queue, cause.job_type, cause.error_code],
                )
                for cause in causes
            ],
            messages=messages,
            not_all_seen=not_all_seen,
        )

    @route(
        "POST /v1/ops/dead-letters/redrive",
        (200, RedriveView, "The result of the redrive or dry run"),
        operation_id="redriveDeadLetters",
        problems=BODY_PROBLEMS,
    )
    def redrive(self, body: RedriveAsked) -> RedriveView:
        """Redrive dead letters."""
        order = Order(body.queue, body.error_code, body.limit)
        done = self._letters.dry_run(order) if body.dry_run else self._letters.redrive(order)
        return RedriveView(
            queue=body.queue,
            dry_run=body.dry_run,
            jobs=done.jobs,
            causes=[
                CauseCountView(job_type=cause.job_type, error_code=line(cause.error_code), jobs=cause.jobs)
                for cause in done.causes
            ],
            left=done.left,
            messages=done.messages,
            copies=done.copies,
            moved_by=done.moved_by,
        )

    def _messages(self, queues: Sequence[Queue]) -> tuple[list[DeadMessagesView], list[Queue]]:
        found: list[DeadMessagesView] = []
        not_all_seen: list[Queue] = []
        ends = self._parts.clock.monotonic() + _PEEK_S
        for queue in queues:
            try:
                left_s = max(ends - self._parts.clock.monotonic(), 0)
                if left_s and not self._parts.queues.depth(queue).dead:
                    continue
                peeked = self._letters.peek(queue, budget_s=left_s)
            except QueueUnavailableError:
                not_all_seen.append(queue)
                continue
            found += [_messages(queue, code, letters) for code, letters in sorted(peeked.by_code.items())]
            if not peeked.complete:
                not_all_seen.append(queue)
        return found, not_all_seen


def _job(job: DeadJob) -> DeadJobView:
    detail = line(job.error_message) if job.error_message else None
    return DeadJobView.model_validate(asdict(job) | {"job_id": job.id, "detail": detail})


def _messages(queue: Queue, error_code: str, letters: Sequence[Letter]) -> DeadMessagesView:
    """Return letters of one code, given oldest first."""
    return DeadMessagesView(
        queue=queue,
        error_code=error_code,
        messages=len(letters),
        oldest_at=letters[0].sent_at,
        newest_at=letters[-1].sent_at,
        samples=[_message(letter) for letter in reversed(letters[-SAMPLES:])],
    )


def _message(letter: Letter) -> DeadMessageView:
    said = {name: line(value) for name, value in letter.attributes.items()}
    return DeadMessageView(
        message_id=letter.message_id,
        original_message_id=said.get("original_message_id"),
        detail=said.get("error_detail"),
        body=line(letter.body, _BODY_CHARS),
        sent_at=letter.sent_at,
    )
