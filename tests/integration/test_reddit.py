"""Subreddits and users, polled from a server that answers as Reddit does."""

import json
from collections.abc import Iterator
from typing import Any
from uuid import UUID

import pytest

from siftline.fetch.kinds.readers import FeedReader
from siftline.kit.db import Database
from tests.polling import Poller, counts, poll_settings, rows, source_of, subscribed
from tests.servers import Answer, LoopbackServer, redirect, serving

JSON = "/r/python.json?raw_json=1&limit=100"
ATOM = "/r/python/.rss?limit=100"
PAGE = Answer(b"<html><title>Blocked</title>", headers={"Content-Type": "text/html"})


@pytest.fixture
def server() -> Iterator[LoopbackServer]:
    with serving() as running:
        yield running


@pytest.fixture
def poller(database: Database, server: LoopbackServer, feed_reader: FeedReader) -> Poller:
    return Poller(database, feed_reader, poll_settings(reddit_url=server.url("")))


def following(database: Database, server: LoopbackServer, url: str = "https://www.reddit.com/r/python/") -> UUID:
    source_id = subscribed(database, server, "/", kind="reddit", url_key=url)
    rows(database, "update sources set url = %s where id = %s returning id", url, source_id)
    return source_id


def listing(*numbers: int, **more: Any) -> Answer:
    children = [
        {
            "kind": "t3",
            "data": {
                "name": f"t3_{number}",
                "title": f"Post {number}",
                "author": "ann",
                "permalink": f"/r/Python/comments/{number}/post/",
                "url": f"https://news.example/{number}",
                "created_utc": 1_764_000_000 + number,
                "subreddit_name_prefixed": "r/Python",
                **more,
            },
        }
        for number in numbers
    ]
    return Answer(json.dumps({"data": {"children": children}}).encode(), headers={"Content-Type": "application/json"})


def atom(*numbers: int) -> Answer:
    entries = "".join(
        f"""<entry><id>t3_{number}</id><title>Post {number}</title><author><name>/u/ann</name></author>
        <link href="https://www.reddit.com/r/Python/comments/{number}/post/"/><content type="html">
        &amp;#32; submitted by &amp;#32; &lt;a
        href="https://www.reddit.com/user/ann"&gt; /u/ann &lt;/a&gt; &lt;span&gt;&lt;a
        href="https://news.example/{number}"&gt;[link]&lt;/a&gt;&lt;/span&gt;</content>
        <published>2026-11-01T00:00:00+00:00</published></entry>"""
        for number in numbers
    )
    feed = f'<feed xmlns="http://www.w3.org/2005/Atom"><title>Python</title>{entries}</feed>'
    return Answer(feed.encode(), headers={"Content-Type": "application/atom+xml; charset=UTF-8"})


def test_the_posts_of_a_subreddit_come_in_as_the_pages_they_link_to(poller: Poller, server: LoopbackServer) -> None:
    server.answers[JSON] = listing(1, 2)
    source_id = following(poller.database, server)
    assert poller.poll(source_id)["new"] == 2
    told = (
        "select contents.url, title, told_title from contents join source_entries on content_id = contents.id"
        " order by contents.url limit 1"
    )
    [page] = rows(poller.database, told)
    assert page == {"url": "https://news.example/1", "title": None, "told_title": "Post 1"}
    source = source_of(poller.database, source_id)
    assert (source["title"], source["site_url"]) == ("r/Python", "https://www.reddit.com/r/python/")
    # WHEN one is new
    server.answers[JSON] = listing(2, 3)
    assert poller.poll(source_id)["new"] == 1
    assert poller.poll(source_id) == {"unchanged": "same body"}


def test_a_page_linked_from_two_subreddits_is_one(poller: Poller, server: LoopbackServer) -> None:
    server.answers |= {JSON: listing(1), "/r/rust.json?raw_json=1&limit=100": listing(1)}
    poller.poll(following(poller.database, server))
    poller.poll(following(poller.database, server, "https://www.reddit.com/r/rust/"))
    assert counts(poller.database)[0] == 1


