"""A site's address given for its feed, on a real database and a real server."""

from collections.abc import Iterator
from dataclasses import replace
from urllib.parse import urlsplit
from uuid import UUID

import pytest

from siftline.fetch.kinds import rss_fetcher
from siftline.fetch.kinds.feed_locations import guesses
from siftline.fetch.kinds.readers import FeedReader, LinkPageTooComplexError, LinkReader
from siftline.kit.db import Database
from tests.polling import Poller, item, poll_settings, rows, rss, source_of, subscribed
from tests.servers import Answer, LoopbackServer, redirect, serving

HTML = {"Content-Type": "text/html; charset=utf-8"}


@pytest.fixture
def server() -> Iterator[LoopbackServer]:
    with serving() as running:
        yield running


@pytest.fixture
def poller(database: Database, feed_reader: FeedReader, link_reader: LinkReader) -> Poller:
    return Poller(database, feed_reader, pages=link_reader)


def page(*links: tuple[str, str], body: str = "") -> Answer:
    head = "".join(f'<link rel=alternate type="application/rss+xml" title="{name}" href="{to}">' for to, name in links)
    return Answer(f"<!doctype html><title>Site</title>{head}<body>{body}".encode(), headers=HTML)


def waits_h(database: Database, source_id: UUID) -> float:
    query = "select extract(epoch from next_fetch_at - now())::float8 / 3600 as hours from sources where id = %s"
    return float(rows(database, query, source_id)[0]["hours"])


def test_the_main_feed_of_a_site_is_found_and_polled(poller: Poller, server: LoopbackServer) -> None:
    """Case F31: a page that lists its comments feed first."""
    server.answers["/"] = page(("/comments/feed", "Site » Comments Feed"), ("/feed", "Site » Feed"))
    server.answers["/feed"] = Answer(rss(item(1)), headers={"ETag": '"1"'})
    source_id = subscribed(poller.database, server, "/")
    # WHEN the page is polled, its feed is found and its poll enqueued
    assert poller.poll(source_id) == {"found": server.url("/feed")}
    source = source_of(poller.database, source_id)
    assert (source["url"], source["feed_url"]) == (server.url("/"), server.url("/feed"))
    assert (source["fetch_status"], source["imported_at"]) == ("QUEUED", None)
    # AND that polls the feed, now and from now on, under its validators
    assert poller.poll(source_id)["new"] == 1
    server.answers["/feed"] = Answer(status=304)
    assert poller.poll(source_id) == {"unchanged": "not modified"}
    assert len(server.asked("/")) == 1
    assert not server.asked("/comments/feed")


def test_equal_feeds_wait_for_a_choice_and_the_page_is_left_alone(poller: Poller, server: LoopbackServer) -> None:
    """Case F31: ask when unsure."""
    server.answers["/"] = page(("/world.xml", "World"), ("/sport.xml", "Sport"))
    source_id = subscribed(poller.database, server, "/")
    assert poller.failing(source_id) == "several_feeds"
    source = source_of(poller.database, source_id)
    assert [candidate["title"] for candidate in source["candidates"]] == ["World", "Sport"]
    assert source["candidates"][0]["url"] == server.url("/world.xml")
    assert (source["last_error_code"], source["consecutive_failures"]) == ("several_feeds", 1)
    assert waits_h(poller.database, source_id) > 100
    # WHEN the site makes up its mind, nothing is left to be chosen
    server.answers["/"] = page(("/world.xml", "World"))
    assert poller.poll(source_id) == {"found": server.url("/world.xml")}
    assert source_of(poller.database, source_id)["candidates"] == []


def test_where_a_page_names_none_the_usual_places_are_tried(poller: Poller, server: LoopbackServer) -> None:
    server.answers["/"] = page(body="<a href='/about'>About</a>")
    server.answers["/feed"] = page()  # a site that answers everything with its own page
    server.answers["/rss.xml"] = redirect("/real.xml")
    server.answers["/real.xml"] = Answer(rss(item(1)))
    source_id = subscribed(poller.database, server, "/")
    assert poller.poll(source_id) == {"found": server.url("/rss.xml")}


