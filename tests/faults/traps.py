"""What waits on a wire for its moment, and then does harm: armed by a test, sprung by the traffic itself."""

import threading
import time
from collections.abc import Callable
from typing import Generic, TypeVar

_T = TypeVar("_T")


class Trap(Generic[_T]):
    """Springs at the first ``times`` things that match. ``sprung`` is set at the first, ``at`` is that moment."""

    def __init__(self, matches: Callable[[_T], bool], *, times: int = 1) -> None:
        self._matches = matches
        self._left = times
        self._lock = threading.Lock()
        self.sprung = threading.Event()
        self.count = 0
        self.at = 0.0
        """In seconds of ``time.monotonic``."""

    def springs(self, seen: _T) -> bool:
        """Tell whether this is one of the moments, and count it."""
        if not self._matches(seen):
            return False
        with self._lock:
            if not self._left:
                return False
            self._left -= 1
            self.count += 1
            if self.count == 1:
                self.at = time.monotonic()
        self.sprung.set()
        return True

    def disarm(self) -> None:
        """Spring no more."""
        with self._lock:
            self._left = 0

    def await_sprung(self, patience_s: float = 600.0) -> None:
        """Wait for the moment; fails when it does not come."""
        assert self.sprung.wait(patience_s), "the fault's moment never came"


class Armed(Generic[_T]):
    """The traps of one wire."""

    def __init__(self) -> None:
        self._traps: list[tuple[Trap[_T], object]] = []
        self._lock = threading.Lock()

    def add(self, trap: Trap[_T], harm: object) -> None:
        """Arm a trap with what it does."""
        with self._lock:
            self._traps.append((trap, harm))

    def sprung_by(self, seen: _T) -> object | None:
        """Return the harm of the first trap that springs, or ``None``."""
        with self._lock:
            traps = list(self._traps)
        return next((harm for trap, harm in traps if trap.springs(seen)), None)

    def clear(self) -> None:
        """Take every trap away."""
        with self._lock:
            for trap, _ in self._traps:
                trap.disarm()
            self._traps.clear()
