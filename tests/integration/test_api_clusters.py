"""Clusters as their owner sees them, and grouping on request."""

import uuid
from typing import Any
from xml.etree.ElementTree import fromstring

import pytest
from psycopg.types.json import Jsonb

from siftline.contracts import JobType, Queue
from siftline.kit.db import Database
from siftline.kit.ids import new_id
from tests.api_client import ApiClient, World
from tests.factories import make_content, make_item


@pytest.fixture
def world(database: Database) -> World:
    return World(database)


def make_run(world: World, user: ApiClient, *, contents: int = 0, unclustered: int = 0) -> uuid.UUID:
    run_id = new_id()
    world.sql(
        "insert into cluster_runs (id, user_id, model_version, parameters, quality, contents)"
        " values (%s, %s, 'tiny', '{}', %s, %s)",
        run_id,
        user.user_id,
        Jsonb({"unclustered": unclustered}),
        contents,
    )
    return run_id


def make_cluster(world: World, user: ApiClient, run_id: uuid.UUID, size: int, label: str = "rates") -> uuid.UUID:
    """Make a cluster of items that the user holds; the first made is the most central."""
    cluster_id = new_id()
    world.sql(
        "insert into clusters (id, user_id, run_id, label, keywords, centroid, size)"
        " values (%s, %s, %s, %s, %s, '', %s)",
        *(cluster_id, user.user_id, run_id, label, [label, "bank"], size),
    )
    for number in range(size):
        with world.database.transaction() as connection:
            content_id = make_content(connection, status="READY", title=f"{label} {number}")
            make_item(connection, user.user_id, content_id)
            connection.execute(
                "insert into cluster_memberships (cluster_id, content_id, distance, x, y) values (%s, %s, %s, %s, %s)",
                (cluster_id, content_id, number / 30, number / 10, -0.5),
            )
    return cluster_id


def pages(user: ApiClient, path: str, limit: int) -> list[list[Any]]:
    found: list[list[Any]] = []
    query: dict[str, Any] = {}
    while True:
        answer = user.get(path, limit=limit, **query)
        assert answer.status == 200, answer.text
        found.append(answer.json["items"])
        if answer.json["next"] is None:
            return found
        query = {"next": answer.json["next"]}


def test_clusters_are_listed_largest_first_with_what_the_latest_run_came_to(world: World) -> None:
    user = world.user()
    make_run(world, user, contents=9, unclustered=9)
    run_id = make_run(world, user, contents=7, unclustered=2)
    small, large = make_cluster(world, user, run_id, 2, "derby"), make_cluster(world, user, run_id, 3)
    world.sql("update clusters set named_by = 'gpt-4.1-mini/prompt-1' where id = %s", small)

    answer = user.get("/v1/clusters").json

    assert [item["id"] for item in answer["items"]] == [str(large), str(small)]
    first = answer["items"][0]
    assert (first["label"], first["keywords"], first["size"]) == ("rates", ["rates", "bank"], 3)
    assert [item["named_by"] for item in answer["items"]] == [None, "gpt-4.1-mini/prompt-1"]
    assert first["first_seen_at"].endswith("Z")
    assert (answer["run"]["contents"], answer["run"]["unclustered"]) == (7, 2)


def test_before_the_first_grouping_there_is_nothing(world: World) -> None:
    assert world.user().get("/v1/clusters").json == {"items": [], "next": None, "run": None}


def test_lists_go_on_where_the_page_before_ended(world: World) -> None:
    user = world.user()
    run_id = make_run(world, user)
    ids = [make_cluster(world, user, run_id, size) for size in (1, 3, 1, 2, 3)]

    found = pages(user, "/v1/clusters", 2)

    assert [len(page) for page in found] == [2, 2, 1]
    assert [item["id"] for page in found for item in page] == [str(ids[at]) for at in (1, 4, 3, 0, 2)]


def test_a_cluster_is_shown_with_its_items_the_most_central_first(world: World) -> None:
    user = world.user()
    cluster_id = make_cluster(world, user, make_run(world, user), 5)

    found = pages(user, f"/v1/clusters/{cluster_id}", 2)

    assert [item["title"] for page in found for item in page] == [f"rates {number}" for number in range(5)]
    shown = user.get(f"/v1/clusters/{cluster_id}").json
    assert (shown["id"], shown["size"], len(shown["items"])) == (str(cluster_id), 5, 5)
    assert user.get(f"/v1/items/{shown['items'][0]['id']}").status == 200


def test_what_was_let_go_of_since_the_run_is_not_shown(world: World) -> None:
    user = world.user()
    cluster_id = make_cluster(world, user, make_run(world, user), 3)
    first = user.get(f"/v1/clusters/{cluster_id}").json["items"][0]
    assert user.delete(f"/v1/items/{first['id']}").status == 204

    titles = [item["title"] for item in user.get(f"/v1/clusters/{cluster_id}").json["items"]]

    assert titles == ["rates 1", "rates 2"]


def test_another_users_cluster_is_not_found(world: World) -> None:
    user, stranger = world.user(), world.user()
    theirs = make_cluster(world, stranger, make_run(world, stranger), 2)

    assert user.get("/v1/clusters").json["items"] == []
    for cluster_id in (theirs, new_id(), "nonsense"):
        answer = user.get(f"/v1/clusters/{cluster_id}")
        assert (answer.status, answer.code) == (404, "not_found")


@pytest.mark.parametrize("word", ["x", "W10", "bnVsbA", "WzEsMl0", "WyJhIiwiYiJd", "W3RydWUsIjAxIl0"])
def test_a_next_that_was_not_given_is_refused(world: World, word: str) -> None:
    answer = world.user().get("/v1/clusters", next=word)

    assert (answer.status, answer.code) == (422, "invalid_cursor")


