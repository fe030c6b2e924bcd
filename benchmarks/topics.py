"""P8: topics of articles, how often right and how fast. ``python -m benchmarks topics``

Right: on the labelled news beside this project (MasakhaNEWS, English and French). One half warms the running mean, in
the file's order, without its labels; the other half is scored, and learnt from no more. Then the other way round.
Nothing was tuned on either. ``classify_articles`` is for ``score_topics.py MODULE:CALLABLE``, which scores all of them:
there the first article meets only the average news that are shipped.

Fast: a thousand articles and twenty topics. Beside it the usual zero-shot shape, one pair of text and sentence a topic
through a cross-encoder of mDeBERTa's size, which also is our second pass: random weights, for time knows no weights.
It is made with ``make export-model``'s environment; where that is not installed, that part is left out and says so.
"""

import csv
import runpy
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import mean

import numpy as np

from benchmarks.report import Report, median_ms, ratio, timed
from layers.model import export
from siftline.analyze.anchors import ANY, Shelf
from siftline.analyze.cascade import Cascade, CascadeRule
from siftline.analyze.labels import LabelSet, labels_of, shipped_hypotheses, shipped_labels, shipped_news
from siftline.analyze.language import LanguageDetector
from siftline.analyze.means import Seen, mean_vector, read_directions
from siftline.analyze.nli import open_entailment
from siftline.analyze.reader import Article
from siftline.analyze.topics import TopicRule, Verdict, classify
from siftline.kit.embedder import open_embedder
from siftline.topic_settings import TopicSettings

ROOT = Path(__file__).resolve().parent.parent
MODEL = ROOT / ".local" / "model"
NLI = ROOT / ".local" / "models" / "random-mdeberta-base"
SHARED = ROOT.parent / "shared"
SETS = {"English": "masakhanews_eng_test.csv", "French": "masakhanews_fra_test.csv"}
ARTICLES, TOPICS, BESIDE = 1_000, 20, 8
_SURE = 0.7
_FLOOR = "made with the environment of make export-model, which is not installed"


class Stream:
    """Articles one after the other, as the product meets them."""

    def __init__(self, labels: LabelSet, folder: Path, *, tokens_max: int = 192, model: Path = MODEL) -> None:
        self.embedder = open_embedder(str(model), str(folder), tokens_max=tokens_max)
        self.shelf = Shelf(self.embedder, labels, shipped_news(), lambda: [folder])
        self._detector = LanguageDetector()
        self._seen: dict[str, dict[str, Seen]] = {}

    def read(self, article: Article, *, learning: bool = True) -> tuple[str, Verdict]:
        """Return an article's language and the first pass's verdict; the mean learns from it."""
        found = self._detector.detect(article.whole)
        language = found.language if found else ANY
        anchors, learnt = self.shelf.of(language), self._seen.setdefault(language, {})
        vector = self.embedder.embed_passage(article.whole)
        mean_here = mean_vector(anchors, self.shelf.topics, learnt)
        directions = read_directions(anchors, mean_here, self.shelf.topics, learnt)
        verdict = classify(vector, mean_here, self.shelf.topics, directions)
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
    else:
        report.tell({"accuracy": "not measured: the labelled sets are not beside this project"})
    with tempfile.TemporaryDirectory() as scratch:
        _speed(report, Path(scratch))
    report.keep()


def _accuracy(language: str, file: Path) -> list[dict[str, object]]:
    if not file.is_file():
        return []
    csv.field_size_limit(10_000_000)
    with file.open(newline="", encoding="utf-8") as lines:
        rows = list(csv.DictReader(lines))
    names = sorted({row["label"] for row in rows})
    described = runpy.run_path(str(SHARED / "tools" / "score_topics.py"))["LABELS"]
    labels = labels_of({name: described[name] for name in names})
    return [_half(language, rows, labels, first) for first in (0, 1)]


