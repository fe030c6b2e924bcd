"""A site and its feed, followed by one person before anybody knew that they are the same: one subscription is left."""

from collections.abc import Iterator
from uuid import UUID

import pytest

from siftline.fetch.kinds.readers import FeedReader, LinkReader
from siftline.kit.db import Database
from tests.api_client import ApiClient, World
from tests.polling import Poller, follow, held, item, rss, source_of
from tests.servers import Answer, LoopbackServer, serving

PAGE = b'<!doctype html><title>Site</title><link rel=alternate type="application/rss+xml" title=News href="/feed">'
SITE, FEED = "/", "/feed"


@pytest.fixture
def server() -> Iterator[LoopbackServer]:
    with serving() as running:
        running.answers[SITE] = Answer(PAGE, headers={"Content-Type": "text/html"})
        running.answers[FEED] = Answer(rss(item(0), item(1)))
        yield running


@pytest.fixture
def world(database: Database) -> World:
    return World(database, http_allow_loopback=True)


@pytest.fixture
def poller(database: Database, feed_reader: FeedReader, link_reader: LinkReader) -> Poller:
    return Poller(database, feed_reader, pages=link_reader)


def followed(user: ApiClient) -> list[UUID]:
    return [UUID(one["id"]) for one in user.get("/v1/sources").json["items"]]


def polled(world: World) -> list[UUID]:
    return [id_ for (id_,) in world.sql("select id from sources where health <> 'inactive' order by id")]


def test_a_site_of_a_feed_that_is_followed_gives_way_to_it(
    world: World, server: LoopbackServer, poller: Poller
) -> None:
    user = world.user()
    feed = follow(user, server, FEED)
    poller.poll(feed)
    site = follow(user, server, SITE)
    assert poller.poll(site) == {"found": server.url(FEED)}
    assert followed(user) == polled(world) == [feed]
    assert user.get(f"/v1/sources/{site}").status == 404
    assert held(user) == ["Entry 0", "Entry 1"]
    # The poll that discovery queued ends at once, and the site's address means the feed from now on.
    assert poller.poll(site) == {"skipped": "inactive"}
    assert len(server.asked(FEED)) == 1
    again = user.post("/v1/sources", {"url": server.url(SITE)})
    assert (again.status, again.json["id"]) == (200, str(feed))


def test_a_feed_gives_way_to_its_site_that_was_followed_first_and_its_items_stay(
    world: World, server: LoopbackServer, poller: Poller
) -> None:
    user = world.user()
    site, feed = follow(user, server, SITE), follow(user, server, FEED)
    poller.poll(feed)
    poller.poll(site)
    assert followed(user) == polled(world) == [site]
    assert user.get(f"/v1/sources/{feed}").status == 404
    assert held(user) == ["Entry 0", "Entry 1"]
    server.answers[FEED] = Answer(rss(item(0), item(1), item(2)))
    assert poller.poll(site)["new"] == 3
    assert held(user) == ["Entry 0", "Entry 1", "Entry 2"]
    assert len(user.get("/v1/items", source_id=site).json["items"]) == 3
    again = user.post("/v1/sources", {"url": server.url(FEED)})
    assert (again.status, again.json["id"]) == (200, str(site))


@pytest.mark.parametrize("first", [SITE, FEED])
def test_items_are_of_what_stays_and_an_entry_without_a_page_is_there_once(
    world: World, server: LoopbackServer, poller: Poller, first: str
) -> None:
    notes = [f"<item><guid>{name}</guid><title>{name}</title></item>" for name in ("Note", "Deleted")]
    server.answers[FEED] = Answer(rss(item(0), *notes))
    user, others = world.user(), world.user()
    second = FEED if first == SITE else SITE
    kept, other = follow(user, server, first), follow(user, server, second)
    site, feed = (kept, other) if first == SITE else (other, kept)
    poller.poll(feed)
    [deleted] = [one["id"] for one in user.get("/v1/items").json["items"] if one["title"] == "Deleted"]
    user.delete(f"/v1/items/{deleted}")
    poller.poll(site)
    poller.poll(kept)
    assert held(user) == ["Entry 0", "Note"]
    assert {one["source_id"] for one in user.get("/v1/items").json["items"]} == {str(kept)}
    # Whoever follows it by its other address later gets it all.
    follow(others, server, second)
    poller.poll(other)
    poller.poll(kept)
    assert held(others) == ["Deleted", "Entry 0", "Note"]
    assert held(user) == ["Entry 0", "Note"]


