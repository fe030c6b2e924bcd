"""The OpenAPI document, and a page to read and try it; both made from the routes themselves, so they cannot differ."""

import json
from collections.abc import Iterator, Sequence
from functools import cache
from importlib.resources import files
from typing import Annotated, Any, Literal

from aws_lambda_powertools.event_handler import APIGatewayHttpResolver, Response
from aws_lambda_powertools.event_handler.openapi import swagger_ui
from aws_lambda_powertools.event_handler.openapi.models import HTTPBearer
from aws_lambda_powertools.event_handler.openapi.params import Query

from siftline.api.http.auth import required_scope
from siftline.api.http.problems import to_json
from siftline.api.http.routing import Resource, answer, route

_TITLE = "Siftline API"
_DESCRIPTION = """
Siftline reads the sources people follow and the pages they save, and serves them ranked, searchable and grouped.

Send `Authorization: Bearer <token>`. Each route states the scope it requires: `read`, `write` or `ops`. Errors are
problem documents (RFC 9457) with a stable `code`. Lists are paged with `next`. Times are RFC 3339 in UTC.
"""
_TAGS = [
    "feed",
    "items",
    "sources",
    "search",
    "clusters",
    "entities",
    "topics",
    "briefings",
    "tokens",
    "me",
    "operations",
    "health",
    "documents",
]
_WITHOUT_BODY = frozenset({"204", "304"})
_OPML = (
    '<opml version="2.0"><body><outline text="News">'
    '<outline type="rss" text="Example" xmlUrl="https://example.org/feed.xml"/></outline></body></opml>'
)
# The page may run what stands in it and call this API; it can load nothing from anywhere.
_PAGE_POLICY = (
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)


class DocumentRoutes(Resource):
    """``/v1/openapi.json`` and ``/docs``, about all given resources and themselves."""

    tag = "documents"

    def __init__(self, resources: Sequence[Resource]) -> None:
        self._resources = resources
        self._document = cache(self._describe)

    @route(
        "GET /v1/openapi.json",
        (200, dict[str, Any], "The OpenAPI document"),
        operation_id="getOpenapi",
        compress=True,
    )
    def openapi(self) -> Response[Any]:
        """Get the OpenAPI 3.1 document."""
        return answer(200, self._document())

    @route(
        "GET /docs",
        (200, "text/html", "The documentation as a web page"),
        operation_id="getDocs",
        compress=True,
    )
    @route("GET /docs/", compress=True)  # what browsers ask for too, so not documented
    def page(
        self,
        format: Annotated[Literal["json"] | None, Query(include_in_schema=False)] = None,  # noqa: A002  # the page asks so
    ) -> Response[Any]:
        """Browse the API documentation."""
        if format is not None:
            return self.openapi()
        folder = files(swagger_ui)
        html = swagger_ui.generate_swagger_html(
            spec=to_json(self._document()),
            swagger_js=folder.joinpath("swagger-ui-bundle.min.js").read_text(encoding="utf-8"),
            swagger_css=folder.joinpath("swagger-ui.min.css").read_text(encoding="utf-8"),
            swagger_base_url="",
            oauth2_config=None,
        )
        html = html.replace("<title>Swagger UI</title>", f"<title>{_TITLE}</title>", 1)
        headers = {"Content-Security-Policy": _PAGE_POLICY}
        return Response(status_code=200, content_type="text/html; charset=utf-8", body=html, headers=headers)

    @route("GET /")
    def start(self) -> Response[None]:
        """Lead whoever comes to the bare address to the page."""
        return Response(status_code=302, headers={"Location": "/docs"})

    @route("GET /favicon.ico")
    def icon(self) -> Response[None]:
        """Have no icon, for a day."""
        return Response(status_code=204, headers={"Cache-Control": "public, max-age=86400"})

    def _describe(self) -> dict[str, Any]:
        resolver = APIGatewayHttpResolver(enable_validation=True)
        for resource in [*self._resources, self]:
            resolver.include_router(resource.router(documented=True))
        text = resolver.get_openapi_json_schema(
            title=_TITLE,
            version="1",
            description=_DESCRIPTION.strip(),
            tags=list(_TAGS),
            security_schemes={"bearer": HTTPBearer(description="A personal access token: `sl_…`")},
        )
        document: dict[str, Any] = json.loads(text)
        _name_scopes(document)
        _show_files(document)
        _tidy_answers(document)
        _drop_unused(document)
        return document


def _name_scopes(document: dict[str, Any]) -> None:
    """Write into each operation the scope it needs; OpenAPI 3.1 allows roles in a bearer requirement."""
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            scope = required_scope(method, path)
            operation["security"] = [] if scope is None else [{"bearer": [scope.value]}]


def _show_files(document: dict[str, Any]) -> None:
    """Describe the body that is a file: Powertools describes JSON only."""
    operation = document["paths"].get("/v1/opml", {}).get("post")
    if operation is not None:
        text = {"schema": {"type": "string"}, "example": _OPML}
        # As bytes, too: generated clients know how to send those.
        file = {"schema": {"type": "string", "format": "binary"}}
        content = {"text/x-opml": text, "application/xml": text, "application/octet-stream": file}
        operation["requestBody"] = {"required": True, "content": content}


def _tidy_answers(document: dict[str, Any]) -> None:
    """Sort the answers, and drop the bodies of those that have none: Powertools describes what handlers return."""
    for operations in document["paths"].values():
        for operation in operations.values():
            operation["responses"] = dict(sorted(operation["responses"].items()))
            for status in _WITHOUT_BODY & operation["responses"].keys():
                operation["responses"][status].pop("content", None)


def _drop_unused(document: dict[str, Any]) -> None:
    """Drop schemas that no operation needs: Powertools adds those of its own errors, which are not ours."""
    schemas = document["components"]["schemas"]
    used: set[str] = set()
    left = set(_references(document["paths"]))
    while left:
        name = left.pop()
        used.add(name)
        left |= set(_references(schemas[name])) - used
    document["components"]["schemas"] = {name: schema for name, schema in schemas.items() if name in used}


def _references(node: Any) -> Iterator[str]:
    if isinstance(node, dict):
        target = node.get("$ref")
        if isinstance(target, str):
            yield target.rpartition("/")[2]
        for member in node.values():
            yield from _references(member)
    elif isinstance(node, list):
        for member in node:
            yield from _references(member)
