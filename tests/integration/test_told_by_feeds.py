"""What a feed told of an entry is shown, where its link leads to a page that others share, to none, or nowhere.

A real PostgreSQL, a real site under two names, the real batch loop.
"""

from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest

from siftline.contracts import Tick
from siftline.fetch.kinds.readers import FeedReader
from siftline.ingest.page_child import PageReader
from siftline.kit.db import Database
from siftline.net.http import HttpClient
from siftline.net.http_model import HttpLimits
from tests.api_client import World
from tests.ingesting import Works, ingest_content
from tests.open_client import OpenClient
from tests.polling import Poller, follow, item, rss
from tests.servers import Answer, LoopbackServer
from tests.ticks import make_schedule

HTML = {"Content-Type": "text/html; charset=utf-8"}
READ = "What the page itself says of the northern channel. " * 12
PAGE = Answer(f"<html><head><title>Page</title></head><article><p>{READ}</p></article>".encode(), headers=HTML)
SHELL = Answer(b"<html><body><div id=app></div></body></html>", headers=HTML)
FILE = '<enclosure url="https://cdn.example/{}.mp3" length="1000" type="audio/mpeg"/></item>'


class Reading:
    """A user who follows a feed, and the work that it makes."""

    def __init__(
        self, database: Database, site: LoopbackServer, http: HttpClient, pages: PageReader, feeds: FeedReader
    ) -> None:
        self.database = database
        self.site = site
        self.works = Works(database, ingest_content(database, http, pages, analysis=False))
        self.poller = Poller(database, feeds)
        self.user = World(database, http_allow_loopback=True).user()
        self.source_id = follow(self.user, site)

    def reads(self, *items: str) -> dict[str, dict[str, Any]]:
        """Let the feed list these items, read all that is to be read; returns what the user holds, by title."""
        self.site.answers["/feed"] = Answer(rss(*items))
        self.poller.poll(self.source_id)
        return self.work()

    def work(self) -> dict[str, dict[str, Any]]:
        waiting = "select subject_id from jobs where job_type = 'ingest_content' and state = 'pending'"
        while found := self.works.rows(waiting):
            for row in found:
                self.works.work_off(row["subject_id"])
        ids = [one["id"] for one in self.user.get("/v1/items").json["items"]]
        items = [self.user.get(f"/v1/items/{id_}").json for id_ in ids]
        assert len({one["title"] for one in items}) == len(items)
        return {one["title"]: one for one in items}

    def duplicates(self) -> int:
        return len(self.works.rows("select from contents where duplicate_of is not null"))


@pytest.fixture
def reading(
    database: Database, site: LoopbackServer, page_reader: PageReader, feed_reader: FeedReader
) -> Iterator[Reading]:
    site.answers["/page"] = PAGE
    with closing(OpenClient(limits=HttpLimits(retries=0))) as http:
        yield Reading(database, site, http, page_reader, feed_reader)


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"], ids=["its own site", "another site"])
@pytest.mark.parametrize("guid", ["tag:{}", None], ids=["guids", "no guids"])
@pytest.mark.parametrize("fragment", ["", "#part{}"], ids=["one link", "fragments"])
def test_entries_that_share_a_page_keep_what_the_feed_told_of_each(
    reading: Reading, host: str, guid: str | None, fragment: str
) -> None:
    link = reading.site.url("/page", host=host)
    entries = [item(n, link=link + fragment.format(n), guid=guid and guid.format(n)) for n in range(4)]
    told = {f"Entry {n}": f"Text of entry {n}." for n in range(4)}
    found = reading.reads(*entries)
    assert {title: one["text"] for title, one in found.items()} == told
    assert {(one["status"], one["notice"]) for one in found.values()} == {("READY", None)}
    assert {one["url"] for one in found.values()} == {link}
    assert (reading.duplicates(), reading.site.asked("/page")) == (0, [])
    # AND so it stays, when one of them is corrected and another goes
    found = reading.reads(entries[0].replace("Text of", "Words of"), *entries[1:3])
    assert {title: one["text"] for title, one in found.items()} == told | {"Entry 0": "Words of entry 0."}
    assert (reading.duplicates(), reading.site.asked("/page")) == (0, [])


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"], ids=["its own site", "another site"])
def test_an_entry_that_comes_later_with_a_known_link_keeps_its_own_words(reading: Reading, host: str) -> None:
    link = reading.site.url("/page", host=host)
    found = reading.reads(item(0, link=link))
    assert [one["text"] for one in found.values()] == [READ.strip()]
    found = reading.reads(item(1, link=link), item(0, link=link))
    assert found["Entry 1"]["text"] == "Text of entry 1."
    assert (found["Entry 1"]["status"], found["Entry 1"]["notice"]) == ("READY", None)
    assert len(reading.site.asked("/page")) == 1


