"""P7: how well and how fast pages are read. ``python -m benchmarks extraction``

The annotated pages beside this project, read by ``read_page`` (decoding, limits, metadata, notices and text) and by
trafilatura alone in its precision and its default mode, which return text only: page by page, one after the other, so
that a busy machine slows all of them alike. Times are of the processor. Where the annotated pages are missing, the
sample articles' pages are read, and the report says so: they show how speeds compare, and next to nothing of how well a
text is found.
"""

import gzip
import json
import re
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from statistics import mean

from benchmarks.report import Report, ratio
from infra.local.sample_library import load_feeds
from infra.local.sample_pages import render_article
from siftline.ingest.page.page import read_page
from siftline.kit.errors import PermanentError
from tests.extraction import default, precise

CORPUS = Path(__file__).resolve().parents[2] / "shared" / "corpora" / "extraction"
REACH = 0.9
ROUNDS = 5
_TOKEN = re.compile(r"\w+")
_Read = Callable[[bytes, str], str]


@dataclass(frozen=True)
class Sample:
    """A page and its article's text."""

    html: bytes
    url: str
    text: str


def main() -> None:
    samples = _annotated() or _sample_pages()
    report = Report("extraction")
    report.open(f"{len(samples)} pages, {ROUNDS} rounds, page by page in turn")
    report.tell(
        {
            "trafilatura": version("trafilatura"),
            "lxml": version("lxml"),
            "pages": "annotated" if CORPUS.exists() else "of the samples: the annotated ones are not here",
        }
    )
    ways: dict[str, _Read] = {"ours": ours, "trafilatura, precise": precise, "trafilatura, default": default}
    speeds = _speeds(samples, ways)
    ratios = {name: ratio(speeds["ours"], speed) for name, speed in speeds.items()}
    rows = []
    for name, read in ways.items():
        precision, recall = score(samples, read)
        rows.append(
            {
                "way": name,
                "precision": round(precision, 4),
                "recall": round(recall, 4),
                "F1": round(2 * precision * recall / (precision + recall), 4),
                "pages/CPU-s": round(max(speeds[name]), 1),
                "ours / it": ratios[name],
            }
        )
    report.table(f"F1 above trafilatura's, reach >= {REACH} x its pages a second", rows)
    report.keep()


def _annotated() -> list[Sample]:
    """Return the annotated pages; none where they are missing."""
    truth = CORPUS / "ground-truth.json"
    if not truth.exists():
        return []
    return [
        Sample(
            gzip.decompress((CORPUS / "html" / f"{key}.html.gz").read_bytes()), page.get("url", ""), page["articleBody"]
        )
        for key, page in json.loads(truth.read_text(encoding="utf-8")).items()
    ]


def _sample_pages() -> list[Sample]:
    return [
        Sample(
            render_article(article, feed, "https://news.example", feed.articles[:5]).encode(),
            article.path,
            article.text,
        )
        for feed in load_feeds(datetime.now(UTC))
        for article in feed.articles
    ]


def ours(html: bytes, url: str) -> str:
    """Read as the product does, without the pipe to its child process."""
    try:
        return read_page(html, "text/html", url).text
    except PermanentError:
        return ""


def score(samples: Sequence[Sample], read: _Read) -> tuple[float, float]:
    """Return precision and recall over multisets of four tokens in a row, averaged over pages.

    As the article-extraction-benchmark defines them (github.com/scrapinghub/article-extraction-benchmark).
    """
    precisions, recalls = [], []
    for sample in samples:
        want, have = _shingles(sample.text), _shingles(read(sample.html, sample.url))
        hits = (want & have).total()
        precisions.append(hits / have.total() if have else float(not want))
        recalls.append(hits / want.total() if want else 1.0)
    return mean(precisions), mean(recalls)


def _shingles(text: str) -> Counter[tuple[str, ...]]:
    words = _TOKEN.findall(text)
    return Counter(tuple(words[start : start + 4]) for start in range(max(1, len(words) - 3))) if words else Counter()


def _speeds(samples: Sequence[Sample], ways: dict[str, _Read]) -> dict[str, list[float]]:
    """Return each way's pages a second of processor time, a round each; what is loaded at first use is not counted."""
    for read in ways.values():
        read(samples[0].html, samples[0].url)
    speeds: dict[str, list[float]] = {name: [] for name in ways}
    for number in range(ROUNDS):
        spent = dict.fromkeys(ways, 0.0)
        for place, sample in enumerate(samples):
            names = list(ways)
            turn = (number + place) % len(names)
            for name in names[turn:] + names[:turn]:
                began = time.process_time()
                ways[name](sample.html, sample.url)
                spent[name] += time.process_time() - began
        for name, seconds in spent.items():
            speeds[name].append(len(samples) / seconds)
    return speeds
