"""P1: saving what a poll brought. ``python -m benchmarks poll``

First the write alone, for 100 to 50,000 new entries: the product's own path (``FetchSource`` decides, then one
transaction completes the job, saves contents, ledger and items, and enqueues the next jobs) beside a floor of the very
same rows in an identical database, as bare ``INSERT … SELECT unnest(…)``, one transaction. Then a whole second poll
over HTTP that brings 500 new entries.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from functools import partial
from typing import Any, cast
from uuid import UUID

from benchmarks.database import databases
from benchmarks.raw import Rows, copy_source, insert_raw, read_rows
from benchmarks.report import Report, exponents, median_ms, ratio, timed
from siftline.contracts import JobType
from siftline.fetch.feed.feeds import Entry, Feed
from siftline.fetch.feed.identity import Identified, identify
from siftline.fetch.fetch_service import FetchSource
from siftline.fetch.kinds.readers import FeedReader
from siftline.fetch.kinds.rss_fetcher import FeedFetcher
from siftline.jobs import jobs_store, lease_store
from siftline.jobs.job_model import ClaimedJob, Done, NewJob
from siftline.kit.clock import SystemClock
from siftline.kit.db import Database
from siftline.net.http_model import Http, Response
from siftline.net.pacing import Pace
from tests.factories import make_source, make_subscription, make_user
from tests.open_client import OpenClient
from tests.polling import poll_settings
from tests.servers import Answer, serving

ROUNDS = {100: 21, 500: 15, 5_000: 7, 50_000: 2}
"""Measured rounds by number of new entries; one round before them warms up."""
REACH, REACH_S = 1.5, 2
KNOWN, FRESH, POLLS = 100, 500, 9
_TEXT = (
    "<p>Rain fell on the harbour all morning, and the ferries to the islands waited for the wind to turn. "
    "Fishermen mended their nets under the arcades and spoke of a year in which the herring had come early.</p>"
)
Times = Mapping[str, Sequence[float]]
"""Seconds of each round, by what was done."""


@dataclass
class Memory:
    """Answers every request with the same feed, already parsed: both protocols of a poll without their work."""

    feed: Feed

    def get(self, url: str, **_: Any) -> Response:
        return Response(status=200, url=url, requested_url=url, headers={}, body=url.encode())

    def read_identified(
        self,
        body: bytes,  # noqa: ARG002  -- answers all alike
        *,
        url: str,  # noqa: ARG002  -- as above
        content_type: str = "",  # noqa: ARG002  -- as above
    ) -> tuple[Feed, list[Identified]]:
        return self.feed, identify(self.feed.entries)


def main() -> None:
    report = Report("poll")
    report.open("what a poll brought, saved with its jobs in one transaction")
    with databases(report, "product", "raw") as (product, raw):
        times = {size: _write(size, rounds, product, raw) for size, rounds in ROUNDS.items()}
        rows = [_row(*each) for each in times.items()]
        report.table(f"write of N new entries with their jobs, medians; reach <= {REACH} x raw", rows)
        growth = exponents({size: median_ms(each["write"]) for size, each in times.items()})
        report.tell({"the write grows with the exponent": growth})
        report.table(
            f"a known feed of {KNOWN} brings {FRESH} new at its second poll, medians; reach <= {REACH_S} s",
            [_second_poll(product)],
        )
    report.keep()


def _row(size: int, times: Times) -> dict[str, Any]:
    return {
        "entries": size,
        "rounds": len(times["write"]),
        **{f"{name} ms": median_ms(seconds) for name, seconds in times.items()},
        "write / raw": ratio(times["write"], times["raw"]),
    }


def _write(size: int, rounds: int, product: Database, raw: Database) -> Times:
    """Save entries both ways in turn, each round with a source and pages of its own."""
    times: dict[str, list[float]] = defaultdict(list)
    for number in range(rounds + 1):
        source_id = _source(product, f"https://feeds.example/{size}/{number}.xml")
        feed = Feed("Harbour", "https://news.example/", entries=tuple(_entries(f"{size}/{number}", size)))
        memory = Memory(feed)
        http, reader = cast("Http", memory), cast("FeedReader", memory)
        decide_s, (job, done) = timed(partial(_decided, product, http, reader, source_id, size))
        write_s, _ = timed(partial(_complete, product, job, done))
        rows = read_rows(product, source_id)
        copy_source(product, raw, source_id)
        raw_s, _ = timed(partial(_insert, raw, rows))
        if number:
            for name, seconds in (("decide", decide_s), ("write", write_s), ("raw", raw_s)):
                times[name].append(seconds)
    return times


def _decided(database: Database, http: Http, reader: FeedReader, source_id: UUID, new: int) -> tuple[ClaimedJob, Done]:
    """Claim the source's job and decide what its poll brings: so many new entries."""
    with database.transaction() as connection:
        [job_id] = jobs_store.enqueue(connection, [NewJob(JobType.FETCH_SOURCE, source_id, "host:feeds.example")])
        job = lease_store.claim(connection, job_id, JobType.FETCH_SOURCE, lease_s=600, grace_s=1)
    assert job is not None
    settings, clock = poll_settings(), SystemClock()
    fetchers = {"rss": FeedFetcher(http, reader, clock)}
    done = FetchSource(database, fetchers, Pace(database, settings, clock), clock, settings).process(job)
    assert done.result["new_analysed"] == new, done.result
    return job, done


