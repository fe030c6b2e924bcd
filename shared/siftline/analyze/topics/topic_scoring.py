"""What a text is about: cosine to each topic's direction after the mean is subtracted, as calibrated scores."""

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

from siftline.analyze.topics.topic_list import LabelSet, shipped_labels

Vector = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Calibration:
    """From similarity to score: a logistic curve over a topic's cosine and its lead over the best other topic.

    The curve's three numbers were fitted to 60 articles in seven languages with one to three topics each, so that a
    score tells about how often such a topic is right. A topic scores high only where it stands out from the others;
    that all of them do cannot be.
    """

    similarity: float = 20.0
    lead: float = 3.7
    offset: float = -3.0
    offsets: Mapping[str, float] = field(default_factory=dict)
    """What a topic by itself needs besides, by its id: some topics' directions are near to much, some to little."""

    def scores(self, cosines: NDArray[np.float64], topics: Sequence[str] = ()) -> NDArray[np.float64]:
        """Return the score of each topic, in (0, 1), by cosines of one text or of several ([texts, topics]).

        A topic that stands alone leads by nothing.
        """
        order = np.sort(cosines, axis=-1)
        best, second = order[..., -1:], order[..., -2:-1] if cosines.shape[-1] > 1 else order
        best_other = np.where(cosines == best, second, best)
        logits = self.similarity * cosines + self.lead * (cosines - best_other) + self.offset
        logits += np.array([self.offsets.get(topic, 0.0) for topic in topics]) if topics else 0.0
        scores: NDArray[np.float64] = 1.0 / (1.0 + np.exp(-logits))
        return scores


@dataclass(frozen=True, slots=True)
class Topic:
    """A topic and how sure it is, in (0, 1)."""

    topic: str
    score: float


@dataclass(frozen=True, slots=True)
class Verdict:
    """All topics, best first; those that count; and the best one's lead in cosine over the second."""

    ranking: tuple[Topic, ...]
    topics: tuple[Topic, ...]
    margin: float


@dataclass(frozen=True, slots=True)
class TopicRule:
    """Which topics count: at most ``limit`` of those that score ``threshold`` or more."""

    threshold: float = 0.3
    limit: int = 3
    calibration: Calibration = Calibration()

    def counted(self, ranking: Sequence[Topic]) -> tuple[Topic, ...]:
        """Return those of a ranking that count."""
        return tuple(topic for topic in ranking[: self.limit] if topic.score >= self.threshold)


def classify(
    vector: Vector, mean: Vector, topics: Sequence[str], directions: NDArray[np.float32], rule: TopicRule = TopicRule()
) -> Verdict:
    """Compare a text's unit vector with at least two topics' directions ([topics, dimensions], unit length)."""
    centred = vector.astype(np.float64) - mean
    cosines = directions.astype(np.float64) @ centred / max(float(np.linalg.norm(centred)), 1e-12)
    scores = rule.calibration.scores(cosines, topics)
    order = np.argsort(-scores, kind="stable")
    ranking = tuple(Topic(topics[place], round(float(scores[place]), 4)) for place in order)
    margin = float(cosines[order[0]] - cosines[order[1]])
    return Verdict(ranking, rule.counted(ranking), margin)


class _Fitted(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    similarity: float = Field(gt=0)
    lead: float = Field(ge=0)
    offset: float
    offsets: dict[str, float]


_FITTED: TypeAdapter[dict[str, _Fitted]] = TypeAdapter(dict[str, _Fitted])


def calibration_for(model_version: str, labels: LabelSet) -> Calibration:
    """Return the calibration of a model's scores (``data/calibrations.toml``).

    A topic's own offset counts only where it is described as shipped.
    """
    fitted = _fitted().get(model_version)
    if fitted is None:
        return Calibration()
    shipped = {label.id: label for label in shipped_labels().labels}
    own = {
        label.id: fitted.offsets[label.id]
        for label in labels.labels
        if label.id in fitted.offsets and shipped.get(label.id) == label
    }
    return Calibration(fitted.similarity, fitted.lead, fitted.offset, own)


@cache
def _fitted() -> Mapping[str, _Fitted]:
    raw = (files("siftline.analyze.topics") / "data" / "calibrations.toml").read_text(encoding="utf-8")
    return _FITTED.validate_python(tomllib.loads(raw))
