"""Pages that refuse and that feeds of other sites tell of: READY with the feed's words for its followers, nobody else.

Case T07 and its kind. A real PostgreSQL, a real site under two names, the real batch loop.
"""

from collections.abc import Iterator
from contextlib import closing
from typing import Any
from uuid import UUID

import pytest

from siftline.contracts import Tick
from siftline.fetch.kinds.readers import FeedReader
from siftline.ingest.page_child import PageReader
from siftline.kit.db import Database
from siftline.net.http import HttpClient
from siftline.net.http_model import HttpLimits
from tests.api_client import ApiClient, World
from tests.ingesting import Works, ingest_content
from tests.open_client import OpenClient
from tests.polling import Poller, follow, item, rss
from tests.servers import Answer, LoopbackServer
from tests.ticks import make_schedule

ELSEWHERE = "localhost"  # reaches the same server, and is another site by its name
REFUSED = Answer(status=403)
SENTENCE = "The harbour council agreed on Tuesday to dredge the northern channel in spring. "
LONG = (SENTENCE * 70)[:5_000].strip()
HTML, PICTURE = {"Content-Type": "text/html; charset=utf-8"}, {"Content-Type": "image/png"}
READ = "What the page itself says of the northern channel. " * 12
DATED, DATED_AT = "Sat, 28 Nov 2020 10:00:00 GMT", "2020-11-28T10:00:00Z"
STATED = b'<meta property="article:published_time" content="2026-01-02T03:04:05Z"><meta name=author content=Bob>'
_PAGE = f"<html><head><title>Page</title></head><article><p>{READ}</p></article>".encode()
PAGE = Answer(_PAGE, headers=HTML)


class Place:
    """Users, feeds at one site, pages at another, and the work that they make."""

    def __init__(
        self, database: Database, site: LoopbackServer, http: HttpClient, pages: PageReader, feeds: FeedReader
    ) -> None:
        self.database = database
        self.site = site
        self.world = World(database, http_allow_loopback=True)
        self.works = Works(database, ingest_content(database, http, pages, analysis=False))
        self.poller = Poller(database, feeds)
        self.page = site.url("/page", host=ELSEWHERE)
        site.answers["/page"] = REFUSED

    def lists(self, *, path: str = "/feed", **told: str | None) -> None:
        parts: dict[str, str | None] = {"link": self.page, "description": LONG, "author": "Ann", **told}
        self.site.answers[path] = Answer(rss(item(1, **parts), item(2, link=self.site.url("/2"))))

    def follower(self, path: str = "/feed") -> tuple[ApiClient, UUID]:
        user = self.world.user()
        source_id = follow(user, self.site, path)
        self.poller.poll(source_id)
        return user, source_id

    def work(self) -> None:
        """Work off all that is to be read, whenever it is due."""
        waiting = "select subject_id from jobs where job_type = 'ingest_content' and state = 'pending'"
        while found := self.works.rows(waiting):
            for row in found:
                self.works.work_off(row["subject_id"])

    def again(self) -> None:
        """Let the pages that are asked for again be due, and read them."""
        self.works.run("update page_asks set again_at = now() where again_at is not null")
        schedule, _ = make_schedule(self.database)
        schedule.run(Tick.BACKGROUND)
        self.work()

    def shown(self, user: ApiClient) -> list[dict[str, Any]]:
        """Return what a user holds of the page."""
        ids = [one["id"] for one in user.get("/v1/items").json["items"] if one["url"] == self.page]
        return [user.get(f"/v1/items/{id_}").json for id_ in ids]

    def texts(self, user: ApiClient) -> list[tuple[str, str | None]]:
        return [(one["status"], one["text"]) for one in self.shown(user)]


@pytest.fixture
def place(
    database: Database, site: LoopbackServer, page_reader: PageReader, feed_reader: FeedReader
) -> Iterator[Place]:
    with closing(OpenClient(limits=HttpLimits(retries=0))) as http:
        yield Place(database, site, http, page_reader, feed_reader)


