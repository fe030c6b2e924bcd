"""The worker on loopback, for a container's health checks, for Prometheus and for a look by hand.

``/health`` (or ``/live``): does every part run? ``/ready``: does it also reach its queues and the database, and can
every function be built? Both name under ``unbuildable`` those that cannot, with the reason.
``/metrics``: its figures, in Prometheus's text exposition format 0.0.4. What the jobs do is told by the functions, as
on Lambda (EMF in the log); here stands what the worker adds.
"""

import json
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler
from typing import Any

from siftline.kit.errors import SiftlineError
from siftline.kit.log import logger
from siftline.net.loopback import HALF_SENT_S, ImpatientServer, refusal
from siftline.worker.worker import Worker

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

_Sample = tuple[dict[str, str], float]
Check = Callable[[], object]
"""Returns when a part is well; raises one of our errors when it is not."""
CONNECTIONS_MAX = 32
_log = logger("worker")


def exposition(worker: Worker, now: float) -> str:
    """Return all figures; ``now`` in seconds of ``time.monotonic``."""
    return "".join(line + "\n" for line in _families(worker, now))


def _families(worker: Worker, now: float) -> Iterator[str]:
    pollers = [({"queue": poller.name}, poller) for poller in worker.pollers]
    yield from _family("healthy", "gauge", "1 while every part is running", [({}, float(worker.live()))])
    yield from _family(
        "batch_slots", "gauge", "Maximum number of concurrent batches", [(q, p.threads) for q, p in pollers]
    )
    yield from _family("batches_in_work", "gauge", "Batches being processed", [(q, p.busy) for q, p in pollers])
    yield from _family(
        "poll_age_seconds",
        "gauge",
        "Seconds since the queue was last polled",
        [(q, now - p.last_poll) for q, p in pollers],
    )
    outcomes = [
        ({**queue, "outcome": outcome}, count)
        for queue, poller in pollers
        for outcome, count in (("done", poller.tally.done), ("failed", poller.tally.failed))
    ]
    yield from _family("messages_total", "counter", "Messages processed, and messages returned to the queue", outcomes)
    yield from _family("batches_total", "counter", "Batches processed", [(q, p.tally.batches) for q, p in pollers])
    yield from _family(
        "batch_seconds_total", "counter", "Seconds spent on batches", [(q, p.tally.seconds) for q, p in pollers]
    )
    yield from _family(
        "poll_failures_total",
        "counter",
        "Failed polls of a queue",
        [(q, p.tally.polls_failed) for q, p in pollers],
    )
    ticks = [
        ({"schedule": ticker.schedule.name, "outcome": outcome}, float(count))
        for ticker in worker.tickers
        for outcome, count in (("done", ticker.done), ("failed", ticker.failed))
    ]
    yield from _family("ticks_total", "counter", "Ticks of a schedule", ticks)


def _family(name: str, kind: str, about: str, samples: Sequence[_Sample]) -> Iterator[str]:
    full = f"siftline_worker_{name}"
    yield f"# HELP {full} {about}"
    yield f"# TYPE {full} {kind}"
    for labels, value in samples:
        inner = ",".join(f'{label}="{_escaped(text)}"' for label, text in labels.items())
        yield f"{full}{{{inner}}} {value:g}" if inner else f"{full} {value:g}"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


@dataclass(frozen=True, slots=True)
class Answer:
    """What a request gets."""

    status: int
    content_type: str
    body: bytes


