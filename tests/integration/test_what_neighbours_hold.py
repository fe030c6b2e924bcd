"""Nobody learns from a shared row how somebody else spelt its address, that they held it, or what their feed said.

Cases T29 and its kind.
"""

from typing import Any
from uuid import UUID

import pytest

from siftline.fetch.kinds.readers import FeedReader
from siftline.ingest.page_child import PageReader
from siftline.kit.db import Database
from siftline.net.http import HttpClient
from tests.api_client import ApiClient, World
from tests.ingesting import Works, ingest_content
from tests.polling import Poller, follow, item, rows, rss
from tests.servers import Answer, LoopbackServer

SENTENCES = "<p>" + "The harbour council agreed to dredge the northern channel before winter. " * 12 + "</p>"
HTML = {"Content-Type": "text/html; charset=utf-8"}
PAGE = Answer(f"<html><head><title>Dredging</title></head><body>{SENTENCES}</body></html>".encode(), headers=HTML)
UNTITLED = Answer(f"<html><body>{SENTENCES}</body></html>".encode(), headers=HTML)
PERSONAL = (
    "https://news.example/one?mc_eid=SECRET#:~:text=private",
    "https://news.example/one/?utm_source=SECRET&mkt_tok=SECRET",
    "http://news.example/one#SECRET",
    "https://NEWS.example/one;jsessionid=SECRET",
    "https://user:SECRET@news.example/one?PHPSESSID=SECRET",
    "https://news.example/one?vero_id=SECRET%40mail.example&ck_subscriber_id=SECRET",
)


@pytest.fixture
def world(database: Database) -> World:
    return World(database, http_allow_loopback=True)


@pytest.fixture
def poller(database: Database, feed_reader: FeedReader) -> Poller:
    return Poller(database, feed_reader)


@pytest.fixture
def works(database: Database, once: HttpClient, page_reader: PageReader) -> Works:
    return Works(database, ingest_content(database, once, page_reader, analysis=False))


def saved(user: ApiClient, url: str) -> dict[str, Any]:
    answer = user.post("/v1/items", {"url": url})
    assert answer.status == 202, answer.text
    return dict(answer.json)


def shown(user: ApiClient, item_id: str) -> str:
    """Return all that the API says of a user's item and source."""
    paths = (
        "/v1/items",
        f"/v1/items/{item_id}",
        f"/v1/items/{item_id}/timeline",
        "/v1/feed",
        "/v1/sources",
        "/v1/opml",
    )
    answers = [user.get(path) for path in paths]
    assert {answer.status for answer in answers} == {200}
    return "\n".join(answer.text for answer in answers)


# --- Addresses


@pytest.mark.parametrize("personal", PERSONAL)
def test_each_user_keeps_their_own_spelling_of_a_page_and_sees_no_other(world: World, personal: str) -> None:
    """Case T29, whoever came first."""
    for first, second in ((personal, PERSONAL[0]), (PERSONAL[0], personal)):
        world.sql("delete from contents")
        one, other, plain = (world.user() for _ in range(3))
        ids = [saved(user, url)["id"] for user, url in ((one, first), (other, second))]
        last = saved(plain, "https://news.example/one")["id"]
        assert "SECRET" not in shown(plain, last)
        assert plain.get(f"/v1/items/{last}").json["url"] == "https://news.example/one"
        [(address,)] = world.sql("select url from contents")
        assert "SECRET" not in address
        assert address.startswith("https:")
        for user, id_, url in ((one, ids[0], first), (other, ids[1], second)):
            own = user.get(f"/v1/items/{id_}").json["url"]
            assert own == url.replace("NEWS", "news").replace("user:SECRET@", "")
            assert [one["url"] for one in user.get("/v1/feed").json["items"]] == [own]


def test_a_spelling_that_was_saved_first_stays_and_one_of_ones_own_goes_before_a_feeds(world: World) -> None:
    user = world.user()
    first = saved(user, "https://news.example/one?utm_source=a")["id"]
    assert user.post("/v1/items", {"url": "https://news.example/one?utm_source=b"}).status == 200
    assert user.get(f"/v1/items/{first}").json["url"] == "https://news.example/one?utm_source=a"


def test_a_followed_address_is_spelt_as_its_follower_does_in_lists_and_opml(world: World) -> None:
    one, other = world.user(), world.user()
    own = "https://feeds.example/all.xml?mc_eid=SECRET#:~:text=private"
    ids = [
        user.post("/v1/sources", {"url": url}).json["id"]
        for user, url in ((one, own), (other, own.split("?", maxsplit=1)[0]))
    ]
    assert ids[0] == ids[1]
    assert own in one.get("/v1/sources").text
    assert "SECRET" in one.get("/v1/opml").text
    for path in ("/v1/sources", f"/v1/sources/{ids[1]}", "/v1/opml"):
        assert "SECRET" not in other.get(path).text
    assert "SECRET" not in str(world.sql("select url, url_key from sources"))


def test_private_feeds_of_different_tokens_are_different_sources(world: World) -> None:
    one, other = world.user(), world.user()
    address = "https://feeds.example/private.xml?token="
    ids = {user.post("/v1/sources", {"url": address + user.user_id.hex}).json["id"] for user in (one, other)}
    assert len(ids) == 2
    assert one.user_id.hex not in other.get("/v1/sources").text + other.get("/v1/opml").text


