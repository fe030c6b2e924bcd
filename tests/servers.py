"""A scriptable HTTP server on loopback: says what each path answers, remembers what was asked."""

import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from ssl import SSLContext
from typing import Any


@dataclass(frozen=True)
class Request:
    """What a client asked for. Header names are in lower case."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes = b""


@dataclass(frozen=True)
class Answer:
    """What a path answers.

    An iterable ``body`` is sent chunk by chunk as it comes (a generator may sleep); ``content_length`` overrides the
    true length, and ``None`` with an iterable body ends the answer by closing the connection, as does a body that is
    shorter than announced: the rest is lost at once, and nobody waits for it. A header whose value has NULs is sent
    once for each part.
    """

    body: bytes | Iterable[bytes] = b""
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    content_length: int | None = None


Script = Answer | Callable[[Request], Answer]


class LoopbackServer:
    """Serves what it is told; an unknown path is 404. ``answers[path]`` may be changed while it runs.

    A list answers one after the other and stays at its last entry. ``connections`` are the clients' addresses.
    """

    def __init__(self, *, tls: SSLContext | None = None) -> None:
        self.answers: dict[str, Script | list[Script]] = {}
        self.requests: list[Request] = []
        self.connections: list[object] = []
        self._lock = threading.Lock()
        self._server = QuietServer(self.answer, _Handler, self.connections.append)
        if tls is not None:
            self._server.socket = tls.wrap_socket(self._server.socket, server_side=True, do_handshake_on_connect=False)
        self._scheme = "http" if tls is None else "https"
        self.port: int = self._server.server_address[1]
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)

    def url(self, path: str = "/", *, host: str = "127.0.0.1") -> str:
        """Return the address of a path."""
        return f"{self._scheme}://{host}:{self.port}{path}"

    def asked(self, path: str) -> list[Request]:
        """Return the requests for one path, in order."""
        with self._lock:
            return [request for request in self.requests if request.path == path]

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(60)

    def answer(self, request: Request) -> Answer:
        """Record a request and return what it is answered with."""
        with self._lock:
            self.requests.append(request)
            script = self.answers.get(request.path, Answer(b"nothing here", status=404))
            if isinstance(script, list):
                script = script.pop(0) if len(script) > 1 else script[0]
        return script if isinstance(script, Answer) else script(request)


class QuietServer(ThreadingHTTPServer):
    """Listens on a free port of loopback; a thread for each connection. ``answer`` is for its handler to call."""

    daemon_threads = True
    block_on_close = False
    request_queue_size = 128

    def __init__(
        self,
        answer: Callable[[Any], Any],
        handler: type[BaseHTTPRequestHandler],
        opened: Callable[[object], None] = lambda _: None,
    ) -> None:
        self.answer = answer
        self._opened = opened
        super().__init__(("127.0.0.1", 0), handler)

    def process_request(self, request: Any, client_address: Any) -> None:
        """Serve a connection, and tell of it."""
        self._opened(client_address)
        super().process_request(request, client_address)

    def handle_error(self, request: object, client_address: object) -> None:
        """Say nothing: clients under test hang up in mid-answer."""


class _Handler(BaseHTTPRequestHandler):
    server: QuietServer
    protocol_version = "HTTP/1.1"
    server_version = "Scripted"
    sys_version = ""
    disable_nagle_algorithm = True

    def do_GET(self) -> None:
        self._head(answer := self._answer())
        for chunk in [answer.body] if isinstance(answer.body, bytes) else answer.body:
            self.wfile.write(chunk)
            self.wfile.flush()

    def do_POST(self) -> None:
        self.do_GET()

    def do_HEAD(self) -> None:
        self._head(self._answer())

    def log_message(self, *_: object) -> None:
        """Say nothing."""

    def _answer(self) -> Answer:
        headers = {name.lower(): value for name, value in self.headers.items()}
        body = self.rfile.read(int(headers.get("content-length", "0")))
        return self.server.answer(Request(self.command, self.path, headers, body))

    def _head(self, answer: Answer) -> None:
        names = {name.lower() for name in answer.headers}
        self.send_response_only(answer.status)
        if "date" not in names:
            self.send_header("Date", self.date_time_string())
        for name, value in answer.headers.items():
            for line in value.split("\0"):
                self.send_header(name, line)
        length = answer.content_length
        if length is None and isinstance(answer.body, bytes):
            length = len(answer.body)
        if answer.status != 304 and length is not None and "transfer-encoding" not in names:
            self.send_header("Content-Length", str(length))
        if not isinstance(answer.body, bytes) or (length or 0) > len(answer.body):
            self.send_header("Connection", "close")
            self.close_connection = True
        self.end_headers()


@contextmanager
def serving(*, tls: SSLContext | None = None) -> Iterator[LoopbackServer]:
    """Run a server on a free loopback port for the length of a ``with`` block."""
    server = LoopbackServer(tls=tls)
    server.start()
    try:
        yield server
    finally:
        server.stop()


def drip(data: bytes, every_s: float) -> Iterator[bytes]:
    """Yield one byte at a time with a pause after each."""
    for place in range(len(data)):
        yield data[place : place + 1]
        time.sleep(every_s)


def redirect(to: str, status: int = 302) -> Answer:
    """Return an answer that points elsewhere."""
    return Answer(status=status, headers={"Location": to})
