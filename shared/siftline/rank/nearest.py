"""The nearest of what one holds, out of an index that everybody's contents share."""

from collections.abc import Collection, Sequence
from typing import Protocol
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

IDS_MAX = 5_000
"""So many ids are named to the index; who holds more is answered by widening rounds."""
_WIDEN = (2, 16, 128, 1_024)
_ASKED_MAX = 10_000


class Hit(Protocol):
    """A point and its cosine similarity (``siftline.models.vectors.Hit``)."""

    @property
    def id(self) -> UUID:
        """The content."""
        ...

    @property
    def score(self) -> float:
        """Its similarity, in [-1, 1]."""
        ...


class Index(Protocol):
    """Finds the nearest points (``siftline.models.vectors.VectorIndex``)."""

    def search(
        self,
        vector: NDArray[np.float32],
        limit: int,
        *,
        ids: Collection[UUID] | None = None,
        exclude: Collection[UUID] = (),
    ) -> Sequence[Hit]:
        """Return the nearest, best first; only among ``ids`` where they are given, never from ``exclude``."""
        ...


class Holdings(Protocol):
    """What the caller holds and asks about."""

    def few(self, limit: int) -> Sequence[UUID] | None:
        """Return all of it, newest first; ``None`` if it is more than ``limit``."""
        ...

    def newest(self, limit: int) -> Sequence[UUID]:
        """Return at most ``limit`` contents, newest first."""
        ...

    def among(self, ids: Collection[UUID]) -> Collection[UUID]:
        """Return those of ``ids`` that are held."""
        ...


def nearest_held(
    index: Index, vector: NDArray[np.float32], limit: int, holdings: Holdings, *, exclude: Collection[UUID] = ()
) -> list[Hit]:
    """Return the nearest contents that the caller holds, best first, at most ``limit``.

    Exact for up to ``IDS_MAX`` holdings. Beyond, the whole index is asked for ever more until enough of what comes is
    held; should that not do within 10,000, the newest ``IDS_MAX`` holdings fill up, and an older one may be missed.
    """
    ids = holdings.few(IDS_MAX)
    if ids is not None:
        return list(index.search(vector, limit, ids=ids, exclude=exclude)) if ids else []
    found: dict[UUID, Hit] = {}
    seen: set[UUID] = set()
    for factor in _WIDEN:
        wanted = min(limit * factor, _ASKED_MAX)
        hits = index.search(vector, wanted, exclude=exclude)
        fresh = [hit for hit in hits if hit.id not in seen]
        seen.update(hit.id for hit in fresh)
        held = set(holdings.among([hit.id for hit in fresh]))
        found.update({hit.id: hit for hit in fresh if hit.id in held})
        if len(found) >= limit or len(hits) < wanted or wanted == _ASKED_MAX:
            break
    if len(found) < limit:
        filling = index.search(vector, limit, ids=holdings.newest(IDS_MAX), exclude=exclude)
        found.update({hit.id: hit for hit in filling})
    return sorted(found.values(), key=lambda hit: (-hit.score, hit.id))[:limit]
