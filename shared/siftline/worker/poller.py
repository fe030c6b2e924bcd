"""An event source mapping: polls one queue, hands batches to its function, deletes what the function finished."""

import re
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from siftline.kit.heartbeat import Heartbeat
from siftline.kit.log import logger
from siftline.worker.hosting import HostedFunction, InvocationError
from siftline.worker.queue import Message, Queue, QueueAwayError
from siftline.worker.records import failed_ids, sqs_event
from siftline.worker.template import QueueSource

_BACKOFF_S = (1.0, 2.0, 4.0, 8.0, 16.0, 30.0)
_log = logger("worker")


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


class Poller:
    """Polls one queue, with at most ``threads`` batches in work at a time.

    What one receive brings is spread over the threads that are free: a batch may be smaller than ``BatchSize``, as on
    Lambda. ``run`` ends after ``stop`` is set and the receive under way has returned; ``busy`` tells when the work has.
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
    ) -> None:
        self.source = source
        self._hosted = hosted
        self._open_queue = open_queue
        self._poll_s = poll_s
        self._heartbeat = heartbeat
        self._stop = stop
        self.threads = threads
        self._slots = threading.Semaphore(threads)
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
                messages = queue.receive_batch(
                    self.source.batch_size, window_s=self.source.window_s, wait_s=self._poll_s
                )
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
            self._hand_over(queue, messages)

    def _hand_over(self, queue: Queue, messages: Sequence[Message]) -> None:
        """Work the messages off in one batch for every free slot (one is ours): side by side rather than in turn."""
        if not messages or self._stop.is_set():
            self._slots.release()
            if messages:
                queue.release(messages)
            return
        count = 1
        while count < len(messages) and self._slots.acquire(blocking=False):
            count += 1
        with self._busy_lock:
            self._busy += count
        for start in range(count):
            part = messages[start::count]
            name = f"{self.source.function.name}-{queue.name}"
            threading.Thread(target=self._work, args=[queue, part], name=name, daemon=True).start()

    def _work(self, queue: Queue, messages: Sequence[Message]) -> None:
        try:
            with self._heartbeat.hold(lambda: queue.hide(messages, queue.hold_s), every_s=queue.hold_s / 3):
                failed = self._invoke(sqs_event(messages, queue.arn))
                queue.delete([message for message in messages if message["MessageId"] not in failed])
            queue.hide([message for message in messages if message["MessageId"] in failed], queue.visibility_s)
        finally:
            with self._busy_lock:
                self._busy -= 1
            self._slots.release()

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
