"""Pages that cannot be read though a feed lists them: asked for again, and meanwhile READY with what the feed told.

A real PostgreSQL, a real site, the real batch loop; what is due is made due by the test.
"""

from collections.abc import Iterator
from contextlib import closing
from uuid import UUID

import pytest

from siftline.api.http.resolver import HttpApi
from siftline.api.search_routes import SearchRoutes
from siftline.contracts import Tick
from siftline.fetch.kinds.readers import FeedReader
from siftline.ingest.page_child import PageReader
from siftline.ingest.unreadable_store import AGAIN_S
from siftline.kit.clock import SystemClock
from siftline.kit.db import Database
from siftline.kit.errors import TransientError
from siftline.kit.log import logger
from siftline.net.http import HttpClient
from siftline.net.http_model import HttpLimits
from siftline.rank.search import Meaning, Search
from tests.api_client import ApiClient
from tests.ingesting import Works, ingest_content
from tests.open_client import OpenClient
from tests.polling import Poller, item, rss, subscribed
from tests.servers import Answer, LoopbackServer
from tests.ticks import make_schedule

HTML = {"Content-Type": "text/html; charset=utf-8"}
SENTENCE = "The harbour council agreed on Tuesday to dredge the northern channel in spring. "
PAGE = Answer(f"<html><head><title>T</title></head><article><p>{SENTENCE * 8}</p></article>".encode(), headers=HTML)
MISSING = Answer(b"not here", status=404)
SHELL = Answer(b"<html><head><title>Social</title></head><body><div id=app></div></body></html>", headers=HTML)
CHECK = Answer(b"<title>Just a moment...</title><script>window._cf_chl_opt={}</script>", status=403, headers=HTML)


class Place:
    """A followed feed at a site, its polls, its pages' jobs and the clock's ticks."""

    def __init__(
        self, database: Database, site: LoopbackServer, http: HttpClient, pages: PageReader, feeds: FeedReader
    ) -> None:
        self.database = database
        self.site = site
        self.works = Works(database, ingest_content(database, http, pages, analysis=False))
        self.poller = Poller(database, feeds)
        self.source_id = subscribed(database, site)

    def lists(self, *items: str) -> None:
        self.site.answers["/feed"] = Answer(rss(*items))
        self.poller.poll(self.source_id)

    def entry(self, number: int, **parts: str | None) -> str:
        return item(number, link=self.site.url(f"/{number}"), **parts)

    def content_id(self, number: int) -> UUID:
        [row] = self.works.rows("select id from contents where url = %s", self.site.url(f"/{number}"))
        found: UUID = row["id"]
        return found

    def read(self, number: int) -> dict[str, object]:
        """Work off the newest job of an entry's page and return its content."""
        return self.works.work(self.content_id(number))

    def tick(self) -> int:
        """Let what waits be due; return how many pages are asked for again."""
        self.works.run("update page_asks set again_at = now() where again_at is not null")
        schedule, _ = make_schedule(self.database)
        return schedule.run(Tick.BACKGROUND)["pages"]

    def asks(self) -> list[dict[str, object]]:
        return self.works.rows("select asks, error_code, again_at - now() as wait from page_asks")


def without_model(_: UUID) -> Meaning:
    raise TransientError("away")


@pytest.fixture
def place(
    database: Database, site: LoopbackServer, page_reader: PageReader, feed_reader: FeedReader
) -> Iterator[Place]:
    with closing(OpenClient(limits=HttpLimits(retries=0))) as http:
        yield Place(database, site, http, page_reader, feed_reader)


