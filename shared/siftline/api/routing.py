"""Routers, and how their routes are described in the OpenAPI document."""

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any, Protocol, TypeVar

from aws_lambda_powertools.event_handler import Response
from aws_lambda_powertools.event_handler.api_gateway import Router
from aws_lambda_powertools.event_handler.openapi.types import OpenAPIResponse

from siftline.api.problems import PROBLEM_JSON, Problem, title

T = TypeVar("T")
BODY_PROBLEMS = (400, 413, 415)
"""What a route that takes a body may answer."""
LOCATION = {"Location": {"description": "The path of what was made", "schema": {"type": "string"}}}
NO_CONTENT = (HTTPStatus.NO_CONTENT.value, None, "Done; nothing to say")


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
    *found: tuple[int, type[Any] | None, str],
    problems: tuple[int, ...] = (),
    headers: Mapping[int, dict[str, Any]] | None = None,
    unguarded: bool = False,
) -> dict[int, OpenAPIResponse]:
    """Return a route's answers for the OpenAPI document: its own, and the problems it may end in.

    Every route may answer 422, 500 and 503, and every route that is not ``unguarded`` 401 and 403 too.
    """
    documented: dict[int, OpenAPIResponse] = {}
    for status, model, description in found:
        shown: dict[str, Any] = {"description": description}
        if model is not None:
            shown["content"] = {"application/json": {"model": model}}
        if headers and status in headers:
            shown["headers"] = headers[status]
        documented[status] = shown  # type: ignore[assignment]  # a TypedDict built key by key
    guards = () if unguarded else (401, 403)
    for status in sorted({*problems, *guards, 422, 500, 503} - documented.keys()):
        content: Any = {PROBLEM_JSON: {"model": Problem}}
        documented[status] = {"description": title(status), "content": content}
    return documented
