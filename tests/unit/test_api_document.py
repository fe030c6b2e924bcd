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

from siftline.api.http.auth import OPEN_BY_TOKEN, OPEN_FEEDS, required_scope
from siftline.api.http.problems import PATTERNS
from siftline.api.http.resolver import HttpApi
from siftline.api.search_routes import SearchRoutes
from siftline.kit.db import SingleConnection
from siftline.kit.log import logger
from tests.api_client import Answered, World, sent
from tests.factories import lambda_context
from tests.http_events import http_event

# What generated clients call the operations: a name that was given stays.
OPERATIONS = {
    "GET /admin/queue-stats": "getQueueStats",
    "GET /docs": "getDocs",
    "GET /health": "getHealth",
    "GET /v1/briefings": "listBriefings",
    "POST /v1/briefings": "createBriefing",
    "DELETE /v1/briefings/{briefing_id}": "deleteBriefing",
    "GET /v1/briefings/{briefing_id}": "getBriefing",
    "PATCH /v1/briefings/{briefing_id}": "updateBriefing",
    "POST /v1/briefings/{briefing_id}/run": "runBriefing",
    "GET /v1/clusters": "listClusters",
    "GET /v1/clusters/map": "getClusterMap",
    "GET /v1/clusters/map.svg": "drawClusterMap",
    "POST /v1/clusters/recompute": "recomputeClusters",
    "GET /v1/clusters/{cluster_id}": "getCluster",
    "GET /v1/editions": "listEditions",
    "GET /v1/editions.atom": "getEditionsAtom",
    "GET /v1/editions/{edition_id}": "getEdition",
    "GET /v1/entities": "listEntities",
    "GET /v1/entities/{entity_id}": "getEntity",
    "GET /v1/feed": "getFeed",
    "GET /v1/feed-tokens": "listFeedTokens",
    "POST /v1/feed-tokens": "createFeedToken",
    "DELETE /v1/feed-tokens/{feed_token_id}": "revokeFeedToken",
    "GET /v1/feed.atom": "getFeedAtom",
    "GET /v1/folders": "listFolders",
    "POST /v1/folders": "createFolder",
    "DELETE /v1/folders/{folder_id}": "deleteFolder",
    "GET /v1/folders/{folder_id}": "getFolder",
    "PATCH /v1/folders/{folder_id}": "updateFolder",
    "GET /v1/items": "listItems",
    "POST /v1/items": "saveItem",
    "POST /v1/items/batch": "saveItems",
    "DELETE /v1/items/{item_id}": "deleteItem",
    "GET /v1/items/{item_id}": "getItem",
    "PATCH /v1/items/{item_id}": "updateItem",
    "POST /v1/items/{item_id}/reprocess": "reprocessItem",
    "GET /v1/items/{item_id}/similar": "listSimilarItems",
    "GET /v1/items/{item_id}/timeline": "getItemTimeline",
    "GET /v1/mail-addresses": "listMailAddresses",
    "POST /v1/mail-addresses": "addMailAddress",
    "DELETE /v1/mail-addresses/{address_id}": "deleteMailAddress",
    "GET /v1/export": "exportAll",
    "GET /v1/me": "getMe",
    "DELETE /v1/me": "deleteMe",
    "PATCH /v1/me": "updateMe",
    "GET /v1/me/credits": "listCredits",
    "GET /v1/openapi.json": "getOpenapi",
    "GET /v1/opml": "exportOpml",
    "POST /v1/opml": "importOpml",
    "GET /v1/ops/dead-letters": "getDeadLetters",
    "POST /v1/ops/dead-letters/redrive": "redriveDeadLetters",
    "GET /v1/ops/queues": "getQueues",
    "DELETE /v1/ops/reprocess": "cancelReprocess",
    "GET /v1/ops/reprocess": "getReprocess",
    "POST /v1/ops/reprocess": "startReprocess",
    "GET /v1/ops/set-aside": "listSetAside",
    "GET /v1/search": "searchItems",
    "GET /v1/sources": "listSources",
    "POST /v1/sources": "followSource",
    "DELETE /v1/sources/{source_id}": "unfollowSource",
    "GET /v1/sources/{source_id}": "getSource",
    "PATCH /v1/sources/{source_id}": "updateSource",
    "POST /v1/sources/{source_id}/choose": "chooseFeed",
    "POST /v1/sources/{source_id}/deactivate": "deactivateSource",
    "POST /v1/sources/{source_id}/refresh": "refreshSource",
    "POST /v1/sources/{source_id}/reset-health": "resetSourceHealth",
    "GET /v1/sources/{source_id}/topics": "getSourceTopics",
    "PUT /v1/sources/{source_id}/topics": "replaceSourceTopics",
    "GET /v1/tokens": "listTokens",
    "POST /v1/tokens": "createToken",
    "DELETE /v1/tokens/{token_id}": "revokeToken",
    "GET /v1/topics": "getTopics",
    "PUT /v1/topics": "replaceTopics",
    "GET /v1/usage": "getUsage",
}


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
    named = {f"{method.upper()} {path}": operation["operationId"] for method, path, operation in operations(document)}
    assert named == OPERATIONS
    assert len(set(named.values())) == len(named)
    tags = [tag["name"] for tag in document["tags"]]
    assert len(tags) == len(set(tags))
    known = set(tags)
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


