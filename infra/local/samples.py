"""The sample server: news feeds and pages written for this project, on loopback.

    python -m infra.local.samples --port 8099

serves five feeds (RSS, Atom, JSON Feed) of some 60 articles in seven languages with conditional GET, and under
``/trouble/`` pages that fail on purpose. The texts are data under ``events/samples``.
"""

import argparse
import signal
import sys
import threading
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler
from typing import Any, Self

from infra.local.sample_library import SampleArticle
from infra.local.sample_site import Answer, SampleSite
from siftline.net.loopback import ImpatientServer
from siftline.operate.command_line import moment

HOST = "127.0.0.1"
DEFAULT_PORT = 8099
_CONNECTIONS_MAX = 100
_POLL_S = 0.1  # how soon the server sees that it shall stop


class SampleServer:
    """Serves the samples on loopback from a thread of its own.

    Port 0 takes any free one; the articles are dated back from ``now``. The socket is bound, and so the address known,
    as soon as the object exists; ``OSError`` if the port is taken.
    """

    def __init__(self, port: int = 0, now: datetime | None = None) -> None:
        self._stopping = threading.Event()
        self._http = _HttpServer(port, self._stopping)
        self.base_url = f"http://{HOST}:{self._http.server_port}"
        self._site = SampleSite(self.base_url, (now or datetime.now(UTC)).astimezone(UTC))
        self._http.site = self._site
        self._thread = threading.Thread(target=self._http.serve_forever, args=(_POLL_S,), name="samples", daemon=True)

    def start(self) -> Self:
        """Begin to answer; return at once."""
        self._thread.start()
        return self

    def stop(self) -> None:
        """Stop answering and free the port; clients of a slow page are cut off."""
        self._stopping.set()
        if self._thread.is_alive():
            self._http.shutdown()
            self._thread.join()
        self._http.server_close()

    def urls(self) -> list[str]:
        """Return the addresses of the feeds."""
        return [f"{self.base_url}{feed.path}" for feed in self._site.feeds]

    def articles(self) -> list[SampleArticle]:
        """Return all articles; an article's page is at ``base_url + article.path``."""
        return [article for feed in self._site.feeds for article in feed.articles]


class _HttpServer(ImpatientServer):
    """Knows the site, and wakes the sleepers of ``/trouble/slow`` when it stops."""

    site: SampleSite

    def __init__(self, port: int, stopping: threading.Event) -> None:
        super().__init__(port, _Handler, connections_max=_CONNECTIONS_MAX)
        self.stopping = stopping

    def handle_error(self, request: Any, client_address: Any) -> None:  # as the base class types them
        """Let a client go that lost patience; print any other fault's trace."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    """Sends the site's answers to GET and HEAD; any other method is the base class's 501."""

    protocol_version = "HTTP/1.1"
    server_version = "SiftlineSamples"
    sys_version = ""
    timeout = 60  # for an answer to be taken, in seconds
    server: _HttpServer

    def do_GET(self) -> None:
        """Send the answer with its body."""
        with self.server.answering(self.connection) as asks:
            if asks:
                self._send(self.server.site.answer(self.path, dict(self.headers)))

    def do_HEAD(self) -> None:
        """Send the answer's head alone."""
        self.do_GET()

    def _send(self, answer: Answer) -> None:
        if answer.delay_s and self.server.stopping.wait(answer.delay_s):
            self.close_connection = True
            return
        self.send_response(answer.status)
        for name, value in answer.headers.items():
            self.send_header(name, value)
        if answer.status != 304:
            self.send_header("Content-Type", answer.content_type)
            self.send_header("Content-Length", str(len(answer.body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(answer.body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name is the base class's
        """Say nothing: the reader's own log tells what was fetched."""


def main() -> None:
    """Serve until SIGINT or SIGTERM."""
    parser = argparse.ArgumentParser(description="Serve the sample feeds on loopback.")
    parser.add_argument("--port", type=int, default=DEFAULT_PORT, help="0 for any free port")
    parser.add_argument("--now", type=moment, help="date the articles from this moment (ISO 8601)")
    arguments = parser.parse_args()
    port = arguments.port
    try:
        server = SampleServer(port, arguments.now)
    except OSError as error:
        raise SystemExit(
            f"The samples cannot be served on port {port}: {error.strerror}. Choose another with --port."
        ) from error
    server.start()
    for url in server.urls():
        print(url, flush=True)
    stopped = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stopped.set())
    stopped.wait()
    server.stop()


if __name__ == "__main__":
    main()
