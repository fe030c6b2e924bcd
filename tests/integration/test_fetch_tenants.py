"""What one reader deletes is deleted for that reader: two of them, one feed, the API and real polls."""

from collections.abc import Iterator
from uuid import UUID

import pytest

from siftline.fetch.kinds.readers import FeedReader
from siftline.kit.db import Database
from tests.api_client import ApiClient, World
from tests.polling import Poller, follow, held, item, poll_settings, rows, rss, source_of
from tests.servers import Answer, LoopbackServer, redirect, serving

OLD, BOTH = rss(item(0), item(1)), rss(item(0), item(1), item(2))


@pytest.fixture
def server() -> Iterator[LoopbackServer]:
    with serving() as running:
        running.answers["/feed"] = Answer(OLD, headers={"ETag": '"a"'})
        yield running


@pytest.fixture
def world(database: Database) -> World:
    return World(database, http_allow_loopback=True)


@pytest.fixture
def poller(database: Database, feed_reader: FeedReader) -> Poller:
    return Poller(database, feed_reader)


def delete(user: ApiClient, title: str) -> None:
    [one] = [one for one in user.get("/v1/items").json["items"] if one["title"] == title]
    assert user.delete(f"/v1/items/{one['id']}").status == 204


def test_a_deleted_entry_does_not_come_back_to_who_deleted_it(
    world: World, server: LoopbackServer, poller: Poller
) -> None:
    user = world.user()
    source_id = follow(user, server)
    poller.poll(source_id)
    delete(user, "Entry 0")
    server.answers["/feed"] = Answer(BOTH)
    assert poller.poll(source_id)["returned"] == 0
    assert held(user) == ["Entry 1", "Entry 2"]
    # WHEN they leave and come back
    user.delete(f"/v1/sources/{source_id}")
    assert follow(user, server) == source_id
    poller.poll(source_id)
    assert held(user) == ["Entry 1", "Entry 2"]


def test_who_follows_later_gets_what_others_deleted_and_they_do_not_get_it_again(
    world: World, server: LoopbackServer, poller: Poller
) -> None:
    first, later = world.user(), world.user()
    source_id = follow(first, server)
    poller.poll(source_id)
    delete(first, "Entry 0")
    delete(first, "Entry 1")
    world.sql("update jobs set state = 'completed', finished_at = now() where state = 'pending'")
    world.sql("update subscriptions set created_at = created_at - interval '1 day'")
    world.sql("update item_tombstones set deleted_at = deleted_at - interval '1 hour'")
    assert follow(later, server) == source_id
    assert rows(world.database, "select job_type from jobs where state = 'pending'") == [{"job_type": "fetch_source"}]
    # THEN the unchanged feed is asked for whole, and read for the second only
    poll = poller.poll(source_id)
    assert (poll["new"], poll["returned"]) == (0, 2)
    assert "if-none-match" not in server.asked("/feed")[-1].headers
    assert (held(first), held(later)) == ([], ["Entry 0", "Entry 1"])
    assert poller.poll(source_id) == {"unchanged": "same body"}
    # AND it is one entry still, known by its content
    delete(later, "Entry 0")
    server.answers["/feed"] = Answer(BOTH)
    assert poller.poll(source_id)["returned"] == 0
    assert (held(first), held(later)) == (["Entry 2"], ["Entry 1", "Entry 2"])


def test_what_one_of_two_deletes_stays_with_the_other_and_is_not_given_back(
    world: World, server: LoopbackServer, poller: Poller
) -> None:
    first, second = world.user(), world.user()
    source_id = follow(first, server)
    follow(second, server)
    poller.poll(source_id)
    delete(first, "Entry 0")
    server.answers["/feed"] = Answer(BOTH)
    poller.poll(source_id)
    assert (held(first), held(second)) == (["Entry 1", "Entry 2"], ["Entry 0", "Entry 1", "Entry 2"])
    first.delete(f"/v1/sources/{source_id}")
    follow(first, server)
    assert held(first) == ["Entry 1", "Entry 2"]


