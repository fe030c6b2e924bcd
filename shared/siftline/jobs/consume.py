"""The one batch loop: SQS records in, processors' work, one committed outcome a record, partial failures out.

Whatever the outcome, once it is committed the message is acknowledged; a record is reported as failed only when its
outcome could not be committed (the database away), and then SQS's own redelivery is the retry.
"""

import random
from collections.abc import Mapping, Sequence
from typing import Any, Protocol
from uuid import UUID

from aws_lambda_powertools.metrics import EphemeralMetrics, MetricUnit
from aws_lambda_powertools.utilities.batch import BatchProcessor, EventType, process_partial_response
from aws_lambda_powertools.utilities.batch.types import PartialItemFailureResponse
from aws_lambda_powertools.utilities.data_classes.sqs_event import SQSRecord
from pydantic import ValidationError

from siftline.contracts import MESSAGE, JobType, Message, Queue
from siftline.jobs import lease_store, outbox_store, store
from siftline.jobs.backoff import delay_s
from siftline.jobs.model import ClaimedJob, NewJob, Processor
from siftline.jobs.publish import Publisher, Sender
from siftline.jobs.queues import Envelope, QueueUnavailableError
from siftline.kit.clock import Clock
from siftline.kit.db import Connection, Database
from siftline.kit.errors import ConfigurationError, PermanentError, SiftlineError, TransientError
from siftline.kit.ids import new_id
from siftline.kit.log import NAMESPACE, logger
from siftline.settings import JobSettings

_log = logger("jobs")
# A body is kept whole on the dead-letter queue up to this length (SQS takes 1 MiB, attributes included).
_BODY_MAX_CHARS = 200_000


class LambdaContext(Protocol):
    """The part of Lambda's context that the loop asks."""

    def get_remaining_time_in_millis(self) -> int:
        """Return the milliseconds left before the invocation is ended."""
        ...


class SubjectMaker(Protocol):
    """Finds, or where the message says enough makes, the subject of a message that came without a job."""

    def __call__(self, connection: Connection, message: Message) -> UUID | None:
        """Return the subject's id, or ``None`` when there is no such thing."""
        ...


class MalformedMessageError(PermanentError):
    """A message that no try will ever make sense of; it is parked with its cause."""

    code = "malformed_message"


