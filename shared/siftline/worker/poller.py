"""An event source mapping: polls one queue, hands messages to its function, deletes what the function finished.

Events and answers are as Lambda has them: AWS Lambda Developer Guide, "Using Lambda with Amazon SQS" and "Implementing
partial batch responses".
"""

import base64
import re
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

from siftline import contracts
from siftline.kit.heartbeat import Heartbeat
from siftline.kit.log import logger
from siftline.worker.hosting import HostedFunction, InvocationError
from siftline.worker.queue import Message, Queue, QueueAwayError
from siftline.worker.template import QueueSource

YIELD_S = 2.0
"""Background work is put off for so long at most while what a person waits for is in work."""
_FIRST = frozenset(queue.value for queue in contracts.BACKGROUND_OF)
_LAST = frozenset(queue.value for queue in (contracts.Queue.FETCH, *contracts.BACKGROUND_OF.values()))
_BACKOFF_S = (1.0, 2.0, 4.0, 8.0, 16.0, 30.0)
_log = logger("worker")


class Precedence:
    """What a person waits for goes first on one machine: all queues' threads share its processors. Thread-safe.

    Queues have threads of their own, so that none waits for another's; but a background backlog keeps every processor
    busy. So background work is not begun while a message of a foreground queue is in work, for ``yield_s`` at most:
    somebody who saves without end slows the rest down and does not stop it.
    """

    def __init__(self, yield_s: float = YIELD_S) -> None:
        self._yield_s = yield_s
        self._in_work = 0
        self._changed = threading.Condition()

    @contextmanager
    def of(self, queue: str) -> Iterator[None]:
        """Begin a message of a queue, by its logical name, when it is its turn, and be in work for the block."""
        if queue in _LAST:
            with self._changed:
                self._changed.wait_for(lambda: not self._in_work, self._yield_s)
        first = queue in _FIRST
        self._count(first)
        try:
            yield
        finally:
            self._count(-first)

    def _count(self, change: int) -> None:
        with self._changed:
            self._in_work += change
            if not self._in_work:
                self._changed.notify_all()


def sqs_event(messages: Sequence[Mapping[str, Any]], queue_arn: str) -> dict[str, Any]:
    """Return the event for messages as ``ReceiveMessage`` gives them, with all attributes asked for."""
    return {"Records": [_record(message, queue_arn) for message in messages]}


def failed_ids(answer: Any, message_ids: Sequence[str], *, reports_failures: bool) -> set[str]:
    """Return the message ids that are to come again, out of those of the batch.

    An answer that is not a list of known ids means the whole batch, as it does to Lambda; without
    ``ReportBatchItemFailures`` an answer of any kind means that all is done.
    """
    if not reports_failures or not answer:
        return set()
    try:
        failed = {item["itemIdentifier"] for item in answer["batchItemFailures"] or ()}
    except (KeyError, TypeError):
        return set(message_ids)
    unknown = failed - set(message_ids)
    return set(message_ids) if unknown else failed


def _record(message: Mapping[str, Any], queue_arn: str) -> dict[str, Any]:
    record = {
        "messageId": message["MessageId"],
        "receiptHandle": message["ReceiptHandle"],
        "body": message["Body"],
        "attributes": dict(message.get("Attributes", {})),
        "messageAttributes": {name: _attribute(value) for name, value in message.get("MessageAttributes", {}).items()},
        "md5OfBody": message.get("MD5OfBody", ""),
        "eventSource": "aws:sqs",
        "eventSourceARN": queue_arn,
        "awsRegion": queue_arn.split(":")[3],
    }
    if "MD5OfMessageAttributes" in message:
        record["md5OfMessageAttributes"] = message["MD5OfMessageAttributes"]
    return record


def _attribute(value: Mapping[str, Any]) -> dict[str, Any]:
    attribute: dict[str, Any] = {"stringListValues": [], "binaryListValues": [], "dataType": value["DataType"]}
    if "StringValue" in value:
        attribute["stringValue"] = value["StringValue"]
    if "BinaryValue" in value:
        attribute["binaryValue"] = base64.b64encode(value["BinaryValue"]).decode("ascii")
    return attribute


@dataclass(slots=True)
class Tally:
    """What a poller has done since it began."""

    batches: int = 0
    done: int = 0
    """Messages that were worked off."""
    failed: int = 0
    """Messages that come again."""
    seconds: float = 0.0
    polls_failed: int = 0


@dataclass(frozen=True, slots=True)
class _Held:
    """A message in hand."""

    message: Message
    hold: ExitStack
    """What keeps it invisible until closed."""


