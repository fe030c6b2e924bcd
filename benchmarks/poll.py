"""P1: saving what a poll brought. ``python -m benchmarks.poll``

First the write alone, for 100 to 50,000 new entries: the product's own path (``FetchSource`` decides, then one
transaction completes the job, saves contents, ledger and items, and enqueues the next jobs) beside a floor of the very
same rows in an identical database, as bare ``INSERT … SELECT unnest(…)``, one transaction; and beside what a commit an
entry costs. Then a whole second poll over HTTP that brings 500 new entries, and how fast the API answers while another
process saves a large one.
"""

from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from functools import partial
from typing import Any
from uuid import UUID

from benchmarks import poll_profile
from benchmarks.database import databases
from benchmarks.poll_api import while_saving
from benchmarks.profile import executed
from benchmarks.raw import RawRows, copy_source, insert_raw, read_rows
from benchmarks.report import Report, durability, median_ms, ratio, timed
from siftline.contracts import JobType
from siftline.fetch.feed.feeds import Entry, Feed
from siftline.fetch.feed.identity import Identified, identify
from siftline.fetch.fetch_service import FetchSource
from siftline.fetch.kinds.feed_fetcher import FeedFetcher
from siftline.fetch.kinds.feed_reader import FeedReader
from siftline.jobs import jobs_store, lease_store
from siftline.jobs.job_model import ClaimedJob, Done, NewJob
from siftline.kit.clock import SystemClock
from siftline.kit.db import Database
from siftline.kit.ids import new_id
from siftline.net.http_model import Http, Response
from siftline.net.pacing import Pace
from tests.factories import make_source, make_user
from tests.open_client import OpenClient
from tests.polling import poll_settings
from tests.servers import Answer, serving

ROUNDS = {100: 21, 500: 15, 5_000: 7, 50_000: 2}
"""Measured rounds by number of new entries; one round before them warms up."""
REACH = 1.5
SINGLY = 500
"""One commit an entry is measured up to this size: it only grows."""
KNOWN, FRESH, POLLS = 100, 500, 9
LARGE = 20_000
"""Entries of a poll that is saved while the API is asked."""
_TEXT = (
    "<p>Rain fell on the harbour all morning, and the ferries to the islands waited for the wind to turn. "
    "Fishermen mended their nets under the arcades and spoke of a year in which the herring had come early.</p>"
)
TEXT_HTML = _TEXT * 5


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


@dataclass
class Stopwatch:
    """Wraps the HTTP client and the parser of a poll and remembers how long each took."""

    http: Http
    reader: FeedReader
    fetch_s: float = 0.0
    parse_s: float = 0.0

    def get(self, url: str, **asked: Any) -> Response:
        self.fetch_s, response = timed(lambda: self.http.get(url, **asked))
        return response

    def read_identified(self, body: bytes, *, url: str, content_type: str = "") -> tuple[Feed, list[Identified]]:
        self.parse_s, read = timed(lambda: self.reader.read_identified(body, url=url, content_type=content_type))
        return read


@dataclass
class Times:
    """Seconds of one size, a value a round."""

    decide: list[float] = field(default_factory=list)
    write: list[float] = field(default_factory=list)
    raw: list[float] = field(default_factory=list)
    singly: list[float] = field(default_factory=list)


def main() -> None:
    report = Report("poll")
    report.open("what a poll brought, saved with its jobs in one transaction")
    with databases("product", "raw", "singly") as (product, raw, singly):
        with product.transaction() as connection:
            report.tell(durability(connection))
        times = {size: _write(size, rounds, product, raw, singly) for size, rounds in ROUNDS.items()}
        report.table("write of N new entries with their jobs, medians", [_row(*each) for each in times.items()])
        missed = [size for size, each in times.items() if ratio(each.write, each.raw) > REACH]
        _tell_why(report, missed, product, raw)
        report.table(f"a known feed of {KNOWN} brings {FRESH} new at its second poll, medians", _second_poll(product))
        reader_id = _reader(product)
        report.table(
            "GET /v1/items while another process saves a poll, reach p99 <= 2 x idle",
            [while_saving(product, reader_id, partial(_save_large, entries=LARGE), LARGE)],
        )
    report.keep()


