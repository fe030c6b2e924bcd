"""P2: the first sync of many feeds, and the next one, which brings nothing new. ``python -m benchmarks.sync``

The same feeds from the same server, by our fetch function over PostgreSQL (commits durable, every entry sanitised,
stored with its identity, and a job for its page queued) and by ``reader`` over SQLite in a process of its own; both
with the machine's two cores. Of the second sync half of the feeds answer 304, half send the same body again.
"""

import cProfile
import json
import pstats
import random
import subprocess
import tempfile
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path
from typing import Any

import psycopg

from benchmarks.canned import Canned, serving
from benchmarks.report import Report, durability, median_ms, ratio
from benchmarks.syncing.ours import Sync, syncing
from infra.local.locked_environment import locked_python
from infra.local.machine import ROOT
from infra.local.migrate import create_database, migrate
from infra.local.postgres import EmbeddedPostgres
from siftline.settings.functions import process_environment

FEEDS, ENTRIES, ROUNDS = 100, 50, 5
REACH_FIRST, REACH_AGAIN = 4, 1
WORKERS = 2
_LOCK = "reader"
_WORDS = [f"word{number}" for number in range(3_000)]


def main() -> None:
    report = Report("sync")
    report.open(f"{FEEDS} feeds of {ENTRIES} entries, first sync and one with nothing new, {ROUNDS} rounds")
    answers = {path: answer for number in range(ROUNDS + 2) for path, answer in _feeds(number).items()}
    with tempfile.TemporaryDirectory(prefix="siftline-bench-") as folder, ExitStack() as stack:
        Path(folder).chmod(0o711)  # PostgreSQL runs as another user when this one is root
        server = stack.enter_context(EmbeddedPostgres(Path(folder) / "postgres"))
        create_database(server.url(), "sync")
        migrate(server.url("sync"))
        with psycopg.connect(server.url("sync")) as connection:
            report.tell(durability(connection))
        site = stack.enter_context(serving(answers))
        sync = stack.enter_context(syncing(server.url("sync")))
        pins = ROOT / "infra" / "locks" / f"{_LOCK}.txt"
        python = locked_python(ROOT / ".local" / f"peers-{_LOCK}", pins)
        report.tell(
            {
                "peer": next(
                    line for line in pins.read_text("utf-8").splitlines() if line.startswith("reader==")
                ).split()[0]
            }
        )
        ours: dict[str, list[float]] = {"first": [], "again": []}
        peer: dict[str, list[float]] = {"first": [], "again": []}
        for number in range(ROUNDS + 1):
            urls = [f"{site}{path}" for path in _feeds(number)]
            mine = _ours(sync, urls)
            theirs = _peer(str(python), Path(folder) / f"reader-{number}.sqlite", urls)
            if number == 0:  # it warms up; a worker pays for its children once in its life
                report.tell({"first sync, children starting": f"ours {mine['first']:.1f} s, {_times(theirs, mine)} x"})
            else:
                for name, seconds in mine.items():
                    ours[name].append(seconds)
                    peer[name].append(theirs[name])
        with psycopg.connect(server.url("sync")) as connection:
            _check(connection)
        rows = [_row(name, ours[name], peer[name]) for name in ours]
        report.table(f"reach: first >= {REACH_FIRST} x faster, again <= {REACH_AGAIN} x", rows)
        report.tell({"ours, in this process": _profile(sync, [f"{site}{path}" for path in _feeds(ROUNDS + 1)])})
    report.keep()


def _times(peer: dict[str, float], ours: dict[str, float]) -> float:
    return round(peer["first"] / ours["first"], 1)


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


def _ours(sync: Sync, urls: list[str]) -> dict[str, float]:
    sources = sync.follow(urls)
    return {"first": sync.poll(sources), "again": sync.poll(sources)}


def _peer(python: str, file: Path, urls: list[str]) -> dict[str, float]:
    wanted = json.dumps({"file": str(file), "workers": WORKERS, "entries": len(urls) * ENTRIES, "urls": urls})
    environment = {**process_environment(), "PYTHONPATH": str(ROOT)}
    command = [python, "-m", "benchmarks.syncing.reader_peer"]
    printed = subprocess.run(
        command, env=environment, cwd=ROOT, input=wanted, stdout=subprocess.PIPE, text=True, check=True
    ).stdout
    told = json.loads(printed.splitlines()[-1])
    return {"first": told["first_s"], "again": told["again_s"]}


def _check(connection: "psycopg.Connection[Any]") -> None:
    """Fail unless everything is stored and queued, once."""
    expected = FEEDS * ENTRIES * (ROUNDS + 1)
    for counted in (
        "contents",
        "source_entries",
        "items",
        "jobs where job_type = 'ingest_content'",
        "contents where entry_html like '%<p%' and entry_html !~ 'script|onclick|onerror'",
    ):
        row = connection.execute(f"select count(*) from {counted}").fetchone()  # noqa: S608 - of the list above
        assert row == (expected,), (counted, row)


def _profile(sync: Sync, urls: list[str]) -> str:
    """Return what costs most where one thread polls feeds for the first time, milliseconds a feed."""
    sources = sync.follow(urls)
    profile = cProfile.Profile()
    profile.enable()
    sync.poll(sources, alone=True)
    profile.disable()
    stats: dict[Any, Any] = pstats.Stats(profile).stats  # type: ignore[attr-defined]  # typeshed leaves it out
    own = sorted(
        ((told[2], f"{place[2]} ({place[0].rpartition('/')[2]})") for place, told in stats.items()), reverse=True
    )
    return ", ".join(f"{name} {seconds * 1000 / FEEDS:.2f}" for seconds, name in own[:12])


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


if __name__ == "__main__":
    main()
