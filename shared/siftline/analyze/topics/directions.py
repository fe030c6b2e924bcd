"""What texts and phrases mean to the model, without what all of them have in common: for whoever compares them later.

The same means and directions that topics are found by, so that an interest in one language is near to texts about it
in any other.
"""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from siftline.analyze import analyze_store
from siftline.analyze.topics.anchors import ANY, AnchorCache
from siftline.analyze.topics.topic_scoring import mean_vector
from siftline.kit.clock import Clock
from siftline.kit.db import Database
from siftline.models.embedder import Embedder

Vector = NDArray[np.float32]
_MEANS_S = 600.0
"""How long a mean is kept: it moves by one text among hundreds."""
_PHRASES_MAX = 5_000


class Directions:
    """Means of languages, and directions of phrases; both kept, for many are asked for again and again."""

    def __init__(
        self,
        database: Database,
        embedder: Embedder,
        anchor_cache: AnchorCache,
        clock: Clock,
        *,
        kept: tuple[str, int] | None = None,
    ) -> None:
        """Read phrases with ``embedder``; ``kept``: version and dimensions of the vectors that are kept, if others."""
        self._database = database
        self._embedder = embedder
        self._anchors = anchor_cache
        self._clock = clock
        self._kept = kept
        self._means: dict[str, tuple[float, Vector]] = {}
        self._phrases: dict[str, tuple[Vector, Mapping[str, float]]] = {}

    @property
    def model_version(self) -> str:
        """The version of the vectors that are kept of texts."""
        return self._embedder.model_version if self._kept is None else self._kept[0]

    def mean(self, language: str | None) -> Vector:
        """Return the mean vector of texts in a language, as it has been learnt, [dimensions].

        Zero for vectors of another model than topics are found by: what all have in common is then left to what a user
        holds.
        """
        if self._kept is not None:
            return np.zeros(self._kept[1], dtype=np.float32)
        group = language or ANY
        kept = self._means.get(group)
        if kept is None or self._clock.monotonic() - kept[0] > _MEANS_S:
            with self._database.transaction() as connection:
                seen = analyze_store.seen(connection, self._embedder.model_version, group)
            mean = mean_vector(self._anchors.of(language), self._anchors.topics, seen)
            kept = self._means[group] = (self._clock.monotonic(), mean)
        return kept[1]

    def phrase(self, text: str) -> tuple[Vector, Mapping[str, float]]:
        """Return the direction of a phrase (unit length; zero where texts' vectors are another model's), and its cosine
        to each topic's.

        Read as the terms of topics are, less what terms have in common in the language whose terms the model knows
        best: a phrase is too short to tell its language by. Raises ``UnusableVectorError``.
        """
        if text not in self._phrases:
            anchors = self._anchors.of(None)
            rest = self._embedder.embed_passage(text) - anchors.term_mean
            direction = (rest / max(float(np.linalg.norm(rest)), 1e-9)).astype(np.float32)
            cosines = dict(zip(self._anchors.topics, (anchors.directions @ direction).tolist(), strict=True))
            if len(self._phrases) >= _PHRASES_MAX:
                self._phrases.clear()
            told = direction if self._kept is None else np.zeros(self._kept[1], dtype=np.float32)
            self._phrases[text] = (told, cosines)
        return self._phrases[text]
