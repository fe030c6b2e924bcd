"""API Gateway on one machine: routes and authorizer as ``template.yaml`` says, HTTP in, the real handlers' answers out.

Run it as ``python -m infra.local.gateway --port 8787``; it binds loopback only.
"""

import argparse
import gc
import re
import sys
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from typing import Any

from infra.local.gateway_events import (
    MalformedAnswerError,
    Request,
    Response,
    authorizer_event,
    event,
    message,
    response,
)
from infra.local.guard import guarded
from infra.local.wsgi import LoopbackServer
from siftline.net.loopback import NAMES
from siftline.settings.functions import LocalSettings
from siftline.worker.hosting import HostedFunction, InvocationError
from siftline.worker.template import Authorizer, Route, Template

StartResponse = Callable[[str, list[tuple[str, str]]], object]

# The quota of HTTP APIs for a request's payload.
BODY_MAX_BYTES = 10 * 1024 * 1024
BODY_READ_BYTES = 4 * BODY_MAX_BYTES
"""A longer body is not even read. Up to here it is, or its sender would meet a broken connection instead of a 413."""
_THREADS = 16
_SEGMENT = re.compile(r"\{([A-Za-z0-9_-]+)(\+?)\}")


@dataclass(frozen=True, slots=True)
class _Match:
    route: Route
    pattern: re.Pattern[str]
    rank: tuple[int, int, int]