def answer(worker: Worker, checks: Mapping[str, Check], path: str) -> Answer:
    """Answer one request: 200, 503 where something is wrong, 404 for any other path."""
    match path.partition("?")[0]:
        case "/health" | "/live":
            state = worker.state()
            return _json(200 if state["healthy"] else 503, state)
        case "/ready":
            state = worker.state()
            parts = {name: _asked(check) for name, check in checks.items()}
            parts |= {f"queue {name}": queue["fault"] or "ok" for name, queue in state["queues"].items()}
            parts |= {f"function {name}": reason for name, reason in state["unbuildable"].items()}
            ready = state["healthy"] and all(part == "ok" for part in parts.values())
            return _json(200 if ready else 503, {"ready": ready, "parts": parts, **state})
        case "/metrics":
            return Answer(200, CONTENT_TYPE, exposition(worker, time.monotonic()).encode())
        case _:
            return _json(404, {"detail": "Available paths: /health, /ready and /metrics."})


class _Handler(BaseHTTPRequestHandler):
    """Answers one request."""

    timeout = HALF_SENT_S  # for the answer to be taken, too
    server: "_Server"

    def do_GET(self) -> None:
        """Answer."""
        with self.server.answering(self.connection) as asks:
            if asks:
                self._tell()

    def _tell(self) -> None:
        why = self._refusal()
        server = self.server
        self._send(answer(server.worker, server.checks, self.path) if why is None else _json(403, {"detail": why}))

    def send_error(
        self,
        code: int,
        message: str | None = None,
        explain: str | None = None,  # noqa: ARG002  -- http.server has it
    ) -> None:
        """Answer in JSON what ``http.server`` refuses itself: another method than GET only to who may ask."""
        found = _json(code, {"detail": message or HTTPStatus(code).phrase})
        if code == HTTPStatus.NOT_IMPLEMENTED:
            why = self._refusal()
            found = _json(405, {"detail": "Only GET is supported."}) if why is None else _json(403, {"detail": why})
        self._send(found)

    def version_string(self) -> str:
        """Tell no versions."""
        return "siftline"

    def _refusal(self) -> str | None:
        # What is sent twice is one list (RFC 9110, section 5.3): no name and no secret then.
        headers = {name.lower(): ", ".join(self.headers.get_all(name, ())) for name in self.headers}
        return refusal(headers, secret=self.server.token)

    def _send(self, found: Answer) -> None:
        self.send_response(found.status)
        self.send_header("Content-Type", found.content_type)
        self.send_header("Content-Length", str(len(found.body)))
        if found.status == HTTPStatus.METHOD_NOT_ALLOWED:
            self.send_header("Allow", "GET")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(found.body)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002  -- http.server's own name
        """Keep quiet."""


class _Server(ImpatientServer):
    """Says in one line of the log what went wrong with a request."""

    def __init__(
        self, worker: Worker, checks: Mapping[str, Check], port: int, token: str, now: Callable[[], float]
    ) -> None:
        self.worker, self.checks, self.token = worker, checks, token
        super().__init__(port, _Handler, connections_max=CONNECTIONS_MAX, now=now)

    def handle_error(self, request: Any, client_address: Any) -> None:  # noqa: ARG002  -- as the base class has them
        """Let a client go that hung up."""
        if not isinstance(sys.exception(), ConnectionError):
            _log.exception("health_not_told")


def serve_health(
    worker: Worker,
    checks: Mapping[str, Check],
    port: int,
    token: str = "",
    now: Callable[[], float] = time.monotonic,
) -> ImpatientServer:
    """Answer on 127.0.0.1 in a thread. ``checks`` are what readiness asks besides the queues.

    Pages in a browser are refused, and who has no ``token`` where there is one (``siftline.net.loopback``). A request
    that is not whole after ten seconds is dropped, and there are ``CONNECTIONS_MAX`` at a time: the rest of the
    process needs threads and descriptors, too.
    """

    server = _Server(worker, checks, port, token, now)
    threading.Thread(target=server.serve_forever, name="health", daemon=True).start()
    return server


def _asked(check: Check) -> str:
    try:
        check()
    except SiftlineError as error:
        return error.error_code
    return "ok"


def _json(status: int, content: Mapping[str, Any]) -> Answer:
    return Answer(status, "application/json", json.dumps(content).encode())