def _complete(database: Database, job: ClaimedJob, done: Done) -> None:
    """End a job as ``BatchConsumer`` does: one transaction."""
    with database.transaction() as connection:
        lease_store.completing(connection, job, done.result, 0)()
        jobs_store.enqueue(connection, done.write(connection) or ())


def _insert(database: Database, rows: Rows) -> None:
    with database.transaction() as connection:
        insert_raw(connection, rows)


def _second_poll(database: Database) -> dict[str, Any]:
    """Poll a loopback server twice and measure the second time: HTTP, parsing in its child process, saving."""
    whole, write = [], []
    with serving() as server, FeedReader(timeout_s=60) as reader, closing(OpenClient()) as http:
        for number in range(POLLS + 1):
            path = f"/feed/{number}.xml"
            source_id = _source(database, server.url(path))
            known = _entries(f"polls/{number}", KNOWN)
            server.answers[path] = _answer(known)
            _complete(database, *_decided(database, http, reader, source_id, KNOWN))
            server.answers[path] = _answer([*_entries(f"polls/{number}/new", FRESH), *known])
            decide_s, (job, done) = timed(partial(_decided, database, http, reader, source_id, FRESH))
            write_s, _ = timed(partial(_complete, database, job, done))
            if number:
                whole.append(decide_s + write_s)
                write.append(write_s)
    return {"polls": POLLS, "whole ms": median_ms(whole), "of it write ms": median_ms(write)}


def _source(database: Database, url: str) -> UUID:
    """Make a source with one subscriber."""
    with database.transaction() as connection:
        source_id = make_source(connection, url=url)
        make_subscription(connection, make_user(connection), source_id)
    return source_id


def _entries(name: str, count: int) -> list[Entry]:
    """Make entries with a thousand characters of text each, an hour between them."""
    now = datetime.now(UTC).replace(microsecond=0)
    return [
        Entry(
            guid=f"tag:news.example,2026:{name}/{number}",
            link=f"https://news.example/{name}/{number}",
            title=f"Harbour note {number}: the ferries wait",
            author="Ann Example",
            published_at=now - timedelta(hours=number),
            html=_TEXT * 5,
            description="Rain fell on the harbour all morning, and the ferries to the islands waited.",
        )
        for number in range(count)
    ]


def _answer(entries: Sequence[Entry]) -> Answer:
    """Return the entries as an RSS feed."""
    items = "".join(
        f"<item><title>{entry.title}</title><link>{entry.link}</link><guid>{entry.guid}</guid>"
        f"<pubDate>{format_datetime(entry.published_at or datetime.now(UTC))}</pubDate>"
        f"<description><![CDATA[{entry.html}]]></description></item>"
        for entry in entries
    )
    feed = f'<?xml version="1.0"?><rss version="2.0"><channel><title>Harbour</title>{items}</channel></rss>'
    return Answer(feed.encode(), headers={"Content-Type": "application/rss+xml"})
