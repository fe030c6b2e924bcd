"""One SQS queue: receive by long poll, delete with every failure seen to, keep messages in work invisible."""

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from botocore.exceptions import BotoCoreError, ClientError

from siftline.kit.errors import TransientError
from siftline.kit.log import logger

if TYPE_CHECKING:
    from mypy_boto3_sqs import SQSClient

_BATCH = 10  # what one SQS call takes
_DELETE_TRIES = 4
_log = logger("worker")

Message = dict[str, Any]


class QueueAwayError(TransientError):
    """SQS could not be reached, or refused."""

    code = "queue_unavailable"


@dataclass(frozen=True, slots=True)
class Queue:
    """A queue as its owner describes it. Every method but ``delete`` and ``release`` raises ``QueueAwayError``.

    ``hold_s`` is how long a received message stays invisible unless it is hidden again: short, so that what a killed
    worker held comes back soon. ``visibility_s`` is the queue's own, the longest that what could not be settled waits.
    """

    sqs: "SQSClient"
    url: str
    arn: str
    visibility_s: int
    hold_s: int

    @classmethod
    def open(cls, sqs: "SQSClient", url: str, *, hold_s: int) -> "Queue":
        """Ask SQS for what is needed to know about the queue at ``url``."""
        with _translated():
            answer = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["QueueArn", "VisibilityTimeout"])
        visibility_s = int(answer["Attributes"]["VisibilityTimeout"])
        return cls(sqs, url, answer["Attributes"]["QueueArn"], visibility_s, min(hold_s, visibility_s))

    @property
    def name(self) -> str:
        """The queue's name."""
        return self.arn.rpartition(":")[2]

    def receive(self, limit: int, *, wait_s: int) -> list[Message]:
        """Return up to ``limit`` messages (SQS gives 10 at most), waiting up to ``wait_s`` seconds for the first."""
        with _translated():
            answer = self.sqs.receive_message(
                QueueUrl=self.url,
                MaxNumberOfMessages=min(limit, _BATCH),
                WaitTimeSeconds=wait_s,
                VisibilityTimeout=self.hold_s,
                MessageSystemAttributeNames=["All"],
                MessageAttributeNames=["All"],
            )
        return [dict(message) for message in answer.get("Messages", [])]

    def delete(self, messages: Sequence[Message]) -> None:
        """Acknowledge messages. What SQS fails to delete is sent again; what remains comes back and is logged."""
        left = list(messages)
        for attempt in range(_DELETE_TRIES):
            if attempt:
                time.sleep(0.1 * 2**attempt)
            left = [message for chunk in _chunks(left) for message in self._delete(chunk)]
            if not left:
                return
        _log.error("messages_not_deleted", queue=self.name, count=len(left))

    def release(self, messages: Sequence[Message]) -> None:
        """Make messages visible again at once, for whoever polls next."""
        self.hide(messages, 0)

    def postpone(self, message: Message) -> None:
        """Let a message that could not be settled come again, each time after twice as long."""
        received = int(message["Attributes"]["ApproximateReceiveCount"])
        self.hide([message], min(self.hold_s * 2 ** (received - 1), self.visibility_s))

    def hide(self, messages: Sequence[Message], visibility_s: int) -> None:
        """Set how much longer messages stay invisible; a failure is logged, for SQS then redelivers by itself."""
        for chunk in _chunks(messages):
            entries: Any = [
                {"Id": str(n), "ReceiptHandle": message["ReceiptHandle"], "VisibilityTimeout": visibility_s}
                for n, message in enumerate(chunk)
            ]
            try:
                answer = self.sqs.change_message_visibility_batch(QueueUrl=self.url, Entries=entries)
            except (BotoCoreError, ClientError) as error:
                _log.warning("visibility_not_changed", queue=self.name, error_type=type(error).__name__)
            else:
                if answer.get("Failed"):
                    _log.warning("visibility_not_changed", queue=self.name, count=len(answer["Failed"]))

    def _delete(self, chunk: Sequence[Message]) -> list[Message]:
        """Delete up to ten messages and return those that are worth another try."""
        entries: Any = [{"Id": str(n), "ReceiptHandle": message["ReceiptHandle"]} for n, message in enumerate(chunk)]
        try:
            answer = self.sqs.delete_message_batch(QueueUrl=self.url, Entries=entries)
        except (BotoCoreError, ClientError) as error:
            _log.warning("delete_failed", queue=self.name, error_type=type(error).__name__)
            return list(chunk)
        failed = answer.get("Failed", [])
        for failure in failed:
            _log.warning("delete_failed", queue=self.name, error_code=failure["Code"])
        return [chunk[int(failure["Id"])] for failure in failed if not failure["SenderFault"]]


def _chunks(messages: Sequence[Message]) -> list[Sequence[Message]]:
    return [messages[start : start + _BATCH] for start in range(0, len(messages), _BATCH)]


@contextmanager
def _translated() -> Iterator[None]:
    try:
        yield
    except (BotoCoreError, ClientError) as error:
        raise QueueAwayError(f"SQS could not be polled ({type(error).__name__}).") from error
