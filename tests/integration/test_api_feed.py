"""The ranked feed over a real PostgreSQL: places, stories, reasons, filters, and pages that hold while all changes."""

import random
from typing import Any
from uuid import UUID

import pytest
from psycopg.types.json import Jsonb

from siftline.api.feed.feed_store import ORDERS_KEPT
from siftline.kit.db import Database
from siftline.kit.ids import new_id
from tests.api_client import ApiClient, World
from tests.factories import make_content, make_item, make_source

POLITICS = Jsonb([{"topic": "politics", "score": 0.7}])


class Reader:
    """A user who holds what a test says."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.client: ApiClient = world.user()
        self.user_id = self.client.user_id

    def hold(
        self,
        score: float | None = 0.5,
        *,
        source: UUID | None = None,
        story: UUID | None = None,
        columns: dict[str, Any] | None = None,
    ) -> str:
        with self.world.database.transaction() as connection:
            content_id = make_content(connection, **({"status": "READY", "title": "T"} | (columns or {})))
            item_id = make_item(connection, self.user_id, content_id)
            connection.execute(
                "update items set score = %s, score_reasons = %s, source_id = %s, saved = %s where id = %s",
                (score, None if score is None else Jsonb([reason(score)]), source, source is None, item_id),
            )
            if story is not None:
                connection.execute(
                    "insert into story_items (user_id, content_id, story_id, distance) values (%s, %s, %s, 0.1)",
                    (self.user_id, content_id, story),
                )
        return str(item_id)

    def story(self) -> UUID:
        story_id = new_id()
        self.world.sql(
            "insert into stories (id, user_id, model_version, centroid, size, first_at, last_at)"
            " values (%s, %s, 'm', '', 1, now(), now())",
            story_id,
            self.user_id,
        )
        return story_id

    def source(self, **columns: Any) -> UUID:
        with self.world.database.transaction() as connection:
            source_id = make_source(connection, **columns)
            connection.execute(
                "insert into subscriptions (id, user_id, source_id) values (%s, %s, %s)",
                (new_id(), self.user_id, source_id),
            )
        return source_id

    def feed(self, **query: Any) -> dict[str, Any]:
        answer = self.client.get("/v1/feed", **query)
        assert answer.status == 200, answer.text
        return answer.json

    def ids(self, **query: Any) -> list[str]:
        return [item["id"] for item in self.feed(**query)["items"]]


def reason(score: float) -> dict[str, Any]:
    return {"code": "source", "weight": 1.0, "value": score, "known": True, "saved": True}


@pytest.fixture
def reader(database: Database) -> Reader:
    return Reader(World(database))


def test_what_is_unread_comes_best_first_with_what_its_score_and_place_are_made_up_of(reader):
    source = reader.source(title="Example News")
    low, high = reader.hold(0.3, source=source), reader.hold(0.9, source=source)
    read = reader.hold(0.95)
    reader.client.patch(f"/v1/items/{read}", {"read": True})

    first, second = reader.feed()["items"]

    assert [first["id"], second["id"]] == [high, low]
    assert first["score"] == pytest.approx(0.85 * 0.9 + 0.15, abs=1e-3)
    assert first["rank"] == first["score"]
    assert sum(part["points"] for part in first["reasons"]) == pytest.approx(first["score"], abs=1e-3)
    assert first["reasons"][-1]["code"] == "freshness"
    assert first["freshness"] == pytest.approx(1.0, abs=1e-3)
    assert first["site"] == "Example News"
    assert first["story"] == {"id": None, "size": 1, "folded": []}
    assert second["diversity"]["nth"] == 2
    assert second["diversity"]["factor"] == 0.9
    assert second["rank"] == pytest.approx(0.9 * second["score"], abs=1e-3)
    assert "2nd story of its source" in second["diversity"]["detail"]
    assert reader.ids(all=True)[0] == read


def test_a_story_and_a_text_that_is_the_same_take_one_place_and_the_rest_is_folded_under_it(reader):
    """Case C05: six wordings of one event are one of seven places."""
    story = reader.story()
    told = [reader.hold(0.9 - number / 100, story=story) for number in range(6)]
    others = [reader.hold(0.5 - number / 100) for number in range(6)]
    [[content_id]] = reader.world.sql("select content_id from items where id = %s", UUID(others[0]))
    again = reader.hold(0.1, columns={"duplicate_of": content_id, "title": "Again", "site_name": "Echo"})

    items = reader.feed()["items"]

    assert [item["id"] for item in items] == [told[0], *others]
    assert items[0]["story"]["id"] == str(story)
    assert items[0]["story"]["size"] == 6
    assert [one["id"] for one in items[0]["story"]["folded"]] == told[1:]
    assert items[1]["story"]["id"] is None
    assert items[1]["story"]["size"] == 2
    [folded] = items[1]["story"]["folded"]
    assert (folded["id"], folded["title"], folded["site"], folded["read_at"]) == (again, "Again", "Echo", None)


def test_what_has_no_topics_and_no_score_is_judged_by_its_source_and_never_left_out(reader):
    """A first import: nothing of it was read; topics of its source stand in, for the filter too."""
    source, unknown = reader.source(granular_topics=POLITICS), reader.source()
    bare = {"status": "NEW", "title": None}
    liked = reader.hold(0.8, columns={"topics": POLITICS})
    imported = reader.hold(None, source=source, columns=bare)
    known = reader.hold(0.4, columns={"topics": POLITICS})
    scored = reader.hold(0.3)
    nothing = reader.hold(None, source=unknown, columns=bare)

    items = {item["id"]: item for item in reader.feed()["items"]}

    assert list(items) == [liked, imported, known, scored, nothing]
    assert items[imported]["source_topics"] == [{"topic": "politics", "score": 0.7}]
    assert items[imported]["topics"] is None
    assert "politics" in items[imported]["reasons"][0]["detail"]
    assert sum(part["points"] for part in items[imported]["reasons"]) == pytest.approx(
        items[imported]["rank"], abs=1e-3
    )
    assert "not known yet" in items[nothing]["reasons"][0]["detail"]
    assert reader.ids(topic="politics") == [liked, imported, known]


def test_filters_narrow_it_down_as_they_do_lists(reader):
    source = reader.source()
    old = reader.hold(0.9, columns={"sort_at": "2026-01-01T00:00:00Z", "tags": ["x"]})
    new = reader.hold(0.1, source=source)
    reader.client.patch(f"/v1/items/{new}", {"starred": True})

    assert reader.ids(source_id=source) == [new]
    assert reader.ids(starred=True) == [new]
    assert reader.ids(tag="x") == [old]
    assert reader.ids(until="2026-01-02T00:00:00Z") == [old]
    assert reader.ids(since="2026-01-02T00:00:00Z") == [new]
    assert reader.ids(entity="nobody") == []
    assert reader.client.get("/v1/feed", since="2026-01-02T00:00:00Z", until="2026-01-01T00:00:00Z").status == 422


def test_where_one_source_is_asked_for_its_stories_all_count_the_same(reader):
    source = reader.source()
    for number in range(3):
        reader.hold(0.5 + number / 10, source=source)

    assert {item["diversity"]["factor"] for item in reader.feed(source_id=source)["items"]} == {1.0}


def test_what_is_dated_in_the_future_does_not_stick_to_the_top(reader):
    future = reader.hold(0.5, columns={"published_at": "2099-01-01T00:00:00Z", "sort_at": "2099-01-01T00:00:00Z"})
    better = reader.hold(0.6)

    assert reader.ids() == [better, future]


@pytest.mark.parametrize("seed", range(8))
def test_pages_show_each_item_once_and_skip_none_whatever_happens_between_them(reader, seed):
    """Items are read, come in, are scored anew, join stories and are deleted while the feed is paged through."""
    chance = random.Random(seed)
    sources = [reader.source() for _ in range(3)]
    stories = [reader.story() for _ in range(4)]

    def hold() -> str:
        score = None if chance.random() < 0.2 else chance.random()
        return reader.hold(
            score, source=chance.choice([None, *sources]), story=chance.choice([None, None, None, *stories])
        )

    before = {hold() for _ in range(60)}
    deleted: set[str] = set()
    shown: list[str] = []
    following: dict[str, Any] = {}
    while True:
        page = reader.feed(limit=chance.randint(1, 9), **following)
        shown += [one for item in page["items"] for one in [item["id"], *(f["id"] for f in item["story"]["folded"])]]
        if page["next"] is None:
            break
        following = {"next": page["next"]}
        hold()
        reader.client.patch(f"/v1/items/{chance.choice(shown)}", {"read": True})
        left = sorted(before - set(shown))
        if left:
            reader.client.patch(f"/v1/items/{chance.choice(left)}", {"read": True})
            gone = chance.choice(left)
            reader.client.delete(f"/v1/items/{gone}")
            deleted.add(gone)
            before.discard(gone)
        reader.world.sql("update items set score = random()")
        reader.world.sql("update story_items set story_id = %s where random() < 0.3", chance.choice(stories))

    assert len(shown) == len(set(shown))
    assert before <= set(shown) <= before | deleted


def test_a_feed_that_is_not_kept_any_more_says_so_and_another_ones_is_nobodys(reader):
    for number in range(4):
        reader.hold(number / 10)
    following = reader.feed(limit=2)["next"]
    other = reader.world.user()

    assert other.get("/v1/feed", next=following).code == "feed_expired"
    assert other.get("/v1/feed").json["items"] == []
    assert len(reader.feed(limit=2, next=following)["items"]) == 2
    for _ in range(ORDERS_KEPT):
        reader.hold(0.9)
        reader.feed(limit=1)
    answer = reader.client.get("/v1/feed", next=following)
    assert (answer.status, answer.code) == (410, "feed_expired")
    assert reader.world.sql("select count(*) from feed_orders") == [(ORDERS_KEPT,)]


def test_the_same_order_is_kept_once_and_forgotten_after_a_day(reader):
    for number in range(4):
        reader.hold(number / 10)
    assert reader.feed(limit=2)["next"] == reader.feed(limit=2)["next"]
    reader.world.sql("update feed_orders set made_at = now() - interval '25 hours'")
    other = Reader(reader.world)
    for number in range(2):
        other.hold(number / 10)
    other.feed(limit=1)

    assert reader.world.sql("select user_id from feed_orders") == [(other.user_id,)]


@pytest.mark.parametrize("word", ["x", "bnVsbA", "WzEsMl0", "WyIwMThmNGU1YTdiMWM3MDAwODAwMDAxMjM0NTY3ODlhYiIsLTFd"])
def test_what_is_no_next_is_refused(reader, word):
    answer = reader.client.get("/v1/feed", next=word)

    assert (answer.status, answer.code) == (422, "invalid_cursor")


@pytest.mark.parametrize("path", ["/v1/feed", "/v1/items"])
def test_a_page_goes_on_with_what_it_was_asked_for_and_nothing_else(reader, path):
    for number in range(3):
        reader.hold(number / 10, columns={"topics": POLITICS})
    following = reader.client.get(path, limit=1, topic="politics").json["next"]
    for other in ({}, {"topic": "sport"}, {"topic": "politics", "since": "2026-01-01T00:00:00Z"}):
        answer = reader.client.get(path, limit=1, next=following, **other)
        assert (answer.status, answer.code) == (422, "invalid_cursor")
    assert reader.client.get(path, limit=2, topic="politics", next=following).status == 200
