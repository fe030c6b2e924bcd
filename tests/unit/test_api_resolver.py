"""The way in and the way out of every request, with a resource made for it."""

import json
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Annotated, Any, cast
from uuid import UUID

import pytest
from aws_lambda_powertools.event_handler import Response
from aws_lambda_powertools.event_handler.openapi.params import Query
from pydantic import BaseModel

from siftline.api.http.auth import CurrentCaller
from siftline.api.http.problems import not_found
from siftline.api.http.resolver import HttpApi
from siftline.api.http.routing import Resource, route
from siftline.api.http.shapes import Asked
from siftline.kit.db import ConflictError, DatabaseUnavailableError
from siftline.kit.errors import PermanentError, TransientError
from siftline.kit.ids import new_id
from siftline.kit.log import logger
from tests.api_client import ApiClient, sent
from tests.http_events import caller_context, http_event


class Word(BaseModel):
    text: str
    more: dict[str, str] = {}


class Shown(BaseModel):
    text: str
    user_id: UUID


class Words(Resource):
    """Echoes words; fails as it is told."""

    def __init__(self) -> None:
        self.error: Exception | None = None
        self.breaks: list[Exception] = []
        self.meet: Callable[[], object] = lambda: None

    @route("POST /v1/words")
    @route("POST /v1/words/batch")
    def echo(self, body: Word, caller: CurrentCaller) -> Shown:
        self.meet()
        if self.breaks:
            raise self.breaks.pop()
        if self.error is not None:
            raise self.error
        return Shown(text=body.text, user_id=caller.user_id)

    @route("GET /v1/words/<word_id>")
    @route("PATCH /v1/words/<word_id>")
    def one(self, word_id: UUID, caller: CurrentCaller, count: Annotated[int, Query(ge=1)] = 1) -> Response[Shown]:
        return Response(200, "application/json", Shown(text=f"{word_id} {count}", user_id=caller.user_id))

    @route("GET /v1/wrong")
    def wrong(self) -> Shown:
        return cast("Shown", {"secret": "inner"})


@pytest.fixture
def words() -> Words:
    return Words()


@pytest.fixture
def api(words: Words) -> HttpApi:
    return HttpApi([words], logger("api"))


@pytest.fixture
def user(api: HttpApi) -> ApiClient:
    return ApiClient(api, new_id())


def test_a_request_reaches_its_route_with_its_caller(user: ApiClient) -> None:
    answer = user.post("/v1/words", {"text": "<b>"})
    assert (answer.status, answer.json) == (200, {"text": "<b>", "user_id": str(user.user_id)})
    assert "<" not in answer.text
    assert answer.headers["content-type"] == "application/json"
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["cache-control"] == "no-store"


def test_a_body_may_come_in_base64_and_as_any_json_type(user: ApiClient) -> None:
    assert user.send("POST", "/v1/words", body={"text": "ä"}, encode=True).json["text"] == "ä"
    headers = {"content-type": "application/merge-patch+json; charset=utf-8"}
    assert user.send("POST", "/v1/words", body={"text": "b"}, headers=headers).status == 200


@pytest.mark.parametrize(
    "body",
    ["{", "nonsense", '{"text": NaN}', '{"text": 1' + "0" * 5000 + "}", "[" * 100_000, '{"text": "a"} x', "\ud800"],
)
def test_what_is_not_json_is_a_bad_request(user: ApiClient, body: str) -> None:
    answer = user.send("POST", "/v1/words", body=body)
    assert (answer.status, answer.code) == (400, "invalid_json")


@pytest.mark.parametrize("body", ["[1]", "3", '"text"', "true", "1.5", "null"])
def test_a_body_that_is_no_object_is_told_so(user: ApiClient, body: str) -> None:
    answer = user.send("POST", "/v1/words", body=body)
    [fault] = answer.json["errors"]
    assert (answer.status, fault["pointer"], fault["detail"]) == (422, "#", "The body must be a JSON object.")


def test_a_route_without_a_body_refuses_one_that_says_something(user: ApiClient) -> None:
    path = f"/v1/words/{new_id()}"
    answer = user.patch(path, {"x": 1})
    [fault] = answer.json["errors"]
    assert (answer.status, fault["code"], fault["pointer"]) == (422, "extra_forbidden", "#/x")
    assert user.send("PATCH", path, body="[1]").json["errors"][0]["code"] == "not_an_object"
    assert user.send("PATCH", path, body="{").code == "invalid_json"
    assert [user.send("PATCH", path, body=body).status for body in ("", "{}", "null")] == [200] * 3