@pytest.mark.parametrize(
    ("url", "path"),
    [
        ("https://www.reddit.com/r/python/top/?t=week", "/r/python/top.json?raw_json=1&limit=100&t=week"),
        ("https://www.reddit.com/user/ann/submitted/", "/user/ann/submitted.json?raw_json=1&limit=100"),
    ],
)
def test_order_and_period_are_asked_for(poller: Poller, server: LoopbackServer, url: str, path: str) -> None:
    server.answers[path] = listing(1)
    assert poller.poll(following(poller.database, server, url))["new"] == 1


@pytest.mark.parametrize("refusal", [Answer(status=403), PAGE], ids=["403", "page"])
def test_where_json_is_refused_atom_is_asked_for_and_that_is_remembered(
    poller: Poller, server: LoopbackServer, refusal: Answer
) -> None:
    server.answers |= {JSON: listing(1, 2), ATOM: atom(2, 3)}
    source_id = following(poller.database, server)
    poller.poll(source_id)
    # WHEN JSON is refused, it is asked in another way in a job of its own
    server.answers[JSON] = refusal
    assert poller.poll(source_id) == {"asked_otherwise": True}
    assert source_of(poller.database, source_id)["fetch_status"] == "QUEUED"
    # THEN only what is new counts
    assert poller.poll(source_id)["new"] == 1
    assert counts(poller.database)[0] == 3
    poller.poll(source_id)
    assert len(server.asked(JSON)) == 2
    # AND after a while JSON is asked for again
    rows(poller.database, """update sources set options = '{"atom_until": "2026-01-01T00:00:00+00:00"}' returning id""")
    server.answers[JSON] = listing(1, 2, 3)
    result = poller.poll(source_id)
    assert (result["new"], result["edited"], result["renamed"]) == (0, 0, 0)
    assert source_of(poller.database, source_id)["options"] == {}


def test_it_may_be_asked_in_one_form_only(database: Database, feed_reader: FeedReader, server: LoopbackServer) -> None:
    server.answers |= {JSON: PAGE, ATOM: atom(1)}
    source_id = following(database, server)
    assert Poller(database, feed_reader, poll_settings(reddit_url=server.url(""), reddit_form="json")).failing(
        source_id
    ) == ("not_a_listing")
    assert (
        Poller(database, feed_reader, poll_settings(reddit_url=server.url(""), reddit_form="atom")).poll(source_id)[
            "new"
        ]
        == 1
    )


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        (Answer(b'{"reason": "private", "error": 403}', status=403), "subreddit_private"),
        (Answer(b'{"reason": "gold_only", "error": 403}', status=403), "subreddit_private"),
        (Answer(b'{"reason": "quarantined", "error": 403}', status=403), "subreddit_quarantined"),
        (Answer(b'{"reason": "banned", "error": 404}', status=404), "subreddit_banned"),
        (Answer(b'{"message": "Not Found", "error": 404}', status=404), "subreddit_not_found"),
        (Answer(b"<h3>r/python has been banned from Reddit</h3>", status=404), "subreddit_banned"),
        (redirect("/subreddits/search?q=python"), "subreddit_not_found"),
    ],
    ids=["private", "paying", "quarantined", "banned", "missing", "in-words", "search"],
)
def test_what_reddit_does_not_show_is_named_and_asked_for_again_later(
    poller: Poller, server: LoopbackServer, answer: Answer, code: str
) -> None:
    headers = {"Content-Type": "text/html" if answer.body[:1] == b"<" else "application/json", **answer.headers}  # type: ignore[index]  # bytes
    server.answers[JSON] = Answer(answer.body, answer.status, headers)
    server.answers["/subreddits/search?q=python"] = PAGE
    source_id = following(poller.database, server)
    assert poller.failing(source_id) == code
    source = source_of(poller.database, source_id)
    assert (source["health"], source["consecutive_failures"]) == ("active", 1)
    assert source["last_error_detail"].startswith("r/python ")
    server.answers[JSON] = listing(1)
    assert poller.poll(source_id)["new"] == 1


def test_a_crowd_is_told_to_wait(poller: Poller, server: LoopbackServer) -> None:
    server.answers[JSON] = Answer(status=429, headers={"Retry-After": "600"})
    assert poller.failing(following(poller.database, server)) == "http_429"
    assert not server.asked(ATOM)
