"""P9: clusters out of labelled news. ``python -m benchmarks stories``

MasakhaNEWS (English and French test sets, six and five labels), embedded as the product does. Beside the product's own
grouping stands HDBSCAN on the bare vectors. The labels are broad ("business"), stories are narrower, so the adjusted
Rand index (ARI) of a good grouping stays well below 1; what counts are the ratios. The recipe's numbers were chosen on
these very sets, for want of others: on news it has not seen, expect less. Then how time grows: of 50,000 contents ours
groups 20,000 by density and lets the rest join (``Recipe.most``); on bare vectors it is not waited for. "stories" are
the clusters of ``siftline.cluster``.
"""

import csv
import itertools
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any
from uuid import UUID

import numpy as np
from numpy.typing import NDArray
from sklearn.cluster import HDBSCAN
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score

from benchmarks.report import Report, exponents, timed
from siftline.cluster.grouping import Grouper, Grouping
from siftline.cluster.space import NONE, Recipe
from siftline.models.embedder import open_embedder

ROOT = Path(__file__).resolve().parent.parent
CORPUS = ROOT.parent / "shared" / "corpora" / "text"
MODEL = ROOT / ".local" / "model"
KEPT = ROOT / ".local" / "benchmarks"
MOST: int | None = None
"""Articles of a test set that are read; all, where it is not said."""
GROWTH = (1_000, 10_000, 50_000)
BARE_MOST = 10_000


@dataclass(frozen=True)
class News:
    """Articles with their vectors, languages and labels."""

    vectors: NDArray[np.float32]
    languages: list[str]
    labels: NDArray[Any]

    def __add__(self, other: "News") -> "News":
        return News(
            np.vstack([self.vectors, other.vectors]),
            self.languages + other.languages,
            np.concatenate([self.labels, other.labels]),
        )


def read_news(code: str, language: str) -> News:
    """Read and embed a test set; the vectors are kept for the next run, by model version."""
    csv.field_size_limit(sys.maxsize)
    with (CORPUS / f"masakhanews_{code}_test.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))[:MOST]
    embedder = open_embedder(str(MODEL), str(KEPT), tokens_max=192)
    kept = KEPT / f"masakhanews-{code}-{embedder.model_version}.npy"
    if not kept.exists():
        kept.parent.mkdir(parents=True, exist_ok=True)
        np.save(kept, np.stack([embedder.embed_passage(f"{row['title']}\n{row['text']}") for row in rows]))
    return News(np.load(kept), [language] * len(rows), np.array([row["label"] for row in rows]))


def group(news: News) -> Grouping:
    fresh, ids = itertools.count(10**9), [UUID(int=row + 1) for row in range(len(news.labels))]
    return Grouper(Recipe(), lambda: UUID(int=next(fresh))).group(ids, news.vectors, news.languages, (), anew=True)


def labels_of(grouping: Grouping, count: int) -> NDArray[np.int64]:
    found = np.full(count, NONE)
    for label, story in enumerate(grouping.stories):
        found[[member.int - 1 for member in story.members]] = label
    return found


def bare(points: NDArray[Any]) -> NDArray[np.int64]:
    size = Recipe().size_for(len(points))
    labels: NDArray[np.int64] = (
        HDBSCAN(min_cluster_size=size, min_samples=max(2, int(Recipe().dense_ratio * size)), copy=True)
        .fit(points)
        .labels_
    )
    return labels


def scored(name: str, how: str, news: News, found: NDArray[np.int64]) -> dict[str, Any]:
    inside = found != NONE
    several = [
        story
        for story in range(found.max() + 1)
        if len({news.languages[row] for row in np.flatnonzero(found == story)}) > 1
    ]
    return {
        "corpus": name,
        "grouping": how,
        "stories": int(found.max() + 1),
        "in several languages": len(several),
        "unclustered": round(float(1 - inside.mean()), 2),
        "ARI": round(adjusted_rand_score(news.labels, found), 2),
        "NMI": round(normalized_mutual_info_score(news.labels, found), 2),
        "ARI of clustered": round(adjusted_rand_score(news.labels[inside], found[inside]), 2),
    }


def quality(corpora: dict[str, News]) -> list[dict[str, Any]]:
    ways: dict[str, Callable[[News], NDArray[np.int64]]] = {
        "HDBSCAN on vectors": lambda news: bare(news.vectors),
        "ours": lambda news: labels_of(group(news), len(news.labels)),
    }
    return [scored(name, how, news, way(news)) for name, news in corpora.items() for how, way in ways.items()]


def larger(news: News, size: int) -> News:
    """Return so many articles: the real ones, each with a little noise."""
    rng = np.random.default_rng(size)
    rows = rng.choice(len(news.labels), size)
    vectors = news.vectors[rows] + rng.normal(scale=0.01, size=(size, news.vectors.shape[1])).astype(np.float32)
    return News(
        vectors / np.linalg.norm(vectors, axis=1, keepdims=True), [news.languages[r] for r in rows], news.labels[rows]
    )


def growth(news: News) -> list[dict[str, Any]]:
    """Measure both ways side by side; on the bare vectors up to 10,000."""
    rows = []
    for size in GROWTH:
        articles = larger(news, size)
        ours_s, grouping = timed(partial(group, articles))
        row: dict[str, Any] = {
            "contents": size,
            "ours, s": round(ours_s, 3),
            "on vectors, s": None,
            "times as fast": None,
            "ARI": round(adjusted_rand_score(articles.labels, labels_of(grouping, size)), 2),
            "ARI on vectors": None,
        }
        if size <= BARE_MOST:
            bare_s, found = timed(partial(bare, articles.vectors))
            row["on vectors, s"] = round(bare_s, 3)
            row["times as fast"] = round(bare_s / ours_s, 1)
            row["ARI on vectors"] = round(adjusted_rand_score(articles.labels, found), 2)
        rows.append(row)
    return rows


def main() -> None:
    report = Report("stories")
    report.open("news grouped into stories")
    if not CORPUS.exists():
        report.tell({"not measured": "the labelled sets are not beside this project"})
        return
    english, french = read_news("eng", "en"), read_news("fra", "fr")
    both = english + french
    report.table("Quality", quality({"English": english, "French": french, "both": both}))
    times = growth(both)
    report.table("Time", times)
    for column in ("ours, s", "on vectors, s"):
        measured = {one["contents"]: one[column] for one in times if one[column]}
        ends = {size: measured[size] for size in (min(measured), max(measured))}
        report.tell({f"{column}, exponent": exponents(ends)})
    report.keep()
