"""P11: what the safe HTTP client costs. ``python -m benchmarks.http``

The same requests by our client and by httpx, in turn, to a server in another process: over connections that stay open
and over new ones, small and large bodies, compressed ones, redirects. Ours resolves and checks every address, follows
each redirect by hand, holds the whole request to a deadline and counts decoded bytes; httpx does nothing of the kind.
"""

import gzip
import random
import time
from collections.abc import Callable
from contextlib import closing
from statistics import median
from typing import Any

import httpx

from benchmarks.calls import busiest
from benchmarks.canned import Canned, serving
from benchmarks.report import Report, ratio
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
        rows, missed = [], []
        urls = {path: f"{site}{path}" for path in answers}
        urls["/close, by name"] = urls["/close"].replace("127.0.0.1", "localhost")
        for name, url in urls.items():
            row = _row(name, url, sizes[name.partition(",")[0]], ways)
            rows.append(row)
            if row["ours / httpx"] > REACH:
                missed.append(name)
        report.table(f"milliseconds of a request, reach <= {REACH} x httpx", rows)
        for name in missed:
            report.tell({f"why at {name}": _profile(lambda name=name: client.get(urls[name]))})
    report.keep()


def _row(name: str, url: str, size: int, ways: dict[str, _Get]) -> dict[str, Any]:
    wall: dict[str, list[float]] = {name: [] for name in ways}
    cpu: dict[str, list[float]] = {name: [] for name in ways}
    for number in range(ROUNDS + 1):
        for way in ways if number % 2 else reversed(ways):
            get = ways[way]
            began, busy = time.perf_counter(), time.process_time()
            for _ in range(REQUESTS):
                assert len(get(url)) == size
            if number:
                wall[way].append((time.perf_counter() - began) / REQUESTS)
                cpu[way].append((time.process_time() - busy) / REQUESTS)
    return {
        "request": name,
        **{f"{way} ms": round(median(seconds) * 1000, 3) for way, seconds in wall.items()},
        "ours / httpx": ratio(wall["ours"], wall["httpx"]),
        "cpu, ours / httpx": ratio(cpu["ours"], cpu["httpx"]),
    }


def _profile(work: Callable[[], object]) -> str:
    """Return where our time goes, the largest first."""
    found = busiest(lambda: [work() for _ in range(REQUESTS)])
    return ", ".join(f"{name} {seconds / REQUESTS * 1e6:.0f} us" for name, seconds in found)


if __name__ == "__main__":
    main()
