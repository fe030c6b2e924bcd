"""P8: topics of articles, how often right and how fast. ``python -m benchmarks topics``

Right: on the labelled news beside this project (MasakhaNEWS, English and French), on the default model, as the tool
that lies with the sets (``shared/tools/score_topics.py``) scores. One half warms the running mean and the topics'
directions, in the file's order, without its labels; the other half is scored, and learnt from no more. Then the other
way round; and both without what directions learn. What was tuned was tuned within the first half of each, the one that
"every first of two" warms with. ``classify_articles`` is for ``score_topics.py MODULE:CALLABLE``, which scores all of
them: there the first article meets only the average news that are shipped.

Fast: the whole analysis of an article (vector, topics, summary, tags, names) beside one plain embedding of its first
192 tokens, one thread, by processor time.
"""

import csv
import runpy
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import mean

import numpy as np

from benchmarks.report import Report, median_ms, ratio, timed
from siftline.analyze.article_reader import Article, Reader
from siftline.analyze.entities.entity_rules import RuleRecognizer
from siftline.analyze.entities.entity_step import EntityStep
from siftline.analyze.text.language import LanguageDetector
from siftline.analyze.topics.anchors import ANY, AnchorCache
from siftline.analyze.topics.topic_list import LabelSet, labels_of, shipped_labels, shipped_news
from siftline.analyze.topics.topic_scoring import PullRule, Seen, TopicVerdict, classify, mean_vector, read_directions
from siftline.models.embedder import Embedder, open_embedder
from siftline.models.unit_vector import Vector

ROOT = Path(__file__).resolve().parent.parent
MODEL = ROOT / ".local" / "model"
SHARED = ROOT.parent / "shared"
SETS = {"English": "masakhanews_eng_test.csv", "French": "masakhanews_fra_test.csv"}
ARTICLES = 200
REACH, REACH_NAMES_MS = 2.6, 1.5
CHUNKS = (1, 2, 4)
_WAYS = {"as shipped": PullRule(), "descriptions alone": PullRule(weight=0.0)}
_SURE = 0.7


class Stream:
    """Articles one after the other, as the product meets them."""

    def __init__(
        self, labels: LabelSet, folder: Path, *, tokens_max: int = 192, model: Path = MODEL, chunks: int = 1
    ) -> None:
        self.pull = PullRule()
        self.embedder: Embedder = open_embedder(str(model), str(folder), tokens_max=tokens_max, chunks=chunks)
        self.anchor_cache = AnchorCache(self.embedder, labels, shipped_news(), lambda: [folder])
        self._detector = LanguageDetector()
        self._seen: dict[str, dict[str, Seen]] = {}

    def read(self, article: Article, *, learning: bool = True) -> tuple[str, TopicVerdict]:
        """Return an article's language and the first pass's verdict; the mean learns from it."""
        found = self._detector.detect(article.whole)
        language = found.language if found else ANY
        anchors, learnt = self.anchor_cache.of(language), self._seen.setdefault(language, {})
        vector = self.embedder.embed_passage(article.whole)
        mean_here = mean_vector(anchors, self.anchor_cache.topics, learnt)
        directions = read_directions(anchors, mean_here, self.anchor_cache.topics, learnt, self.pull)
        verdict = classify(vector, mean_here, self.anchor_cache.topics, directions)
        if verdict.topics and learning:
            best = verdict.topics[0].topic
            before = learnt.get(best, Seen(0, np.zeros(vector.size)))
            learnt[best] = Seen(before.documents + 1, before.vector_sum + vector)
        return language, verdict


def classify_articles(
    articles: Sequence[Mapping[str, str]], labels: Mapping[str, str], model: Path = MODEL, *, tokens_max: int = 192
) -> list[list[tuple[str, float]]]:
    """Return all labels of each article with their scores, best first."""
    with tempfile.TemporaryDirectory() as scratch:
        stream = Stream(labels_of(labels), Path(scratch), tokens_max=tokens_max, model=model)
        verdicts = [stream.read(Article(item["title"], item["text"]))[1] for item in articles]
    return [[(topic.topic, topic.score) for topic in verdict.ranking] for verdict in verdicts]


def main() -> None:
    report = Report("topics")
    report.open("topics of articles, how often right and how fast")
    rows = [row for language, file in SETS.items() for row in _accuracy(language, SHARED / "corpora" / "text" / file)]
    if rows:
        report.table("one half warms the mean, the other is scored", rows)
        table = [
            row for language, file in SETS.items() for row in _chunked(language, SHARED / "corpora" / "text" / file)
        ]
        report.table("long texts read in chunks of 192 tokens: chosen within the warming half, then scored", table)
    else:
        report.tell({"accuracy": "not measured: the labelled sets are not beside this project"})
    with tempfile.TemporaryDirectory() as scratch:
        _speed(report, news(ARTICLES), Path(scratch))
    report.keep()


