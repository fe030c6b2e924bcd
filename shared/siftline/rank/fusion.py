"""Puts two orders of the same things together."""

from collections import defaultdict
from collections.abc import Sequence
from uuid import UUID

RRF_K = 60
"""How much the first places stand out (Cormack, Clarke, Büttcher 2009: reciprocal rank fusion)."""


def fused(*lists: Sequence[UUID]) -> dict[UUID, float]:
    """Return each thing's score in (0, 1], best first: 1 is what is first in all lists.

    >>> a, b = UUID(int=1), UUID(int=2)
    >>> list(fused([a, b], [b])) == [b, a]
    True
    """
    scores: dict[UUID, float] = defaultdict(float)
    for one in lists:
        for place, what in enumerate(one, start=1):
            scores[what] += (RRF_K + 1) / (RRF_K + place) / len(lists)
    return dict(sorted(scores.items(), key=lambda pair: (-pair[1], pair[0])))
