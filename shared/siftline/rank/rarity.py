"""How much each word of a query says, and which of them together say enough."""

import math
from collections.abc import Sequence
from itertools import combinations

_TRIED_MAX = 6
_TINY = 1e-9


def shares_of(holdings: int, found: Sequence[int | None]) -> list[float]:
    """Return each word's share of what all of them say, in [0, 1], by how many of the holdings hold it.

    A word that nothing holds says no more than any that something does; ``None`` is a word that does not count.

    >>> shares_of(10, [5, 5, None]), shares_of(10, [5, 0])
    ([0.5, 0.5, 0.0], [0.5, 0.5])
    """
    most = max((count for count in found if count), default=1)
    weights = [0.0 if count is None else math.log1p(max(holdings, 1) / (count or most)) for count in found]
    total = sum(weights) or 1.0
    return [weight / total for weight in weights]


def telling(shares: Sequence[float], least: float) -> list[tuple[int, ...]]:
    """Return ways, each a set of words, so that whatever holds a share of ``least`` holds all words of one of them.

    With few words no other thing does; with many, what holds less may too. None where ``least`` is nothing.

    >>> telling([0.6, 0.2, 0.2], 0.5), telling([0.4, 0.3, 0.3], 0.5)
    ([(0,)], [(0, 1), (0, 2), (1, 2)])
    """
    if least <= 0:
        return []
    least -= _TINY
    if len(shares) > _TRIED_MAX:
        return _weighty(shares, least)
    ways: list[tuple[int, ...]] = []
    for size in range(1, len(shares) + 1):
        for way in combinations(range(len(shares)), size):
            if sum(shares[place] for place in way) >= least and not any(set(known) <= set(way) for known in ways):
                ways.append(way)
    return ways


def _weighty(shares: Sequence[float], least: float) -> list[tuple[int, ...]]:
    """Return all words but the lightest, which even together are not enough."""
    together = 0.0
    light: set[int] = set()
    for place in sorted(range(len(shares)), key=lambda one: shares[one]):
        together += shares[place]
        if together >= least:
            break
        light.add(place)
    return [(place,) for place in range(len(shares)) if place not in light]
