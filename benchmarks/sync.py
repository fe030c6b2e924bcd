"""P2: the first sync of many feeds, and the next one, which brings nothing new. ``python -m benchmarks sync``

The same feeds from the same server, by our fetch function over PostgreSQL (commits durable, every entry sanitised,
stored with its identity, and a job for its page queued) and by ``reader`` over SQLite in a process of its own; both
with the machine's two cores. Of the second sync half of the feeds answer 304, half send the same body again.
"""

import json
import random
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.canned import Canned, serving
from benchmarks.database import count, server
from benchmarks.peer import Peer
from benchmarks.report import Report, median_ms, ratio
from benchmarks.syncing.ours import Sync, syncing

FEEDS, ENTRIES, ROUNDS = 100, 50, 5
REACH_FIRST, REACH_AGAIN = 4, 1
WORKERS = 2
_WORDS = [f"word{number}" for number in range(3_000)]


def main() -> None:
    report = Report("sync")
    report.open(f"{FEEDS} feeds of {ENTRIES} entries, first sync and one with nothing new, {ROUNDS} rounds")
    answers = {path: answer for number in range(ROUNDS + 1) for path, answer in _feeds(number).items()}
    peer, ours, theirs = Peer("reader"), _Seconds([], []), _Seconds([], [])
    with server(report) as postgres, serving(answers) as site:
        url = postgres.database("sync")
        report.tell({"peer": peer.version("reader")})
        with syncing(url) as sync:
            for number in range(ROUNDS + 1):
                urls = [f"{site}{path}" for path in _feeds(number)]
                ours.add(*_ours(sync, urls))
                theirs.add(*_peer(peer, postgres.folder / f"reader-{number}.sqlite", urls))
        _check(url)
    # The first round warms up; a worker pays for its children once in its life.
    report.table(
        f"reach: first >= {REACH_FIRST} x faster, again <= {REACH_AGAIN} x; cold with children starting",
        [
            _row("first, cold", ours.first[:1], theirs.first[:1]),
            _row("first", ours.first[1:], theirs.first[1:]),
            _row("again", ours.again[1:], theirs.again[1:]),
        ],
    )
    report.keep()


class _Seconds(NamedTuple):
    """Of each round: the first sync, and the one with nothing new."""

    first: list[float]
    again: list[float]

    def add(self, first_s: float, again_s: float) -> None:
        self.first.append(first_s)
        self.again.append(again_s)


def _row(name: str, ours: list[float], peer: list[float]) -> dict[str, Any]:
    return {
        "sync": name,
        "ours ms": median_ms(ours),
        "reader ms": median_ms(peer),
        "reader / ours": ratio(peer, ours),
        "fastest / fastest": round(min(peer) / min(ours), 2),
        "ours / reader": ratio(ours, peer),
        "ours, entries/s": round(FEEDS * ENTRIES * 1000 / median_ms(ours)),
    }


def _ours(sync: Sync, urls: list[str]) -> tuple[float, float]:
    sources = sync.follow(urls)
    return sync.poll(sources), sync.poll(sources)


def _peer(peer: Peer, file: Path, urls: list[str]) -> tuple[float, float]:
    wanted = {"file": str(file), "workers": WORKERS, "entries": len(urls) * ENTRIES, "urls": urls}
    told = json.loads(peer.run("benchmarks.syncing.reader_peer", given=json.dumps(wanted)).splitlines()[-1])
    return told["first_s"], told["again_s"]


def _check(url: str) -> None:
    """Fail unless everything is stored and queued, once."""
    for counted in (
        "contents",
        "source_entries",
        "items",
        "jobs where job_type = 'ingest_content'",
        "contents where entry_html like '%<p%' and entry_html !~ 'script|onclick|onerror'",
    ):
        found = count(url, f"select count(*) from {counted}")  # noqa: S608 - of the list above
        assert found == FEEDS * ENTRIES * (ROUNDS + 1), (counted, found)


def _feeds(number: int) -> dict[str, Canned]:
    """Return the feeds of one round, by path; every other one has a validator, every fifth one relative links."""
    rng = random.Random(number)
    rss = {"Content-Type": "application/rss+xml; charset=utf-8"}
    feeds = {}
    for feed in range(FEEDS):
        name = f"{number}-{feed}"
        headers = {**rss, "ETag": f'"{name}-etag"'} if feed % 2 else rss
        base = "" if feed % 5 == 0 else "https://news.example"
        feeds[f"/{name}.xml"] = Canned(_rss(name, rng, base), headers=headers)
    return feeds


def _rss(name: str, rng: random.Random, base: str) -> bytes:
    # Pages of the feed's own host: what a feed says of another site's pages is not stored as theirs.
    start = datetime(2026, 11, 1, tzinfo=UTC)
    items = "".join(
        f"<item><title>Note {entry} of {name}</title><link>/{name}/{entry}</link>"
        f"<guid isPermaLink='false'>tag:news.example,2026:{name}/{entry}</guid><author>ann@news.example (Ann)</author>"
        f"<pubDate>{format_datetime(start - timedelta(hours=entry))}</pubDate><category>news</category>"
        f"<description><![CDATA[{_html(rng, base)}]]></description></item>"
        for entry in range(ENTRIES)
    )
    head = f"<title>Feed {name}</title><link>https://news.example/{name}</link><description>Notes</description>"
    return f'<?xml version="1.0" encoding="utf-8"?><rss version="2.0"><channel>{head}{items}</channel></rss>'.encode()


def _html(rng: random.Random, base: str) -> str:
    more = f'<a href="{base}/more?a=1&amp;b=2">more</a>'
    paragraphs = "".join(
        f'<p class="x" onclick="no()">{" ".join(rng.choices(_WORDS, k=40))} {more}</p>' for _ in range(4)
    )
    image = f'<img src="{base}/i/{rng.randrange(9**9)}.jpg" onerror="no()" alt="A harbour">'
    return f"{paragraphs}<script>alert(1)</script>{image}"
