"""How relevant an item is to a user, in [0, 1], and why. Pure: signals and weights in, a score and its parts out.

Relevance is the weighted mean of four signals. It holds no freshness: that changes by the hour and is added when a
score is read (``item_rank`` in PostgreSQL), so that nothing has to be scored anew because time passed.
"""

import math
from dataclasses import dataclass, fields
from functools import lru_cache

UNKNOWN = 0.2
"""What is taken for a signal of which nothing is known, a little less than an ordinary item has."""
USUAL = 0.5
"""The lift of what is read as often as everything else."""
_DIGITS = 4


@dataclass(frozen=True, slots=True)
class Weights:
    """What each signal counts beside the others; they need not sum to 1."""

    interest: float = 0.35
    history: float = 0.25
    topics: float = 0.2
    source: float = 0.2

    def for_user(self, *, interests: bool, trust: float, topics: bool) -> "Weights":
        """Return the weights for a user: what they told nothing about counts nothing, and the rest so much more.

        ``trust``, in [0, 1], is how much their history bears.
        """
        return Weights(
            interest=self.interest if interests else 0.0,
            history=self.history * min(max(trust, 0.0), 1.0),
            topics=self.topics if topics else 0.0,
            source=self.source,
        )

    def shares(self) -> dict[str, float]:
        """Return each signal's share of the whole, by its name, rounded to four digits."""
        return dict(_shares(self))


@dataclass(frozen=True, slots=True)
class Signals:
    """What is known of an item for a user, each in [0, 1]; ``None`` or NaN: nothing."""

    interest: float | None = None
    """Likeness to the nearest of their interests."""
    history: float | None = None
    """Likeness to what they starred and read."""
    topics: float | None = None
    """How much they care for the topic it has that they care for the most."""
    source: float | None = None
    """How often they read what its source brings, ``USUAL`` for as often as all else."""


@dataclass(frozen=True, slots=True)
class Part:
    """What one signal adds: ``weight * value``. ``known``: whether the value is the signal's own."""

    code: str
    weight: float
    value: float
    known: bool


@dataclass(frozen=True, slots=True)
class Scored:
    """A relevance in [0, 1], which is the sum of its parts, and these."""

    score: float
    parts: tuple[Part, ...]


def score(signals: Signals, weights: Weights) -> Scored:
    """Return the relevance that these signals come to; it never falls when a signal rises.

    An item that was not read has no likeness to anything: its topics, which are then those of its source, stand in.
    """
    topics = _known(signals.topics)
    stand_in = UNKNOWN if topics is None else topics
    otherwise = {"interest": stand_in, "history": stand_in, "topics": UNKNOWN, "source": USUAL}
    parts = []
    for code, weight in _shares(weights):
        own = _known(getattr(signals, code))
        value = otherwise[code] if own is None else own
        parts.append(Part(code, weight, round(value, _DIGITS), own is not None))
    return Scored(min(sum(part.weight * part.value for part in parts), 1.0), tuple(parts))


def likeness(cosine: float, *, middle: float, slope: float) -> float:
    """Return how alike two directions are, in [0, 1]: .5 at a cosine of ``middle``, steeper with ``slope``."""
    return 1.0 / (1.0 + math.exp(-min(max(slope * (cosine - middle), -60.0), 60.0)))


def lift(hits: float, seen: float, usual: float, *, pseudo: float = 10.0) -> float:
    """Return how often something is read beside everything else, in [0, 1): .5 for as often, more for more.

    ``hits`` of ``seen`` were read, of everything the share ``usual``. The first few do not decide: ``pseudo`` more
    that were read as often as usual are counted in.
    """
    if usual <= 0:
        return USUAL
    rate = (max(hits, 0.0) + pseudo * usual) / (max(seen, 0.0) + pseudo)
    return rate / (rate + usual)


@lru_cache(maxsize=64)  # a block of items has the same weights
def _shares(weights: Weights) -> tuple[tuple[str, float], ...]:
    own = {field.name: max(getattr(weights, field.name), 0.0) for field in fields(weights)}
    total = sum(own.values())
    if not 0 < total < math.inf:
        return tuple((dict.fromkeys(own, 0.0) | {"source": 1.0}).items())
    return tuple((name, round(weight / total, _DIGITS)) for name, weight in own.items())


def _known(value: float | None) -> float | None:
    return None if value is None or math.isnan(value) else min(max(value, 0.0), 1.0)