def test_a_parameter_that_is_given_twice_is_refused(user: ApiClient) -> None:
    event = http_event(
        "GET", f"/v1/words/{new_id()}", query={"count": "1,2"}, context=caller_context(new_id(), new_id())
    )
    answer = sent(user._api, event | {"rawQueryString": "count=1&co%75nt=2"})
    [fault] = answer.json["errors"]
    assert (answer.status, fault["code"], fault["parameter"]) == (422, "given_twice", "count")


def test_an_unknown_parameter_is_told_beside_another_fault(user: ApiClient) -> None:
    answer = user.get(f"/v1/words/{new_id()}", count=0, cuont=1)
    told = [(fault["code"], fault["parameter"]) for fault in answer.json["errors"]]
    assert told == [("unknown_parameter", "cuont"), ("greater_than_equal", "count")]


def test_bytes_that_are_not_text_are_a_bad_request(user: ApiClient) -> None:
    for body in ("/w==", "!"):
        event = http_event("POST", "/v1/words", body=body, context=caller_context(new_id(), new_id()))
        answer = sent(user._api, event | {"isBase64Encoded": True})
        assert (answer.status, answer.code) == (400, "invalid_json")


class Strict(Asked):
    text: str = ""
    many: "list[Strict] | None" = None


class StrictRoute(Resource):
    @route("POST /v1/strict")
    def take(self, body: Strict, caller: CurrentCaller) -> Shown:
        return Shown(text=body.text, user_id=caller.user_id)


@pytest.fixture
def strict() -> ApiClient:
    return ApiClient(HttpApi([StrictRoute()], logger("api")), new_id())


def fields(number: int) -> dict[str, Any]:
    return {f"k{field}": 0 for field in range(number)}


@pytest.mark.parametrize("body", [fields(200), {"many": [fields(200)]}], ids=["above", "within"])
def test_two_hundred_unknown_fields_are_counted_and_a_hundred_told(strict: ApiClient, body: dict[str, Any]) -> None:
    """Case T32."""
    answer = strict.post("/v1/strict", body)
    assert (answer.status, answer.code) == (422, "invalid_request")
    assert (len(answer.json["errors"]), answer.json["errors_total"]) == (100, 200)
    assert {fault["detail"] for fault in answer.json["errors"]} == {"Unknown field. Known fields: text, many."}
    assert len(answer.text) < 20_000


@pytest.mark.parametrize(
    "body",
    [
        fields(201),
        fields(75_000),
        {"many": [fields(201)]},
        "{" + ",".join(['"text":"a"'] * 201) + "}",
        {"many": [fields(200)] * 25},
        {"many": [{"text": ""}] * 5_000},
        fields(200) | {"text": "\x00"},
    ],
    ids=["one more", "75,000", "within", "one name again and again", "25 large", "5,000 small", "text not looked at"],
)
def test_a_body_of_too_many_fields_is_refused_by_their_number_alone(strict: ApiClient, body: Any) -> None:
    answer = strict.send("POST", "/v1/strict", body=body)
    assert (answer.status, answer.code) == (422, "too_many_fields")
    assert answer.json["detail"] == "An object may have at most 200 fields, the whole body at most 5,000."
    assert "errors" not in answer.json


@pytest.mark.parametrize(
    ("body", "pointers"),
    [
        ('{"text":"a","text":"b"}', ["#/text"]),
        ('{"text":"a","text":"a","text":"a"}', ["#/text"]),
        ('{"text":"a","te\\u0078t":"a"}', ["#/text"]),
        ('{"many":[{},{"text":"a","many":null,"text":"b"}]}', ["#/many/1/text"]),
        ('{"many":[{"a/b":1,"a/b":2}],"text":"a","text":"b"}', ["#/many/0/a~1b", "#/text"]),
        ('{"many":[],"many":[{"text":"a","text":"b"}]}', ["#/many", "#/many/0/text"]),
        ('{"items":[],"items":[]}', ["#/items"]),
    ],
)
def test_a_field_that_is_given_twice_is_refused(strict: ApiClient, body: str, pointers: list[str]) -> None:
    answer = strict.send("POST", "/v1/strict", body=body)
    assert (answer.status, answer.code) == (422, "invalid_request")
    assert [(fault["code"], fault["pointer"]) for fault in answer.json["errors"]] == [
        ("given_twice", pointer) for pointer in pointers
    ]


def test_a_body_of_as_many_fields_as_may_be_passes(strict: ApiClient) -> None:
    assert strict.post("/v1/strict", {"many": [{"text": ""}] * 4_999}).status == 200


def test_an_answer_does_not_grow_with_the_name_of_an_unknown_field_or_parameter(strict: ApiClient) -> None:
    assert len(strict.post("/v1/strict", {"k" * 1_000_000: 0}).text) < 1_500
    assert len(strict.send("POST", "/v1/strict", body={}, query={"k" * 100_000: "0"}).text) < 1_500


