"""Whoever names another's thing by its id is told that there is none, on every route that takes an id."""

from uuid import UUID

import pytest

from siftline.api.http.auth import OPEN_BY_TOKEN
from siftline.api.http.resolver import HttpApi
from siftline.api.search_routes import SearchRoutes
from siftline.kit.db import Database
from siftline.kit.ids import new_id
from siftline.kit.log import logger
from tests.api_client import ApiClient, World
from tests.factories import make_content, make_item, make_source

# What a route must be sent to get as far as looking for the thing.
BODIES = {
    ("PATCH", "/v1/items/{item_id}"): {"starred": True},
    ("PATCH", "/v1/sources/{source_id}"): {"title": "Mine"},
    ("PATCH", "/v1/folders/{folder_id}"): {"name": "Mine"},
    ("PUT", "/v1/sources/{source_id}/topics"): {"topics": []},
    ("POST", "/v1/sources/{source_id}/choose"): {"url": "https://example.org/feed.xml"},
    ("PATCH", "/v1/briefings/{briefing_id}"): {"name": "Mine"},
}
# The search function's; the same is shown where that is put together (test_search.py).
ELSEWHERE = {("GET", "/v1/items/{item_id}/similar")}


@pytest.fixture
def world(database: Database) -> World:
    return World(database)


def things(world: World, user: ApiClient) -> dict[str, UUID | str]:
    """Give a user one thing of each kind that a route's path can name; by the name of the parameter."""
    ids = {
        name: new_id()
        for name in (
            *("cluster_id", "token_id", "feed_token_id", "subscription", "run", "entity", "briefing_id", "edition_id"),
            "address_id",
            "folder_id",
        )
    }
    with world.database.transaction() as connection:
        content_id = make_content(connection, status="READY", text="text", topics="[]")
        ids["item_id"] = make_item(connection, user.user_id, content_id)
        ids["source_id"] = make_source(connection)
        connection.execute(
            "insert into subscriptions (id, user_id, source_id) values (%s, %s, %s)",
            (ids["subscription"], user.user_id, ids["source_id"]),
        )
        connection.execute(
            "insert into folders (id, user_id, name) values (%s, %s, 'News')", (ids["folder_id"], user.user_id)
        )
        connection.execute(
            "insert into folder_sources (folder_id, user_id, source_id) values (%s, %s, %s)",
            (ids["folder_id"], user.user_id, ids["source_id"]),
        )
        connection.execute(
            "insert into access_tokens (id, user_id, name, token_sha256, scopes) values (%s, %s, 'own', %s, '{read}')",
            (ids["token_id"], user.user_id, bytes(32)),
        )
        connection.execute(
            "insert into feed_tokens (id, user_id, name, token_sha256) values (%s, %s, 'own', %s)",
            (ids["feed_token_id"], user.user_id, bytes(32)),
        )
        connection.execute(
            "insert into mail_addresses (id, user_id, address, token) values (%s, %s, 'own@news.example', 'ask')",
            (ids["address_id"], user.user_id),
        )
        connection.execute(
            "insert into cluster_runs (id, user_id, model_version, parameters, quality, contents)"
            " values (%s, %s, 'm', '{}', '{}', 1)",
            (ids["run"], user.user_id),
        )
        connection.execute(
            "insert into clusters (id, user_id, run_id, label, keywords, centroid, size)"
            " values (%s, %s, %s, 'Story', '{}', '', 1)",
            (ids["cluster_id"], user.user_id, ids["run"]),
        )
        connection.execute("insert into cluster_memberships values (%s, %s, 0)", (ids["cluster_id"], content_id))
        connection.execute(
            "insert into entities (id, kind, name, temporary_id) values (%s, 'ORG', 'Acme', 'acme')", (ids["entity"],)
        )
        connection.execute(
            "insert into entity_aliases (kind, temporary_id, entity_id, name, normalised)"
            " values ('ORG', 'acme', %s, 'Acme', 'acme')",
            (ids["entity"],),
        )
        connection.execute("insert into content_entities values (%s, %s, 1)", (content_id, ids["entity"]))
        connection.execute(
            "insert into briefings (id, user_id, name, frequency, at, unsubscribe_token)"
            " values (%s, %s, 'Morning', 'DAILY', '07:00', 'stop')",
            (ids["briefing_id"], user.user_id),
        )
        connection.execute(
            "insert into editions (id, briefing_id, user_id, period_key, due_at, window_from, window_until, stories,"
            " document, html, plain, read_token)"
            " values (%s, %s, %s, '2026-11-28', now(), now(), now(), 0, %s, '', '', 'read')",
            (ids["edition_id"], ids["briefing_id"], user.user_id, '{"briefing": {"name": "Morning"}}'),
        )
    return {**ids, "entity_id": "acme"}


def stored(world: World) -> list[object]:
    tables = ["items", "contents", "sources", "subscriptions", "access_tokens", "clusters", "jobs", "item_tombstones"]
    tables += ["briefings", "editions", "feed_tokens", "mail_addresses", "folders", "folder_sources"]
    return [world.sql(f"select * from {table} order by 1, 2") for table in tables]


def test_another_users_thing_is_not_there_on_any_route_that_takes_an_id(world: World) -> None:
    """Case S09: user B acts on what is A's, of every kind that a path names; nothing of it is shown or changed."""
    owner, other = world.user("read", "write"), world.user("read", "write", "admin")
    ids = things(world, owner)
    before = stored(world)
    routes = sorted(route for route in world.api.routes() if "{" in route[1] and route[1] not in OPEN_BY_TOKEN)
    assert {path.split("{")[1].split("}")[0] for _, path in routes} == {
        "item_id",
        "source_id",
        "cluster_id",
        "token_id",
        "feed_token_id",
        "entity_id",
        "briefing_id",
        "edition_id",
        "address_id",
        "folder_id",
    }
    answers = {
        (method, path): other.send(method, path.format(**ids), body=BODIES.get((method, path)))
        for method, path in routes
    }
    assert {route: answer.status for route, answer in answers.items() if answer.status != 404} == {}
    assert {answer.code for answer in answers.values()} == {"not_found"}
    assert stored(world) == before
    # The owner is let through by the very same requests, so that it is ownership that was asked for.
    for (method, path), answer in answers.items():
        if method == "GET":
            assert owner.send(method, path.format(**ids)).status == 200, (path, answer.text)


def test_the_routes_of_the_search_function_are_known_here() -> None:
    """Case S09: a new route that takes an id must be looked at where its function is tested."""
    search = HttpApi([SearchRoutes(None)], logger("search"))
    assert {route for route in search.routes() if "{" in route[1]} == ELSEWHERE
