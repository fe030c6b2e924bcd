"""Routes: how methods are registered, and how they are described in the OpenAPI document."""

from collections.abc import Callable, Sequence
from http import HTTPStatus
from typing import Any, TypeVar, cast

from aws_lambda_powertools.event_handler import Response
from aws_lambda_powertools.event_handler.api_gateway import Router
from aws_lambda_powertools.event_handler.openapi.types import OpenAPIResponse

from siftline.api.http.auth import required_scope
from siftline.api.http.problems import PROBLEM_JSON, GatewayMessage, Problem, title

T = TypeVar("T")
F = TypeVar("F", bound=Callable[..., Any])
Answer = tuple[int, type[Any] | str | None, str]
BODY_PROBLEMS = (400, 413, 415)
"""What a route that takes a body may answer."""
_LOCATION = {"Location": {"description": "Path of the new resource", "schema": {"type": "string"}}}
NO_CONTENT = (HTTPStatus.NO_CONTENT.value, None, "Done")
_OF_THE_GATEWAY = frozenset({401, 403, 413, 429, 500, 503})
"""What API Gateway also answers by itself, before the application or in its place."""
_RETRY_AFTER = {
    "Retry-After": {"description": "Seconds to wait before the next request", "schema": {"type": "integer"}}
}
_CHALLENGE = {
    "WWW-Authenticate": {"description": "The authentication required (RFC 6750)", "schema": {"type": "string"}}
}
_HEADERS = {401: _CHALLENGE, 403: _CHALLENGE, 429: _RETRY_AFTER, 503: _RETRY_AFTER}


class Resource:
    """Routes that belong together: the methods that ``route`` decorates."""

    tag: str | None = None
    """What they stand under in the OpenAPI document, where they stand in it."""

    def router(self, *, documented: bool = False) -> Router:
        """Return the routes in a router of their own, in the order in which they are written.

        What they may answer is told to Powertools only of ``documented`` ones: before the first answer of any other
        route it would make the schemas of all its problems.
        """
        router = Router()  # type: ignore[no-untyped-call]  # Powertools left its constructor untyped
        for name, handler in vars(type(self)).items():
            for register in getattr(handler, "registers", ()):
                register(router, getattr(self, name), self.tag, documented=documented)
        return router


def route(
    method_and_path: str,
    *answers: Answer,
    operation_id: str | None = None,
    problems: tuple[int, ...] = (),
    located: bool = False,
    compress: bool = False,
) -> Callable[[F], F]:
    """Make a method of a ``Resource`` answer a route (``GET /v1/feed``), for which a token needs ``required_scope``.

    The first line of the method's docstring is the route's summary. Each of ``answers`` has a status, the model of its
    JSON or else the media type of its text, and a description; a status may come several times. The first one's status
    is that of what the method returns without one. ``problems`` are what else the route may end in: every route may
    answer 422, 429, 500 and 503, and every one that needs a scope 401 and 403 too. With ``located`` each of ``answers``
    has a ``Location``. A route without answers is no part of the OpenAPI document.
    """
    method, _, path = method_and_path.partition(" ")
    guards = () if required_scope(method, path) is None else (401, 403)

    def register(router: Router, handler: Callable[..., Any], tag: str | None, *, documented: bool) -> None:
        router.route(
            path,
            method,
            compress=compress,
            summary=(handler.__doc__ or "").partition("\n")[0].removesuffix("."),
            responses=_responses(answers, (*problems, *guards), located=located) if answers and documented else None,
            tags=[tag] if tag else None,
            operation_id=operation_id,
            include_in_schema=bool(answers),
            status_code=answers[0][0] if answers else HTTPStatus.OK.value,
        )(handler)

    def decorated(handler: F) -> F:
        vars(handler).setdefault("registers", []).insert(0, register)
        return handler

    return decorated


def answer(status: int, body: T, *, location: str | None = None) -> Response[T]:
    """Return an answer in JSON; ``location`` is the path of what was made."""
    headers = None if location is None else {"Location": location}
    return Response(status_code=status, content_type="application/json", body=body, headers=headers)


def _responses(answers: Sequence[Answer], problems: tuple[int, ...], *, located: bool) -> dict[int, OpenAPIResponse]:
    """Return a route's answers and problems for the OpenAPI document, made anew: Powertools fills them in."""
    documented: dict[int, dict[str, Any]] = {}
    for status, model, description in answers:
        shown = documented.setdefault(status, {"description": description})
        if isinstance(model, str):
            shown.setdefault("content", {})[model] = {"schema": {"type": "string"}}
        elif model is not None:
            shown.setdefault("content", {})["application/json"] = {"model": model}
        if located:
            shown["headers"] = _LOCATION
    for status in sorted({*problems, 422, 429, 500, 503}):
        shown = documented.setdefault(status, {"description": title(status)})
        if status in _HEADERS:
            shown.setdefault("headers", _HEADERS[status])
        # One schema for both kinds: a generated client reads by the status, and tries one after the other.
        problem: Any = Problem | GatewayMessage if status in _OF_THE_GATEWAY else Problem
        shown.setdefault("content", {})[PROBLEM_JSON] = {"model": problem}
        if status in _OF_THE_GATEWAY:
            shown["content"].setdefault("application/json", {"model": problem})
    return cast("dict[int, OpenAPIResponse]", documented)