def test_no_more_places_are_tried_than_allowed(poller: Poller, server: LoopbackServer) -> None:
    server.answers["/"] = page()
    source_id = subscribed(poller.database, server, "/")
    assert poller.failing(source_id) == "no_feed_found"
    assert [request.path for request in server.requests] == [
        "/",
        *(urlsplit(url).path for url in guesses(server.url("/"), 8)),
    ]
    source = source_of(poller.database, source_id)
    assert "web" in source["last_error_detail"]
    assert waits_h(poller.database, source_id) > 100


def test_after_its_time_no_place_is_tried(
    poller: Poller, server: LoopbackServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rss_fetcher, "SEARCH_S", 1e-9)
    server.answers["/"] = page()
    source_id = subscribed(poller.database, server, "/")
    assert poller.failing(source_id) == "no_feed_found"
    assert len(server.requests) == 1


def test_every_request_is_made_in_the_hosts_pace(poller: Poller, server: LoopbackServer) -> None:
    server.answers["/"] = page()
    source_id = subscribed(poller.database, server, "/")
    paced = replace(poller, settings=poll_settings(host_pace_loopback=True, host_burst=2, host_requests_per_s=0.001))
    assert paced.failing(source_id) == "search_interrupted"
    assert len(server.requests) == 2


def test_a_server_that_asks_for_patience_is_not_tried_further(poller: Poller, server: LoopbackServer) -> None:
    server.answers["/"] = page()
    server.answers["/feed"] = Answer(status=429, headers={"Retry-After": "600"})
    source_id = subscribed(poller.database, server, "/")
    assert poller.failing(source_id) == "http_429"
    assert not server.asked("/rss.xml")


def test_a_link_that_only_looks_like_a_feed_must_be_one(poller: Poller, server: LoopbackServer) -> None:
    server.answers["/"] = page(body="<a href='/news.rss'>RSS</a>")
    source_id = subscribed(poller.database, server, "/")
    assert poller.failing(source_id) == "no_feed_found"
    server.answers["/news.rss"] = Answer(rss(item(1)))
    assert poller.poll(source_id) == {"found": server.url("/news.rss")}


@pytest.mark.parametrize("gone", [Answer(status=404), Answer(status=410), page()], ids=["404", "410", "page"])
def test_a_feed_that_moved_is_found_again_from_its_page(poller: Poller, server: LoopbackServer, gone: Answer) -> None:
    server.answers |= {"/": page(("/old", "Site")), "/old": Answer(rss(item(1))), "/new": Answer(rss(item(1), item(2)))}
    source_id = subscribed(poller.database, server, "/")
    poller.poll(source_id)
    poller.poll(source_id)
    server.answers |= {"/": page(("/new", "Site")), "/old": gone}
    assert poller.poll(source_id) == {"found": server.url("/new")}
    assert poller.poll(source_id)["new"] == 1
    assert source_of(poller.database, source_id)["consecutive_failures"] == 0


def test_a_feed_that_is_gone_without_another_ends_as_ever(poller: Poller, server: LoopbackServer) -> None:
    server.answers |= {"/": page(("/feed", "Site")), "/feed": Answer(rss(item(1)))}
    source_id = subscribed(poller.database, server, "/")
    poller.poll(source_id)
    poller.poll(source_id)
    server.answers["/feed"] = Answer(status=404)
    assert poller.failing(source_id) == "not_found"
    assert len(server.asked("/")) == 2
    assert source_of(poller.database, source_id)["feed_url"] == server.url("/feed")
    server.answers["/feed"] = Answer(rss(item(1), item(2)))
    assert poller.poll(source_id)["new"] == 1


def test_two_feeds_that_are_gone_and_named_in_turn_make_no_endless_work(poller: Poller, server: LoopbackServer) -> None:
    server.answers["/"] = [page(("/a", "Site")), page(("/b", "Site")), page(("/a", "Site"))]
    source_id = subscribed(poller.database, server, "/")
    assert poller.poll(source_id) == {"found": server.url("/a")}
    assert poller.poll(source_id) == {"found": server.url("/b")}
    assert rows(poller.database, "select * from jobs where state = 'pending'") == []
    assert poller.poll(source_id) == {"found": server.url("/a")}
    assert source_of(poller.database, source_id)["consecutive_failures"] == 2