@pytest.mark.parametrize(
    ("answer", "code"),
    [(MISSING, "not_found"), (Answer(status=410), "gone"), (SHELL, "empty_content")],
    ids=["404", "410", "empty"],
)
def test_a_page_that_comes_after_its_announcement_is_read_in_the_end(place: Place, answer: Answer, code: str) -> None:
    """Case T08: 404 once, seconds after the feed announced it."""
    place.site.answers["/1"] = answer
    place.lists(place.entry(1, title=None, description=None))
    row = place.read(1)
    assert (row["status"], row["error_code"]) == ("FAILED", code)
    assert str(row["error_detail"]).endswith("It is asked for again, as long as its feed lists it.")
    place.site.answers["/1"] = PAGE
    assert place.tick() == 1
    assert place.works.content(place.content_id(1))["status"] == "PENDING"
    row = place.read(1)
    assert (row["status"], row["error_code"], row["text"]) == ("READY", None, (SENTENCE * 8).strip())
    assert place.asks() == []


def test_a_page_is_asked_for_ever_more_rarely_and_not_for_ever(place: Place) -> None:
    place.site.answers["/1"] = MISSING
    place.lists(place.entry(1, title=None, description=None))
    for number, wait_s in enumerate(AGAIN_S, start=1):
        row = place.read(1)
        [ask] = place.asks()
        assert (ask["asks"], ask["error_code"]) == (number, "not_found")
        assert 0 <= wait_s - ask["wait"].total_seconds() < 600  # type: ignore[attr-defined]  # a timedelta
        assert place.tick() == 1
    row = place.read(1)
    assert (row["status"], row["error_detail"]) == ("FAILED", "The server answered 404 (Not Found).")
    assert place.tick() == 0
    assert len(place.site.asked("/1")) == len(AGAIN_S) + 1


def test_what_its_feed_lists_no_longer_is_not_asked_for_and_says_so(place: Place) -> None:
    place.site.answers.update({"/1": MISSING, "/2": MISSING})
    place.lists(place.entry(1, title=None, description=None), place.entry(2, title=None, description=None))
    for number in (1, 2):
        place.read(number)
    place.lists(place.entry(2, title=None, description=None), place.entry(3))
    row = place.works.content(place.content_id(1))
    assert (row["status"], row["error_code"]) == ("FAILED", "not_found")
    assert row["error_detail"] == (
        "The server answered 404 (Not Found). Its feed no longer lists it, so it is not asked for again."
    )
    assert place.tick() == 1
    assert place.works.live(place.content_id(1)) == []


def test_a_page_that_its_feed_gives_a_new_guid_is_listed_still(place: Place) -> None:
    place.site.answers["/1"] = MISSING
    place.lists(place.entry(1, title=None, description=None))
    place.read(1)
    place.lists(place.entry(1, title=None, description=None, guid="another"), place.entry(3))
    assert place.tick() == 1


@pytest.mark.parametrize(
    ("answer", "notice"),
    [
        (MISSING, "page_unavailable"),
        (Answer(status=403), "page_unavailable"),
        (SHELL, "page_unavailable"),
        (CHECK, "blocked_by_site"),
        (Answer(b"\x89PNG", headers={"Content-Type": "image/png"}), "page_unavailable"),
    ],
    ids=["404", "403", "empty", "check", "picture"],
)
@pytest.mark.parametrize(
    "told",
    [
        {"description": "Yes."},
        {"title": None, "description": "&lt;p&gt;@bob yes&lt;/p&gt;"},
        {"description": f"<![CDATA[<p>{SENTENCE * 2}</p>]]>"},
    ],
    ids=["a word", "a post without a title", "190 characters"],
)
def test_what_its_feed_told_stands_in_for_a_page_however_little_it_is(
    place: Place, answer: Answer, notice: str, told: dict[str, str]
) -> None:
    """Cases T06 and T07: short posts whose pages need JavaScript, and a page that refuses."""
    place.site.answers["/1"] = answer
    place.lists(place.entry(1, **told))
    row = place.read(1)
    assert (row["status"], row["error_code"], row["notice_code"]) == ("READY", None, notice)
    assert str(row["text"]) in {"Yes.", "@bob yes", (SENTENCE * 2).strip()}


