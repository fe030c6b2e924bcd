"""One hostile feed in a process of its own: ``python -m benchmarks.parsing.child ours|feedparser < feed``.

Prints, as JSON, what became of it, the processor time of the parsing, and the peak of the whole process's memory.
"""

import io
import json
import re
import resource
import sys
import time
from pathlib import Path

CAP_S = 20


def _ours(body: bytes) -> str:
    from siftline.fetch.feed.feed_parser import parse  # noqa: PLC0415 - each child loads what it measures
    from siftline.kit.errors import SiftlineError  # noqa: PLC0415 - as above

    try:
        return f"{len(parse(body, url='https://site.example/feed.xml').entries)} entries"
    except SiftlineError as error:
        return error.error_code


def _feedparser(body: bytes) -> str:
    import feedparser  # noqa: PLC0415 - as above

    return f"{len(feedparser.parse(io.BytesIO(body)).entries)} entries"


def main() -> None:
    read = {"ours": _ours, "feedparser": _feedparser}[sys.argv[1]]
    read(b"<rss version='2.0'><channel><item><title>A&nbsp;</title></item></channel></rss>")  # loads everything
    body = sys.stdin.buffer.read()
    resource.setrlimit(resource.RLIMIT_CPU, (CAP_S, CAP_S + 1))
    started = time.process_time()
    try:
        outcome = read(body)
    except Exception as error:  # noqa: BLE001 - what it does with hostile bytes is what is measured
        outcome = type(error).__name__
    spent_s = time.process_time() - started
    # Not ru_maxrss: that of a child begins with its parent's.
    peak = re.search(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text("ascii"))
    print(json.dumps({"outcome": outcome, "cpu_s": spent_s, "peak_mb": int(peak[1]) / 1024 if peak else 0.0}))


if __name__ == "__main__":
    main()