def test_a_feed_that_answers_with_a_page_for_once_stays_what_it_was(poller: Poller, server: LoopbackServer) -> None:
    server.answers["/feed"] = Answer(rss(item(1)))
    source_id = subscribed(poller.database, server, "/feed")
    poller.poll(source_id)
    server.answers["/feed"] = page(body="We are back soon.")
    assert poller.failing(source_id) == "not_a_feed"
    assert len(server.requests) == 2
    assert waits_h(poller.database, source_id) < 100


def test_the_feed_of_a_youtube_playlist_needs_no_request(poller: Poller, server: LoopbackServer) -> None:
    source_id = subscribed(poller.database, server, "/")
    address = "https://www.youtube.com/playlist?list=PL0123456789"
    rows(poller.database, "update sources set url = %s where id = %s returning id", address, source_id)
    found = poller.poll(source_id)["found"]
    assert found == "https://www.youtube.com/feeds/videos.xml?playlist_id=PL0123456789"
    assert not server.requests


class TestWeb:
    LINKS = "".join(f"<h2><a href='/{n}-a-story'>A story with a number {n}</a></h2>" for n in range(3))

    def source(self, poller: Poller, server: LoopbackServer, options: str = "{}") -> UUID:
        return subscribed(poller.database, server, "/", kind="web", options=options)

    def test_the_articles_of_a_page_come_in_and_only_new_ones_count(
        self, poller: Poller, server: LoopbackServer
    ) -> None:
        server.answers["/"] = Answer(page(body=self.LINKS).body, headers=HTML | {"ETag": '"1"'})
        source_id = self.source(poller, server)
        assert poller.poll(source_id)["new"] == 3
        assert rows(poller.database, "select title from contents order by url")[0]["title"] == "A story with a number 0"
        # WHEN only what surrounds the links changes
        server.answers["/"] = page(body=self.LINKS + "<p>It is noon.</p>")
        assert poller.poll(source_id) == {"unchanged": "same body"}
        # AND WHEN one is new
        server.answers["/"] = page(body="<h2><a href='/n'>A new story of today</a></h2>" + self.LINKS)
        assert poller.poll(source_id)["new"] == 1
        assert source_of(poller.database, source_id)["title"] == "Site"
        assert server.asked("/")[1].headers["if-none-match"] == '"1"'

    def test_a_304_is_nothing_new(self, poller: Poller, server: LoopbackServer) -> None:
        server.answers["/"] = Answer(page(body=self.LINKS).body, headers=HTML | {"ETag": '"1"'})
        source_id = self.source(poller, server)
        poller.poll(source_id)
        server.answers["/"] = Answer(status=304)
        assert poller.poll(source_id) == {"unchanged": "not modified"}

    def test_the_selector_of_the_source_chooses(self, poller: Poller, server: LoopbackServer) -> None:
        server.answers["/"] = page(body=f"{self.LINKS}<p class=x><a href='/x'>X</a></p>")
        assert poller.poll(self.source(poller, server, '{"selector": ".x a"}'))["entries"] == 1

    def test_a_selector_that_is_none_is_not_tried_every_hour(self, poller: Poller, server: LoopbackServer) -> None:
        server.answers["/"] = page(body=self.LINKS)
        source_id = self.source(poller, server, '{"selector": "[["}')
        assert poller.failing(source_id) == "invalid_selector"
        assert waits_h(poller.database, source_id) > 100
        assert source_of(poller.database, source_id)["next_fetch_reason"] == "its CSS selector is not valid"

    @pytest.mark.parametrize(
        ("options", "code"), [("{}", "no_links_found"), ('{"selector": "[["}', "invalid_selector")]
    )
    def test_a_page_without_links_is_a_failure(
        self, poller: Poller, server: LoopbackServer, options: str, code: str
    ) -> None:
        server.answers["/"] = page(body="<p>Nothing here.</p>")
        source_id = self.source(poller, server, options)
        assert poller.failing(source_id) == code
        assert source_of(poller.database, source_id)["consecutive_failures"] == 1


@pytest.mark.parametrize("selector", [None, "* * * * * * * * a"])
def test_a_page_that_is_built_to_cost_time_is_given_up(selector: str | None) -> None:
    body = b"<div>" * 250 + b"<p>" * 3_000 + b"<a " + b" ".join(b"a%d=1" % number for number in range(100_000)) + b">"
    with LinkReader(timeout_s=1) as pages, pytest.raises(LinkPageTooComplexError):
        pages.links(body, url="https://site.example/", selector=selector)