def test_each_problem_is_a_problem_document_and_the_gateways_own_are_told(document: dict[str, Any]) -> None:
    """Case: API Gateway answers 401, 403, 413, 429, 500 and 503 by itself, with ``{"message": …}``."""
    problem = {"$ref": "#/components/schemas/Problem"}
    either = [problem, {"$ref": "#/components/schemas/GatewayMessage"}]
    for method, path, operation in operations(document):
        for status, response in operation["responses"].items():
            if int(status) < 400:
                continue
            schema = response["content"]["application/problem+json"]["schema"]
            if status in {"401", "403", "413", "429", "500", "503"}:
                assert schema["anyOf"] == either
                assert path == "/health" or response["content"]["application/json"]["schema"]["anyOf"] == either
            else:
                assert schema == problem
                assert set(response["content"]) == {"application/problem+json"}
        assert {"422", "429", "500", "503"} <= set(operation["responses"])
        if required_scope(method, path):
            assert {"401", "403"} <= set(operation["responses"])
        if "{" in path:
            assert "404" in operation["responses"]
        if "requestBody" in operation:
            assert {"400", "413", "415"} <= set(operation["responses"])


def test_answers_without_a_body_have_none(document: dict[str, Any]) -> None:
    empty = [
        response
        for _, _, operation in operations(document)
        for status, response in operation["responses"].items()
        if status in {"204", "304"}
    ]
    assert empty
    assert not any("content" in response for response in empty)


def test_every_list_is_in_the_one_envelope(document: dict[str, Any]) -> None:
    """Case: lists were named ``items``, ``sources``, ``tokens``, ``feed_tokens`` and ``entries``."""
    lists = [
        operation
        for method, _, operation in operations(document)
        if method == "get"
        and operation["operationId"].startswith(("list", "search", "getFeed", "getCluster", "getEntity"))
        and "application/json" in operation["responses"]["200"].get("content", {})
        and operation["operationId"] != "getClusterMap"
    ]
    assert len(lists) == 17
    for operation in lists:
        name = operation["operationId"]
        reference = operation["responses"]["200"]["content"]["application/json"]["schema"]["$ref"]
        schema = document["components"]["schemas"][reference.rpartition("/")[2]]
        assert {"items", "next"} <= set(schema["required"]), name
        assert schema["properties"]["items"]["type"] == "array", name
        assert schema["properties"]["next"]["anyOf"] == [{"type": "string"}, {"type": "null"}], name


def test_schemas_have_plain_names(document: dict[str, Any]) -> None:
    """Case: ``siftline__api__addresses__Kind`` and ``Kind-Output``."""
    assert [name for name in document["components"]["schemas"] if not re.fullmatch("[A-Z][A-Za-z]+", name)] == []


def test_what_is_left_out_of_a_change_has_no_default_to_be_sent(document: dict[str, Any]) -> None:
    """Case: a generated client sent ``read: false`` where only the tags were to be changed."""
    for name in ("ChangeItem", "ChangeSource", "ChangeBriefing", "ChangeMe"):
        fields = document["components"]["schemas"][name]["properties"]
        assert [field for field, schema in fields.items() if "default" in schema] == []


def test_where_briefings_are_delivered_to_is_told_by_channel(document: dict[str, Any]) -> None:
    delivery = document["components"]["schemas"]["NewBriefing"]["properties"]["delivery"]
    assert delivery["discriminator"]["propertyName"] == "channel"
    assert set(delivery["discriminator"]["mapping"]) == {"none", "email", "webhook"}
    assert [example["channel"] for example in delivery["examples"]] == ["none", "email", "webhook"]


def test_a_time_of_the_wall_clock_has_no_zone_in_its_schema_either(document: dict[str, Any]) -> None:
    """Case: ``format: time`` is a time with an offset, which was refused."""
    at = document["components"]["schemas"]["NewBriefing"]["properties"]["at"]
    assert "format" not in at
    assert re.fullmatch(at["pattern"], "07:00")
    assert not re.fullmatch(at["pattern"], "07:00:00Z")


def patterned(node: Any, name: str = "") -> Iterator[str]:
    """Yield the names of the fields and parameters that have a regular expression."""
    if isinstance(node, dict):
        name = node["name"] if "in" in node else name
        if isinstance(node.get("pattern"), str):
            yield name
        for key, value in node.items():
            for field, schema in value.items() if key == "properties" else ():
                yield from patterned(schema, field)
            if key != "properties":
                yield from patterned(value, name)
    elif isinstance(node, list):
        for part in node:
            yield from patterned(part, name)


def test_what_a_regular_expression_asks_for_is_told_in_words(document: dict[str, Any]) -> None:
    # A wall clock is read as a time, whose faults have a sentence of their own.
    assert {name.lower() for name in patterned(document)} - {"at"} == set(PATTERNS)


def test_whoever_comes_to_the_bare_address_finds_the_page(api: HttpApi) -> None:
    start = sent(api, http_event("GET", "/"))
    assert (start.status, start.headers["location"]) == (302, "/docs")
    assert sent(api, http_event("GET", "/docs/")).text == sent(api, http_event("GET", "/docs")).text
    icon = sent(api, http_event("GET", "/favicon.ico"))
    assert (icon.status, icon.text) == (204, "")


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
    packed = api(http_event("GET", "/docs", headers={"accept-encoding": "gzip, br"}), lambda_context())
    assert packed["headers"]["Content-Encoding"] == "gzip"
    assert len(packed["body"]) < len(plain.text) / 2
    assert len(plain.text) < 5_000_000


def test_the_pages_own_link_leads_to_the_document(api: HttpApi, document: dict[str, Any]) -> None:
    answer = sent(api, http_event("GET", "/docs", query={"format": "json"}))
    assert json.loads(answer.text) == document