@pytest.mark.parametrize("guid", ["tag:copy", "https://news.example/?p=0", None])
def test_an_article_that_a_feed_lists_twice_is_one_and_its_page_is_read(reading: Reading, guid: str | None) -> None:
    link = reading.site.url("/page")
    found = reading.reads(item(0, link=link), item(0, link=f"{link}#comments", guid=guid))
    assert [one["text"] for one in found.values()] == [READ.strip()]
    assert len(reading.site.asked("/page")) == 1


def test_episodes_that_share_a_page_are_their_files_and_what_the_feed_told(reading: Reading) -> None:
    link = reading.site.url("/page")
    found = reading.reads(*(item(n, link=link).replace("</item>", FILE.format(n)) for n in range(3)))
    shown = {title: (one["kind"], one["url"], one["text"]) for title, one in found.items()}
    assert shown == {f"Entry {n}": ("audio", f"https://cdn.example/{n}.mp3", f"Text of entry {n}.") for n in range(3)}
    assert reading.site.asked("/page") == []


@pytest.mark.parametrize(
    ("parts", "answer", "notice"),
    [
        pytest.param({"link": None}, PAGE, "title_only", id="no link"),
        pytest.param({"link": None, "guid": None}, PAGE, "title_only", id="a title and nothing else"),
        pytest.param({"link": "javascript:void(0)"}, PAGE, "title_only", id="no address"),
        pytest.param({"link": "http://169.254.169.254/"}, PAGE, "page_unavailable", id="a refused address"),
        pytest.param({}, Answer(status=404), "page_unavailable", id="404"),
        pytest.param({}, Answer(status=501), "page_unavailable", id="an outage"),
        pytest.param({}, SHELL, "page_unavailable", id="an empty page"),
        pytest.param({}, Answer(b"\x89PNG", headers={"Content-Type": "image/png"}), "page_unavailable", id="a picture"),
    ],
)
@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"], ids=["its own site", "another site"])
def test_an_entry_with_a_title_alone_is_there_with_its_title(
    reading: Reading, host: str, parts: dict[str, str | None], answer: Answer, notice: str
) -> None:
    reading.site.answers["/page"] = answer
    entry = item(1, **{"link": reading.site.url("/page", host=host), "description": None, **parts})
    for _ in range(2):
        one = reading.reads(entry)["Entry 1"]
        assert (one["status"], one["text"], one["error"]) == ("READY", "", None)
        assert one["notice"]["code"] == notice
        # WHEN its page is asked for again
        reading.works.run("update page_asks set again_at = now() where again_at is not null")
        make_schedule(reading.database)[0].run(Tick.BACKGROUND)
    assert reading.duplicates() == 0


def test_titles_alone_of_one_page_are_several(reading: Reading) -> None:
    link = reading.site.url("/page")
    found = reading.reads(*(item(n, link=link, description=None) for n in range(3)))
    assert [one["status"] for one in found.values()] == ["READY"] * 3
    assert {one["notice"]["code"] for one in found.values()} == {"title_only"}
    assert (reading.duplicates(), reading.site.asked("/page")) == (0, [])
