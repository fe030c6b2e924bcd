"""The one batch loop: SQS records in, processors' work, one committed outcome a record, partial failures out.

Whatever the outcome, once it is committed the message is acknowledged; a record is reported as failed only when its
outcome could not be committed (the database away), and then SQS's own redelivery is the retry.
"""

import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol
from uuid import UUID

from aws_lambda_powertools.utilities.batch import BatchProcessor, EventType, process_partial_response
from aws_lambda_powertools.utilities.batch.types import PartialItemFailureResponse
from aws_lambda_powertools.utilities.data_classes.sqs_event import SQSRecord
from pydantic import ValidationError

from siftline.contracts import MESSAGE, JobType, Knock, Message, Queue
from siftline.jobs import jobs_store
from siftline.jobs.attempt import Attempts
from siftline.jobs.job_model import ClaimedJob, Done, NewJob, Processor
from siftline.jobs.jobs_wiring import Producer
from siftline.jobs.publish import Publisher, Sender
from siftline.jobs.queues import Envelope, QueueUnavailableError
from siftline.jobs.statistics import Statistics
from siftline.kit.clock import Clock
from siftline.kit.db import Connection, Database, settled
from siftline.kit.errors import ConfigurationError, PermanentError, SiftlineError, TransientError
from siftline.kit.log import logger
from siftline.settings.functions import ConsumerSettings, JobSettings

RECEIVES_MAX = 5
"""A message that a fault of our own stops this often is parked, with the reason: the queue's own limit comes later."""
_log = logger("jobs")
# A body is kept whole on the dead-letter queue up to this length (SQS takes 1 MiB, attributes included).
_BODY_MAX_CHARS = 200_000


class LambdaContext(Protocol):
    """The part of Lambda's context that the loop asks."""

    def get_remaining_time_in_millis(self) -> int:
        """Return the milliseconds left before the invocation is ended."""
        ...


SubjectMaker = Callable[[Connection, Message], UUID | None]
"""Finds, or where the message says enough makes, the subject of a message that came without a job; ``None``: none."""


class MalformedMessageError(PermanentError):
    """A message that no try will ever make sense of; it is parked with its cause."""

    code = "malformed_message"


class UnknownJobTypeError(MalformedMessageError):
    """A message that makes no sense here, though it may to a newer release that was deployed before this one."""


