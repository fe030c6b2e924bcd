"""Connections to MiniStack that have not shown its secret: few, and not for long.

Hypercorn lets as many come as like, and waits 75 seconds for the head of a request, so that clients who know the secret
find their connections open. So whoever has not shown it within ``HALF_SENT_S`` is dropped, whatever was sent; where
there are too many connections, the stranger goes that came first. MiniStack's own environment loads this.
"""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from infra.local.guard import AsgiApplication, Message, Receive, Send
from siftline.net.loopback import HALF_SENT_S

CONNECTIONS_MAX = 800
Drop = Callable[[], None]
Later = Callable[[float, Drop], asyncio.TimerHandle]


def _later(after_s: float, drop: Drop) -> asyncio.TimerHandle:
    return asyncio.get_running_loop().call_later(after_s, drop)


class Strangers:
    """Knows the connections of one server."""

    def __init__(
        self, *, patience_s: float = HALF_SENT_S, connections_max: int = CONNECTIONS_MAX, later: Later = _later
    ) -> None:
        self._patience_s = patience_s
        self._connections_max = connections_max
        self._later = later
        self._connections = 0
        self._strangers: dict[object, Drop] = {}
        """How to drop them, the oldest first."""
        self._current: ContextVar[object] = ContextVar("connection")

    @contextmanager
    def connection(self, drop: Drop) -> Iterator[None]:
        """Count a connection for a block; what it asks is answered in the context of this block, or in copies."""
        me = object()
        self._current.set(me)
        self._strangers[me] = drop
        self._connections += 1
        if self._connections > self._connections_max:
            self._drop(next(iter(self._strangers)))
        timer = self._later(self._patience_s, lambda: self._drop(me))
        try:
            yield
        finally:
            timer.cancel()
            self._strangers.pop(me, None)
            self._connections -= 1

    def introducing(self, application: AsgiApplication) -> AsgiApplication:
        """Return the application, to be asked by those alone who have shown the secret: they are no strangers then."""

        async def answer(scope: Message, receive: Receive, send: Send) -> None:
            if scope["type"] != "lifespan":
                self._strangers.pop(self._current.get(), None)
            await application(scope, receive, send)

        return answer

    def _drop(self, stranger: object) -> None:
        drop = self._strangers.pop(stranger, None)
        if drop:
            drop()
