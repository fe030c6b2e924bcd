"""Saving many pages at once: each entry for itself, and a repeated request once."""

import sys
from types import FrameType

import pytest

from siftline.api.http import callers_store
from siftline.contracts import Queue
from siftline.kit.db import Database
from siftline.net.urls import canonical_url, clean_url
from tests.api_client import World

KEY = {"Idempotency-Key": "batch-1"}
ENTRIES = [
    {"url": "https://news.example/a", "tags": ["x"]},
    {"url": "nonsense"},
    {"url": "https://news.example/b"},
    {"url": "https://news.example/a?utm_source=y"},
]


@pytest.fixture
def world(database: Database) -> World:
    return World(database)


@pytest.mark.parametrize(
    ("entry", "place"),
    [
        ({"url": "https://news.example/\x00"}, "#/url"),
        ({"url": "https://news.example/c", "tags": ["a", "\ud800"]}, "#/tags/1"),
        ({"url": "https://news.example/c", "note": "\x00"}, "#/note"),
        ("\x00", "#"),
        ({"url": "https://news.example/c", "\ud800": "\ud800"}, "#"),
        ({"url": "https://news.example/c", "\x00": {"\udfff": ["\ud800"]}}, "#"),
    ],
)
def test_text_that_cannot_be_stored_costs_its_own_entry_only(world: World, entry: object, place: str) -> None:
    user = world.user()
    answer = user.post("/v1/items/batch", {"items": [ENTRIES[0], entry, ENTRIES[2]]})
    assert answer.status == 200, answer.text
    assert [one["status_code"] for one in answer.json["items"]] == [202, 422, 202]
    assert answer.json["items"][1]["error"]["code"] == "unstorable_text"
    assert answer.json["items"][1]["error"]["detail"].startswith(f"{place}: ")
    assert world.sql("select count(*) from items") == [(2,)]


def test_a_field_that_is_given_twice_costs_its_own_entry_only(world: World) -> None:
    twice = '{"url":"https://news.example/c","note":"a","note":"b"}'
    body = f'{{"items":[{{"url":"https://news.example/a"}},{twice},{{"url":"https://news.example/b"}}]}}'
    answer = world.user().send("POST", "/v1/items/batch", body=body)
    assert answer.status == 200, answer.text
    assert [one["status_code"] for one in answer.json["items"]] == [202, 422, 202]
    assert answer.json["items"][1]["error"] == {"code": "given_twice", "detail": "#/note: Must be given only once."}


def test_text_that_cannot_be_stored_elsewhere_is_refused_whole(world: World) -> None:
    for path, body in (("/v1/items", {"url": "\x00"}), ("/v1/items/batch", {"items": [], "more": "\x00"})):
        answer = world.user().post(path, body)
        assert (answer.status, answer.json["errors"][0]["code"]) == (422, "unstorable_text")
    answer = world.user().post("/v1/items", {"url": "https://news.example/", "items": ["\x00"]})
    assert (answer.status, answer.json["errors"][0]["pointer"]) == (422, "#/items")


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", "/v1/items"),
        ("POST", "/v1/folders"),
        ("PATCH", "/v1/me"),
        ("PUT", "/v1/topics"),
        ("POST", "/v1/items/batch"),
    ],
)
def test_a_name_that_cannot_be_stored_is_refused_with_what_it_holds(world: World, method: str, path: str) -> None:
    answer = world.user().send(method, path, body={"\ud800": "\ud800"})
    assert (answer.status, answer.code) == (422, "invalid_request")
    assert [(fault["code"], fault["pointer"]) for fault in answer.json["errors"]] == [("unstorable_text", "#")]


def test_a_repeated_batch_makes_nothing_new(world: World) -> None:
    user = world.user()
    first = user.post("/v1/items/batch", {"items": ENTRIES}, KEY).json["items"]
    user.patch(f"/v1/items/{first[0]['item']['id']}", {"tags": []})
    again = user.post("/v1/items/batch", {"items": ENTRIES}, KEY).json["items"]
    assert [one["status_code"] for one in first] == [202, 422, 202, 200]
    assert [one["status_code"] for one in again] == [200, 422, 200, 200]
    assert [one["item"] and one["item"]["id"] for one in again] == [one["item"] and one["item"]["id"] for one in first]
    assert user.get(f"/v1/items/{first[0]['item']['id']}").json["own_tags"] == []
    assert len(world.sender.sent[Queue.CONTENT_PROCESSING]) == 2


def test_a_repeated_batch_saves_again_what_was_deleted_since(world: World) -> None:
    user = world.user()
    first = user.post("/v1/items/batch", {"items": ENTRIES}, KEY).json["items"]
    assert user.delete(f"/v1/items/{first[2]['item']['id']}").status == 204
    for expected in ([200, 422, 202, 200], [200, 422, 200, 200]):
        again = user.post("/v1/items/batch", {"items": ENTRIES}, KEY).json["items"]
        assert [one["status_code"] for one in again] == expected
    assert world.sql("select count(*) from items") == [(2,)]


def test_a_key_stands_for_one_request_only(world: World) -> None:
    user = world.user()
    assert user.post("/v1/items/batch", {"items": ENTRIES}, KEY).status == 200
    for path, body in (("/v1/items/batch", {"items": ENTRIES[:1]}), ("/v1/items", ENTRIES[0])):
        answer = user.post(path, body, KEY)
        assert (answer.status, answer.code) == (422, "idempotency_key_reused")
    single = {"Idempotency-Key": "one"}
    assert user.post("/v1/items", ENTRIES[0], single).status == 200
    assert user.post("/v1/items/batch", {"items": ENTRIES[:1]}, single).code == "idempotency_key_reused"
    assert world.user().post("/v1/items/batch", {"items": ENTRIES[:1]}, KEY).status == 200


def test_no_address_is_worked_out_while_the_user_is_held(world: World) -> None:
    """It takes its time, in which the same user's other requests would wait and the database ends the transaction."""
    watched = {one.__code__: one.__name__ for one in (callers_store.hold, canonical_url, clean_url)}
    done: list[str] = []

    def seen(frame: FrameType, event: str, _: object) -> None:
        if event == "call" and frame.f_code in watched:
            done.append(watched[frame.f_code])

    user = world.user()
    for path, body in (("/v1/items/batch", {"items": ENTRIES}), ("/v1/items", {"url": "https://news.example/c"})):
        done.clear()
        sys.setprofile(seen)
        try:
            answer = user.post(path, body)
        finally:
            sys.setprofile(None)
        assert answer.status in {200, 202}, answer.text
        assert "canonical_url" in done
        assert done[done.index("hold") :] == ["hold"]