def test_text_that_cannot_be_stored_in_many_places_is_told_of_a_hundred(strict: ApiClient) -> None:
    answer = strict.send("POST", "/v1/strict", body=json.dumps({"text": ["\x00"] * 50_000}))
    assert (answer.status, len(answer.json["errors"]), answer.json["errors_total"]) == (422, 100, 50_000)


def test_deep_nesting_is_a_bad_request(user: ApiClient) -> None:
    body = '{"text": "a", "more": ' + '{"a":' * 100 + "1" + "}" * 100 + "}"
    assert user.send("POST", "/v1/words", body=body).code == "invalid_json"


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ('{"text": "a\\u0000b"}', "#/text"),
        ('{"text": "\\ud800"}', "#/text"),
        ('{"text": "a", "more": {"k": "\\u0000"}}', "#/more/k"),
        ('{"text": "a", "more": {"\\u0000": "k"}}', "#/more"),
        ('{"\\ud800": "\\ud800"}', "#"),
        ('{"text": "a", "more": {"\\udfff": [{"k": "\\u0000"}]}}', "#/more"),
        ('{"text": "a", "items": {"\\ud800": "\\u0000"}}', "#/items"),
        ('{"text": "a", "list": ["b", "\\u0000"]}', "#/list/1"),
    ],
)
def test_text_that_cannot_be_stored_is_refused_by_its_place(user: ApiClient, body: str, pointer: str) -> None:
    answer = user.send("POST", "/v1/words", body=body)
    assert (answer.status, answer.code) == (422, "invalid_request")
    assert [(one["code"], one["pointer"]) for one in answer.json["errors"]] == [("unstorable_text", pointer)]


def test_text_with_other_control_characters_and_emoji_passes(user: ApiClient) -> None:
    assert user.post("/v1/words", {"text": "\u0001 \U0001f600"}).json["text"] == "\u0001 \U0001f600"


def test_a_body_above_the_limit_is_refused(user: ApiClient) -> None:
    assert user.post("/v1/words", {"text": "a" * 1_048_000}).status == 200
    assert user.post("/v1/words", {"text": "a" * 1_048_576}).code == "body_too_large"
    assert user.send("POST", "/v1/words", body={"text": "ä" * 530_000}, encode=True).code == "body_too_large"
    assert user.send("POST", "/v1/words", body={"text": "a" * 3_000_000}).code == "body_too_large"


def test_another_media_type_is_refused(user: ApiClient) -> None:
    for media_type in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"):
        answer = user.send("POST", "/v1/words", body="text=a", headers={"content-type": media_type})
        assert (answer.status, answer.code) == (415, "unsupported_media_type")


def test_every_fault_is_named(user: ApiClient) -> None:
    answer = user.post("/v1/words", {"text": 1, "more": {"a": 2}})
    assert (answer.status, answer.code) == (422, "invalid_request")
    assert [one["pointer"] for one in answer.json["errors"]] == ["#/text", "#/more/a"]
    assert user.post("/v1/words").json["errors"][0]["pointer"] == "#"
    assert user.post("/v1/words", []).status == 422


def test_an_unknown_route_and_a_malformed_id_are_not_found(user: ApiClient) -> None:
    for path in ("/v1/none", "/", "/v1/words/1", "/v1/words/<script>", "/v1/words/\x00", "/v1/words/a/b"):
        answer = user.get(path)
        assert (answer.status, answer.code) == (404, "not_found")
        assert "script" not in answer.text


def test_a_method_that_a_known_path_does_not_take_is_told_those_it_takes(user: ApiClient) -> None:
    for method, path, allowed in [
        ("DELETE", "/v1/words", "POST"),
        ("GET", "/v1/words", "POST"),
        ("PUT", f"/v1/words/{new_id()}", "GET, PATCH"),
        ("GET", "/v1/words/batch", "POST"),
        ("OPTIONS", "/v1/wrong", "GET"),
    ]:
        answer = user.send(method, path)
        assert (answer.status, answer.code) == (405, "method_not_allowed")
        assert answer.headers["allow"] == allowed
    assert user.patch("/v1/words/1", {"text": "a"}).code == "not_found"


def test_a_parameter_that_no_route_knows_is_refused_by_its_name(user: ApiClient) -> None:
    answer = user.get(f"/v1/words/{new_id()}", count=1, counts=2, x="")
    assert (answer.status, answer.code) == (422, "unknown_parameter")
    assert [(one["code"], one["parameter"]) for one in answer.json["errors"]] == [
        ("unknown_parameter", "counts"),
        ("unknown_parameter", "x"),
    ]
    assert answer.json["errors"][0]["detail"] == "Known parameters: count."
    assert user.send("POST", "/v1/words", body={"text": "a"}, query={"q": 1}).code == "unknown_parameter"
    assert user.get("/v1/none", q=1).code == "not_found"