def _speed(report: Report, articles: Sequence[Article], folder: Path) -> None:
    embedder = _Counting(open_embedder(str(MODEL), str(folder), tokens_max=192, threads=1))
    anchors = AnchorCache(embedder, shipped_labels(), shipped_news(), lambda: [MODEL, folder])
    reader, names = Reader(embedder, anchors, LanguageDetector()), EntityStep(RuleRecognizer())
    for article in (articles[0], articles[-1]):  # the first in a language loads what it needs
        names.added(article, reader.read(article, reader.language_of(article), {}))
    embedder.calls, words = 0, 0
    seconds: dict[str, list[float]] = {"whole analysis": [], "of it names": [], "one plain embedding": []}
    for article in articles:
        at = [time.process_time()]
        reading = reader.read(article, reader.language_of(article), {})
        at.append(time.process_time())
        names.added(article, reading)
        at.append(time.process_time())
        embedder.inner.embed_passage(article.whole)
        at.append(time.process_time())
        for name, (first, last) in zip(seconds, ((0, 2), (1, 2), (2, 3)), strict=True):
            seconds[name].append(at[last] - at[first])
        words += len(article.whole.split())
    plain = seconds["one plain embedding"]
    report.table(
        f"processor ms an article, one thread, medians; reach: whole <= {REACH} x the plain embedding",
        [{"what": name, "ms": median_ms(spent), "ratio": ratio(spent, plain)} for name, spent in seconds.items()],
    )
    report.tell(
        {
            "articles": len(articles),
            "embedding calls an article": round(embedder.calls / len(articles), 1),
            "names, ms in 100 words": round(100_000 * sum(seconds["of it names"]) / words, 2),
            "reach": f"<= {REACH_NAMES_MS} in 100 tokens",
        }
    )


class _Counting:
    """An embedder that counts what it is asked for."""

    def __init__(self, inner: Embedder) -> None:
        self.inner = inner
        self.calls = 0
        self.model_id, self.model_version, self.dimensions = inner.model_id, inner.model_version, inner.dimensions

    def embed_passage(self, text: str) -> Vector:
        """Return a text's vector."""
        self.calls += 1
        return self.inner.embed_passage(text)

    def embed_query(self, text: str) -> Vector:
        """Return a query's vector."""
        self.calls += 1
        return self.inner.embed_query(text)


def _accuracy(language: str, file: Path) -> list[dict[str, object]]:
    if not file.is_file():
        return []
    rows, labels = _labelled(file)
    return [
        {"way": way, **_half(language, rows, labels, first, pull=pull)}
        for way, pull in _WAYS.items()
        for first in (0, 1)
    ]


def _chunked(language: str, file: Path) -> list[dict[str, object]]:
    """How many chunks help: chosen by the warming half, one half of it warming for the other."""
    if not file.is_file():
        return []
    rows, labels = _labelled(file)
    table = []
    for chunks in CHUNKS:
        spent, within = timed(lambda: _half(language, rows[::2], labels, 0, chunks=chunks))  # noqa: B023 - called here
        whole = _half(language, rows, labels, 0, chunks=chunks)
        table.append(
            {
                "set": language,
                "chunks": chunks,
                "within the warming half": within["accuracy"],
                "ms an article": round(1_000 * spent / len(rows[::2]), 1),
                "the scored half": whole["accuracy"],
                "of the sure 70 %": whole["accuracy of the sure 70 %"],
            }
        )
    return table


def _labelled(file: Path) -> tuple[list[dict[str, str]], LabelSet]:
    csv.field_size_limit(10_000_000)
    with file.open(newline="", encoding="utf-8") as lines:
        rows = list(csv.DictReader(lines))
    names = sorted({row["label"] for row in rows})
    described = runpy.run_path(str(SHARED / "tools" / "score_topics.py"))["LABELS"]
    return rows, labels_of({name: described[name] for name in names})


def _half(
    language: str,
    rows: Sequence[Mapping[str, str]],
    labels: LabelSet,
    first: int,
    *,
    chunks: int = 1,
    pull: PullRule | None = None,
) -> dict[str, object]:
    articles = [(Article(row["title"], row["text"]), row["label"]) for row in rows]
    with tempfile.TemporaryDirectory() as scratch:
        stream = Stream(labels, Path(scratch), chunks=chunks)
        stream.pull = pull or stream.pull
        for article, _ in articles[first::2]:
            stream.read(article)
        scored = [(stream.read(article, learning=False)[1], label) for article, label in articles[1 - first :: 2]]
    right = [(verdict.margin, verdict.ranking[0].topic == label) for verdict, label in scored]
    sure = sorted(right, reverse=True)[: round(_SURE * len(right))]
    return {
        "set": language,
        "warmed with": f"every {'first' if first == 0 else 'second'} of two",
        "scored": len(scored),
        "accuracy": round(mean(hit for _, hit in right), 3),
        "macro-F1": round(_macro_f1([(verdict.ranking[0].topic, label) for verdict, label in scored], labels.ids), 3),
        "accuracy of the sure 70 %": round(mean(hit for _, hit in sure), 3),
    }


def _macro_f1(pairs: Sequence[tuple[str, str]], names: Sequence[str]) -> float:
    scores = []
    for name in names:
        both = sum(said == label == name for said, label in pairs)
        scores.append(2 * both / max(sum((said == name) + (label == name) for said, label in pairs), 1))
    return mean(scores)


def news(count: int) -> list[Article]:
    """Return so many articles: labelled ones where they are at hand, else this project's samples, over again."""
    found: list[Article] = []
    for file in SETS.values():
        if (SHARED / "corpora" / "text" / file).is_file():
            csv.field_size_limit(10_000_000)
            with (SHARED / "corpora" / "text" / file).open(newline="", encoding="utf-8") as lines:
                found += [Article(row["title"], row["text"]) for row in csv.DictReader(lines)]
    found = found or [Article("", text) for texts in shipped_news().values() for text in texts]
    return [found[place % len(found)] for place in range(count)]
