"""The dead-letter queues themselves: looking through them, deleting, sending back.

Kept apart from ``queues``, so that only who may empty a dead-letter queue imports the calls that do.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING
from uuid import UUID

from botocore.exceptions import BotoCoreError, ClientError
from pydantic import ValidationError

from siftline.contracts import MESSAGE, Queue
from siftline.jobs.publish import Sender
from siftline.jobs.queues import BATCH_MAX, Envelope, QueueUnavailableError, chunks
from siftline.kit.clock import Clock
from siftline.kit.lines import line
from siftline.kit.log import logger

if TYPE_CHECKING:
    from mypy_boto3_sqs import SQSClient
    from mypy_boto3_sqs.type_defs import (
        ChangeMessageVisibilityBatchRequestEntryTypeDef,
        DeleteMessageBatchRequestEntryTypeDef,
        MessageTypeDef,
    )

# The code of a message without attributes: SQS moved it after too many receives, no code of ours saw its end.
RECEIVED_TOO_OFTEN = "received_too_often"
_log = logger("jobs")


@dataclass(frozen=True, slots=True)
class Letter:
    """One message on a dead-letter queue."""

    message_id: str
    receipt: str
    body: str
    attributes: Mapping[str, str]
    group: str
    sent_at: datetime

    @property
    def error_code(self) -> str:
        """Why it lies here."""
        return line(self.attributes.get("error_code", RECEIVED_TOO_OFTEN))

    @property
    def parking(self) -> tuple[UUID, UUID] | None:
        """The job id and park id of a parked job's copy; ``None`` for a message that stands for no failed job."""
        if "original_message_id" in self.attributes:
            return None
        try:
            message = MESSAGE.validate_json(self.body)
        except ValidationError:
            return None
        return (message.job_id, message.park_id) if message.job_id and message.park_id else None


Visitor = Callable[[Sequence[Letter]], Sequence[Letter]]
"""Is shown letters and returns those that stay."""


class SqsDeadLetters:
    """Works on the dead-letter queues, by the logical name of the queue whose they are."""

    def __init__(
        self,
        client: "SQSClient",
        sender: Sender,
        urls: Mapping[Queue, str],
        dead_letter_urls: Mapping[Queue, str],
        clock: Clock,
    ) -> None:
        self._client = client
        self._sender = sender
        self._urls = urls
        self._dead_letter_urls = dead_letter_urls
        self._clock = clock

    def visit(self, queue: Queue, visitor: Visitor, *, budget_s: float, messages_max: int) -> bool:
        """Show the visitor what lies on a dead-letter queue, ten at most at a time; ``True`` when that was all of it.

        Letters are hidden from others meanwhile; those that stay are visible again at the end, at the latest some
        seconds after ``budget_s`` should this process die. Raises ``QueueUnavailableError``.
        """
        url = self._dead_letter_urls[queue]
        ends = self._clock.monotonic() + budget_s
        seen = 0
        stay: list[Letter] = []
        try:
            while seen < messages_max and self._clock.monotonic() < ends:
                letters = self._receive(url, hidden_s=math.ceil(budget_s) + 15)
                if not letters:
                    return True
                seen += len(letters)
                stay += visitor(letters)
            return False
        finally:
            self._show_again(url, stay)

    def delete(self, queue: Queue, letters: Sequence[Letter]) -> int:
        """Delete letters; returns how many SQS deleted. The others are visible again later."""
        url = self._dead_letter_urls[queue]
        deleted = 0
        for some in chunks(letters):
            entries: list[DeleteMessageBatchRequestEntryTypeDef] = [
                {"Id": str(place), "ReceiptHandle": letter.receipt} for place, letter in enumerate(some)
            ]
            with _translated("The dead-letter queue did not delete a message."):
                answer = self._client.delete_message_batch(QueueUrl=url, Entries=entries)
            deleted += len(answer.get("Successful", []))
            if answer.get("Failed"):
                _log.warning("dead_letters_not_deleted", queue=queue.value, messages=len(answer["Failed"]))
        return deleted

    def send_back(self, queue: Queue, letters: Sequence[Letter]) -> set[str]:
        """Send letters as they are (text attributes kept) to their queue, then delete them; returns the ids that went.

        A crash between the two leaves both, which is harmless: the queue's messages may come twice.
        """
        accepted = self._sender.send(
            queue,
            [
                Envelope(key=letter.message_id, body=letter.body, group=letter.group, attributes=letter.attributes)
                for letter in letters
            ],
        )
        self.delete(queue, [letter for letter in letters if letter.message_id in accepted])
        return accepted

    def move_all(self, queue: Queue) -> bool:
        """Let SQS itself move everything back to the queue; ``False`` where it cannot, or does so already.

        The destination is named, because SQS knows no source of messages that were sent to a dead-letter queue.
        """
        try:
            self._client.start_message_move_task(
                SourceArn=self._arn(self._dead_letter_urls[queue]), DestinationArn=self._arn(self._urls[queue])
            )
        except (BotoCoreError, ClientError) as error:
            _log.info("move_task_refused", queue=queue.value, reason=str(error))
            return False
        return True

    def _arn(self, url: str) -> str:
        return self._client.get_queue_attributes(QueueUrl=url, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]

    def _receive(self, url: str, *, hidden_s: int) -> list[Letter]:
        with _translated("The dead-letter queue could not be read."):
            answer = self._client.receive_message(
                QueueUrl=url,
                MaxNumberOfMessages=BATCH_MAX,
                VisibilityTimeout=hidden_s,
                WaitTimeSeconds=1,  # a receive that does not wait asks only some of SQS's servers
                MessageSystemAttributeNames=["SentTimestamp", "MessageGroupId"],
                MessageAttributeNames=["All"],
            )
        return [_letter(message) for message in answer.get("Messages", [])]

    def _show_again(self, url: str, letters: Sequence[Letter]) -> None:
        for some in chunks(letters):
            entries: list[ChangeMessageVisibilityBatchRequestEntryTypeDef] = [
                {"Id": str(place), "ReceiptHandle": letter.receipt, "VisibilityTimeout": 0}
                for place, letter in enumerate(some)
            ]
            with _translated("The dead-letter queue could not be redriven."):
                answer = self._client.change_message_visibility_batch(QueueUrl=url, Entries=entries)
            if answer.get("Failed"):
                _log.warning("dead_letters_hidden_for_a_while", queue_url=url, messages=len(answer["Failed"]))


def _letter(message: "MessageTypeDef") -> Letter:
    system = message.get("Attributes", {})
    attributes = {
        name: value["StringValue"]
        for name, value in message.get("MessageAttributes", {}).items()
        if "StringValue" in value
    }
    return Letter(
        message_id=message["MessageId"],
        receipt=message["ReceiptHandle"],
        body=message["Body"],
        attributes=attributes,
        group=system.get("MessageGroupId", "malformed"),
        sent_at=datetime.fromtimestamp(int(system.get("SentTimestamp", 0)) / 1000, UTC),
    )


@contextmanager
def _translated(detail: str) -> Iterator[None]:
    try:
        yield
    except (BotoCoreError, ClientError) as error:
        raise QueueUnavailableError(detail) from error
