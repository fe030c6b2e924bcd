"""Faults of feeds that tell the same thing again under other names, or for ever."""

import time
from collections.abc import Iterator

import pytest

from siftline.contracts import JobType
from siftline.fetch.kinds.readers import FeedReader
from siftline.jobs import jobs_store, lease_store
from siftline.jobs.job_model import NewJob
from siftline.kit.db import Database
from tests.faults.machine import FaultMachine
from tests.faults.table import Told
from tests.open_client import OpenClient
from tests.polling import Poller, counts, item, rows, rss, subscribed
from tests.servers import Answer, serving

POLLS = 1_000
SCHEMES = ("http://guid.example/", "https://guid.example/", "urn:uuid:", "tag:guid.example,2026:")


def listing(urls: list[str], scheme: str) -> Answer:
    entries = (
        item(n, title=url.rpartition("/")[2], link=url, guid=f"{scheme}{n}", description=None)
        for n, url in enumerate(urls)
    )
    return Answer(rss(*entries), headers={"Content-Type": "application/rss+xml"})


def test_a_feed_that_rewrites_every_guid_brings_nothing_new(
    machine: FaultMachine, healing: Told, pages: list[str], fault_round: int
) -> None:
    """Fault 26: a feed rewrites every GUID, again and again; nothing is read, analysed, held or paid twice."""
    path = f"/rewritten-{fault_round}.xml"
    source_id = machine.follow(machine.site.put(path, listing(pages, SCHEMES[0])))
    machine.see(lambda: len(machine.ask("select id from contents where url = any(%s)", pages)) == len(pages))
    machine.heal(time.monotonic())
    held = "select id, user_id, content_id from items where source_id = %s order by id"
    before = machine.ask(held, source_id), [machine.site.asked(url) for url in pages]
    started = time.monotonic()
    for scheme in SCHEMES[1:]:
        machine.site.put(path, listing(pages, scheme))
        with machine.database.transaction() as connection:
            jobs = jobs_store.enqueue(connection, [NewJob(JobType.FETCH_SOURCE, source_id, "host:127.0.0.1")])
        machine.publisher.publish(jobs)
        machine.rest()
    healing("26 every guid rewritten, three times", machine.heal(started))
    ledger = machine.ask("select guid from source_entries where source_id = %s order by guid", source_id)
    assert ledger == sorted(f"{SCHEMES[-1]}{n}" for n in range(len(pages)))
    assert (machine.ask(held, source_id), [machine.site.asked(url) for url in pages]) == before
    assert machine.ask(
        "select distinct job_type, count(*) from jobs join contents on contents.id = subject_id where url = any(%s)"
        " group by job_type order by job_type",
        pages,
    ) == [("analyze_content", len(pages)), ("ingest_content", len(pages))]


@pytest.fixture(scope="module")
def reader() -> Iterator[FeedReader]:
    with FeedReader(timeout_s=120) as running:  # the machine may be busy with the other tests
        yield running


def test_a_feed_of_one_item_polled_a_thousand_times_has_brought_one(database: Database, reader: FeedReader) -> None:
    """Fault 26: a one-item feed polled 1,000 times, whose date, counter and GUID are others each time."""
    poller = Poller(database, reader)
    with serving() as server:
        source_id = subscribed(database, server, "/feed")
        server.answers["/feed"] = [
            Answer(rss(item(0, guid=f"urn:{poll // 7}", description=f"{poll} comments", pubDate=f"{poll}")))
            for poll in range(POLLS)
        ]
        http = OpenClient()
        processor = poller.processor(http)
        for _ in range(POLLS):
            job = poller.claimed(source_id)
            done = processor.process(job)
            with database.transaction() as connection:
                lease_store.completing(connection, job, done.result, 0)()
                jobs_store.enqueue(connection, done.write(connection) or ())
        http.close()
    assert rows(database, "select count(*) from jobs where result ? 'entries'") == [{"count": POLLS}]
    assert counts(database) == (1, 1, 1, 1)
    assert rows(database, "select version, status from contents") == [{"version": 1, "status": "PENDING"}]
    assert rows(database, "select count(*) from content_revisions") == [{"count": 0}]