@pytest.mark.parametrize("told", [LONG, (SENTENCE * 3)[:190].strip(), "Yes."], ids=["5,000", "190", "a word"])
@pytest.mark.parametrize(
    "answer",
    [REFUSED, Answer(status=501), Answer(b"<div id=app></div>", headers=HTML), Answer(b"\x89PNG", headers=PICTURE)],
    ids=["403", "away", "empty", "picture"],
)
def test_what_a_feed_told_of_another_sites_page_is_for_its_followers(place: Place, answer: Answer, told: str) -> None:
    """Case T07: 5,000 characters in a feed of another domain."""
    place.site.answers["/page"] = answer
    place.lists(description=told)
    user, _ = place.follower()
    [before] = place.shown(user)
    user.patch(f"/v1/items/{before['id']}", {"starred": True, "note": "mine"})
    place.work()
    [one] = place.shown(user)
    assert (one["status"], one["text"], one["title"], one["author"]) == ("READY", told, "Entry 1", "Ann")
    assert one["notice"]["code"] == "page_unavailable"
    assert (one["id"], one["note"], one["starred_at"] is not None) == (before["id"], "mine", True)
    # AND nobody else sees any of it, whoever saves the page
    stranger = place.world.user()
    stranger.post("/v1/items", {"url": place.page})
    place.work()
    [theirs] = place.shown(stranger)
    assert (theirs["status"], theirs["text"], theirs["title"], theirs["description"]) == ("FAILED", None, None, None)
    assert place.texts(user) == [("READY", told)]


def test_the_page_is_asked_again_and_then_stands_in_the_place_of_what_was_told(place: Place) -> None:
    place.lists()
    user, _ = place.follower()
    place.work()
    place.again()
    assert place.texts(user) == [("READY", LONG)]
    place.site.answers["/page"] = PAGE
    place.again()
    [one] = place.shown(user)
    assert (one["status"], one["text"], one["notice"]) == ("READY", READ.strip(), None)
    assert place.works.rows("select from page_asks join contents on id = content_id where url = %s", place.page) == []


def test_a_page_that_can_be_read_is_one_content_for_all(place: Place) -> None:
    place.site.answers["/page"] = PAGE
    place.lists()
    user, _ = place.follower()
    stranger = place.world.user()
    stranger.post("/v1/items", {"url": place.page})
    place.work()
    assert place.texts(user) == place.texts(stranger) == [("READY", READ.strip())]
    assert len(place.works.rows("select from contents where url = %s", place.page)) == 1


def test_each_feed_speaks_to_its_own_followers(place: Place) -> None:
    place.lists()
    place.lists(path="/other", description="Another word.")
    one, _ = place.follower()
    other, _ = place.follower("/other")
    place.work()
    assert place.texts(one) == [("READY", LONG)]
    assert place.texts(other) == [("READY", "Another word.")]
    # AND one that comes when the page has failed already
    stranger = place.world.user()
    stranger.post("/v1/items", {"url": place.page})
    place.work()
    place.lists(path="/third", description="A third word.")
    third, _ = place.follower("/third")
    place.work()
    assert place.texts(third) == [("READY", "A third word.")]
    assert place.texts(stranger) == [("FAILED", None)]


def test_whoever_saved_the_page_first_is_shown_what_their_feed_told(place: Place) -> None:
    place.lists()
    user = place.world.user()
    user.post("/v1/items", {"url": place.page})
    place.work()
    assert place.texts(user) == [("FAILED", None)]
    place.poller.poll(follow(user, place.site))
    place.work()
    assert place.texts(user) == [("READY", LONG)]


def test_whoever_follows_later_is_given_it_and_whoever_deleted_it_is_not(place: Place) -> None:
    place.lists()
    user, source_id = place.follower()
    early = place.world.user()
    follow(early, place.site)
    [one] = place.shown(early)
    early.delete(f"/v1/items/{one['id']}")
    place.work()
    later = place.world.user()
    follow(later, place.site)
    assert place.texts(later) == [("READY", LONG)]
    [one] = place.shown(later)
    later.delete(f"/v1/items/{one['id']}")
    for who in (early, later):
        who.delete(f"/v1/sources/{source_id}")
        follow(who, place.site)
        assert place.shown(who) == []
    # WHEN the last who holds it deletes it too, and somebody new comes
    [one] = place.shown(user)
    user.delete(f"/v1/items/{one['id']}")
    place.works.run("update item_tombstones set deleted_at = deleted_at - interval '1 hour'")
    place.works.run("update source_entries set gone_at = gone_at - interval '1 hour'")
    new = place.world.user()
    follow(new, place.site)
    place.poller.poll(source_id)
    place.work()
    assert place.texts(new) == [("READY", LONG)]
    assert [place.shown(who) for who in (user, early, later)] == [[], [], []]