def test_the_map_shows_where_each_item_lies_in_the_colour_of_its_cluster(world: World) -> None:
    user, stranger = world.user(), world.user()
    run_id = make_run(world, user, contents=5)
    large, small = make_cluster(world, user, run_id, 3, "derby"), make_cluster(world, user, run_id, 2)
    make_cluster(world, stranger, make_run(world, stranger), 2)
    world.sql("update clusters set colour = '#D55E00' where id = %s", small)

    shown = user.get("/v1/clusters/map").json

    assert [(cluster["id"], cluster["colour"]) for cluster in shown["clusters"]] == [
        (str(large), "#0072B2"),
        (str(small), "#D55E00"),
    ]
    assert sorted((point["title"], point["x"], point["y"], point["colour"]) for point in shown["points"]) == [
        ("derby 0", 0.0, -0.5, "#0072B2"),
        ("derby 1", pytest.approx(0.1), -0.5, "#0072B2"),
        ("derby 2", pytest.approx(0.2), -0.5, "#0072B2"),
        ("rates 0", 0.0, -0.5, "#D55E00"),
        ("rates 1", pytest.approx(0.1), -0.5, "#D55E00"),
    ]
    assert user.get(f"/v1/items/{shown['points'][0]['item_id']}").status == 200
    assert shown["run"]["contents"] == 5


def test_the_map_is_drawn_as_svg_with_title_description_and_legend(world: World) -> None:
    user = world.user()
    make_cluster(world, user, make_run(world, user), 3, '<script> & "derby"')

    answer = user.get("/v1/clusters/map.svg")

    assert answer.status == 200
    assert answer.headers["content-type"] == "image/svg+xml; charset=utf-8"
    picture = fromstring(answer.text)  # noqa: S314  what we drew
    words = ["".join(element.itertext()) for element in picture.iter() if element.tag.endswith(("}title", "}text"))]
    assert picture.attrib["role"] == "img"
    assert words[0] == "Map of your clusters"
    assert "3 items in 1 cluster" in picture.findtext("{*}desc", "")
    assert sum('<script> & "derby" ' in word for word in words) == 3
    assert "<script>" not in answer.text
    assert words.count('<script> & "derby"') == 1


def test_without_clusters_the_map_is_empty_and_says_so(world: World) -> None:
    user = world.user()

    assert user.get("/v1/clusters/map").json == {"clusters": [], "points": [], "run": None}
    assert "No clusters yet." in user.get("/v1/clusters/map.svg").text


def test_recompute_queues_one_grouping_however_often_it_is_asked_for(world: World) -> None:
    user = world.user()

    answers = [user.post("/v1/clusters/recompute") for _ in range(2)]

    assert [answer.status for answer in answers] == [202, 202]
    assert answers[0].json == answers[1].json
    jobs = world.sql("select id::text, job_type, queue, subject_id, state from jobs")
    assert jobs == [(answers[0].json["job_id"], JobType.CLUSTER_USER, Queue.CLUSTERING, user.user_id, "pending")]
    assert [envelope.key for envelope in world.sender.sent[Queue.CLUSTERING]][:1]


def test_reading_and_asking_need_their_scopes(world: World) -> None:
    assert world.user("write").get("/v1/clusters").status == 403
    assert world.user("read").post("/v1/clusters/recompute").status == 403


def test_what_is_deleted_is_neither_counted_nor_lends_its_title(world):
    user = world.user()
    run_id = make_run(world, user, contents=4)
    cluster = make_cluster(world, user, run_id, 3, label="Old pilgrim road")
    emptied = make_cluster(world, user, run_id, 1, label="Gone")
    world.sql("update clusters set keywords = %s where id = %s", ["pilgrim", "saint"], cluster)
    [first, *_] = user.get(f"/v1/clusters/{cluster}").json["items"]
    world.sql("update clusters set titled_by = %s where id = %s", uuid.UUID(first["content_id"]), cluster)
    assert user.get(f"/v1/clusters/{cluster}").json["label"] == "Old pilgrim road"

    user.send("DELETE", f"/v1/items/{first['id']}")
    [last] = user.get(f"/v1/clusters/{emptied}").json["items"]
    user.send("DELETE", f"/v1/items/{last['id']}")

    listed = user.get("/v1/clusters").json["items"]
    shown = user.get(f"/v1/clusters/{cluster}").json
    mapped = user.get("/v1/clusters/map").json["clusters"]
    for found in (listed, [shown], mapped):
        assert [(one["id"], one["size"], one["label"]) for one in found] == [(str(cluster), 2, "pilgrim \u00b7 saint")]
    assert len(shown["items"]) == 2
    assert ">Old pilgrim road<" not in user.get("/v1/clusters/map.svg").text
    assert user.get(f"/v1/clusters/{emptied}").status == 404


def test_recompute_takes_no_wishes(world: World) -> None:
    user = world.user()
    answer = user.post("/v1/clusters/recompute", {"a": 1})
    assert (answer.status, [fault["pointer"] for fault in answer.json["errors"]]) == (422, ["#/a"])
    assert user.post("/v1/clusters/recompute", {}).status == 202


def test_a_cluster_goes_on_with_its_own_pages_only(world: World) -> None:
    user = world.user()
    run_id = make_run(world, user, contents=6)
    one, other = (f"/v1/clusters/{make_cluster(world, user, run_id, 3)}" for _ in range(2))
    following = user.get(one, limit=2).json["next"]
    assert user.get(other, limit=2, next=following).code == "invalid_cursor"
    assert user.get(one, limit=1, next=following).status == 200
