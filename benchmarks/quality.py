"""How often topics and names are right, on the labelled sets beside this project. ``python -m benchmarks quality``

Topics are scored by the tool that lies with the sets (``shared/tools/score_topics.py``), on the default model. It calls
``classify_scored`` with one half of a set; the other half was read before, in the file's order and without its labels:
of it the running mean and the topics' directions have learnt, and of the scored half they learn nothing. Then the other
way round. What was tuned was tuned within the first half of each, the one that "every first of two" warms with, so
that "half-2" was never looked at. Beside it the same without what directions learn. Texts are embedded once: only the
first line of a set tells the time of an article.
"""

import csv
import importlib.util
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from statistics import mean
from typing import Any

from benchmarks import entities
from benchmarks.topics import SETS, SHARED, Stream
from siftline.analyze.article_reader import Article
from siftline.analyze.topics.topic_list import labels_of
from siftline.analyze.topics.topic_means import PullRule
from siftline.analyze.topics.topic_scoring import Verdict
from siftline.models.embedder import Embedder, Vector

TOOL = SHARED / "tools" / "score_topics.py"
_WAYS = {"as shipped": PullRule(), "descriptions alone": PullRule(weight=0.0)}
_SURE = 0.7
_reading: list[Stream] = []
_verdicts: list[Verdict] = []


class _Remembering:
    """An embedder that reads a text once; its vectors are shared by those that are given the same ``kept``."""

    def __init__(self, inner: Embedder, kept: dict[str, Vector]) -> None:
        self._inner = inner
        self._kept = kept
        self.model_id, self.model_version, self.dimensions = inner.model_id, inner.model_version, inner.dimensions

    def embed_passage(self, text: str) -> Vector:
        """Return a text's vector."""
        if text not in self._kept:
            self._kept[text] = self._inner.embed_passage(text)
        return self._kept[text]

    def embed_query(self, text: str) -> Vector:
        """Return a query's vector."""
        return self._inner.embed_query(text)


def classify_scored(articles: Sequence[Mapping[str, str]], labels: Mapping[str, str]) -> list[list[tuple[str, float]]]:
    """Return all labels of each article with their scores, best first, by what was read before and no more."""
    [stream] = _reading
    assert set(labels) == set(stream.anchor_cache.topics)
    _verdicts[:] = [stream.read(Article(one["title"], one["text"]), learning=False)[1] for one in articles]
    return [[(topic.topic, topic.score) for topic in verdict.ranking] for verdict in _verdicts]


def main() -> None:
    """Print what the tool says of each half of each set, then the names found."""
    print("\n== quality: topics by score_topics.py, half of each set warms, the other is scored")
    if TOOL.is_file():
        tool = _tool()
        for language, name in SETS.items():
            file = SHARED / "corpora" / "text" / name
            if not file.is_file():
                print(f"   {language}: skipped, {name} is not beside this project")
                continue
            kept: dict[str, Vector] = {}
            for first in (0, 1):
                _halves(tool, file, first, kept)
    else:
        print("   skipped: score_topics.py and the labelled sets are not beside this project")
    print("\n== quality: organisations")
    entities.main()


def _halves(tool: Any, file: Path, first: int, kept: dict[str, Vector]) -> None:
    with file.open(newline="", encoding="utf-8") as lines:
        rows = list(csv.DictReader(lines))
    labels = labels_of({name: tool.LABELS[name] for name in sorted({row["label"] for row in rows})})
    for way, pull in _WAYS.items():
        with tempfile.TemporaryDirectory() as scratch:
            stream = Stream(labels, Path(scratch))
            stream.pull, stream.embedder = pull, _Remembering(stream.embedder, kept)
            for row in rows[first::2]:
                stream.read(Article(row["title"], row["text"]))
            half = Path(scratch) / f"{file.stem}-half-{2 - first}.csv"
            with half.open("w", newline="", encoding="utf-8") as lines:
                writer = csv.DictWriter(lines, list(rows[0]))
                writer.writeheader()
                writer.writerows(rows[1 - first :: 2])
            _reading[:] = [stream]
            print(f"   {way}, ", end="", flush=True)
            with _arguments(str(TOOL), f"{__name__}:classify_scored", str(half)):
                tool.main()
            right = [
                (verdict.margin, verdict.ranking[0].topic == row["label"])
                for verdict, row in zip(_verdicts, rows[1 - first :: 2], strict=True)
            ]
            sure = sorted(right, reverse=True)[: round(_SURE * len(right))]
            print(f"      of the {_SURE:.0%} with the largest lead {mean(hit for _, hit in sure):.3f}")


def _tool() -> Any:
    csv.field_size_limit(10_000_000)
    spec = importlib.util.spec_from_file_location("score_topics", TOOL)
    assert spec is not None
    assert spec.loader is not None
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    return tool


@contextmanager
def _arguments(*arguments: str) -> Iterator[None]:
    kept, paths = sys.argv, list(sys.path)
    sys.argv = list(arguments)
    try:
        yield
    finally:
        sys.argv, sys.path[:] = kept, paths


if __name__ == "__main__":
    main()