class BatchConsumer:
    """Consumes the batches of the queues that feed one function.

    ``queues`` tells the logical queue by the real one's name, as an event's source ARN ends with. ``reserve_s`` is the
    longest one job may take: a record that comes up with less time left is put back instead of being begun and cut off.
    """

    def __init__(
        self,
        *,
        queues: Mapping[str, Queue],
        database: Database,
        publisher: Publisher,
        sender: Sender,
        processors: Sequence[Processor],
        subjects: Mapping[JobType, SubjectMaker],
        settings: JobSettings,
        clock: Clock,
        reserve_s: float = 5.0,
    ) -> None:
        self._queues = queues
        self._database = database
        self._publisher = publisher
        self._sender = sender
        self._processors = {processor.job_type: processor for processor in processors}
        self._subjects = subjects
        self._settings = settings
        self._clock = clock
        self._reserve_s = reserve_s
        self._rng = random.Random()  # noqa: S311 - jitter, not a secret

    def handle(self, event: dict[str, Any], context: LambdaContext) -> PartialItemFailureResponse:
        """Work off one SQS event and return ``{"batchItemFailures": [{"itemIdentifier": …}, …]}``."""
        batch = BatchProcessor(event_type=EventType.SQS, raise_on_entire_batch_failure=False)
        queue = self._queue_of(event)

        def one(record: SQSRecord) -> None:
            self._one(record, queue, context)

        answer = process_partial_response(event=event, record_handler=one, processor=batch, context=None)
        try:
            self._publisher.hand_out(queue, limit=len(event["Records"]))
        except (TransientError, QueueUnavailableError) as error:
            _log.warning("hand_out_failed", error_code=error.error_code)
        return answer

    def _queue_of(self, event: dict[str, Any]) -> Queue:
        name = event["Records"][0]["eventSourceARN"].rpartition(":")[2]
        try:
            return self._queues[name]
        except KeyError as error:
            raise ConfigurationError(f"Messages came from {name}, a queue this function does not know.") from error

    def _one(self, record: SQSRecord, queue: Queue, context: LambdaContext) -> None:
        try:
            message = self._read(record)
            job_id = self._job_of(message, record.message_id, queue)
        except MalformedMessageError as error:
            self._park(record, queue, error)
            return
        if context.get_remaining_time_in_millis() < self._reserve_s * 1000:
            with self._database.transaction() as connection:
                store.put_back(connection, job_id)
            _log.info("job_put_back", job_id=str(job_id), reason="too little time left")
            return
        job = self._claim(message, job_id)
        if job is not None:
            self._work(job)

    def _read(self, record: SQSRecord) -> Message:
        try:
            message = MESSAGE.validate_json(record.body)
        except ValidationError as error:
            fault = error.errors(include_url=False, include_input=False)[0]
            place = ".".join(str(part) for part in fault["loc"]) or "body"
            raise MalformedMessageError(f"{place}: {fault['msg']}") from error
        if message.job_type not in self._processors:
            raise MalformedMessageError(
                f"{message.job_type} does not belong on this queue.", code="unexpected_job_type"
            )
        return message

    def _job_of(self, message: Message, message_id: str, queue: Queue) -> UUID:
        """Return the job a message names, or the one it means where it names none."""
        if message.job_id is not None:
            return message.job_id
        with self._database.transaction() as connection:
            try:
                subject_id = self._subjects[message.job_type](connection, message)
            except PermanentError as error:
                raise MalformedMessageError(error.detail, code=error.error_code) from error
            if subject_id is None:
                raise MalformedMessageError("It names something that does not exist.", code="unknown_subject")
            url = getattr(message, "url", None)
            job = NewJob(
                job_type=message.job_type,
                subject_id=subject_id,
                group_key=f"subject:{subject_id}",
                queue=queue,
                payload={"url": url} if url else {},
            )
            return store.adopt(connection, job, message_id=message_id, max_attempts=self._settings.job_max_attempts)

    def _claim(self, message: Message, job_id: UUID) -> ClaimedJob | None:
        with self._database.transaction() as connection:
            if message.park_id is not None and store.redrive(connection, job_id, message.park_id):
                _log.info("job_redriven", job_id=str(job_id), job_type=message.job_type)
            job = lease_store.claim(
                connection,
                job_id,
                message.job_type,
                lease_s=self._settings.job_lease_s,
                grace_s=self._settings.job_clock_grace_s,
            )
        if job is None:
            _log.info("claim_refused", job_id=str(job_id), job_type=message.job_type)
        return job

    def _work(self, job: ClaimedJob) -> None:
        started = self._clock.monotonic()
        try:
            publish = self._try(job, started)
        except lease_store.LeaseLostError:
            _log.warning("lease_lost", **_facts(job), status="lost", duration_ms=self._since(started))
            return
        try:
            self._publisher.publish(publish)
        except (TransientError, QueueUnavailableError) as error:
            _log.warning("publish_failed", **_facts(job), error_code=error.error_code)

    def _try(self, job: ClaimedJob, started: float) -> Sequence[UUID]:
        """Do the work, commit its outcome, and return the jobs to publish."""
        processor = self._processors[job.job_type]
        try:
            done = processor.process(job)
            duration_ms = self._since(started)
            with self._database.transaction() as connection:
                again = lease_store.complete(connection, job, result=done.result, duration_ms=duration_ms)
                done.write(connection)
                fresh = store.enqueue(connection, done.follow, max_attempts=self._settings.job_max_attempts)
                if again is not None:
                    lease_store.reenqueued(connection, job)
        except lease_store.LeaseLostError:
            raise
        except SiftlineError as error:
            return self._failed_try(job, processor, error, self._since(started))
        except Exception as error:  # noqa: BLE001 - the one broad catch: an unknown fault counts as transient
            _log.exception("unexpected_error", **_facts(job))
            unknown = TransientError(f"An unexpected fault ({type(error).__name__}).", code="unexpected_error")
            return self._failed_try(job, processor, unknown, self._since(started))
        self._told("job_completed", job, "completed", duration_ms)
        return [*fresh, *([again] if again else [])]

    def _failed_try(
        self, job: ClaimedJob, processor: Processor, error: SiftlineError, duration_ms: int
    ) -> Sequence[UUID]:
        """Draw the arrow that this error asks for, with what it means for the subject, in one transaction."""
        park_id: UUID | None = None
        again: UUID | None = None
        with self._database.transaction() as connection:
            if isinstance(error, PermanentError):
                status, again = (
                    "failed",
                    lease_store.fail(connection, job, error, duration_ms=duration_ms, park_id=None),
                )
            elif (wait_s := self._deferral_s(job, error)) is not None:
                status = "deferred"
                lease_store.defer(connection, job, error, delay_s=wait_s, duration_ms=duration_ms)
            elif job.attempts >= job.max_attempts:
                status, park_id = "exhausted", new_id()
                again = lease_store.fail(connection, job, error, duration_ms=duration_ms, park_id=park_id)
            else:
                status = "retry"
                wait_s = delay_s(job.attempts, self._settings.job_backoff_s, self._rng)
                lease_store.retry(connection, job, error, delay_s=wait_s, duration_ms=duration_ms)
            processor.on_failure(connection, job, error)
        self._told("job_not_completed", job, status, duration_ms, error.error_code)
        if park_id is not None:
            self._park_failed(job)
        return [again] if again else [job.id] if status in ("retry", "deferred") else []

    def _deferral_s(self, job: ClaimedJob, error: SiftlineError) -> float | None:
        """Return how long to put the job off without using its attempt, or ``None``: not asked for, or for too long."""
        if isinstance(error, ConfigurationError):
            asked_s: float | None = self._settings.job_misconfigured_s
        else:
            asked_s = error.retry_after_s if isinstance(error, TransientError) else None
        if asked_s is None:
            return None
        waited_s = 0.0
        if job.deferred_since is not None:
            waited_s = (self._clock.now() - job.deferred_since).total_seconds()
        return max(asked_s, 1.0) if waited_s < self._settings.job_defer_max_s else None

    def _park_failed(self, job: ClaimedJob) -> None:
        with self._database.transaction() as connection:
            waiting = outbox_store.to_park(connection, quiet_s=0, limit=100, job_id=job.id)
        self._publisher.park(waiting)

    def _park(self, record: SQSRecord, queue: Queue, error: MalformedMessageError) -> None:
        """Put a malformed message on the dead-letter queue; only when that is done may it be acknowledged."""
        cause = {
            "error_code": error.error_code,
            "error_detail": error.detail[:1000],
            "attempts": "0",
            "original_message_id": record.message_id,
        }
        body = record.body[:_BODY_MAX_CHARS] or "(empty)"
        envelope = Envelope(key=record.message_id, body=body, group="malformed", attributes=cause)
        if not self._sender.park(queue, [envelope]):
            raise QueueUnavailableError("The dead-letter queue did not accept a malformed message.")
        _log.error("message_parked", message_id=record.message_id, error_code=error.error_code, status="parked")

    def _told(self, event: str, job: ClaimedJob, status: str, duration_ms: int, error_code: str | None = None) -> None:
        _log.info(event, **_facts(job), status=status, duration_ms=duration_ms, error_code=error_code)
        figures = EphemeralMetrics(namespace=NAMESPACE)
        figures.add_dimension(name="job_type", value=job.job_type.value)
        figures.add_dimension(name="status", value=status)
        figures.add_metric(name="Jobs", unit=MetricUnit.Count, value=1)
        figures.add_metric(name="JobDuration", unit=MetricUnit.Milliseconds, value=duration_ms)
        figures.flush_metrics()

    def _since(self, started: float) -> int:
        return round((self._clock.monotonic() - started) * 1000)


def _facts(job: ClaimedJob) -> dict[str, Any]:
    return {
        "job_type": job.job_type.value,
        "job_id": str(job.id),
        "subject_id": str(job.subject_id),
        "attempt": job.attempts,
    }
