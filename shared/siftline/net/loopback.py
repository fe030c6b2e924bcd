"""A service that listens on this machine alone: who may ask it, and a server whose connections are few.

Loopback is no wall. Every page that is open in a browser can send requests to 127.0.0.1, and by a name of its own that
suddenly means 127.0.0.1 (DNS rebinding) it can read the answers; every other user of the machine can connect too. So a
service believes only names of this machine (``Host``), no page (``Origin``, ``Sec-Fetch-Site``), and who has a secret.

``http.server`` gives every connection a thread for as long as the far side likes: some hundreds of requests that are
never ended would take all descriptors of the process, which other work needs.
"""

import hmac
import re
import socket
import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

NAMES = frozenset({"127.0.0.1", "localhost"})
FROM_CONTAINERS = "host.docker.internal"
"""How Docker Desktop's containers call the machine they run on."""
_SIGNED = re.compile(r"AWS4-HMAC-SHA256\b.*?\bCredential=([^/,\s]+)/")

HALF_SENT_S = 10.0
"""So long may the head of a request take, however its bytes drip."""


def refusal(
    headers: Mapping[str, str], *, secret: str = "", names: Collection[str] = NAMES, has_pages: bool = False
) -> str | None:
    """Return in a sentence why a request is refused, or ``None``. Names of ``headers`` are in lower case.

    ``secret`` is asked for unless it is empty: as ``Authorization: Bearer``, as Qdrant's ``api-key``, or as the access
    key id of a request signed for AWS. Who has it may also ask from a container (``FROM_CONTAINERS``). A service that
    ``has_pages`` answers those, and links to it.
    """
    host = headers.get("host", "")
    if _name(host) not in names and not (secret and _name(host) == FROM_CONTAINERS):
        return "The Host header is not a name of this machine."
    if not _is_ours(headers, host, has_pages=has_pages):
        return "Requests from other sites are not allowed."
    if secret and not any(hmac.compare_digest(one.encode(), secret.encode()) for one in _presented(headers)):
        return "The request does not have this service's secret."
    return None


def _name(host: str) -> str:
    """Return the name in a ``Host`` header, without its port."""
    name, colon, port = host.rpartition(":")
    return (name if colon and port.isdigit() else host).lower()


def _is_ours(headers: Mapping[str, str], host: str, *, has_pages: bool) -> bool:
    """Whether no page sent this, or one of this service."""
    origin = headers.get("origin")
    if has_pages:
        return origin is None or origin.partition("://")[2] == host
    return origin is None and headers.get("sec-fetch-site", "none") == "none"


def _presented(headers: Mapping[str, str]) -> Iterator[str]:
    """Yield whatever a request presents as a secret."""
    if key := headers.get("api-key"):
        yield key
    authorization = headers.get("authorization", "")
    kind, _, rest = authorization.partition(" ")
    if kind.lower() == "bearer":
        yield rest.strip()
    if signed := _SIGNED.match(authorization):
        yield signed[1]


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
