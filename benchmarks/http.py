"""P11: what the safe HTTP client costs. ``python -m benchmarks http``

The same requests by our client and by httpx, in turn, to a server in another process: over connections that stay open
and over new ones, small and large bodies, compressed ones, redirects. Ours resolves and checks every address, follows
each redirect by hand, holds the whole request to a deadline and counts decoded bytes; httpx does nothing of the kind.
"""

import gzip
import random
import time
from collections.abc import Callable
from contextlib import closing
from functools import partial
from statistics import median
from typing import Any

import httpx

from benchmarks.canned import Canned, serving
from benchmarks.report import Report, in_turn, ratio
from tests.open_client import OpenClient

REACH = 1.3
REQUESTS, ROUNDS = 200, 15
_WORDS = [f"word{number}" for number in range(2_000)]
_Get = Callable[[str], bytes]


def main() -> None:
    report = Report("http")
    report.open(f"{REQUESTS} requests a round, {ROUNDS} rounds, ours and httpx in turn")
    large = " ".join(random.Random(1).choices(_WORDS, k=15_000)).encode()[:100_000]
    html = {"Content-Type": "text/html; charset=utf-8"}
    answers = {
        "/small": Canned(large[:2_000], headers=html),
        "/large": Canned(large, headers=html),
        "/gzip": Canned(gzip.compress(large), headers={**html, "Content-Encoding": "gzip"}),
        "/redirect": Canned(b"moved", 302, {**html, "Location": "/small"}),
        "/close": Canned(large[:2_000], headers={**html, "Connection": "close"}),
    }
    sizes = {path: 100_000 if path in {"/large", "/gzip"} else 2_000 for path in answers}
    with (
        serving(answers) as site,
        closing(OpenClient()) as client,
        httpx.Client(follow_redirects=True, trust_env=False) as peer,
    ):
        ways: dict[str, _Get] = {
            "ours": lambda url: client.get(url).body,
            "httpx": lambda url: peer.get(url).content,
        }
        urls = {path: f"{site}{path}" for path in answers}
        urls["/close, by name"] = urls["/close"].replace("127.0.0.1", "localhost")
        rows = [_row(name, url, sizes[name.partition(",")[0]], ways) for name, url in urls.items()]
    report.table(f"milliseconds of a request, reach <= {REACH} x httpx", rows)
    report.keep()


def _row(name: str, url: str, size: int, ways: dict[str, _Get]) -> dict[str, Any]:
    def requests(get: _Get) -> None:
        for _ in range(REQUESTS):
            assert len(get(url)) == size

    works = {way: partial(requests, get) for way, get in ways.items()}
    wall, cpu = in_turn(works, ROUNDS), in_turn(works, ROUNDS, clock=time.process_time)
    return {
        "request": name,
        **{f"{way} ms": round(median(seconds) * 1000 / REQUESTS, 3) for way, seconds in wall.items()},
        "ours / httpx": ratio(wall["ours"], wall["httpx"]),
        "cpu, ours / httpx": ratio(cpu["ours"], cpu["httpx"]),
    }
