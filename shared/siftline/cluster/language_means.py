"""What every text of a language has in common for a model: the mean that is subtracted before texts are compared.

For the default model the mean of average news is shipped (``data/news_means.npz``, made by ``layers/model/means.py``
from the texts with which topics are centred too): so what two texts have in common does not depend on what else a
user holds. For another model it is learnt from what is read (``topic_means``, each topic weighing the same), and until
enough is read, from the texts at hand.
"""

from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files

import numpy as np
from numpy.typing import NDArray

Matrix = NDArray[np.float32]
_ANY = "und"
_LEARNT_MIN = 100
_TINY = 1e-6


@cache
def shipped() -> Mapping[str, Matrix]:
    """Return the shipped means by ``<model version>/<ISO 639-1>``; ``und`` stands for any other language."""
    with (files("siftline.cluster") / "data" / "news_means.npz").open("rb") as file, np.load(file) as stored:
        return {name: stored[name].astype(np.float32) for name in stored.files}


def is_shipped(version: str) -> bool:
    """Say whether means of this model are shipped."""
    return f"{version}/{_ANY}" in shipped()


def centred(
    vectors: Matrix, languages: Sequence[str | None], version: str, learnt: Mapping[str, tuple[int, Matrix]]
) -> Matrix:
    """Return unit vectors less the mean of their languages (n x d), again at unit length, or 0 where nothing is left.

    ``learnt`` are a language's number of texts and their mean.
    """
    if not len(vectors):
        return vectors
    means = np.stack([_mean(language or _ANY, version, learnt, vectors) for language in languages])
    rest = vectors - means
    lengths = np.linalg.norm(rest, axis=1, keepdims=True)
    return np.where(lengths > _TINY, rest / np.maximum(lengths, _TINY), 0.0).astype(np.float32)


def _mean(language: str, version: str, learnt: Mapping[str, tuple[int, Matrix]], vectors: Matrix) -> Matrix:
    known = shipped()
    found = known.get(f"{version}/{language}", known.get(f"{version}/{_ANY}"))
    if found is not None and found.size == vectors.shape[1]:  # a version of that name may be another's
        return found
    documents, mean = learnt.get(language, (0, None))
    if mean is not None and documents >= _LEARNT_MIN and mean.size == vectors.shape[1]:
        return mean
    at_hand: Matrix = vectors.mean(axis=0)
    return at_hand
