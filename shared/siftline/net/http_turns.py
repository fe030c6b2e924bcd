"""Turns of the requests that one request becomes: where a redirect leads, and what is asked again.

Who keeps a pace (``siftline.net.pacing``) says so for a while; the client asks here. Nothing is asked without them.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Protocol


class Turns(Protocol):
    """Gives turns of whatever host is asked next."""

    def onward(self, url: str) -> None:
        """Return when ``url``, where a redirect leads, may be asked. Raises ``NotTriedError``."""
        ...

    def again(self, url: str) -> bool:
        """Return whether ``url`` has a turn now, to be asked once more."""
        ...


_turns: ContextVar[Turns | None] = ContextVar("turns", default=None)


@contextmanager
def in_turn(turns: Turns) -> Iterator[None]:
    """Let the requests made within take their turns."""
    before = _turns.set(turns)
    try:
        yield
    finally:
        _turns.reset(before)


def current() -> Turns | None:
    """Return who gives the turns of the request that is being made, if anybody."""
    return _turns.get()