def _tell_why(report: Report, sizes: Sequence[int], product: Database, raw: Database) -> None:
    """Say what the writes of these sizes are made of: one round more of each, while the server tells its plans."""
    rows: list[dict[str, Any]] = []
    for size in sizes:
        source_id = _source(product, f"https://feeds.example/{size}/profile.xml")
        job, done = _decided(product, source_id, _entries(f"{size}/profile", size))
        with product.statement() as connection, executed(connection) as ours:
            write_s, _ = timed(partial(_complete, product, job, done))
        portion = read_rows(product, source_id)
        copy_source(product, raw, source_id)
        with raw.statement() as connection, executed(connection) as bare:
            raw_s, _ = timed(partial(_insert, raw, [portion]))
        rows += poll_profile.rows(size, ours, bare)
        report.tell({f"why at {size:,}": poll_profile.why(size, (write_s, raw_s), ours, bare)})
    if rows:
        report.table("what the write is made of, by statement", rows)


def _reader(database: Database) -> UUID:
    """Return a user who holds what a poll of 500 entries brought."""
    source_id = _source(database, "https://feeds.example/reader.xml")
    _product(database, source_id, _entries("reader", FRESH))
    with database.transaction() as connection:
        [(user_id,)] = connection.execute("select user_id from subscriptions where source_id = %s", [source_id])
    return UUID(str(user_id))


def _save_large(database: Database, name: str, *, entries: int) -> None:
    source_id = _source(database, f"https://feeds.example/large/{name}.xml")
    _product(database, source_id, _entries(f"large/{name}", entries))


def _row(size: int, times: Times) -> dict[str, Any]:
    return {
        "entries": size,
        "rounds": len(times.write),
        "decide ms": median_ms(times.decide),
        "write ms": median_ms(times.write),
        "raw ms": median_ms(times.raw),
        "write / raw": ratio(times.write, times.raw),
        "commit an entry ms": median_ms(times.singly) if times.singly else "-",
        "write / commit an entry": ratio(times.write, times.singly) if times.singly else "-",
    }


def _write(size: int, rounds: int, product: Database, raw: Database, singly: Database) -> Times:
    """Save entries in all ways in turn, each round with a source and pages of its own."""
    times = Times()
    for number in range(rounds + 1):
        source_id = _source(product, f"https://feeds.example/{size}/{number}.xml")
        decide_s, write_s = _product(product, source_id, _entries(f"{size}/{number}", size))
        rows = read_rows(product, source_id)
        raw_s = _raw(product, raw, source_id, [rows])
        singly_s = _raw(product, singly, source_id, rows.each()) if size <= SINGLY else None
        if number == 0:
            continue
        times.decide.append(decide_s)
        times.write.append(write_s)
        times.raw.append(raw_s)
        if singly_s is not None:
            times.singly.append(singly_s)
    return times


def _product(database: Database, source_id: UUID, entries: Sequence[Entry]) -> tuple[float, float]:
    """Return the seconds of deciding and of writing, as the batch loop does both."""
    decide_s, (job, done) = timed(lambda: _decided(database, source_id, entries))
    write_s, _ = timed(lambda: _complete(database, job, done))
    return decide_s, write_s


def _decided(database: Database, source_id: UUID, entries: Sequence[Entry]) -> tuple[ClaimedJob, Done]:
    """Claim the source's job and decide what its poll brings."""
    memory = Memory(Feed(title="Harbour", site_url="https://news.example/", entries=tuple(entries)))
    job = _claimed(database, source_id)
    done = _poll(database, memory, memory).process(job)
    assert done.result["new_analysed"] == len(entries), done.result
    return job, done


def _poll(database: Database, http: Http, reader: FeedReader) -> FetchSource:
    fetchers = {"rss": FeedFetcher(http, reader, SystemClock())}
    settings = poll_settings()
    return FetchSource(database, fetchers, Pace(database, settings, SystemClock()), SystemClock(), settings)


