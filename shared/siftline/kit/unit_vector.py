"""Vectors at unit length, whatever made them: what has no direction, or holds no finite numbers, is refused."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from siftline.kit.errors import PermanentError

Vector = NDArray[np.float32]
"""float32, unit length, shape [dimensions]."""
_LENGTH_MIN = 1e-9


class UnusableVectorError(PermanentError):
    """The model made a vector without direction: all zero, or with a component that is not a finite number."""

    code = "unusable_vector"


def unit_vector(vector: NDArray[Any]) -> Vector:
    """Return a vector at unit length. Raises ``UnusableVectorError``."""
    length = float(np.linalg.norm(vector.astype(np.float64)))
    if not np.isfinite(length) or length < _LENGTH_MIN:
        raise UnusableVectorError("The model found no meaning in this text.")
    unit: Vector = (vector / length).astype(np.float32)
    return unit