class Authorizers:
    """Asks the Lambda authorizers and keeps their answers for their time to live."""

    def __init__(
        self,
        authorizers: Mapping[str, Authorizer],
        functions: Mapping[str, HostedFunction],
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._authorizers = authorizers
        self._functions = functions
        self._now = now
        self._kept: dict[tuple[str, ...], tuple[float, Mapping[str, Any]]] = {}
        self._lock = threading.Lock()

    def refusal_or_context(self, name: str, proxy: Mapping[str, Any]) -> Response | Mapping[str, Any]:
        """Return the gateway's refusal, or the context of the caller. Raises ``InvocationError``."""
        authorizer = self._authorizers[name]
        identity = [proxy["headers"].get(header, "") for header in authorizer.identity_headers]
        if not all(identity):
            return message(401, "Unauthorized")
        answer = self._answer(authorizer, identity, proxy)
        if answer.get("isAuthorized") is not True:
            return message(403, "Forbidden")
        context: Mapping[str, Any] = answer.get("context") or {}
        return context

    def _answer(self, authorizer: Authorizer, identity: list[str], proxy: Mapping[str, Any]) -> Mapping[str, Any]:
        key = (authorizer.name, *identity)
        with self._lock:
            until, kept = self._kept.get(key, (0.0, {}))
        if until > self._now():
            return kept
        function = self._functions[authorizer.function.logical_id]
        answer: Mapping[str, Any] = function.invoke(authorizer_event(proxy, identity))
        with self._lock:
            self._kept = {known: value for known, value in self._kept.items() if value[0] > self._now()}
            self._kept[key] = (self._now() + authorizer.ttl_s, answer)
        return answer


class Gateway:
    """A WSGI application that answers as API Gateway would."""

    def __init__(self, template: Template) -> None:
        self._template = template
        self._functions = {name: HostedFunction(function) for name, function in template.functions.items()}
        self._authorizers = Authorizers(template.authorizers(), self._functions)
        self._matches = sorted(
            (_Match(route, _pattern(route.path), _rank(route)) for route in template.routes()),
            key=lambda match: match.rank,
        )

    def load(self) -> None:
        """Build every function that a route or authorizer names, the light ones first: the first request is warm.

        One that cannot be built has said so in the log; its routes answer 500, the others work.
        """
        used = {match.route.function.logical_id for match in self._matches}
        used |= {authorizer.function.logical_id for authorizer in self._template.authorizers().values()}
        for hosted in sorted((self._functions[name] for name in used), key=lambda one: one.function.memory_mb):
            with suppress(InvocationError):
                hosted.load()

    def answer(self, request: Request) -> Response:
        """Answer one request."""
        if len(request.body) > BODY_MAX_BYTES:
            return message(413, "Request Too Long")
        match, parameters = self._find(request)
        if match is None:
            return message(404, "Not Found")
        route = match.route
        route_key = f"{route.method} {route.path}" if route.path != "$default" else "$default"
        try:
            context = None
            if route.authorizer is not None:
                proxy = event(request, route_key, parameters, None)
                found = self._authorizers.refusal_or_context(route.authorizer, proxy)
                if isinstance(found, Response):
                    return found
                context = found
            function = self._functions[route.function.logical_id]
            return response(function.invoke(event(request, route_key, parameters, context)))
        except (InvocationError, MalformedAnswerError):
            return message(500, "Internal Server Error")

    def __call__(self, environ: dict[str, Any], start_response: StartResponse) -> Iterable[bytes]:
        """Speak WSGI (PEP 3333)."""
        if int(environ.get("CONTENT_LENGTH") or 0) > BODY_MAX_BYTES:
            answer = message(413, "Request Too Long")
        else:
            answer = self.answer(_request(environ))
        headers = [*answer.headers, ("content-length", str(len(answer.body)))]
        start_response(f"{answer.status} {_REASONS.get(answer.status, 'Status')}", headers)
        return [b"" if environ["REQUEST_METHOD"] == "HEAD" else answer.body]

    def _find(self, request: Request) -> tuple[_Match | None, Mapping[str, str]]:
        for match in self._matches:
            found = match.pattern.fullmatch(request.path)
            if found and match.route.method in ("ANY", request.method):
                return match, found.groupdict()
        return None, {}


_REASONS = {status.value: status.phrase for status in HTTPStatus}


def _pattern(path: str) -> re.Pattern[str]:
    if path == "$default":
        return re.compile(r".*", re.DOTALL)
    parts, end = [], 0
    for segment in _SEGMENT.finditer(path):
        parts.append(re.escape(path[end : segment.start()]))
        name, greedy = segment.groups()
        parts.append(f"(?P<{name}>{'.+' if greedy else '[^/]+'})")
        end = segment.end()
    return re.compile("".join(parts) + re.escape(path[end:]), re.DOTALL)


def _rank(route: Route) -> tuple[int, int, int]:
    """Most specific first: full match, path variables, greedy ones, ``$default``; a method before ANY."""
    kind = 3 if route.path == "$default" else 2 if "+}" in route.path else 1 if "{" in route.path else 0
    return kind, -route.path.count("/"), int(route.method == "ANY")


def _request(environ: Mapping[str, Any]) -> Request:
    headers = {
        name[5:].replace("_", "-").lower(): str(value) for name, value in environ.items() if name.startswith("HTTP_")
    }
    for name in ("CONTENT_TYPE", "CONTENT_LENGTH"):
        if environ.get(name):
            headers[name.replace("_", "-").lower()] = str(environ[name])
    return Request(
        method=environ["REQUEST_METHOD"],
        path=environ.get("PATH_INFO", "/").encode("latin-1").decode("utf-8", "replace"),
        query=environ.get("QUERY_STRING", ""),
        headers=headers,
        body=environ["wsgi.input"].read(),
        source_ip=environ.get("REMOTE_ADDR", ""),
        protocol=environ.get("SERVER_PROTOCOL", "HTTP/1.1"),
    )


def main(arguments: list[str] | None = None) -> int:
    """Serve until SIGTERM or SIGINT; requests under way are answered first."""
    parser = argparse.ArgumentParser(prog="python -m infra.local.gateway", description=__doc__)
    parser.add_argument("--port", type=int, required=True, help="0 for any free port")
    parser.add_argument("--template", type=Path, default=Path("template.yaml"))
    parser.add_argument("--stage", default="local", help="the template's Stage parameter")
    options = parser.parse_args(arguments)
    gateway = Gateway(Template.read(options.template, {"Stage": options.stage}))
    application = guarded(gateway, names=NAMES | set(LocalSettings().local_hosts), has_pages=True)
    server = LoopbackServer(application, port=options.port, threads=_THREADS, body_limit_bytes=BODY_READ_BYTES)
    print(f"listening on {server.url}", flush=True)
    # While it already answers: a request waits for no function but its own.
    threading.Thread(target=gateway.load, name="load", daemon=True).start()
    server.run_until_signal()
    gc.freeze()  # else the interpreter, on its way out, looks through every object of every function once more
    return 0


if __name__ == "__main__":
    sys.exit(main())
