"""Vectors at unit length, whatever made them: what has no direction, or holds no finite numbers, is refused."""

from collections import Counter
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from siftline.kit.errors import UnusableError

Vector = NDArray[np.float32]
"""float32, unit length, shape [dimensions]."""
_LENGTH_MIN = 1e-9
_STORED_MIN, _STORED_MAX = 1e-6, 1e6


class UnusableVectorError(UnusableError):
    """The model made a vector without direction: all zero, or with a component that is not a finite number."""

    code = "unusable_vector"


def unit_vector(vector: NDArray[Any]) -> Vector:
    """Return a vector at unit length. Raises ``UnusableVectorError``."""
    length = float(np.linalg.norm(vector.astype(np.float64)))
    if not np.isfinite(length) or length < _LENGTH_MIN:
        raise UnusableVectorError("The model returned no usable vector for this text.")
    unit: Vector = (vector / length).astype(np.float32)
    return unit


def stored_vector(kept: bytes, dimensions: int) -> Vector:
    """Return a vector as it is stored (float32, little-endian). Raises ``UnusableVectorError``.

    A stored one is of unit length; one that is only not quite is let pass.
    """
    if len(kept) != 4 * dimensions:
        raise UnusableVectorError(f"The vector has {len(kept) / 4:g} dimensions instead of {dimensions}.")
    vector: Vector = np.frombuffer(kept, dtype="<f4").astype(np.float32)
    length = float(np.linalg.norm(vector.astype(np.float64)))
    if not np.isfinite(length):
        raise UnusableVectorError("The vector contains a value that is not a number.")
    if not _STORED_MIN < length < _STORED_MAX:
        raise UnusableVectorError("The vector is zero." if length < 1 else "The length of the vector is not finite.")
    return vector


def usual_dimensions(kept: Iterable[bytes]) -> int:
    """Return how many numbers most of these stored vectors have; 1 where there are none.

    >>> usual_dimensions([bytes(8), bytes(8), bytes(12)])
    2
    """
    sizes = Counter(len(one) // 4 for one in kept)
    return max(sizes, key=lambda size: (sizes[size], size), default=1) or 1