def test_a_bad_parameter_is_named(user: ApiClient) -> None:
    assert user.get(f"/v1/words/{new_id()}", count=0).json["errors"][0]["parameter"] == "count"
    assert user.get(f"/v1/words/{new_id()}", count="\x00").json["errors"][0]["code"] == "unstorable_text"


@pytest.mark.parametrize("raw", ["%ff%fe", "%ed%a0%80"], ids=["bytes", "surrogate"])
def test_a_parameter_that_is_no_utf_8_is_refused_by_its_name(api: HttpApi, raw: str) -> None:
    context = caller_context(new_id(), new_id(), ["read"])
    event = http_event("GET", f"/v1/words/{new_id()}", query={"count": "\ufffd"}, context=context)
    answer = sent(api, event | {"rawQueryString": f"a=b&count={raw}"})
    fault = answer.json["errors"][0]
    assert (answer.status, fault["code"], fault["parameter"]) == (422, "invalid_utf8", "count")


def test_without_a_caller_nothing_is_reached(api: HttpApi) -> None:
    answer = sent(api, http_event("POST", "/v1/words", body={"text": "a"}))
    assert (answer.status, answer.code) == (401, "unauthorized")
    assert answer.headers["www-authenticate"] == "Bearer"


def test_a_scope_is_asked_for_before_the_body_is_looked_at(api: HttpApi) -> None:
    reader = ApiClient(api, new_id(), ["read"])
    for body, headers in [('{"text": 1}', {}), ("{", {}), ("a", {"content-type": "text/plain"}), ("a" * 3_000_000, {})]:
        answer = reader.send("POST", "/v1/words", body=body, headers=headers)
        assert (answer.status, answer.code) == (403, "insufficient_scope")


def test_a_permanent_error_is_the_callers_and_a_transient_one_asks_to_come_back(user: ApiClient, words: Words) -> None:
    words.error = PermanentError("It is gone.", code="gone")
    answer = user.post("/v1/words", {"text": "a"})
    assert (answer.status, answer.code, answer.json["detail"]) == (422, "gone", "It is gone.")
    words.error = TransientError("Busy.", code="busy", retry_after_s=6.2)
    answer = user.post("/v1/words", {"text": "a"})
    assert (answer.status, answer.code, answer.headers["retry-after"]) == (503, "busy", "7")
    words.error = not_found("word")
    assert user.post("/v1/words", {"text": "a"}).json["detail"] == "There is no such word."


def test_a_transaction_that_a_deadlock_broke_off_runs_once_more(user: ApiClient, words: Words) -> None:
    conflict, away = ConflictError("Another was in its way."), DatabaseUnavailableError("It is away.")
    words.breaks = [conflict]
    assert user.post("/v1/words", {"text": "a"}).status == 200
    words.breaks = [conflict] * 4
    assert user.post("/v1/words", {"text": "a"}).status == 200
    words.breaks = [conflict] * 5
    assert user.post("/v1/words", {"text": "a"}).code == "database_conflict"
    words.breaks = [away]
    assert user.post("/v1/words", {"text": "a"}).code == "database_unavailable"


def test_an_unexpected_error_is_logged_and_tells_nothing(
    user: ApiClient, words: Words, capsys: pytest.CaptureFixture[str]
) -> None:
    words.error = RuntimeError("password=hunter2")
    answer = user.post("/v1/words", {"text": "a"})
    assert (answer.status, answer.code) == (500, "internal_error")
    assert "hunter2" not in answer.text
    assert answer.json["request_id"]


def test_an_answer_of_the_wrong_shape_is_our_fault(user: ApiClient) -> None:
    answer = user.get("/v1/wrong")
    assert (answer.status, answer.code) == (500, "internal_error")
    assert "inner" not in answer.text


def test_requests_at_once_are_not_mixed_up(api: HttpApi, words: Words) -> None:
    """Powertools keeps the current request on a class; eight threads that all stand in a route see their own."""
    words.meet = threading.Barrier(8, timeout=60).wait

    def ask(user: ApiClient) -> list[Any]:
        asked = (user.post("/v1/words", {"text": f"{user.user_id} {turn}"}) for turn in range(50))
        return [json.loads(answer.text) for answer in asked]

    users = [ApiClient(api, new_id()) for _ in range(8)]
    with ThreadPoolExecutor(8) as threads:
        shown = list(threads.map(ask, users))
    for user, answers in zip(users, shown, strict=True):
        who = str(user.user_id)
        assert answers == [{"text": f"{who} {turn}", "user_id": who} for turn in range(50)]
