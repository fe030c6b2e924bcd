"""P3: feeds into entries. ``python -m benchmarks parse``

Sound RSS and Atom of 50, 500 and 5,000 entries, each an article of about 1,700 characters, by our parser and by
feedparser in turn, in one process, by processor time. "Sanitised" is all that either does (feedparser's own sanitiser
and resolver, our nh3); "bare" is the reading alone.
"""

import io
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from importlib.metadata import version
from statistics import median
from typing import Any

import feedparser

from benchmarks.parsing import documents
from benchmarks.report import Report, exponents, in_turn, ratio
from siftline.fetch.feed.feed_parser import parse
from siftline.fetch.feed.xml_feed import read_feed
from siftline.fetch.feed.xml_tree import tree_of

ROUNDS = {50: 15, 500: 7, 5_000: 3}
"""Measured rounds by number of entries."""
KINDS: dict[str, Callable[[int], bytes]] = {"RSS": documents.rss, "Atom": documents.atom}
REACH = 12


def main() -> None:
    report = Report("parse")
    report.open(f"RSS and Atom of {', '.join(map(str, ROUNDS))} entries; processor time, medians of {ROUNDS} rounds")
    report.tell({name: version(name) for name in ("feedparser", "lxml", "nh3")})
    times = {(kind, size): _times(make(size), size) for kind, make in KINDS.items() for size in ROUNDS}
    rows = [_row(kind, size, seconds) for (kind, size), seconds in times.items()]
    report.table(f"sound feeds, entries a second; reach: sanitised >= {REACH} x feedparser", rows)
    growth = [
        {"feed": kind, "parser": name, **exponents({size: median(times[kind, size][name]) for size in ROUNDS})}
        for kind in KINDS
        for name in ("ours", "feedparser")
    ]
    report.table("growth: the exponent between sizes", growth)
    report.keep()


def _times(body: bytes, size: int) -> Mapping[str, Sequence[float]]:
    """Return the processor time, in seconds, of each round and parser."""
    assert len(parse(body, url=documents.URL).entries) == size
    works: dict[str, Callable[[], object]] = {
        "ours": partial(parse, body, url=documents.URL),
        "feedparser": lambda: feedparser.parse(io.BytesIO(body), response_headers={"content-location": documents.URL}),
        "ours bare": lambda: read_feed(tree_of(body, ""), url=documents.URL, max_entries=size),
        "feedparser bare": lambda: feedparser.parse(io.BytesIO(body), sanitize_html=False, resolve_relative_uris=False),
    }
    return in_turn(works, ROUNDS[size], clock=time.process_time)


def _row(kind: str, size: int, seconds: Mapping[str, Sequence[float]]) -> dict[str, Any]:
    rate = {f"{name}/s": round(size / median(values)) for name, values in seconds.items()}
    return {
        "feed": kind,
        "entries": size,
        **rate,
        "ratio": ratio(seconds["feedparser"], seconds["ours"]),
        "bare ratio": ratio(seconds["feedparser bare"], seconds["ours bare"]),
    }