def test_what_the_feed_edits_is_shown_edited(place: Place) -> None:
    place.lists(description="First words.")
    user, source_id = place.follower()
    place.lists(description="Second words.")
    place.poller.poll(source_id)
    place.work()
    assert place.texts(user) == [("READY", "Second words.")]
    place.lists(description=LONG)
    place.poller.poll(source_id)
    place.work()
    assert place.texts(user) == [("READY", LONG)]


def test_a_page_of_which_no_feed_tells_a_word_fails_for_all(place: Place) -> None:
    place.lists(title=None, description=None)
    user, _ = place.follower()
    place.work()
    [one] = place.shown(user)
    assert (one["status"], one["title"], one["error"]["code"]) == ("FAILED", None, "forbidden")


def test_the_word_of_a_pages_own_feed_is_for_whoever_saved_the_page_before(place: Place) -> None:
    """GIVEN a page that failed before its own site's feed told of it."""
    place.page = place.site.url("/page")
    user, stranger = place.world.user(), place.world.user()
    for one in (user, stranger):
        one.post("/v1/items", {"url": place.page})
    place.work()
    assert place.texts(user) == [("FAILED", None)]
    place.lists()
    place.poller.poll(follow(user, place.site))
    place.work()
    assert place.texts(user) == place.texts(stranger) == [("READY", LONG)]


def test_a_page_without_date_and_author_takes_those_of_its_own_sites_feed(place: Place) -> None:
    """GIVEN a page that states neither, saved before its site's feed is followed."""
    place.page = place.site.url("/page")
    place.site.answers["/page"] = PAGE
    user, stranger = place.world.user(), place.world.user()
    for one in (user, stranger):
        one.post("/v1/items", {"url": place.page})
    place.work()
    place.lists(pubDate=DATED)
    place.poller.poll(follow(user, place.site))
    place.work()
    for who in (user, stranger):
        [shown] = place.shown(who)
        assert (shown["published_at"], shown["sort_at"], shown["author"]) == (DATED_AT, DATED_AT, "Ann")
        assert (shown["title"], shown["text"], shown["undated"]) == ("Page", READ.strip(), None)
    # AND what the page states itself goes before what a feed says later
    place.site.answers["/page"] = Answer(_PAGE.replace(b"<head>", b"<head>" + STATED), headers=HTML)
    place.works.run("update contents set published_at = null, author = null, sort_at = first_seen_at")
    user.post(f"/v1/items/{one_of(place, user)}/reprocess", {"from": "ingest"})
    place.work()
    place.lists(guid="another", pubDate=DATED)
    place.poller.poll(follow(place.world.user(), place.site))
    [shown] = place.shown(user)
    assert (shown["published_at"], shown["author"]) == ("2026-01-02T03:04:05Z", "Bob")


def test_what_a_feed_of_another_site_says_of_a_date_is_for_its_followers(place: Place) -> None:
    place.site.answers["/page"] = PAGE
    user, stranger = place.world.user(), place.world.user()
    for one in (user, stranger):
        one.post("/v1/items", {"url": place.page})
    place.work()
    place.lists(pubDate=DATED)
    place.poller.poll(follow(user, place.site))
    place.work()
    assert [(one["published_at"], one["title"]) for one in place.shown(user)] == [(DATED_AT, "Page")]
    assert [(one["published_at"], one["author"]) for one in place.shown(stranger)] == [(None, None)]


def one_of(place: Place, user: ApiClient) -> str:
    """Return the id of the item that a user holds of the page."""
    [one] = place.shown(user)
    return str(one["id"])