@pytest.mark.parametrize("path", ["/v1/items", "/v1/sources"])
def test_https_is_asked_where_somebody_knows_it(world: World, path: str) -> None:
    for scheme in ("http", "https", "http"):
        assert world.user().post(path, {"url": f"{scheme}://news.example/one"}).status == 202
    table = path.rpartition("/")[2].replace("items", "contents")
    assert world.sql(f"select url from {table}") == [("https://news.example/one",)]


# --- That somebody held it


def test_a_page_that_was_read_for_somebody_else_looks_new(world: World, works: Works, site: LoopbackServer) -> None:
    site.answers["/page"] = PAGE
    before, after = world.user(), world.user()
    content_id = UUID(saved(before, site.url("/page"))["content_id"])
    works.work(content_id)
    world.sql(
        "insert into derivations (content_id, kind, model_id, model_version, input_sha256)"
        " values (%s, 'language', 'm', '1', '\\x00')",
        content_id,
    )
    for table, column in (
        ("contents", "first_seen_at"), ("contents", "sort_at"), ("items", "created_at"), ("job_events", "at"),
        ("derivations", "made_at"),
    ):  # fmt: skip
        world.sql(f"update {table} set {column} = {column} - interval '3 days'")
    answer = saved(after, site.url("/page"))
    assert answer["status"] == "PENDING"
    assert content_id.version == 4  # it tells no time
    one = after.get(f"/v1/items/{answer['id']}").json
    assert one["status"] == "READY"
    assert one["first_seen_at"] == one["sort_at"] == one["created_at"]
    assert [made["made_at"] for made in one["derivations"]] == [one["created_at"]]
    assert after.get(f"/v1/items/{answer['id']}/timeline").json["steps"] == []
    # AND who held it sees nothing of that
    [mine] = before.get("/v1/items").json["items"]
    assert mine["first_seen_at"] < one["first_seen_at"]
    assert before.get(f"/v1/items/{mine['id']}/timeline").json["steps"]


def test_the_first_of_a_group_is_the_first_of_ones_own(world: World) -> None:
    other, user = world.user(), world.user()
    ids = [UUID(saved(other, f"https://n{n}.example/")["content_id"]) for n in range(3)]
    own = [saved(user, f"https://n{n}.example/")["id"] for n in (2, 1)]
    world.sql("update contents set duplicate_of = %s where id <> %s", ids[0], ids[0])
    marks = [user.get(f"/v1/items/{id_}").json["duplicates"] for id_ in own]
    assert [[(one["id"], one["original"]) for one in mark] for mark in marks] == [[(own[1], False)], [(own[0], True)]]


# --- What a feed says of another site's page


def planted(world: World, poller: Poller, site: LoopbackServer, link: str) -> tuple[ApiClient, UUID]:
    """Let a feed of another site name a page; returns its follower and the page's content."""
    told = item(
        1, link=link, title="Planted", description="False. " * 400, author="liar@x.example (A. Liar)",
        pubDate="Mon, 04 Jan 1999 10:00:00 GMT", category="lies",
    )  # fmt: skip
    site.answers["/feed"] = Answer(rss(told))
    follower = world.user()
    source_id = follow(follower, site)
    poller.poll(source_id)
    return follower, rows(world.database, "select id from contents")[0]["id"]


def test_what_a_feed_calls_another_sites_page_is_for_its_followers_alone(
    world: World, poller: Poller, site: LoopbackServer
) -> None:
    follower, _ = planted(world, poller, site, "https://victim.example/page")
    [theirs] = follower.get("/v1/items").json["items"]
    assert (theirs["title"], theirs["published_at"][:4], theirs["sort_at"][:4]) == ("Planted", "1999", "1999")
    stranger = world.user()
    item_id = saved(stranger, "https://victim.example/page")["id"]
    one = stranger.get(f"/v1/items/{item_id}").json
    assert (one["title"], one["published_at"], one["author"], one["description"]) == (None,) * 4
    assert one["sort_at"] == one["first_seen_at"]
    text = shown(stranger, item_id)
    assert not any(word in text for word in ("Planted", "False", "Liar", "1999", "lies"))
    [row] = rows(world.database, "select * from contents")
    assert row["sort_at"] == row["first_seen_at"]
    assert not any(word in str(row) for word in ("Planted", "False", "Liar", "lies"))


def test_a_later_follower_of_the_feed_is_told_what_it_says(world: World, poller: Poller, site: LoopbackServer) -> None:
    planted(world, poller, site, "https://victim.example/page")
    later = world.user()
    follow(later, site)
    assert [one["title"] for one in later.get("/v1/items").json["items"]] == ["Planted"]


def test_a_page_without_a_title_has_none_of_a_feeds_after_it_was_read(
    world: World, poller: Poller, site: LoopbackServer, works: Works
) -> None:
    site.answers["/page"] = UNTITLED
    link = site.url("/page", host="localhost")  # another site than the feed's
    follower, content_id = planted(world, poller, site, link)
    stranger = world.user()
    item_id = saved(stranger, link)["id"]
    assert works.work(content_id)["status"] == "READY"
    one = stranger.get(f"/v1/items/{item_id}").json
    assert (one["title"], one["published_at"]) == (None, None)
    assert "dredge" in one["text"]
    assert [mine["title"] for mine in follower.get("/v1/items").json["items"]] == ["Planted"]