class UnexpectedFaultError(PermanentError):
    """A message that a fault of our own kept from becoming a job's try, again and again; it is parked, not lost."""

    code = "unexpected_error"


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
        self._reserve_s = reserve_s
        names = {queue: name for name, queue in queues.items()}
        self._statistics = Statistics(database, names, clock)
        self._attempts = Attempts(
            names=names,
            database=database,
            publisher=publisher,
            processors=self._processors,
            settings=settings,
            clock=clock,
        )

    def handle(self, event: dict[str, Any], context: LambdaContext) -> PartialItemFailureResponse:
        """Work off one SQS event and return ``{"batchItemFailures": [{"itemIdentifier": …}, …]}``."""
        batch = BatchProcessor(event_type=EventType.SQS, raise_on_entire_batch_failure=False)
        queue = self._queue_of(event)

        def one(record: SQSRecord) -> None:
            try:
                self._one(record, queue, context)
            except SiftlineError as error:
                _log.warning("record_not_settled", message_id=record.message_id, error_code=error.error_code)
                raise
            except Exception as error:
                _log.exception("record_not_settled", message_id=record.message_id)
                if int(record.attributes.approximate_receive_count) < RECEIVES_MAX:
                    raise
                self._park(record, queue, UnexpectedFaultError(f"Every attempt failed ({type(error).__name__})."))

        answer = process_partial_response(event=event, record_handler=one, processor=batch, context=None)
        try:
            self._publisher.hand_out(queue, limit=len(event["Records"]))
        except (TransientError, QueueUnavailableError) as error:
            _log.warning("hand_out_failed", error_code=error.error_code)
        self._statistics.after_batch(queue)
        return answer

    def _queue_of(self, event: dict[str, Any]) -> Queue:
        name = event["Records"][0]["eventSourceARN"].rpartition(":")[2]
        try:
            return self._queues[name]
        except KeyError as error:
            raise ConfigurationError(f"Received messages from {name}, a queue unknown to this function.") from error

    def _one(self, record: SQSRecord, queue: Queue, context: LambdaContext) -> None:
        try:
            message = self._read(record)
            job_id = self._job_of(message, record.message_id, queue)
        except UnknownJobTypeError as error:
            if not self._is_kept(record):
                self._park(record, queue, error)
            return
        except MalformedMessageError as error:
            self._park(record, queue, error)
            return
        if context.get_remaining_time_in_millis() < self._reserve_s * 1000:
            with self._database.transaction() as connection:
                jobs_store.put_back(connection, job_id)
            _log.info("job_put_back", job_id=str(job_id), reason="too little time left")
            return
        if message.park_id is not None:
            self._redrive(job_id, message.park_id)
        single = not self._processors[message.job_type].providers
        claim = settled(
            self._database,
            lambda connection: self._attempts.claim(connection, job_id, message.job_type),
            single=single,
        )
        if claim is None:
            _log.info("claim_refused", job_id=str(job_id), job_type=message.job_type)
        else:
            self._attempts.run(claim)

    def _read(self, record: SQSRecord) -> Message:
        try:
            message = MESSAGE.validate_json(record.body)
        except ValidationError as error:
            fault = error.errors(include_url=False, include_input=False)[0]
            if fault["type"] == "union_tag_invalid":
                raise UnknownJobTypeError(f"body: {fault['msg']}") from error
            place = ".".join(str(part) for part in fault["loc"]) or "body"
            raise MalformedMessageError(f"{place}: {fault['msg']}") from error
        if message.job_type not in self._processors:
            raise MalformedMessageError(
                f"{message.job_type} does not belong on this queue.", code="unexpected_job_type"
            )
        return message

    def _is_kept(self, record: SQSRecord) -> bool:
        """Return whether the job that a newer release's message knocks for has its row, which that release sends again.

        One that names no job, or asks for a parked one to be brought back, is known to nobody else.
        """
        try:
            knock = Knock.model_validate_json(record.body)
        except ValidationError:
            return False
        if knock.job_id is None or knock.park_id is not None:
            return False
        with self._database.transaction() as connection:
            kept = jobs_store.is_kept(connection, knock.job_id)
        if kept:
            _log.warning("unknown_job_left", message_id=record.message_id, job_id=str(knock.job_id))
        return kept

    def _job_of(self, message: Message, message_id: str, queue: Queue) -> UUID:
        """Return the job a message names, or the one it means where it names none."""
        if message.job_id is not None:
            return message.job_id
        return settled(self._database, lambda connection: self._adopt(connection, message, message_id, queue))

    def _adopt(self, connection: Connection, message: Message, message_id: str, queue: Queue) -> UUID:
        try:
            subject_id = self._subjects[message.job_type](connection, message)
        except PermanentError as error:
            raise MalformedMessageError(error.detail, code=error.error_code) from error
        if subject_id is None:
            raise MalformedMessageError("Its subject does not exist.", code="unknown_subject")
        url = getattr(message, "url", None)
        job = NewJob(
            job_type=message.job_type,
            subject_id=subject_id,
            group_key=f"subject:{subject_id}",
            queue=queue,
            payload={"url": url} if url else {},
        )
        return jobs_store.adopt(connection, job, message_id=message_id, max_attempts=self._settings.job_max_attempts)

    def _redrive(self, job_id: UUID, park_id: UUID) -> None:
        """Bring a parked job back, in a transaction of its own: unlike a claim it must be on disk to count."""
        if settled(self._database, lambda connection: jobs_store.redrive(connection, job_id, park_id)):
            _log.info("job_redriven", job_id=str(job_id))

    def _park(self, record: SQSRecord, queue: Queue, error: PermanentError) -> None:
        """Put a message that became no job on the dead-letter queue; only when that is done may it be acknowledged."""
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


class Kind(Protocol):
    """A processor's class: what it does, and what it cannot work without."""

    job_type: JobType
    providers: frozenset[str]


class Lazily:
    """A processor put together at its first job: what cannot be opened is then an error of that job, not of the start.

    So a missing model opens its breaker and its jobs wait, where a function that does not start would burn receives.
    """

    def __init__(self, kind: Kind, build: Callable[[], Processor]) -> None:
        self.job_type = kind.job_type
        self.providers = kind.providers
        self._build = build
        self._built: Processor | None = None
        self._lock = threading.Lock()

    def process(self, job: ClaimedJob) -> Done:
        """Do the work of one claimed job; raises what ``build`` and the processor raise."""
        with self._lock:
            self._built = self._built or self._build()
        return self._built.process(job)

    def on_failure(self, connection: Connection, job: ClaimedJob, error: SiftlineError) -> None:
        """Pass on what a failed try means; nothing, as long as there is no processor that could have tried."""
        if self._built is not None:
            self._built.on_failure(connection, job, error)


def consumer(
    settings: ConsumerSettings,
    parts: Producer,
    processors: Sequence[Processor],
    subjects: Mapping[JobType, SubjectMaker],
    *,
    reserve_s: float,
) -> BatchConsumer:
    """Return the batch loop over these processors; ``reserve_s`` is the longest that one job may take."""
    return BatchConsumer(
        queues={url.rpartition("/")[2]: queue for queue, url in settings.queue_urls().items()},
        database=parts.database,
        publisher=parts.publisher,
        sender=parts.queues,
        processors=processors,
        subjects=subjects,
        settings=settings,
        clock=parts.clock,
        reserve_s=reserve_s,
    )
