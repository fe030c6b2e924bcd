"""The OpenAPI document, made from the API's own routes."""

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from aws_lambda_powertools.event_handler.openapi.models import OpenAPI
from jsonschema import Draft202012Validator
from referencing import Registry
from referencing.jsonschema import DRAFT202012

from siftline.api.auth import OPEN_BY_TOKEN, OPEN_FEEDS, required_scope
from siftline.api.resolver import HttpApi
from siftline.api.search import SearchRoutes
from siftline.kit.db import SingleConnection
from siftline.kit.ids import new_id
from siftline.kit.log import logger
from tests.api_client import Answered, World, sent
from tests.http_events import caller_context, http_event


@pytest.fixture(scope="module")
def api() -> HttpApi:
    return World(SingleConnection("postgresql://127.0.0.1:1/none")).api


@pytest.fixture(scope="module")
def served(api: HttpApi) -> Answered:
    return sent(api, http_event("GET", "/v1/openapi.json"))


@pytest.fixture(scope="module")
def document(served: Answered) -> dict[str, Any]:
    return dict(served.json)


def operations(document: dict[str, Any]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            yield method, path, operation


def references(node: Any) -> Iterator[str]:
    if isinstance(node, dict):
        if isinstance(node.get("$ref"), str):
            yield node["$ref"]
        for member in node.values():
            yield from references(member)
    elif isinstance(node, list):
        for member in node:
            yield from references(member)


def test_it_is_open_and_openapi_3_1(served: Answered, document: dict[str, Any]) -> None:
    assert served.status == 200
    assert served.headers["content-type"] == "application/json"
    assert document["openapi"].startswith("3.1.")
    OpenAPI.model_validate(document)


def test_it_lists_exactly_the_routes_there_are(api: HttpApi, document: dict[str, Any]) -> None:
    elsewhere = HttpApi([SearchRoutes(None)], logger("search")).routes()
    beside = {
        *(("HEAD", path) for path in ("/health", *OPEN_FEEDS)),
        *(("GET", path) for path in ("/", "/docs/", "/favicon.ico")),
    }
    pages = {(method, path) for method in ("GET", "HEAD", "POST") for path in OPEN_BY_TOKEN}  # behind links from mails
    beside |= pages - {("POST", "/v1/read/{token}")}
    assert {(method.upper(), path) for method, path, _ in operations(document)} == api.routes() - beside | elsewhere


def test_every_reference_leads_somewhere_and_every_schema_is_used(document: dict[str, Any]) -> None:
    schemas = document["components"]["schemas"]
    targets = {reference.removeprefix("#/components/schemas/") for reference in references(document)}
    assert targets == set(schemas)


def test_every_schema_is_json_schema_and_its_examples_fit(document: dict[str, Any]) -> None:
    registry: Registry[Any] = Registry().with_resource("urn:api", DRAFT202012.create_resource(document))
    for name, schema in document["components"]["schemas"].items():
        Draft202012Validator.check_schema(schema)
        validator = Draft202012Validator({"$ref": f"urn:api#/components/schemas/{name}"}, registry=registry)
        for example in schema.get("examples", []):
            validator.validate(example)
    assert document["components"]["schemas"]["SaveItem"]["examples"]


def test_operations_are_named_once_and_described(document: dict[str, Any]) -> None:
    names = [operation["operationId"] for _, _, operation in operations(document)]
    assert len(names) == len(set(names))
    known = {tag["name"] for tag in document["tags"]}
    for method, path, operation in operations(document):
        assert operation["summary"] != f"{method.upper()} {path}"
        assert set(operation["tags"]) <= known


def test_every_path_parameter_is_declared(document: dict[str, Any]) -> None:
    for _, path, operation in operations(document):
        declared = {one["name"] for one in operation.get("parameters", []) if one["in"] == "path"}
        assert declared == set(re.findall(r"{(\w+)}", path))


def test_each_operation_names_the_scope_it_needs(document: dict[str, Any]) -> None:
    assert document["components"]["securitySchemes"]["bearer"]["scheme"] == "bearer"
    for method, path, operation in operations(document):
        scope = required_scope(method, path)
        assert operation["security"] == ([{"bearer": [scope.value]}] if scope else [])


def test_each_problem_is_a_problem_document(document: dict[str, Any]) -> None:
    for _, path, operation in operations(document):
        for status, response in operation["responses"].items():
            if int(status) >= 400 and path != "/health":
                assert set(response["content"]) == {"application/problem+json"}
                assert response["content"]["application/problem+json"]["schema"]["$ref"].endswith("/Problem")
        assert {"422", "500", "503"} <= set(operation["responses"])


def test_whoever_comes_to_the_bare_address_finds_the_page(api: HttpApi) -> None:
    start = sent(api, http_event("GET", "/"))
    assert (start.status, start.headers["location"]) == (302, "/docs")
    assert sent(api, http_event("GET", "/docs/")).text == sent(api, http_event("GET", "/docs")).text
    icon = sent(api, http_event("GET", "/favicon.ico"))
    assert (icon.status, icon.text) == (204, "")


def test_every_known_path_tells_its_methods_and_every_other_is_not_found(api: HttpApi) -> None:
    context = caller_context(new_id(), new_id(), ["read", "write", "ops"])
    for path, allowed in [
        ("/health", "GET, HEAD"),
        ("/docs", "GET"),
        ("/", "GET"),
        ("/v1/openapi.json", "GET"),
        ("/admin/queue-stats", "GET"),
        ("/v1/items", "GET, POST"),
        ("/v1/items/batch", "POST"),
        (f"/v1/items/{new_id()}", "DELETE, GET, PATCH"),
        ("/v1/search", "GET"),
        (f"/v1/items/{new_id()}/similar", "GET"),
    ]:
        refused = sent(api, http_event("PUT", path, context=context))
        assert (refused.status, refused.code, refused.headers["allow"]) == (405, "method_not_allowed", allowed)
    assert sent(api, http_event("PUT", "/v1/none", context=context)).code == "not_found"


def test_the_page_holds_all_it_needs_and_may_load_nothing(api: HttpApi) -> None:
    page = sent(api, http_event("GET", "/docs"))
    assert page.status == 200
    assert "<title>Siftline API</title>" in page.text
    assert page.headers["content-type"] == "text/html; charset=utf-8"
    policy = page.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "http" not in policy
    outside = re.compile(
        r"<(?:script|link|img|iframe|object|embed|base|source)\b[^>]*\b(?:src|href|data)\s*=", re.IGNORECASE
    )
    assert not outside.search(re.sub(r"<script>.*?</script>", "", page.text, flags=re.DOTALL))
    assert "/v1/items/batch" in page.text


def test_the_page_is_sent_compressed_where_that_is_understood(api: HttpApi) -> None:
    plain = sent(api, http_event("GET", "/docs"))
    packed = api(http_event("GET", "/docs", headers={"accept-encoding": "gzip, br"}), None)
    assert packed["headers"]["Content-Encoding"] == "gzip"
    assert len(packed["body"]) < len(plain.text) / 2
    assert len(plain.text) < 5_000_000


def test_the_pages_own_link_leads_to_the_document(api: HttpApi, document: dict[str, Any]) -> None:
    answer = sent(api, http_event("GET", "/docs", query={"format": "json"}))
    assert json.loads(answer.text) == document
