"""What a person waits for goes first on one machine: all queues' threads share its processors.

Queues have threads of their own, so that none waits for another's; but a background backlog keeps every processor busy.
So background work is not begun while a message of a foreground queue is in work, for ``yield_s`` at most: somebody who
saves without end slows the rest down and does not stop it.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from siftline.contracts import BACKGROUND_OF, Queue

YIELD_S = 2.0
"""Background work is put off for so long at most while what a person waits for is in work."""
_FIRST = frozenset(queue.value for queue in BACKGROUND_OF)
_LAST = frozenset(queue.value for queue in (Queue.FETCH, *BACKGROUND_OF.values()))


class Precedence:
    """Who is in work, of those who go first. Thread-safe."""

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
