"""Where groups are found: vectors centred by language, reduced to their strongest directions, grouped by density.

The recipe's numbers were chosen by trials on MasakhaNEWS with multilingual-e5-small (``python -m benchmarks stories``).
There, 10 directions agree better than 50 with the editors' labels, in English, French and both together; so do 8 to 15,
less so. Centring by language lets a story hold articles in several languages, which none does without.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sklearn.cluster import HDBSCAN, AgglomerativeClustering
from sklearn.metrics import euclidean_distances, silhouette_score

Points = NDArray[np.float64]
Labels = NDArray[np.int64]
NONE = -1
"""The label of a content that belongs to no story."""
_TINY = 1e-9
_SAME = 1e-6
_LANGUAGE_PRIOR = 3.0
_SILHOUETTE_MAX = 3_000
_SMALL = 10


@dataclass(frozen=True, slots=True)
class Recipe:
    """How to group; kept with each run."""

    dimensions: int = 10
    """Directions kept, at most."""
    min_size: int = 3
    """Fewer contents than this make no story; of many contents more are asked: a quarter of their square root."""
    dense_ratio: float = 1.0
    """How many neighbours make a place dense, as a share of the least size of a story."""
    largest_ratio: float = 0.5
    """A group of more than this share of all contents is taken apart: it would be everything else, not a story."""
    reach_ratio: float = 0.7
    """A left-over content joins a story at this share of the similarity that its outermost member has; 1 is strict."""
    small: int = 60
    """At most so many contents are too few for densities: they are joined by their mean likeness instead."""
    small_likeness: float = 0.2
    """The least mean cosine within such a group, vectors less the mean of news in their language."""
    most: int = 20_000
    """Of more contents than this, so many are grouped by density, evenly over time; the rest joins what is near."""
    regroup_ratio: float = 0.2
    """So great a change in the number of contents is answered by grouping everything anew."""

    def size_for(self, contents: int) -> int:
        """Return the least size of a story among so many contents."""
        return max(2, self.min_size, round(math.sqrt(contents) / 4))


def centre(vectors: Points, languages: Sequence[str | None]) -> Points:
    """Subtract from each row the mean of its language, drawn to the mean of all where a language has few rows."""
    if not len(vectors):
        return vectors
    overall = vectors.mean(axis=0)
    centred = vectors.copy()
    spoken = np.array([language or "" for language in languages])
    for language in np.unique(spoken):
        rows = spoken == language
        mean = (vectors[rows].sum(axis=0) + _LANGUAGE_PRIOR * overall) / (rows.sum() + _LANGUAGE_PRIOR)
        centred[rows] -= mean
    return centred


def project(vectors: Points, dimensions: int) -> Points:
    """Keep the ``dimensions`` strongest directions (principal component analysis); rows come out at unit length.

    Unlike a library's it takes any number of rows, and rows that are all equal (these come out as zeros).
    """
    if not len(vectors):
        return vectors
    around = vectors - vectors.mean(axis=0)
    _, axes = np.linalg.eigh(around.T @ around)  # ascending, so the strongest stand last
    projected: Points = around @ axes[:, ::-1][:, :dimensions]
    lengths = np.linalg.norm(projected, axis=1, keepdims=True)
    return np.where(lengths > _SAME, projected / np.maximum(lengths, _TINY), 0.0)


def dense_groups(points: Points, recipe: Recipe) -> Labels:
    """Return one label a row, from 0 on, or ``NONE``: HDBSCAN's most stable groups (Campello, Moulavi, Sander 2013).

    Its time grows with the square of the rows, nearly; of more than ``recipe.most`` it therefore sees a sample.
    """
    count = len(points)
    if count > recipe.most:
        sample = np.linspace(0, count - 1, recipe.most).astype(np.int64)
        sparse: Labels = np.full(count, NONE, dtype=np.int64)
        sparse[sample] = dense_groups(points[sample], recipe)
        return sparse
    least = recipe.size_for(count)
    if count < least:
        return np.full(count, NONE, dtype=np.int64)
    if np.ptp(points, axis=0).max() < _SAME:
        return np.zeros(count, dtype=np.int64)
    found = HDBSCAN(
        min_cluster_size=least,
        min_samples=max(2, int(recipe.dense_ratio * least)),
        max_cluster_size=max(_SMALL, round(recipe.largest_ratio * count)),
        copy=True,
        n_jobs=1,
    )
    labels: Labels = found.fit(points).labels_.astype(np.int64)
    return np.where(labels < 0, NONE, labels)


def close_groups(vectors: Points, recipe: Recipe) -> Labels:
    """Return one label a row, from 0 on, or ``NONE``, by group-average linkage (Sokal and Michener 1958).

    For few contents: there HDBSCAN takes chance for density. On 20 to 60 articles of MasakhaNEWS the adjusted Rand
    index is .18 to .27 against .08 to .22. ``vectors`` are centred by a mean that does not come from themselves.
    """
    labels = np.full(len(vectors), NONE, dtype=np.int64)
    if len(vectors) < 2:
        return labels
    joined = AgglomerativeClustering(
        n_clusters=None, linkage="average", distance_threshold=math.sqrt(2 - 2 * recipe.small_likeness)
    ).fit(vectors)
    following = 0
    for label in range(joined.n_clusters_):
        rows = np.flatnonzero(joined.labels_ == label)
        if len(rows) >= recipe.size_for(len(vectors)):
            labels[rows] = following
            following += 1
    return labels


def adopt(points: Points, labels: Labels, reach_ratio: float) -> Labels:
    """Let rows without a group join the group whose centre is nearest, if they lie near enough to it."""
    loose = np.flatnonzero(labels == NONE)
    count = labels.max(initial=NONE) + 1
    if not len(loose) or not count:
        return labels
    means = np.stack([points[labels == label].mean(axis=0) for label in range(count)])
    centres = means / np.maximum(np.linalg.norm(means, axis=1, keepdims=True), _TINY)
    outermost = np.array([(points[labels == label] @ centres[label]).min() for label in range(count)])
    similarity = points[loose] @ centres.T
    nearest = similarity.argmax(axis=1)
    best = similarity[np.arange(len(loose)), nearest]
    near = (best > 0) & (best >= reach_ratio * outermost[nearest])
    adopted = labels.copy()
    adopted[loose[near]] = nearest[near]
    return adopted


def silhouette(points: Points, labels: Labels) -> float | None:
    """Return how well the groups stand apart (Rousseeuw 1987, in [-1, 1]); ``None`` where undefined or dear."""
    members = labels != NONE
    kinds = len(np.unique(labels[members]))
    if kinds < 2 or kinds >= members.sum() or members.sum() > _SILHOUETTE_MAX:
        return None
    return round(
        float(silhouette_score(euclidean_distances(points[members]), labels[members], metric="precomputed")), 4
    )
