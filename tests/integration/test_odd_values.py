"""One odd value in a stored row: lists, the feed, search and Atom show the row without it, and all others whole."""

import json
from typing import Any
from uuid import UUID

import pytest

from siftline.kit.db import Database
from siftline.kit.errors import TransientError
from tests.api_client import Answered, ApiClient, World, sent
from tests.factories import make_content, make_item, make_source
from tests.http_events import http_event
from tests.searching import Library

TOPIC = {"topic": "energy", "score": 0.7}
REASON = {"code": "source", "weight": 1.0, "value": 0.5, "saved": True}
BAD_TOPICS = ['"x"', "3", '{"a": 1}', "[null]", "[3]", '["x"]', "[[]]", "[{}]", '[{"score": 1}]']
BAD_TOPICS += ['[{"topic": 7, "score": "x"}]']
ODD_SCORES = ['[{"topic": "a"}]', '[{"topic": "a", "score": "x"}]', '[{"topic": "a", "score": 1e400}]']
ODD_SCORES += ['[{"topic": "a", "score": 1e5000}]']
BAD_REASONS = ['"x"', "3", '{"a": 1}', "[null]", "[3]", "[[]]", "[{}]", '[{"code": "nosuch"}]']
BAD_REASONS += ['[{"code": "nosuch", "weight": 0.5, "value": 0.5}]', '[{"code": 7, "value": "x", "weight": null}]']
BAD_REASONS += ['[{"code": "history", "liked": "x"}]', '[{"code": "interest", "weight": 1e400, "value": 0.5}]']
BAD_REASONS += ["[1e5000]", '[{"code": "history", "weight": 0.5, "value": 0.5, "liked": "x", "cosine": 0.1}]']


class Shelf:
    """A user who holds two items, one of them odd, and everything that shows them."""

    def __init__(self, database: Database) -> None:
        self.world = World(database)
        self.user: ApiClient = self.world.user()
        self.library = Library(database, "http://127.0.0.1:9")
        self.library.meaning = TransientError("Away.")
        self.whole, _ = self._hold()
        self.odd, self.content = self._hold()
        answer = self.user.post("/v1/feed-tokens", {"name": "phone"})
        self.atom = str(answer.json["token"])

    def _hold(self) -> tuple[UUID, UUID]:
        with self.world.database.transaction() as connection:
            content_id = make_content(
                connection, status="READY", title="Ferry", text="Ferry.", topics=json.dumps([TOPIC]), tags=["sea"]
            )
            item_id = make_item(connection, self.user.user_id, content_id)
            connection.execute(
                "update items set score = 0.5, score_reasons = %s::jsonb, tags = '{own}' where id = %s",
                (json.dumps([REASON]), item_id),
            )
            return item_id, content_id

    def shown(self) -> list[dict[str, Any]]:
        """Return the odd item as each place shows it; fails where one does not answer, or not with both items whole."""
        answers = [self.user.get("/v1/items"), self.user.get("/v1/items", sort="score"), self.user.get("/v1/feed")]
        answers.append(ApiClient(self.library.api, self.user.user_id, ["read"]).get("/v1/search", q="ferry"))
        found = []
        for answer in answers:
            by_id = {one["id"]: one for one in _items(answer)}
            assert by_id.keys() == {str(self.whole), str(self.odd)}
            assert by_id[str(self.whole)]["topics"] == [TOPIC]
            found.append(by_id[str(self.odd)])
        one = self.user.get(f"/v1/items/{self.odd}")
        assert one.status == 200, one.text
        atom = sent(self.world.api, http_event("GET", "/v1/feed.atom", query={"token": self.atom}))
        assert (atom.status, atom.text.count("<entry>")) == (200, 2)
        return [*found, one.json]


def _items(answer: Answered) -> list[dict[str, Any]]:
    assert answer.status == 200, answer.text
    items: list[dict[str, Any]] = answer.json["items"]
    return items


@pytest.fixture
def shelf(database: Database) -> Shelf:
    return Shelf(database)


def test_whatever_stands_for_topics_the_item_is_shown_without_them(shelf, caplog):
    for stored in [*BAD_TOPICS, *ODD_SCORES]:
        shelf.world.sql("update contents set topics = %s::jsonb where id = %s", stored, shelf.content)
        caplog.clear()
        expected = [{"topic": "a", "score": 0.0}] if stored in ODD_SCORES else []
        for shown in shelf.shown():
            assert shown["topics"] == expected, stored
        told = [vars(one) for one in caplog.records if one.message == "stored_values_left_out"]
        assert {(one["levelname"], one["error_code"], *one["columns"], *one["ids"]) for one in told} == {
            ("WARNING", "unusable_row", "topics", str(shelf.odd))
        }


def test_one_odd_topic_takes_no_other_with_it(shelf):
    shelf.world.sql(
        "update contents set topics = %s::jsonb where id = %s", json.dumps([None, TOPIC, {"a": 1}]), shelf.content
    )
    for shown in shelf.shown():
        assert shown["topics"] == [TOPIC]


def test_whatever_stands_for_own_topics_the_item_is_shown_without_them(shelf):
    for stored in BAD_TOPICS:
        shelf.world.sql(
            "insert into readings (user_id, content_id, topics, made_at) values (%s, %s, %s::jsonb, now())"
            " on conflict (user_id, content_id) do update set topics = excluded.topics",
            shelf.user.user_id,
            shelf.content,
            stored,
        )
        for shown in shelf.shown():
            assert shown["own_topics"] == [], stored


def test_whatever_stands_for_reasons_the_item_is_shown_without_them(shelf):
    for stored in BAD_REASONS:
        shelf.world.sql("update items set score_reasons = %s::jsonb where id = %s", stored, shelf.odd)
        for shown in shelf.shown():
            codes = [part["code"] for part in shown.get("reasons", [])]
            assert codes in ([], ["freshness"]), stored


def test_one_odd_reason_takes_no_other_with_it(shelf):
    shelf.world.sql("update items set score_reasons = %s::jsonb where id = %s", json.dumps([{}, REASON]), shelf.odd)
    *_, one = shelf.shown()
    assert [part["code"] for part in one["reasons"]] == ["source", "freshness"]


@pytest.mark.parametrize("stored", ["{NULL,sea}", "{{sea,a},{b,c}}"])
def test_a_tag_that_is_none_is_not_shown(shelf, stored):
    rest = ["sea"] if stored == "{NULL,sea}" else []
    shelf.world.sql("update contents set tags = %s::text[] where id = %s", stored, shelf.content)
    assert shelf.shown()[0]["tags"] == ["own", *rest]
    shelf.world.sql("update items set tags = %s::text[] where id = %s", stored, shelf.odd)
    assert shelf.shown()[0]["tags"] == rest


def test_whatever_a_source_is_said_to_write_about_the_feed_shows_its_items(shelf):
    with shelf.world.database.transaction() as connection:
        source = make_source(connection)
    shelf.world.sql("update contents set topics = null where id = %s", shelf.content)
    shelf.world.sql(
        "update items set source_id = %s, score = null, score_reasons = null where id = %s", source, shelf.odd
    )
    for stored in [*BAD_TOPICS, *ODD_SCORES]:
        shelf.world.sql("update sources set granular_topics = %s::jsonb where id = %s", stored, source)
        expected = [{"topic": "a", "score": 0.0}] if stored in ODD_SCORES else []
        [shown] = [one for one in shelf.shown() if "source_topics" in one]
        assert shown["source_topics"] == expected, stored