def _half(language: str, rows: Sequence[Mapping[str, str]], labels: LabelSet, first: int) -> dict[str, object]:
    articles = [(Article(row["title"], row["text"]), row["label"]) for row in rows]
    with tempfile.TemporaryDirectory() as scratch:
        stream = Stream(labels, Path(scratch))
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


def _speed(report: Report, scratch: Path) -> None:
    labels = LabelSet(shipped_labels().labels[:TOPICS])
    stream, articles = Stream(labels, scratch), _articles()
    stream.read(articles[0])
    seconds, verdicts = zip(*(timed(lambda article=article: stream.read(article)) for article in articles), strict=True)
    first_ms = 1_000 * mean(seconds)
    defaults = TopicSettings()
    unsure = mean(verdict.margin < defaults.topic_margin for _, verdict in verdicts)
    report.tell({"articles": len(articles), "topics": TOPICS, "first pass, ms an article": round(first_ms, 1)})
    report.tell({"below the margin": f"{unsure:.1%} (TOPIC_MARGIN {defaults.topic_margin})"})
    if not _made():
        report.tell({"second pass and zero-shot pipeline": f"not measured: {_FLOOR}"})
        return
    judge = open_entailment(str(NLI), str(scratch), tokens_max=defaults.topic_model_tokens)
    rule = CascadeRule(margin=2.0, candidates=defaults.topic_candidates, time_s=3_600)
    pass_two = Cascade(labels.labels, shipped_hypotheses(), judge, rule)
    pipeline = Cascade(
        labels.labels, shipped_hypotheses(), judge, CascadeRule(margin=2.0, candidates=TOPICS, time_s=3_600)
    )
    one, two, naive = [], [], []
    for article in articles[:: len(articles) // BESIDE][:BESIDE]:
        spent, (language, verdict) = timed(lambda article=article: stream.read(article))
        one.append(spent)
        for cascade, kept in ((pass_two, two), (pipeline, naive)):
            kept.append(timed(lambda: cascade.decide(article.whole, language, verdict, (), TopicRule()))[0])  # noqa: B023 - called here
    whole = [first + unsure * second for first, second in zip(one, two, strict=True)]
    report.table(
        f"{BESIDE} articles read both ways in turn, medians",
        [
            {"way": "first pass alone", "ms an article": median_ms(one), "pipeline / this": ratio(naive, one)},
            {"way": "second pass, where asked", "ms an article": median_ms(two), "pipeline / this": ratio(naive, two)},
            {
                "way": "cascade, on the average",
                "ms an article": median_ms(whole),
                "pipeline / this": ratio(naive, whole),
            },
            {"way": f"pipeline, {TOPICS} pairs", "ms an article": median_ms(naive), "pipeline / this": 1.0},
        ],
    )
    share = mean(unsure * second / first for first, second in zip(whole, two, strict=True))
    report.tell({"the second pass's share of the cascade's time": f"{share:.0%}"})


def _articles() -> list[Article]:
    """Return a thousand articles: labelled ones where they are at hand, else this project's samples, over again."""
    found: list[Article] = []
    for file in SETS.values():
        if (SHARED / "corpora" / "text" / file).is_file():
            csv.field_size_limit(10_000_000)
            with (SHARED / "corpora" / "text" / file).open(newline="", encoding="utf-8") as lines:
                found += [Article(row["title"], row["text"]) for row in csv.DictReader(lines)]
    found = found or [Article("", text) for texts in shipped_news().values() for text in texts]
    return [found[place % len(found)] for place in range(ARTICLES)]


def _made() -> bool:
    """Make the cross-encoder unless it is there; say whether it is."""
    if (NLI / "manifest.json").is_file():
        return True
    if not export.OPTIMUM.is_file():
        return False
    with tempfile.TemporaryDirectory() as scratch:
        program = Path(__file__).with_name("random_deberta.py")
        weights = Path(scratch) / NLI.name
        subprocess.run([export.OPTIMUM.with_name("python"), "-P", program, weights, "--full"], check=True)
        export.export(str(weights), NLI, "nli", proven=False)
    return True


if __name__ == "__main__":
    main()