class Poller:
    """Polls one queue, with at most ``threads`` batches in work at a time.

    A receive asks for ``BatchSize`` messages. Each is a batch of its own, which Lambda allows too, and any thread that
    is or comes free takes the next one in hand: none waits behind one that hangs while a thread is free. Only when none
    is left in hand is the queue asked again. What is in hand no other worker sees: fewer than ``BatchSize`` messages,
    and only while all threads here are busy. ``run`` ends after ``stop`` is set, the receive under way has returned and
    what was in hand is back in the queue; ``busy`` tells when the work has ended.
    """

    def __init__(
        self,
        source: QueueSource,
        hosted: HostedFunction,
        open_queue: Callable[[], Queue],
        *,
        threads: int,
        poll_s: int,
        heartbeat: Heartbeat,
        stop: threading.Event,
        precedence: Precedence,
    ) -> None:
        self.source = source
        self._hosted = hosted
        self._open_queue = open_queue
        self._poll_s = poll_s
        self._heartbeat = heartbeat
        self._stop = stop
        self._precedence = precedence
        self.threads = threads
        self._slots = threading.Semaphore(threads)
        self._in_hand: deque[_Held] = deque()
        self._busy = 0
        self._busy_lock = threading.Lock()
        self.last_poll = time.monotonic()
        self.tally = Tally()
        self.fault: str | None = "not_polled_yet"
        """Why the last poll failed; ``None`` once one went well."""

    @property
    def name(self) -> str:
        """The queue's logical name: ``content-background`` for ``ContentBackgroundQueue``."""
        return logical_name(self.source.queue)

    @property
    def busy(self) -> int:
        """How many batches are in work."""
        return self._busy

    def run(self) -> None:
        """Poll until told to stop. A queue that is away or a function that cannot be built is tried again."""
        failures = 0
        queue: Queue | None = None
        while not self._stop.is_set():
            self.last_poll = time.monotonic()
            if not self._slots.acquire(timeout=1.0):
                continue
            try:
                self._hosted.load()
                queue = queue or self._open_queue()
                if not self._in_hand:
                    self._receive(queue)
            except (QueueAwayError, InvocationError) as error:
                self._slots.release()
                wait_s = _BACKOFF_S[min(failures, len(_BACKOFF_S) - 1)]
                failures += 1
                self.fault = error.error_code
                self.tally.polls_failed += 1
                _log.warning(
                    "poll_failed",
                    queue=self.source.queue,
                    error_code=error.error_code,
                    detail=error.detail,
                    wait_s=wait_s,
                )
                self._stop.wait(wait_s)
                continue
            failures = 0
            self.fault = None
            self._begin(queue)
        while queue and (held := self._next()):
            held.hold.close()
            queue.release([held.message])

    def _receive(self, queue: Queue) -> None:
        """Take messages in hand, each kept invisible from now until it is settled."""
        for message in queue.receive(self.source.batch_size, wait_s=self._poll_s):
            hold = ExitStack()
            beat = partial(queue.hide, [message], queue.hold_s)
            hold.enter_context(self._heartbeat.hold(beat, every_s=queue.hold_s / 3))
            self._in_hand.append(_Held(message, hold))

    def _begin(self, queue: Queue) -> None:
        """Let a thread in the slot just taken work off what is in hand, if anything is."""
        if not self._in_hand:
            self._slots.release()
            return
        with self._busy_lock:
            self._busy += 1
        name = f"{self.source.function.name}-{queue.name}"
        threading.Thread(target=self._work_off, args=[queue], name=name, daemon=True).start()

    def _work_off(self, queue: Queue) -> None:
        """Work off one message after the other until none is in hand."""
        try:
            while not self._stop.is_set() and (held := self._next()):
                self._work(queue, held)
        finally:
            with self._busy_lock:
                self._busy -= 1
            self._slots.release()

    def _next(self) -> _Held | None:
        try:
            return self._in_hand.popleft()
        except IndexError:
            return None

    def _work(self, queue: Queue, held: _Held) -> None:
        with held.hold:
            with self._precedence.of(self.name):
                failed = self._invoke(sqs_event([held.message], queue.arn))
            if not failed:
                queue.delete([held.message])
        if failed:
            queue.postpone(held.message)

    def _invoke(self, event: Mapping[str, Any]) -> set[str]:
        ids = [record["messageId"] for record in event["Records"]]
        started = time.monotonic()
        try:
            answer = self._hosted.invoke(event)
        except InvocationError:
            failed = set(ids)
        else:
            failed = failed_ids(answer, ids, reports_failures=self.source.reports_failures)
        seconds = time.monotonic() - started
        with self._busy_lock:
            self.tally.batches += 1
            self.tally.done += len(ids) - len(failed)
            self.tally.failed += len(failed)
            self.tally.seconds += seconds
        _log.info(
            "batch_handled",
            function=self.source.function.name,
            queue=self.source.queue,
            count=len(ids),
            failed=len(failed),
            duration_ms=round(seconds * 1000),
        )
        return failed


def logical_name(logical_id: str) -> str:
    """Return a queue's name in the contracts by its logical id in the template."""
    return re.sub(r"(?<!^)(?=[A-Z])", "-", logical_id.removesuffix("Queue")).lower()
