"""Judges a block of a user's items by the user's profile: rows and vectors in, scores with their reasons out.

Relevance, in [0, 1], is the weighted mean of four signals. It holds no freshness: that changes by the hour and is added
when a score is read (``item_rank`` in PostgreSQL), so that nothing has to be scored anew because time passed.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from functools import lru_cache
from typing import Any
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from siftline.jobs.set_aside import UnusableRowError
from siftline.models.unit_vector import stored_vector
from siftline.rank.interest_profile import USUAL, Directions, Profile, centred, likeness, nearest, unit
from siftline.text.stored_scores import topic_scores

UNKNOWN = 0.2
"""What is taken for a signal of which nothing is known, a little less than an ordinary item has."""
_DIGITS = 4
# Fitted to the sample articles (seven languages; e5-small): at the middle, half of what is that alike is meant.
_HISTORY_MIDDLE, _HISTORY_SLOPE = 0.12, 18.0
_SURE_TOPIC = 0.6
"""A topic of this score is what the text is about, for all that it matters here."""


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


@lru_cache(maxsize=64)  # a block of items has the same weights
def _shares(weights: Weights) -> tuple[tuple[str, float], ...]:
    own = {field.name: max(getattr(weights, field.name), 0.0) for field in fields(weights)}
    total = sum(own.values())
    if not 0 < total < math.inf:
        return tuple((dict.fromkeys(own, 0.0) | {"source": 1.0}).items())
    return tuple((name, round(weight / total, _DIGITS)) for name, weight in own.items())


def _known(value: float | None) -> float | None:
    return None if value is None or math.isnan(value) else min(max(value, 0.0), 1.0)


@dataclass(frozen=True, slots=True, eq=False)
class HeldItem:
    """An item to be judged. ``vector``: float32, little-endian; ``topics`` is ``None`` where its text was not read."""

    id: UUID
    content_id: UUID
    source_id: UUID | None
    saved: bool
    wanted: int
    lang: str | None
    topics: Sequence[Mapping[str, Any]] | None
    vector: bytes | None
    failed: bool = False
    """It is an error page, or none at all: nothing can be relevant in it."""


@dataclass(frozen=True, slots=True)
class SourceTopics:
    """What a source is said to write about: by what was read of it (with shares), and by its follower."""

    learnt: Sequence[Mapping[str, Any]]
    given: Sequence[str]


@dataclass(frozen=True, slots=True)
class Judgement:
    """An item's relevance in [0, 1] and what it is made up of; ``None`` for what failed, which has none."""

    score: float | None
    reasons: list[dict[str, Any]]


class Judge:
    """Judges items by one profile."""

    def __init__(
        self,
        profile: Profile,
        directions: Directions,
        weights: Weights,
        sources: Mapping[UUID, SourceTopics],
    ) -> None:
        self._profile = profile
        self._directions = directions
        self._weights = weights.for_user(
            interests=bool(profile.interests), trust=profile.trust, topics=bool(profile.topics)
        )
        self._sources = sources

    def check(self, item: HeldItem) -> None:
        """Raise for an item that is judged by less than is stored of it, as that cannot be read.

        ``UnusableVectorError`` for its vector, ``UnusableRowError`` for its topics.
        """
        if item.vector is not None:
            stored_vector(item.vector, self._profile.centre.size)
        stored: Any = item.topics
        if stored is not None and (not isinstance(stored, list) or len(topic_scores(stored)) != len(stored)):
            raise UnusableRowError("Its topics are not in the format that analysis writes.")

    def judge(self, items: Sequence[HeldItem]) -> list[Judgement]:
        """Return the judgement of each item, in their order."""
        own = centred([(item.lang, item.vector or b"") for item in items], self._directions)
        told = self._profile.directions.any()  # not where interests and texts were read by different models
        near = own @ self._profile.directions.T if told else np.zeros((len(items), 0))
        alike = self._alike(own)
        return [
            self._judged(item, near[row] if own[row].any() else None, alike[row] if own[row].any() else None)
            for row, item in enumerate(items)
        ]

    def _alike(self, own: NDArray[np.float32]) -> Sequence[float | None]:
        """Return each text's cosine to the history, once what the user holds anyway is taken away from both."""
        if self._profile.history is None:
            return [None] * len(own)
        cosines: list[float | None] = (unit(own - self._profile.centre) @ self._profile.history).tolist()
        return cosines

    def _judged(self, item: HeldItem, near: NDArray[np.float32] | None, alike: float | None) -> Judgement:
        if item.failed:
            return Judgement(None, [])
        interest, interest_facts = self._interest(near)
        topics, topic_facts = self._topics(item)
        source, source_facts = self._source(item)
        history = None if alike is None else likeness(alike, middle=_HISTORY_MIDDLE, slope=_HISTORY_SLOPE)
        history_facts = {} if alike is None else {"cosine": round(alike, 3), "liked": self._profile.liked}
        scored = score(Signals(interest, history, topics, source), self._weights)
        facts = {"interest": interest_facts, "history": history_facts, "topics": topic_facts, "source": source_facts}
        return Judgement(scored.score, [_reason(part, facts[part.code]) for part in scored.parts if part.weight > 0])

    def _interest(self, near: NDArray[np.float32] | None) -> tuple[float | None, dict[str, Any]]:
        if near is None or not near.size:
            return None, {}
        place, value = nearest(near, self._profile.usual_cosines)
        return value, {"about": self._profile.interests[place], "cosine": round(float(near[place]), 3)}

    def _topics(self, item: HeldItem) -> tuple[float | None, dict[str, Any]]:
        """Return how much the user cares for what it is about: the topic that they care for the most counts."""
        said = self._said(item)
        if said is None:
            return None, {}
        by, topics = said
        cared = {topic: how_much * self._profile.topics.get(topic, 0.0) for topic, how_much in topics.items()}
        best = max(cared, key=lambda topic: cared[topic], default=None)
        if best is None or cared[best] <= 0:
            return 0.0, {"by": by, "topics": list(topics)[:3]}
        why = "interests" if best in self._profile.named else "history"
        return cared[best], {"by": by, "topic": best, "why": why}

    def _said(self, item: HeldItem) -> tuple[str, dict[str, float]] | None:
        """Return what it is said to be about, and by whom: its text, else its follower and its source."""
        if item.topics is not None:
            return "text", {one["topic"]: min(one["score"] / _SURE_TOPIC, 1.0) for one in topic_scores(item.topics)}
        source = self._sources.get(item.source_id) if item.source_id is not None else None
        if source is None or not (source.learnt or source.given):
            return None
        learnt = {topic["topic"]: min(topic["score"], 1.0) for topic in source.learnt}
        given = dict.fromkeys((topic.casefold() for topic in source.given), 1.0)
        return "source", learnt | given

    def _source(self, item: HeldItem) -> tuple[float | None, dict[str, Any]]:
        if item.saved:
            return 1.0, {"saved": True}
        habit = self._profile.sources.get(item.source_id)
        if habit is None:
            return None, {}
        counts = {"starred": habit.starred, "read": habit.read, "brought": habit.brought}
        return self._profile.source(item.source_id), counts


def _reason(part: Part, facts: Mapping[str, Any]) -> dict[str, Any]:
    return {"code": part.code, "weight": part.weight, "value": part.value} | (
        dict(facts) if part.known else {"known": False}
    )
