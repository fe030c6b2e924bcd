"""The SQS side: sending, parking, counting. Partial failures of a batch are sent again, never dropped."""

import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeVar

from botocore.exceptions import BotoCoreError, ClientError

from siftline.contracts import Queue
from siftline.kit.errors import TransientError
from siftline.kit.lines import line
from siftline.kit.log import logger

if TYPE_CHECKING:
    from mypy_boto3_sqs import SQSClient
    from mypy_boto3_sqs.type_defs import SendMessageBatchRequestEntryTypeDef

BATCH_MAX = 10
T = TypeVar("T")
_TRIES = 3
_log = logger("jobs")


class QueueUnavailableError(TransientError):
    """SQS could not be reached or refused."""

    code = "queue_unavailable"


@dataclass(frozen=True, slots=True)
class Depth:
    """SQS's own approximate counts of one queue."""

    visible: int
    in_flight: int
    delayed: int
    dead: int


@dataclass(frozen=True, slots=True)
class Envelope:
    """One message to send."""

    key: str
    """Names it in the answer; unique in one call."""
    body: str
    group: str
    delay_s: int = 0
    attributes: Mapping[str, str] | None = None


class SqsQueues:
    """Sends to the queues and their dead-letter queues, by logical name; each call is tried at most ``tries`` times."""

    def __init__(
        self,
        client: "SQSClient",
        urls: Mapping[Queue, str],
        dead_letter_urls: Mapping[Queue, str],
        *,
        tries: int = _TRIES,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._client = client
        self._urls = urls
        self._dead_letter_urls = dead_letter_urls
        self._tries = tries
        self._sleep = sleep

    def send(self, queue: Queue, envelopes: Sequence[Envelope]) -> set[str]:
        """Send messages ten at a time and return the keys of those that SQS accepted.

        Entries that fail through no fault of ours are sent again; what stays unaccepted is logged and not returned.
        Once SQS has left all tries of a call unanswered, the rest is not even tried: each would be waited for as long.
        """
        return self._send(self._urls[queue], envelopes)

    def park(self, queue: Queue, envelopes: Sequence[Envelope]) -> set[str]:
        """Send messages to a queue's dead-letter queue; returns the accepted keys."""
        return self._send(self._dead_letter_urls[queue], envelopes)

    def depth(self, queue: Queue) -> Depth:
        """Return SQS's approximate counts. Raises ``QueueUnavailableError``."""
        visible, in_flight, delayed = self._counts(self._urls[queue])
        dead_url = self._dead_letter_urls.get(queue)
        return Depth(visible, in_flight, delayed, self._counts(dead_url)[0] if dead_url else 0)

    def _counts(self, url: str) -> tuple[int, int, int]:
        try:
            found = self._client.get_queue_attributes(QueueUrl=url, AttributeNames=["All"])["Attributes"]
        except (BotoCoreError, ClientError) as error:
            name = url.rpartition("/")[2]
            raise QueueUnavailableError(f"The depth of the queue {name} could not be read.") from error
        return (
            int(found.get("ApproximateNumberOfMessages", 0)),
            int(found.get("ApproximateNumberOfMessagesNotVisible", 0)),
            int(found.get("ApproximateNumberOfMessagesDelayed", 0)),
        )

    def _send(self, url: str, envelopes: Sequence[Envelope]) -> set[str]:
        accepted: set[str] = set()
        for chunk in chunks(envelopes):
            left = {str(place): envelope for place, envelope in enumerate(chunk)}
            silent = False
            for again in range(self._tries):
                if again:
                    self._sleep(0.1 * 2**again)
                answer = self._send_once(url, left)
                silent = answer is None
                done, refused = answer or (set(), set())
                accepted.update(left[place].key for place in done)
                left = {place: envelope for place, envelope in left.items() if place not in done | refused}
                if not left:
                    break
            if left:
                _log.error("messages_not_accepted", queue_url=url, messages=len(left))
            if silent:
                break
        return accepted

    def _send_once(self, url: str, left: Mapping[str, Envelope]) -> tuple[set[str], set[str]] | None:
        """Return the places SQS accepted and those it will never accept, or ``None`` when it did not answer."""
        try:
            answer = self._client.send_message_batch(
                QueueUrl=url, Entries=[_entry(place, envelope) for place, envelope in left.items()]
            )
        except (BotoCoreError, ClientError) as error:
            _log.warning("send_failed", queue_url=url, error_code=QueueUnavailableError.code, reason=str(error))
            return None
        refused = {failed["Id"] for failed in answer.get("Failed", []) if failed.get("SenderFault")}
        for failed in answer.get("Failed", []):
            _log.warning("message_refused", queue_url=url, error_code=failed["Code"], ours=failed.get("SenderFault"))
        return {sent["Id"] for sent in answer.get("Successful", [])}, refused


def _entry(place: str, envelope: Envelope) -> "SendMessageBatchRequestEntryTypeDef":
    entry: dict[str, Any] = {"Id": place, "MessageBody": envelope.body, "MessageGroupId": envelope.group}
    if envelope.delay_s:
        entry["DelaySeconds"] = envelope.delay_s
    if envelope.attributes:
        entry["MessageAttributes"] = {
            name: {"DataType": "String", "StringValue": line(value) or "(empty)"}  # SQS refuses others
            for name, value in envelope.attributes.items()
        }
    return entry  # type: ignore[return-value]  # built key by key; TypedDict cannot follow


def chunks(things: Sequence[T]) -> Iterator[list[T]]:
    """Yield what one call of SQS takes: ten at a time."""
    rest = iter(things)
    while chunk := list(islice(rest, BATCH_MAX)):
        yield chunk


def body(fields: Mapping[str, Any]) -> str:
    """Return a message's JSON; ids as text, absent fields left out."""
    return json.dumps({name: value for name, value in fields.items() if value is not None}, default=str)
