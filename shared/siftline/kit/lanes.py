"""On whose behalf hosts are asked: work of each queue has places of its own at a host, so none takes another's.

Who does a job says so for its length (``siftline.jobs.attempt``); the pace asks here.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_lane: ContextVar[str] = ContextVar("lane", default="any")


@contextmanager
def in_lane(name: str) -> Iterator[None]:
    """Let what is asked within be counted as this queue's."""
    before = _lane.set(name)
    try:
        yield
    finally:
        _lane.reset(before)


def lane() -> str:
    """Return the queue on whose behalf is being asked."""
    return _lane.get()
