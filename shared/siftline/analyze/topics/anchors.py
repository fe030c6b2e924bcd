"""What topics are to a model: the direction of each in a language, and the mean vector that average news has there.

Both come from texts (data/topics.toml, data/news.toml), so any embedding model will do. They are kept as files beside
the model or in the cache folder, under a digest of all that they were made from.
"""

import hashlib
import json
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from siftline.analyze.topics.topic_list import Label, LabelSet
from siftline.kit.ids import new_id
from siftline.kit.log import logger
from siftline.models.embedder import Embedder

Matrix = NDArray[np.float32]
Vector = NDArray[np.float32]
_log = logger("analyze")
_RECIPE = 1  # goes up when directions or means are made in another way
_FIRST = "en"  # its terms count in every language: models know it best
ANY = "und"
"""The language of what has none, or one for which nothing is shipped (ISO 639: undetermined)."""


@dataclass(frozen=True, slots=True, eq=False)
class Anchors:
    """Topics in one language: ``directions`` (unit length, [topics, dimensions]), and what every text has in common.

    ``news_mean`` is the mean vector of average news, ``term_mean`` that of words and phrases out of all topics.
    """

    directions: Matrix
    news_mean: Vector
    term_mean: Vector
    own_news: bool
    """Whether the mean was made from news in this very language."""


class AnchorCache:
    """Anchors by language, made when first asked for; kept in ``folders()``: read in order, written to the last."""

    def __init__(
        self,
        embedder: Embedder,
        labels: LabelSet,
        news: Mapping[str, Sequence[str]],
        folders: Callable[[], Sequence[Path]],
    ) -> None:
        self._embedder = embedder
        self._labels = labels
        self._news = news
        self._folders = folders
        self._made: dict[str, Anchors] = {}
        self._means: dict[str, Vector] = {}
        self._described: dict[str, tuple[Matrix, Vector]] = {}
        self._lock = threading.Lock()

    @property
    def topics(self) -> tuple[str, ...]:
        """The topics' ids, in the order of the directions."""
        return self._labels.ids

    @property
    def labels(self) -> tuple[Label, ...]:
        """The topics, in the order of the directions."""
        return self._labels.labels

    @property
    def languages(self) -> tuple[str, ...]:
        """The languages for which something is shipped, and ``ANY`` for all others."""
        return (*sorted({*self._news, *self._labels.languages}), ANY)

    def of(self, language: str | None) -> Anchors:
        """Return the anchors for texts in this language; those of ``ANY`` where nothing is shipped for it."""
        name = self._shipped(language)
        with self._lock:
            if name not in self._made:
                self._made[name] = self._read(name) or self._make(name)
            return self._made[name]

    def digest(self, language: str) -> str:
        """Return what tells apart anchors made of other topics, other news or by another model: those of ``of``."""
        language = self._shipped(language)
        labels = [[label.id, dict(label.terms), dict(label.examples)] for label in self._labels.labels]
        made_of = [_RECIPE, self._embedder.model_version, language, labels, self._news_of(language)]
        return hashlib.sha256(json.dumps(made_of, sort_keys=True).encode()).hexdigest()[:16]

    def _shipped(self, language: str | None) -> str:
        return language if language is not None and language in self.languages else ANY

    def _news_of(self, language: str) -> list[str]:
        """Return the news of one language, or of all where it has none of its own."""
        names = [language] if language in self._news else sorted(self._news)
        return [text for name in names for text in self._news[name]]

    def _make(self, language: str) -> Anchors:
        directions, term_mean = self._directions(language)
        if any(label.examples for label in self._labels.labels):
            directions = unit(directions + self._pulls())
        anchors = Anchors(directions, self._mean(language), term_mean, language in self._news)
        self._write(language, anchors)
        return anchors

    def _mean(self, language: str) -> Vector:
        """Return the mean of a language's news; of a language without any, the mean of all languages' means."""
        if language not in self._means:
            if language in self._news:
                vectors = [self._embedder.embed_passage(text) for text in self._news[language]]
            else:
                vectors = [self._mean(name) for name in sorted(self._news)]
            self._means[language] = np.mean(vectors, axis=0).astype(np.float32)
        return self._means[language]

    def _directions(self, language: str) -> tuple[Matrix, Vector]:
        """Average each topic's terms in English and the language; the mean of all terms is that of the language."""
        described = self._labels.languages
        spoken = [name for name in dict.fromkeys((_FIRST, language)) if name in described] or described[:1]
        read = [self._terms(name) for name in spoken]
        return unit(np.sum([topics for topics, _ in read], axis=0)), read[-1][1]

    def _terms(self, language: str) -> tuple[Matrix, Vector]:
        """Return each topic's mean term in a language less what all topics' terms have in common, and that."""
        if language not in self._described:
            topics = [
                np.array([self._embedder.embed_passage(term) for term in label.terms[language]])
                for label in self._labels.labels
            ]
            common = np.mean([terms.mean(axis=0) for terms in topics], axis=0).astype(np.float32)
            centred = np.stack([unit(terms - common).mean(axis=0) for terms in topics])
            self._described[language] = (centred, common)
        return self._described[language]

    def _pulls(self) -> Matrix:
        """Return where each topic's examples lie from the average news of their language; zero without examples."""
        pulls = np.zeros((len(self.topics), self._embedder.dimensions), dtype=np.float32)
        for row, label in enumerate(self._labels.labels):
            for language, texts in label.examples.items():
                mean = self._mean(language if language in self._news else ANY)
                vectors = np.array([self._embedder.embed_passage(text) for text in texts])
                pulls[row] += unit(vectors - mean).sum(axis=0)
        return unit(pulls)

    def _file(self, folder: Path, language: str) -> Path:
        return folder / f"anchors-{language}-{self.digest(language)}.npz"

    def _read(self, language: str) -> Anchors | None:
        for folder in self._folders():
            try:
                with np.load(self._file(folder, language), allow_pickle=False) as kept:
                    return Anchors(kept["directions"], kept["news_mean"], kept["term_mean"], bool(kept["own_news"]))
            except FileNotFoundError:
                continue
            except (OSError, ValueError, KeyError, EOFError):
                _log.warning("anchors_unreadable", language=language)
        return None

    def _write(self, language: str, anchors: Anchors) -> None:
        folder = self._folders()[-1]
        folder.mkdir(parents=True, exist_ok=True)
        half = folder / f".half-{new_id()}.npz"
        np.savez(
            half,
            directions=anchors.directions,
            news_mean=anchors.news_mean,
            term_mean=anchors.term_mean,
            own_news=anchors.own_news,
        )
        half.replace(self._file(folder, language))


def unit(rows: Matrix) -> Matrix:
    """Return vectors at unit length."""
    lengths = np.linalg.norm(rows, axis=-1, keepdims=True)
    scaled: Matrix = (rows / np.maximum(lengths, 1e-12)).astype(np.float32)
    return scaled
