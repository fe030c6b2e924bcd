"""On whose behalf hosts are asked: work of each queue has places of its own at a host, so none takes another's.

The pace of a host is one for all, and what a person waits for stands first in its line. Who does a job says so for its
length (``siftline.jobs.attempt``); the pace asks here.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_lane: ContextVar[str] = ContextVar("lane", default="any")
_first: ContextVar[bool] = ContextVar("first", default=False)


@contextmanager
def in_lane(name: str, *, first: bool = False) -> Iterator[None]:
    """Let what is asked within be counted as this queue's, and be asked ``first`` where a person waits for it."""
    before = _lane.set(name)
    stood = _first.set(first)
    try:
        yield
    finally:
        _first.reset(stood)
        _lane.reset(before)


def lane() -> str:
    """Return the queue on whose behalf is being asked."""
    return _lane.get()


def first() -> bool:
    """Return whether a person waits for what is being asked."""
    return _first.get()
