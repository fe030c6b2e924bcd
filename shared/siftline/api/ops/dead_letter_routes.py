"""What was parked, by cause, and back to work."""

from collections import defaultdict
from collections.abc import Sequence
from typing import Annotated

from aws_lambda_powertools.event_handler.openapi.params import Query

from siftline.api.http.routing import BODY_PROBLEMS, Resource, route
from siftline.api.ops.dead_letter_models import (
    CauseCountView,
    DeadCauseView,
    DeadJobView,
    DeadLettersView,
    DeadMessagesView,
    DeadMessageView,
    RedriveAsked,
    RedriveView,
)
from siftline.api.ops.ops import Depths
from siftline.contracts import Queue
from siftline.jobs.dead_letters import DeadLetters, Letter, Order
from siftline.jobs.dead_letters_store import SAMPLES, DeadJob
from siftline.jobs.queues import QueueUnavailableError
from siftline.kit.clock import Clock
from siftline.kit.lines import line

# A request must be answered in 29 s; this much of it goes into looking through the dead-letter queues.
_PEEK_S = 8.0
_BODY_CHARS = 500


class DeadLetterRoutes(Resource):
    """``/v1/ops/dead-letters``."""

    def __init__(self, dead_letters: DeadLetters, depths: Depths, clock: Clock) -> None:
        self._dead_letters = dead_letters
        self._depths = depths
        self._clock = clock

    @route(
        "GET /v1/ops/dead-letters",
        (200, DeadLettersView, "Parked jobs and malformed messages"),
        summary="Report dead letters by cause",
        operation_id="getDeadLetters",
        tag="operations",
    )
    def show(self, queue: Annotated[Queue | None, Query(description="Only this queue")] = None) -> DeadLettersView:
        """Show parked jobs from PostgreSQL, malformed messages from SQS."""
        causes, jobs = self._dead_letters.causes(queue)
        samples: dict[tuple[str, str, str], list[DeadJobView]] = defaultdict(list)
        for job in jobs:
            samples[job.queue, job.job_type, job.error_code].append(_job(job))
        messages, not_all_seen = self._messages([queue] if queue else list(Queue))
        return DeadLettersView(
            causes=[
                DeadCauseView(
                    queue=cause.queue,
                    job_type=cause.job_type,
                    error_code=line(cause.error_code),
                    jobs=cause.jobs,
                    redrivable=cause.redrivable,
                    oldest_at=cause.oldest_at,
                    newest_at=cause.newest_at,
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
        summary="Redrive dead letters",
        operation_id="redriveDeadLetters",
        tag="operations",
        problems=BODY_PROBLEMS,
    )
    def redrive(self, body: RedriveAsked) -> RedriveView:
        """Redrive, or count what would be."""
        order = Order(body.queue, body.error_code, body.limit)
        done = self._dead_letters.dry_run(order) if body.dry_run else self._dead_letters.redrive(order)
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
        ends = self._clock.monotonic() + _PEEK_S
        for queue in queues:
            try:
                left_s = max(ends - self._clock.monotonic(), 0)
                if left_s and not self._depths.depth(queue).dead:
                    continue
                peeked = self._dead_letters.peek(queue, budget_s=left_s)
            except QueueUnavailableError:
                not_all_seen.append(queue)
                continue
            found += [_messages(queue, code, letters) for code, letters in sorted(peeked.by_code.items())]
            if not peeked.complete:
                not_all_seen.append(queue)
        return found, not_all_seen


def _job(job: DeadJob) -> DeadJobView:
    return DeadJobView(
        job_id=job.id,
        subject_id=job.subject_id,
        park_id=job.park_id,
        attempts=job.attempts,
        detail=line(job.error_message) if job.error_message else None,
        failed_at=job.failed_at,
        parked_at=job.parked_at,
    )


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
