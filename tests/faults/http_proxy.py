"""A proxy in front of SQS or Qdrant: hands everything on, and at a trap's moment asks it what to do instead.

Our code is not touched: a fault is what the wire does.
"""

import http.client
import json
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from http.server import BaseHTTPRequestHandler
from typing import Any
from urllib.parse import urlsplit

from tests.faults.traps import Armed, Trap
from tests.servers import QuietServer

_HOP_BY_HOP = frozenset({"connection", "keep-alive", "transfer-encoding", "content-length", "date", "server"})


class HangUpError(Exception):
    """Raised by a trap: the connection ends without an answer."""


@dataclass(frozen=True)
class Asked:
    """A request. Header names are in lower case."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes

    @property
    def action(self) -> str:
        """What SQS is asked for: ``SendMessageBatch``."""
        return self.headers.get("x-amz-target", "").rpartition(".")[2]

    @property
    def json(self) -> Any:
        """The body's value."""
        return json.loads(self.body)

    def with_json(self, value: Any) -> "Asked":
        """Return the request with another body."""
        return replace(self, body=json.dumps(value).encode())


@dataclass(frozen=True)
class Reply:
    """An answer."""

    status: int
    body: bytes = b""
    headers: Mapping[str, str] | None = None

    @property
    def json(self) -> Any:
        """The body's value."""
        return json.loads(self.body)

    def with_json(self, value: Any) -> "Reply":
        """Return the answer with another body."""
        return replace(self, body=json.dumps(value).encode())


Before = Callable[[Asked], Asked | Reply | None]
After = Callable[[Asked, Reply], Reply | None]


def held_until(event: threading.Event, patience_s: float = 30) -> Callable[[Asked], None]:
    """Return what holds a request up ``before`` it goes on."""

    def hold(_: Asked) -> None:
        event.wait(patience_s)

    return hold


@dataclass(frozen=True)
class _Harm:
    before: Before | None
    after: After | None


class HttpProxy:
    """Listens on loopback in front of ``upstream``."""

    def __init__(self, upstream: str) -> None:
        self._target = urlsplit(upstream).netloc
        self._armed: Armed[Asked] = Armed()
        self._server = QuietServer(self.answer, _Handler)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"

    @contextmanager
    def running(self) -> Iterator["HttpProxy"]:
        """Serve for the length of a block."""
        thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        thread.start()
        try:
            yield self
        finally:
            self._server.shutdown()
            self._server.server_close()
            thread.join(60)

    def trap(
        self,
        matches: Callable[[Asked], bool],
        *,
        before: Before | None = None,
        after: After | None = None,
        times: int = 1,
    ) -> Trap[Asked]:
        """Arm a trap.

        ``before`` gets the request and returns another one, an answer to give in the far side's stead, or ``None`` to
        go on; ``after`` gets the answer too and may return another. Both may raise ``HangUpError``.
        """
        trap = Trap(matches, times=times)
        self._armed.add(trap, _Harm(before, after))
        return trap

    def clear(self) -> None:
        """Take every trap away."""
        self._armed.clear()

    def answer(self, asked: Asked) -> Reply:
        """Answer a request, as the far side does or as a trap wants it. Raises ``HangUpError``."""
        harm = self._armed.sprung_by(asked)
        if not isinstance(harm, _Harm):
            return self._forward(asked)
        changed = harm.before(asked) if harm.before else None
        if isinstance(changed, Reply):
            return changed
        reply = self._forward(changed or asked)
        return (harm.after(asked, reply) if harm.after else None) or reply

    def _forward(self, asked: Asked) -> Reply:
        connection = http.client.HTTPConnection(self._target, timeout=60)
        headers = {name: value for name, value in asked.headers.items() if name not in _HOP_BY_HOP}
        try:
            connection.request(asked.method, asked.path, asked.body or None, headers)
            answer = connection.getresponse()
            kept = {name: value for name, value in answer.getheaders() if name.lower() not in _HOP_BY_HOP}
            return Reply(answer.status, answer.read(), kept)
        except (OSError, http.client.HTTPException) as error:
            raise HangUpError from error
        finally:
            connection.close()


class _Handler(BaseHTTPRequestHandler):
    server: QuietServer
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def handle_one_request(self) -> None:
        """Read a request of any method, answer it or hang up."""
        self.raw_requestline = self.rfile.readline(65537)
        if not self.raw_requestline or not self.parse_request():
            self.close_connection = True
            return
        headers = {name.lower(): value for name, value in self.headers.items()}
        body = self.rfile.read(int(headers.get("content-length", 0)))
        try:
            reply = self.server.answer(Asked(self.command, self.path, headers, body))
        except HangUpError:
            self.close_connection = True
            return
        self.send_response_only(reply.status)
        for name, value in (reply.headers or {"Content-Type": "application/json"}).items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(reply.body)))
        self.end_headers()
        self.wfile.write(reply.body)
        self.wfile.flush()

    def log_message(self, *_: object) -> None:
        """Say nothing."""
