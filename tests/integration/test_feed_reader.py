"""The parser process: kept warm, replaced when it dies, killed when it hangs."""

import contextlib
import os
import signal
import sys
import threading
from collections.abc import Iterator

import psutil
import pytest

from infra.local.processes import started_at, wait_until
from siftline.fetch.feed.feed_parser import parse
from siftline.fetch.feed.feeds import FeedTooComplexError, NotAFeedError
from siftline.fetch.feed.identity import identify
from siftline.fetch.kinds.readers import FeedReader
from siftline.kit.confined import ChildNotStartedError

URL = "https://site.example/feed"
GOOD = b"<rss version='2.0'><channel><title>T</title><item><title>A</title></item></channel></rss>"


@pytest.fixture
def reader() -> Iterator[FeedReader]:
    with FeedReader(timeout_s=60) as running:  # the machine may be busy with the other tests
        yield running


def children() -> set[int]:
    """Return the ids of this process's children that are not yet gone."""
    return {child.pid for child in psutil.Process().children()}


def test_feeds_are_read_one_after_the_other_by_one_child(reader: FeedReader) -> None:
    before = children()
    for _ in range(3):
        feed = reader.read(GOOD, url=URL)
        assert (feed.title, feed.entries[0].title) == ("T", "A")
    assert len(children() - before) == 1


def test_all_that_a_feed_says_leaves_the_child(reader: FeedReader) -> None:
    body = (
        b"<rss version='2.0' xmlns:podcast='https://podcastindex.org/namespace/1.0'><channel><title>T\xc3\xa9</title>"
        b"<ttl>60</ttl><skipHours><hour>3</hour><hour>4</hour></skipHours><skipDays><day>Sunday</day></skipDays>"
        b"<item><title>A</title><link>/a</link><author>ann@site.example (Ann)</author><category>c</category>"
        b"<pubDate>Sun, 01 Nov 2026 10:00:00 +0100</pubDate><enclosure url='/a.mp3' type='audio/mpeg' length='3'/>"
        b"<podcast:transcript url='/a.vtt' type='text/vtt'/><comments>/a#c</comments>"
        b"<description>&lt;p&gt;Words&lt;/p&gt;</description></item><item><title>B</title></item></channel></rss>"
    )
    assert reader.read(body, url=URL) == parse(body, url=URL)


def test_entries_are_identified_in_the_child_as_they_are_here(reader: FeedReader) -> None:
    items = b"".join(
        b"<item><title>N%d</title><link>/n/%d?utm_source=x</link><guid>g%d</guid>"
        b"<description>&lt;p&gt;%d words</description></item>" % (number, number, number % 3, number)
        for number in range(5)
    )
    body = b"<rss version='2.0'><channel><title>T</title>" + items + b"</channel></rss>"
    feed, identified = reader.read_identified(body, url=URL)
    assert feed == reader.read(body, url=URL)
    assert identified == identify(feed.entries)
    assert [one.entry for one in identified] == list(feed.entries)
    assert len({one.key for one in identified}) == 5


def test_what_is_no_feed_is_told_and_the_child_goes_on(reader: FeedReader) -> None:
    with pytest.raises(NotAFeedError):
        reader.read(b"<html></html>", url=URL)
    with pytest.raises(FeedTooComplexError):
        reader.read(b"<rss>" + b"<a>" * 10_000, url=URL)
    assert reader.read(GOOD, url=URL).title == "T"


def test_callers_at_once_each_have_a_child(reader: FeedReader) -> None:
    titles: list[str] = []
    threads = [threading.Thread(target=lambda: titles.append(reader.read(GOOD, url=URL).title)) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert titles == ["T"] * 3


def test_a_feed_that_takes_too_long_is_killed_and_the_next_is_read() -> None:
    before = children()
    with FeedReader(timeout_s=4) as reader:
        reader.read(GOOD, url=URL)
        [child] = children() - before
        os.kill(child, signal.SIGSTOP)  # no feed that fits takes that long by itself
        with pytest.raises(FeedTooComplexError, match="4 seconds"):
            reader.read(GOOD, url=URL)
        assert reader.read(GOOD, url=URL).title == "T"


def test_a_feed_that_swells_is_given_up_and_the_next_is_read(reader: FeedReader) -> None:
    swelling = (
        b"<!DOCTYPE rss [\n<!ENTITY a \"" + b"x" * 100_000 + b"\">]><rss version='2.0'><channel><title>"
        + b"&a;" * 100_000 + b"</title></channel></rss>"
    )  # fmt: skip
    with pytest.raises(FeedTooComplexError):
        reader.read(swelling, url=URL)
    assert reader.read(GOOD, url=URL).title == "T"


def test_an_idle_child_that_died_costs_no_feed(reader: FeedReader) -> None:
    before = children()
    reader.read(GOOD, url=URL)
    [child] = children() - before
    os.kill(child, signal.SIGKILL)
    assert wait_until(lambda: started_at(child) is None, 300)
    assert reader.read(GOOD, url=URL).title == "T"


def test_a_child_that_dies_as_it_starts_fails_only_that_call(reader: FeedReader) -> None:
    before = children()
    reader.read(GOOD, url=URL)
    [idle] = children() - before
    stop = threading.Event()

    def kill_all() -> None:
        while not stop.wait(0.01):
            for child in children() - before:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(child, signal.SIGKILL)

    killer = threading.Thread(target=kill_all)
    killer.start()
    assert wait_until(lambda: started_at(idle) is None, 300)  # the next one will be dead before it has started
    try:
        with pytest.raises(ChildNotStartedError):
            reader.read(GOOD, url=URL)
    finally:
        stop.set()
        killer.join()
    assert reader.read(GOOD, url=URL).title == "T"


def test_closing_ends_the_children() -> None:
    before = children()
    reader = FeedReader()
    reader.read(GOOD, url=URL)
    reader.close()
    assert children() <= before


def test_the_cap_on_entries_reaches_the_child() -> None:
    with FeedReader(max_entries=1) as reader:
        feed = reader.read(GOOD.replace(b"</channel>", b"<item><title>B</title></item></channel>"), url=URL)
    assert (len(feed.entries), feed.skipped) == (1, 1)


def test_a_reader_that_cannot_start_is_no_fault_of_the_feed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    with FeedReader() as reader, pytest.raises(ChildNotStartedError):
        reader.read(GOOD, url=URL)
