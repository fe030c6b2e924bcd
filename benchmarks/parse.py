"""P3: feeds into entries. ``python -m benchmarks.parse``

Sound RSS and Atom of 50, 500 and 5,000 entries, each an article of about 1,700 characters, by our parser and by
feedparser in turn, in one process, by processor time. "Sanitised" is all that either does (feedparser's own sanitiser
and resolver, our nh3); "bare" is the reading alone. fastfeedparser sanitises nothing; it runs in an environment of its
own. Then feeds that are damaged, each in one way: how many of their entries either recovers.
"""

import io
import json
import math
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable
from functools import partial
from importlib.metadata import version
from itertools import pairwise
from pathlib import Path
from typing import Any

import feedparser

from benchmarks.parsing import documents
from benchmarks.report import Report, ratio
from infra.local.locked_environment import locked_python
from infra.local.machine import ROOT
from siftline.fetch.feed.feed_parser import parse
from siftline.fetch.feed.xml_feed import read_feed
from siftline.fetch.feed.xml_tree import tree_of
from siftline.kit.errors import SiftlineError

SIZES = (50, 500, 5_000)
ROUNDS = {50: 15, 500: 7, 5_000: 3}
KINDS: dict[str, Callable[[int], bytes]] = {"RSS": documents.rss, "Atom": documents.atom}
REACH = 10
DAMAGED = 50


def main() -> None:
    report = Report("parse")
    report.open(f"RSS and Atom of {', '.join(map(str, SIZES))} entries; processor time, medians of {ROUNDS} rounds")
    report.tell({name: version(name) for name in ("feedparser", "lxml", "nh3")})
    fast = _fastfeedparser()
    rows, times = [], {}
    for kind, make in KINDS.items():
        for size in SIZES:
            row, times[kind, size] = _sound(make(size), size)
            rows.append({"feed": kind, "entries": size, **row, "fastfeedparser/s": round(fast[f"{kind}-{size}"])})
    report.table(f"sound feeds, entries a second; reach: sanitised >= {REACH} x feedparser", rows)
    report.table("growth: the exponent between sizes", [_growth(kind, times) for kind in KINDS])
    damage = [_damaged(name, body) for name, body in documents.damaged(DAMAGED).items()]
    report.table(f"damaged feeds, entries recovered of {DAMAGED}; reach: ours no fewer", damage)
    total = DAMAGED * len(damage)
    report.tell(
        {f"recovered by {name}": f"{sum(row[name] for row in damage) / total:.1%}" for name in ("ours", "peer")}
    )
    report.keep()


def _sound(body: bytes, size: int) -> tuple[dict[str, Any], dict[str, list[float]]]:
    works: dict[str, Callable[[], object]] = {
        "ours": partial(parse, body, url=documents.URL),
        "peer": lambda: feedparser.parse(io.BytesIO(body), response_headers={"content-location": documents.URL}),
        "ours bare": lambda: read_feed(tree_of(body, ""), url=documents.URL, max_entries=size),
        "peer bare": lambda: feedparser.parse(io.BytesIO(body), sanitize_html=False, resolve_relative_uris=False),
    }
    seconds: dict[str, list[float]] = {name: [] for name in works}
    assert len(parse(body, url=documents.URL).entries) == size
    for _ in range(ROUNDS[size]):
        for name, work in works.items():
            started = time.process_time()
            work()
            seconds[name].append(time.process_time() - started)
    rate = {name: round(size / statistics.median(values)) for name, values in seconds.items()}
    return {
        "ours/s": rate["ours"],
        "feedparser/s": rate["peer"],
        "ratio": ratio(seconds["peer"], seconds["ours"]),
        "bare ours/s": rate["ours bare"],
        "bare feedparser/s": rate["peer bare"],
        "bare ratio": ratio(seconds["peer bare"], seconds["ours bare"]),
    }, seconds


def _growth(kind: str, times: dict[tuple[str, int], dict[str, list[float]]]) -> dict[str, Any]:
    row: dict[str, Any] = {"feed": kind}
    for name in ("ours", "peer"):
        middle = {size: statistics.median(times[kind, size][name]) for size in SIZES}
        for small, large in pairwise(SIZES):
            row[f"{name} {small}-{large}"] = round(math.log(middle[large] / middle[small]) / math.log(large / small), 2)
    return row


def _damaged(name: str, body: bytes) -> dict[str, Any]:
    try:
        ours = len(parse(body, url=documents.URL).entries)
    except SiftlineError:
        ours = 0
    try:
        peer = len(feedparser.parse(io.BytesIO(body)).entries)
    except Exception:  # noqa: BLE001 - it fails in many ways, and that is what is counted
        peer = 0
    return {"damage": name, "ours": ours, "peer": peer}


def _fastfeedparser() -> dict[str, float]:
    python = locked_python(ROOT / ".local" / "peers-reader", ROOT / "infra" / "locks" / "reader.txt")
    with tempfile.TemporaryDirectory(prefix="siftline-bench-") as folder:
        for kind, make in KINDS.items():
            for size in SIZES:
                (Path(folder) / f"{kind}-{size}").write_bytes(make(size))
        command = [str(python), "-m", "benchmarks.parsing.fast_peer", folder]
        printed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    found: dict[str, float] = json.loads(printed)
    return found


if __name__ == "__main__":
    main()