def _complete(database: Database, job: ClaimedJob, done: Done) -> None:
    """End a job as ``BatchConsumer`` does: one transaction."""
    with database.transaction() as connection:
        lease_store.complete(connection, job, result=done.result, duration_ms=0)
        done.write(connection)
        jobs_store.enqueue(connection, done.follow)


def _raw(product: Database, database: Database, source_id: UUID, portions: Sequence[RawRows]) -> float:
    """Return the seconds that the same rows take there, a transaction each portion."""
    copy_source(product, database, source_id)
    return timed(lambda: _insert(database, portions))[0]


def _insert(database: Database, portions: Sequence[RawRows]) -> None:
    for portion in portions:
        with database.transaction() as connection:
            insert_raw(connection, portion)


def _second_poll(database: Database) -> list[dict[str, Any]]:
    """Poll a loopback server twice and measure the second time: HTTP, parsing in its child process, saving."""
    parts: dict[str, list[float]] = {name: [] for name in ("whole", "fetch", "parse", "decide", "write")}
    with serving() as server, FeedReader(timeout_s=60) as reader, closing(OpenClient()) as http:
        for number in range(POLLS + 1):
            path = f"/feed/{number}.xml"
            source_id = _source(database, server.url(path))
            known = _entries(f"polls/{number}", KNOWN)
            server.answers[path] = Answer(rss(known), headers={"Content-Type": "application/rss+xml"})
            _polled(database, http, reader, source_id)
            server.answers[path] = Answer(
                rss([*_entries(f"polls/{number}/new", FRESH), *known]), headers={"Content-Type": "application/rss+xml"}
            )
            seconds = _polled(database, http, reader, source_id)
            if number:
                for name, value in seconds.items():
                    parts[name].append(value)
    row: dict[str, Any] = {"polls": POLLS}
    return [{**row, **{f"{name} ms": median_ms(values) for name, values in parts.items()}}]


def _polled(database: Database, http: Http, reader: FeedReader, source_id: UUID) -> dict[str, float]:
    watch = Stopwatch(http, reader)
    poll = _poll(database, watch, watch)
    job = _claimed(database, source_id)
    process_s, done = timed(lambda: poll.process(job))
    write_s, _ = timed(lambda: _complete(database, job, done))
    assert done.result["new_analysed"] in (KNOWN, FRESH), done.result
    return {
        "whole": process_s + write_s,
        "fetch": watch.fetch_s,
        "parse": watch.parse_s,
        "decide": process_s - watch.fetch_s - watch.parse_s,
        "write": write_s,
    }


def _source(database: Database, url: str) -> UUID:
    """Make a source with one subscriber."""
    with database.transaction() as connection:
        source_id = make_source(connection, url=url)
        connection.execute(
            "insert into subscriptions (id, user_id, source_id) values (%s, %s, %s)",
            (new_id(), make_user(connection), source_id),
        )
    return source_id


def _claimed(database: Database, source_id: UUID) -> ClaimedJob:
    with database.transaction() as connection:
        [job_id] = jobs_store.enqueue(connection, [NewJob(JobType.FETCH_SOURCE, source_id, "host:feeds.example")])
        job = lease_store.claim(connection, job_id, JobType.FETCH_SOURCE, lease_s=600, grace_s=1)
    assert job is not None
    return job


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
            html=TEXT_HTML,
            description="Rain fell on the harbour all morning, and the ferries to the islands waited.",
        )
        for number in range(count)
    ]


def rss(entries: Sequence[Entry]) -> bytes:
    """Return the entries as an RSS feed."""
    items = "".join(
        f"<item><title>{entry.title}</title><link>{entry.link}</link><guid>{entry.guid}</guid>"
        f"<pubDate>{format_datetime(entry.published_at or datetime.now(UTC))}</pubDate>"
        f"<description><![CDATA[{entry.html}]]></description></item>"
        for entry in entries
    )
    return f'<?xml version="1.0"?><rss version="2.0"><channel><title>Harbour</title>{items}</channel></rss>'.encode()


if __name__ == "__main__":
    main()
