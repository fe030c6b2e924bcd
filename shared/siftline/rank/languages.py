"""Takes out of a query's vector what it says about languages, so that texts in any language are equally near to it.

An embedding model puts texts in one language nearer to each other than to the same in another. How far the languages
lie apart is seen from texts that were read: the means of their vectors. What of the query points from one such mean to
another is taken away (ridge regression, so that a small difference counts less), and then the cosine to no language's
mean is greater. Measured on the sample articles (seven languages; e5-small): topics' terms find the texts
with a mean average precision of .41 as it was, .59 so; those in other languages .30 and .57; the ten frozen queries
find theirs first either way (``benchmarks/search_languages.py``).
"""

import threading
from collections import defaultdict

import numpy as np
from numpy.typing import NDArray

from siftline.kit.clock import Clock
from siftline.kit.db import Database
from siftline.kit.log import logger
from siftline.models.unit_vector import UnusableVectorError, stored_vector, usual_dimensions
from siftline.rank import held_store

Vector = NDArray[np.float32]
_KEPT_S = 600.0
_NONE_KEPT_S = 30.0
_TEXTS_EACH = 100
_TEXTS = 5_000
_TEXTS_MIN = 3
_PRIOR = 3.0
_RIDGE = 0.003
_TINY = 1e-6
_log = logger("rank")


class Levelling:
    """The means of languages, learnt from the newest texts and kept for a while."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock
        self._kept: dict[str, tuple[float, NDArray[np.float64]]] = {}
        self._lock = threading.Lock()

    def level(self, vector: Vector, model_version: str) -> Vector:
        """Return a query's vector without what tells languages apart; of unit length."""
        return levelled(vector, self._apart(model_version))

    def _apart(self, model_version: str) -> NDArray[np.float64]:
        now = self._clock.monotonic()
        with self._lock:
            kept = self._kept.get(model_version)
        if kept is None or now - kept[0] > (_KEPT_S if kept[1].size else _NONE_KEPT_S):
            with self._database.statement() as connection:
                texts = held_store.spoken(connection, model_version, each=_TEXTS_EACH, among=_TEXTS)
            kept = (now, apart_of(texts))
            with self._lock:
                self._kept[model_version] = kept
        return kept[1]


def levelled(vector: Vector, apart: NDArray[np.float64]) -> Vector:
    """Return a vector without what it says about languages, by how their means lie apart; of unit length."""
    if not len(apart) or apart.shape[1] != vector.size:
        return vector
    rest = vector - np.linalg.solve(apart @ apart.T + _RIDGE * np.eye(len(apart)), apart @ vector) @ apart
    length = float(np.linalg.norm(rest))
    return vector if length < _TINY else (rest / length).astype(np.float32)


def apart_of(texts: list[tuple[str, bytes]]) -> NDArray[np.float64]:
    """Return how far the mean of each language lies from the mean of all of them, [languages, dimensions].

    Empty where texts of fewer than two languages are there. A mean of few texts is drawn to that of all texts. A vector
    of another size than most, or of no numbers, is left out.
    """
    by_language: dict[str, list[NDArray[np.float64]]] = defaultdict(list)
    dimensions = usual_dimensions(vector for _, vector in texts)
    unusable = 0
    for language, vector in texts:
        try:
            by_language[language].append(stored_vector(vector, dimensions).astype(np.float64))
        except UnusableVectorError:
            unusable += 1
    if unusable:
        _log.warning("vectors_left_out", error_code=UnusableVectorError.code, vectors=unusable, of=len(texts))
    known = [np.stack(rows) for _, rows in sorted(by_language.items()) if len(rows) >= _TEXTS_MIN]
    if len(known) < 2:
        return np.zeros((0, 0))
    overall = np.concatenate(known).mean(axis=0)
    means = np.stack([(rows.sum(axis=0) + _PRIOR * overall) / (len(rows) + _PRIOR) for rows in known])
    return np.asarray(means - means.mean(axis=0))
