"""Routers, and how their routes are described in the OpenAPI document."""

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any, Protocol, TypeVar, cast

from aws_lambda_powertools.event_handler import Response
from aws_lambda_powertools.event_handler.api_gateway import Router
from aws_lambda_powertools.event_handler.openapi.types import OpenAPIResponse

from siftline.api.http.problems import PROBLEM_JSON, GatewayMessage, Problem, title

T = TypeVar("T")
BODY_PROBLEMS = (400, 413, 415)
"""What a route that takes a body may answer."""
LOCATION = {"Location": {"description": "Path of the new resource", "schema": {"type": "string"}}}
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


class Resource(Protocol):
    """Some routes that belong together."""

    def router(self) -> Router:
        """Return the routes in a router of their own."""
        ...


def new_router() -> Router:
    """Return an empty router."""
    return Router()  # type: ignore[no-untyped-call]  # Powertools left its constructor untyped


def answer(status: int, body: T, *, location: str | None = None) -> Response[T]:
    """Return an answer in JSON; ``location`` is the path of what was made."""
    headers = None if location is None else {"Location": location}
    return Response(status_code=status, content_type="application/json", body=body, headers=headers)


def responses(
    *found: tuple[int, type[Any] | str | None, str],
    problems: tuple[int, ...] = (),
    headers: Mapping[int, dict[str, Any]] | None = None,
    unguarded: bool = False,
) -> dict[int, OpenAPIResponse]:
    """Return a route's answers for the OpenAPI document: its own, and the problems it may end in.

    Each of its own has a status, the model of its JSON or else the media type of its text, and a description; a status
    may come several times. Every route may answer 422, 429, 500 and 503, and every route that is not ``unguarded`` 401
    and 403 too.
    """
    documented: dict[int, dict[str, Any]] = {}
    for status, model, description in found:
        shown = documented.setdefault(status, {"description": description})
        if isinstance(model, str):
            shown.setdefault("content", {})[model] = {"schema": {"type": "string"}}
        elif model is not None:
            shown.setdefault("content", {})["application/json"] = {"model": model}
        if headers and status in headers:
            shown["headers"] = headers[status]
    guards = () if unguarded else (401, 403)
    for status in sorted({*problems, *guards, 422, 429, 500, 503}):
        shown = documented.setdefault(status, {"description": title(status)})
        if status in _HEADERS:
            shown.setdefault("headers", _HEADERS[status])
        # One schema for both kinds: a generated client reads by the status, and tries one after the other.
        problem: Any = Problem | GatewayMessage if status in _OF_THE_GATEWAY else Problem
        shown.setdefault("content", {})[PROBLEM_JSON] = {"model": problem}
        if status in _OF_THE_GATEWAY:
            shown["content"].setdefault("application/json", {"model": problem})
    return cast("dict[int, OpenAPIResponse]", documented)