def test_short_posts_are_found_by_their_words_though_their_pages_need_javascript(place: Place) -> None:
    """Case T06: titles are missing, and one post is a picture with a description."""
    place.site.answers.update({"/1": SHELL, "/2": SHELL})
    picture = "<m:content xmlns:m='http://search.yahoo.com/mrss/' url='/quay.png' type='image/png' medium='image'>"
    described = f"{picture}<m:description type='plain'>Lanterns on the jetty</m:description></m:content></item>"
    place.lists(
        place.entry(1, title=None, description="&lt;p&gt;The sluice opens.&lt;/p&gt;&lt;p&gt;At noon.&lt;/p&gt;"),
        place.entry(2, title=None, description=None).replace("</item>", described),
    )
    for number in (1, 2):
        assert place.read(number)["status"] == "READY"
    [user_id] = [row["user_id"] for row in place.works.rows("select user_id from subscriptions")]
    search = HttpApi([SearchRoutes(Search(place.database, without_model, SystemClock()))], logger("search"))
    user = ApiClient(search, user_id, ("read",))
    for words, number in (("sluice opens", 1), ("lanterns jetty", 2)):
        assert [one["url"] for one in user.get("/v1/search", q=words).json["items"]] == [place.site.url(f"/{number}")]


def test_a_summary_beside_a_body_without_words_is_told_too(place: Place) -> None:
    place.site.answers["/1"] = MISSING
    picture = "<content:encoded xmlns:content='http://purl.org/rss/1.0/modules/content/'>&lt;img src='/i.png'/&gt;"
    entry = place.entry(1, description="A dredger at the quay").replace(
        "</item>", f"{picture}</content:encoded></item>"
    )
    place.lists(entry)
    row = place.read(1)
    assert (row["status"], row["text"]) == ("READY", "A dredger at the quay")


def test_what_stood_in_gives_way_to_the_page_once_that_is_there(place: Place) -> None:
    place.site.answers["/1"] = MISSING
    place.lists(place.entry(1))
    assert place.read(1)["text"] == "Text of entry 1."
    place.site.answers["/1"] = PAGE
    assert place.tick() == 1
    row = place.read(1)
    assert (row["status"], row["text"], row["notice_code"]) == ("READY", (SENTENCE * 8).strip(), None)
    assert place.asks() == []


def test_a_page_that_was_read_before_is_not_given_up_for_a_few_words_of_its_feed(place: Place) -> None:
    place.site.answers["/1"] = PAGE
    place.lists(place.entry(1))
    assert place.read(1)["status"] == "READY"
    place.site.answers["/1"] = MISSING
    place.lists(place.entry(1, description="Edited."), place.entry(2))
    row = place.read(1)
    assert (row["status"], row["text"], row["notice_code"]) == ("READY", (SENTENCE * 8).strip(), None)


def test_a_server_that_is_away_at_every_try_fails_no_entry_whose_feed_told_something(place: Place) -> None:
    place.site.answers["/1"] = Answer(status=501)
    place.lists(place.entry(1))
    for _ in range(3):
        assert place.read(1)["status"] == "PENDING"
    row = place.read(1)
    assert (row["status"], row["text"], row["notice_code"]) == ("READY", "Text of entry 1.", "page_unavailable")
    [ask] = place.asks()
    assert ask["error_code"] == "http_501"


@pytest.mark.parametrize(
    "answer",
    [Answer(b"\x89PNG", headers={"Content-Type": "image/png"}), Answer(status=402)],
    ids=["a picture", "to be paid"],
)
def test_what_is_no_page_for_us_is_not_asked_for_again(place: Place, answer: Answer) -> None:
    place.site.answers["/1"] = answer
    place.lists(place.entry(1, title=None, description=None))
    assert place.read(1)["status"] == "FAILED"
    assert place.asks() == []


def test_a_page_that_no_feed_lists_is_not_asked_for_again(place: Place) -> None:
    content_id = place.works.saved(place.site.url("/9"))
    assert place.works.work(content_id)["status"] == "FAILED"
    assert place.asks() == []
