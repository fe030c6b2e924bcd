"""An HTTP server on 127.0.0.1 whose connections are few, and owe a request each.

``http.server`` gives every connection a thread for as long as the far side likes: some hundreds of requests that are
never ended would take all descriptors of the process, which other work needs.
"""

import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

HALF_SENT_S = 10.0
"""So long may the head of a request take, however its bytes drip."""


class ImpatientServer(ThreadingHTTPServer):
    """Drops who owes a request for longer than ``half_sent_s``; of more than ``connections_max`` the oldest of these.

    What is being answered is kept, and where all are, a further one is closed at once. The handler does its work in
    ``answering``. Port 0 takes a free one; ``OSError`` if the port is taken.
    """

    daemon_threads = True
    block_on_close = False
    request_queue_size = 256

    def __init__(
        self,
        port: int,
        handler: type[BaseHTTPRequestHandler],
        *,
        connections_max: int,
        half_sent_s: float = HALF_SENT_S,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._connections_max = connections_max
        self._half_sent_s = half_sent_s
        self._now = now
        self._lock = threading.Lock()
        self._owing: dict[socket.socket, float] = {}
        """Since when, the oldest first."""
        self._others: set[socket.socket] = set()
        """Those that are answered, and those that were dropped until their threads have ended."""
        super().__init__(("127.0.0.1", port), handler)

    @contextmanager
    def answering(self, connection: socket.socket) -> Iterator[bool]:
        """Mark a connection as answered for a block; false for one that was dropped: then nobody asks any more."""
        with self._lock:
            asks = self._owing.pop(connection, None) is not None
            self._others.add(connection)
        yield asks
        with self._lock:
            if asks:
                self._others.discard(connection)
                self._owing[connection] = self._now()

    def process_request(self, request: Any, client_address: Any) -> None:
        """Give a connection its thread, if there may be one more."""
        with self._lock:
            taken = self._make_room()
            if taken:
                self._owing[request] = self._now()
        if taken:
            super().process_request(request, client_address)
        else:
            self.shutdown_request(request)

    def service_actions(self) -> None:
        """Drop who owed too long; called every half second at least, and after each connection."""
        with self._lock:
            for one in [one for one, since in self._owing.items() if self._now() - since > self._half_sent_s]:
                self._drop(one)

    def shutdown_request(self, request: Any) -> None:
        """Forget a connection, and close it."""
        with self._lock:
            self._owing.pop(request, None)
            self._others.discard(request)
        super().shutdown_request(request)

    def _make_room(self) -> bool:
        """Return whether one more may come, at the cost of the one that owed longest if need be."""
        have = len(self._owing) + len(self._others)
        if have < self._connections_max:
            return True
        if not self._owing:
            return False
        self._drop(next(iter(self._owing)))
        return have < 2 * self._connections_max  # threads of those that were dropped end soon, not at once

    def _drop(self, connection: socket.socket) -> None:
        """Wake the thread that reads it, which closes it."""
        del self._owing[connection]
        self._others.add(connection)
        with suppress(OSError):  # it is gone already
            connection.shutdown(socket.SHUT_RDWR)
