"""Beats for what is held while long work goes on: a lease in PostgreSQL, a message's invisibility in SQS."""

import math
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from siftline.kit.errors import SiftlineError
from siftline.kit.log import logger

_log = logger("kit")


@dataclass(slots=True)
class _Held:
    beat: Callable[[], None]
    every_s: float
    next_at: float


class Heartbeat:
    """Calls ``beat`` every so often for as long as a block lasts. One daemon thread serves all blocks.

    The thread begins with the first block. A beat that raises ``SiftlineError`` is logged and beaten again next time.
    """

    def __init__(self) -> None:
        self._held: dict[int, _Held] = {}
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None
        self._wakes_at = math.inf
        self._closed = False

    @contextmanager
    def hold(self, beat: Callable[[], None], *, every_s: float) -> Iterator[None]:
        """Beat for the length of a block, first after ``every_s`` seconds."""
        held = _Held(beat, every_s, time.monotonic() + every_s)
        with self._changed:
            self._held[id(held)] = held
            if self._thread is None or not self._thread.is_alive():
                self._thread = threading.Thread(target=self._run, daemon=True, name="heartbeat")
                self._thread.start()
            elif held.next_at < self._wakes_at:
                self._changed.notify()
        try:
            yield
        finally:
            with self._changed:
                del self._held[id(held)]

    def close(self) -> None:
        """End the thread."""
        with self._changed:
            self._closed = True
            self._changed.notify()

    def _run(self) -> None:
        while True:
            with self._changed:
                if self._closed:
                    return
                now = time.monotonic()
                due = [held for held in self._held.values() if held.next_at <= now]
                if not due:
                    self._wakes_at = min((held.next_at for held in self._held.values()), default=math.inf)
                    self._changed.wait(None if self._wakes_at == math.inf else self._wakes_at - now)
                    continue
                for held in due:
                    held.next_at = now + held.every_s
            for held in due:
                if id(held) not in self._held:
                    continue
                try:
                    held.beat()
                except SiftlineError as error:
                    _log.warning("heartbeat_failed", error_code=error.error_code, detail=error.detail)
