"""Connections that owe a request: dropped after a while, however busily they send a byte now and then.

Waitress drops what is silent; who sends a letter of a header every few seconds would keep a connection for ever, and
hundreds of them all there are. Connections that were answered and are kept open make room where there are many.
"""

import socket
import time
from collections.abc import Callable
from typing import Any

from waitress.channel import HTTPChannel  # type: ignore[import-untyped]  # it ships no types

HALF_SENT_S = 10.0
CONNECTIONS_MAX = 1_000
_CROWD = 200
"""So many connections there may be before those that are kept open for nothing make room for others."""
_IDLE_S = 1.0


class ImpatientChannel(HTTPChannel):  # type: ignore[misc]  # it ships no types
    """A connection whose requests must each be whole ``patience_s`` after their first byte.

    The first one, after the connection was made. What is answered, or waits for its turn, owes nothing.
    """

    def __init__(
        self,
        server: object,
        sock: socket.socket,
        addr: object,
        adj: object,
        map: dict[int, Any] | None = None,  # noqa: A002  -- waitress names it so
        *,
        patience_s: float = HALF_SENT_S,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._patience_s = patience_s
        self._now = now
        self._owes_since: float | None = now()
        self._heard_at = now()
        super().__init__(server, sock, addr, adj, map=map)

    def received(self, data: bytes) -> bool:
        """Take bytes, and note since when a request is owed."""
        self._heard_at = self._now()
        before = self.request
        taken: bool = super().received(data)
        if self.request is not before or self.requests:
            self._owes_since = None if self.request is None else self._now()
        return taken

    def readable(self) -> bool:
        """Say whether to read on; asked every second at least."""
        if self._owes_since is not None:
            if self.requests:
                self._owes_since = self._now()  # not read before those are answered
            elif self._now() - self._owes_since > self._patience_s:
                self.will_close = True
        elif not self.requests and len(self.server.active_channels) > _CROWD:
            self.close_when_flushed |= self._now() - self._heard_at > _IDLE_S
        reads: bool = super().readable()
        return reads
