"""Rows of another shape than ours, as a newer release or damage leaves them: shown without what cannot be read."""

from typing import Any
from uuid import UUID

import pytest
from psycopg.types.json import Jsonb

from siftline.fetch.kinds.readers import FeedReader
from siftline.fetch.poll import health_store
from siftline.fetch.poll.next_poll import Rhythm
from siftline.kit.db import Database
from siftline.kit.ids import new_id
from tests.api_client import ApiClient, World
from tests.factories import make_content, make_item, make_source
from tests.polling import Poller, item, rss
from tests.servers import Answer, LoopbackServer

BOAT = {"id": "boats", "descriptions": {"en": "Boats"}, "examples": {}}
FEED = {"url": "https://feeds.example/world.xml", "title": "World", "media_type": None}


@pytest.fixture
def world(database: Database) -> World:
    return World(database)


def shown(user: ApiClient, path: str) -> Any:
    answer = user.get(path)
    assert answer.status == 200, answer.text
    return answer.json


def test_a_token_is_listed_without_the_scopes_that_nobody_here_knows(world: World) -> None:
    user = world.user()
    world.sql("update access_tokens set scopes = '{future,write,read}' where id = %s", user.token_id)
    [token] = shown(user, "/v1/tokens")["items"]
    assert token["scopes"] == ["write", "read"]


@pytest.mark.parametrize(
    ("topics", "own"),
    [
        ([{"id": "x"}], []),
        ([BOAT, {"id": "x"}, 7, None, {"descriptions": {}}, {**BOAT, "id": 7}], [BOAT]),
        ({"a": 1}, []),
        ("x", []),
        (7, []),
    ],
)
def test_a_topic_that_is_none_is_not_shown(world: World, topics: object, own: object) -> None:
    user = world.user()
    source_id = UUID(user.post("/v1/sources", {"url": "https://feeds.example/a.xml"}).json["id"])
    for of_source, only in ((None, None), (source_id, ["x"])):
        world.sql(
            "insert into topic_sets (id, user_id, source_id, topics, only_topics) values (%s, %s, %s, %s, %s)",
            *(new_id(), user.user_id, of_source, Jsonb(topics), only),
        )
    assert shown(user, "/v1/topics")["own"] == own
    assert shown(user, f"/v1/sources/{source_id}/topics")["topics"] == own
    assert user.put("/v1/topics", {"topics": [BOAT]}).status == 200
    assert shown(user, "/v1/topics")["own"] == [BOAT]


@pytest.mark.parametrize(
    ("candidates", "left"),
    [({}, []), ("x", []), ([1], []), ([FEED, {"url": 7}, FEED | {"title": None}], [FEED])],
)
def test_a_source_is_shown_without_what_cannot_be_read(world: World, candidates: object, left: object) -> None:
    user = world.user()
    source_id = user.post("/v1/sources", {"url": "https://feeds.example/a.xml"}).json["id"]
    world.sql(
        "update sources set candidates = %s, options = '[]', rhythm = '[]', granular_topics = %s where id = %s",
        *(Jsonb(candidates), Jsonb({"a": 1}), source_id),
    )
    world.sql("update subscriptions set topics = %s where source_id = %s", Jsonb({"a": 1}), source_id)
    [listed] = shown(user, "/v1/sources")["items"]
    alone = shown(user, f"/v1/sources/{source_id}")
    assert listed == alone | {"next_fetch_at": listed["next_fetch_at"]}
    assert (listed["candidates"], listed["topics"], listed["selector"]) == (left, [], None)


@pytest.mark.parametrize("kind", ["rss", "web"])
@pytest.mark.parametrize("odd", [[], "x", 7, [1], None, {"selector": 7, "skip_hours": 7, "gap_minutes": "x"}])
def test_a_source_is_polled_as_if_what_cannot_be_read_were_unset(
    database: Database, site: LoopbackServer, feed_reader: FeedReader, kind: str, odd: object
) -> None:
    poller = Poller(database, feed_reader)
    page = b"".join(b"<h2><a href='/%d-a-story'>A story with a number %d</a></h2>" % (n, n) for n in range(3))
    site.answers["/feed"] = Answer(rss(item(1)) if kind == "rss" else page, headers={"Content-Type": "text/html"})
    with database.transaction() as connection:
        source_id = make_source(connection, url=site.url("/feed"), kind=kind)
    poller.poll(source_id)
    with database.transaction() as connection:
        connection.execute(
            "update sources set options = %s, rhythm = %s where id = %s", (Jsonb(odd), Jsonb(odd), source_id)
        )
        source = health_store.load_source(connection, source_id)
    assert source is not None
    assert Rhythm.loaded(source.rhythm) == Rhythm()
    assert poller.poll(source_id) == {"unchanged": "same body"}


@pytest.mark.parametrize(
    ("media", "told"),
    [
        ([], None),
        ("x", None),
        (7, None),
        ({"url": 7, "duration_s": "long", "media_type": [], "transcript_state": "future"}, (None, None, None, None)),
        (
            {"url": "https://e.example/a.mp3", "duration_s": {}, "transcript_state": "page"},
            ("https://e.example/a.mp3", None, None, "page"),
        ),
    ],
)
def test_an_item_is_shown_without_a_recording_that_is_none(world: World, media: object, told: object) -> None:
    user = world.user()
    with world.database.transaction() as connection:
        content_id = make_content(connection, kind="video", media=Jsonb(media))
        item_id = make_item(connection, user.user_id, content_id)
    recording = shown(user, f"/v1/items/{item_id}")["recording"]
    state = recording and recording["transcript"]["state"]
    fields = recording and (recording["url"], recording["duration_s"], recording["media_type"], state)
    assert fields == told
    assert shown(user, "/v1/items")["items"][0]["id"] == str(item_id)