@pytest.mark.parametrize("first", [SITE, FEED])
def test_what_stays_has_its_own_name_and_the_folders_and_topics_of_both(
    world: World, server: LoopbackServer, poller: Poller, first: str
) -> None:
    user = world.user()
    [a, b, c] = [user.post("/v1/folders", {"name": name}).json["id"] for name in "abc"]
    second = FEED if first == SITE else SITE
    kept, other = follow(user, server, first), follow(user, server, second)
    user.patch(f"/v1/sources/{kept}", {"title": "Mine", "topics": ["sea", "air"], "folder_ids": [a, b]})
    user.patch(f"/v1/sources/{other}", {"title": "Other", "topics": ["air", "tides"], "folder_ids": [b, c]})
    world.sql("insert into topic_sets (id, user_id, source_id) values (gen_random_uuid(), %s, %s)", user.user_id, other)
    poller.poll(kept if first == SITE else other)
    assert world.sql("select source_id from topic_sets") == [(kept,)]
    [source] = user.get("/v1/sources").json["items"]
    assert (source["id"], source["title"], source["topics"]) == (str(kept), "Mine", ["sea", "air", "tides"])
    assert [folder["name"] for folder in source["folders"]] == ["a", "b", "c"]


@pytest.mark.parametrize("first", [SITE, FEED])
def test_who_follows_one_of_both_keeps_it_and_it_is_polled_for_them(
    world: World, server: LoopbackServer, poller: Poller, first: str
) -> None:
    both, site_only, feed_only = world.user(), world.user(), world.user()
    second = FEED if first == SITE else SITE
    kept, other = follow(both, server, first), follow(both, server, second)
    site, feed = (kept, other) if first == SITE else (other, kept)
    follow(site_only, server, SITE)
    follow(feed_only, server, FEED)
    both.patch(f"/v1/sources/{other}", {"refresh_minutes": 5})
    poller.poll(site)
    assert (followed(both), followed(site_only), followed(feed_only)) == ([kept], [site], [feed])
    assert polled(world) == sorted([site, feed])
    # Who left wishes nothing any more.
    assert source_of(world.database, other)["wished_minutes"] is None


def test_nobody_loses_what_only_others_follow_besides(world: World, server: LoopbackServer, poller: Poller) -> None:
    one, other = world.user(), world.user()
    site, feed = follow(one, server, SITE), follow(other, server, FEED)
    poller.poll(site)
    assert (followed(one), followed(other)) == ([site], [feed])
    assert polled(world) == sorted([site, feed])


@pytest.mark.parametrize("odd", ["{}", "7", "null", "[null]"])
def test_topics_of_a_follower_that_cannot_be_read_keep_nobody_from_the_feed(
    world: World, server: LoopbackServer, poller: Poller, odd: str
) -> None:
    user, other = world.user(), world.user()
    feed, site = follow(user, server, FEED), follow(user, server, SITE)
    follow(other, server, SITE)
    world.sql("update subscriptions set topics = %s::jsonb where user_id = %s", odd, user.user_id)
    assert poller.poll(site) == {"found": server.url(FEED)}
    poller.poll(feed)
    assert held(user) == ["Entry 0", "Entry 1"]
    assert (followed(user), followed(other)) == ([feed], [site])