def test_another_feed_does_not_bring_it_back_but_saving_it_by_hand_does(
    world: World, server: LoopbackServer, poller: Poller
) -> None:
    user = world.user()
    source_id = follow(user, server)
    poller.poll(source_id)
    delete(user, "Entry 0")
    server.answers["/other"] = Answer(rss(item(0, guid="other")))
    other = user.post("/v1/sources", {"url": server.url("/other")}).json["id"]
    poller.poll(UUID(other))
    assert held(user) == ["Entry 1"]
    assert user.post("/v1/items", {"url": "https://news.example/0"}).status == 202
    urls = sorted(one["url"] for one in user.get("/v1/items").json["items"])
    assert urls == ["https://news.example/0", "https://news.example/1"]


@pytest.mark.parametrize(("first_import", "analysed"), [("skip", 0), ("all", 2)])
def test_the_import_rule_holds_for_what_returns_from_the_first_poll(
    world: World, server: LoopbackServer, feed_reader: FeedReader, first_import: str, analysed: int
) -> None:
    poller = Poller(world.database, feed_reader, poll_settings(first_import=first_import))
    first, later = world.user(), world.user()
    source_id = follow(first, server)
    poller.poll(source_id)
    for title in ("Entry 0", "Entry 1"):
        delete(first, title)
    follow(later, server)
    assert poller.poll(source_id)["returned"] == 2
    found = rows(world.database, "select status from contents")
    assert [row["status"] for row in found] == ["PENDING" if analysed else "READY"] * 2


def test_a_poll_under_way_while_somebody_follows_does_not_hide_that_the_whole_feed_is_wanted(
    world: World, server: LoopbackServer, poller: Poller
) -> None:
    first, later = world.user(), world.user()
    source_id = follow(first, server)
    poller.poll(source_id)
    delete(first, "Entry 0")
    server.answers["/feed"] = Answer(BOTH)
    poller.poll(source_id, meanwhile=lambda: follow(later, server))
    source = source_of(world.database, source_id)
    assert (source["last_full_at"], source["body_sha256"]) == (None, None)
    assert poller.poll(source_id)["returned"] == 1
    assert held(later) == ["Entry 0", "Entry 1", "Entry 2"]


ELSEWHERE = "127.1"  # reaches the same server, and is another site by its name


@pytest.mark.parametrize("hop", [301, 302, 307])
def test_a_site_that_redirects_anywhere_lends_its_word_to_nobody(
    world: World, server: LoopbackServer, poller: Poller, hop: int
) -> None:
    victim, mallory = world.user(), world.user()
    pages = [server.url(f"/art/{number}") for number in range(2)]
    assert victim.post("/v1/items", {"url": pages[0]}).status == 202
    entries = [
        item(number, link=page, author="Mallory", description="Forged. " * 400, pubDate="Thu, 01 Jan 1970 00:00:00 GMT")
        for number, page in enumerate(pages)
    ]
    server.answers["/forged"] = Answer(rss(*entries))
    server.answers["/out"] = redirect(server.url("/forged", host=ELSEWHERE), hop)
    # WHEN the feed comes by way of the victim's own site, and then tells other things of the pages
    source_id = UUID(mallory.post("/v1/sources", {"url": server.url("/out")}).json["id"])
    poller.poll(source_id)
    server.answers["/forged"] = Answer(rss(*(item(number, link=page) for number, page in enumerate(pages))))
    poller.poll(source_id)
    # THEN it has said no more of them than that they are there
    kept = rows(world.database, "select * from contents order by url")
    assert [row["url"] for row in kept] == pages
    told = ("entry_html", "author", "description", "site_name", "image_url")
    assert all(row[name] is None for row in kept for name in told)
    assert kept[0]["title"] is None


def test_a_feed_of_the_pages_own_site_is_believed_through_redirects_within_it(
    world: World, server: LoopbackServer, poller: Poller
) -> None:
    user = world.user()
    server.answers["/told"] = Answer(rss(item(0, link=server.url("/art/0"), author="Ann")))
    server.answers["/out"] = redirect(server.url("/told"), 302)
    poller.poll(UUID(user.post("/v1/sources", {"url": server.url("/out")}).json["id"]))
    [kept] = rows(world.database, "select author, entry_html from contents")
    assert kept == {"author": "Ann", "entry_html": "Text of entry 0."}
