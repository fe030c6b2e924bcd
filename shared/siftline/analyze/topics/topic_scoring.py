"""What a text is about: cosine to each topic's direction after the mean is subtracted, as calibrated scores.

A text's vector says mostly that it is a text, in this language, of this style; only what is left after the mean is
subtracted says what it is about. The mean of a language starts at the average news that are shipped and moves towards
what is really read there, under three rules that were measured on streams of news (English, French; e5-small):

- every topic weighs the same, however often it is read, or a reader of football alone would see football vanish
  (with four articles in five about one topic: 79 % right, against 59 % for a plain running mean);
- average news count as ``pseudo_documents`` read texts, so that the first few do not decide;
- at most half of the way is gone (``reach``), unless nothing is shipped for the language.

A topic's direction, made of the words that describe it, is drawn towards the texts read as being about it
(self-training), as far as these differ from the texts of the other topics. Weights and rules were chosen within one
half of labelled news, without the other: .83 became .85 right in English, .73 .76 in French, and nothing was lost
where four articles in five were about one topic, because what is read far more than the others draws less.
"""

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

from siftline.analyze.topics.anchors import Anchors
from siftline.analyze.topics.topic_list import LabelSet, shipped_labels

Vector = NDArray[np.float32]


@dataclass(frozen=True, slots=True, eq=False)
class Seen:
    """How many texts a topic had, and the sum of their unit vectors (float64, [dimensions])."""

    documents: int
    vector_sum: NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class MeanRule:
    """How the mean learns."""

    pseudo_documents: float = 100.0
    reach: float = 0.5


@dataclass(frozen=True, slots=True)
class PullRule:
    """How directions learn."""

    weight: float = 0.8
    """What texts count at most beside the description (1.0)."""
    documents: float = 10.0
    """After so many texts it is half of that."""


def mean_vector(
    anchors: Anchors, topics: Sequence[str], seen: Mapping[str, Seen], rule: MeanRule = MeanRule()
) -> NDArray[np.float32]:
    """Return the mean to subtract, [dimensions]. With nothing seen it is the mean of average news."""
    start = anchors.news_mean.astype(np.float64)
    weight = rule.pseudo_documents / len(topics)
    total = np.zeros_like(start)
    for topic in topics:
        found = seen.get(topic)
        total += start if found is None else (found.vector_sum + weight * start) / (found.documents + weight)
    reach = rule.reach if anchors.own_news else 1.0
    return (start + reach * (total / len(topics) - start)).astype(np.float32)


def read_directions(
    anchors: Anchors,
    mean: NDArray[np.float32],
    topics: Sequence[str],
    seen: Mapping[str, Seen],
    rule: PullRule = PullRule(),
) -> NDArray[np.float32]:
    """Return the topics' directions ([topics, dimensions], unit length), each drawn towards the texts read of it.

    ``mean`` is what is subtracted from texts. As long as texts of one topic only were read, nothing is drawn: what they
    have in common may be their language, their source or their style.
    """
    counts = np.array([seen[topic].documents if topic in seen else 0 for topic in topics], dtype=np.float64)
    known = np.flatnonzero(counts)
    if known.size < 2:
        return anchors.directions
    sums = np.stack([seen[topics[int(place)]].vector_sum for place in known])
    centroids = _unit(sums - counts[known, None] * mean)
    apart = _unit(centroids - centroids.mean(axis=0))
    most = (np.median(counts) + rule.documents) / (counts[known] + rule.documents)
    weights = rule.weight * counts[known] / (counts[known] + rule.documents) * np.minimum(most, 1.0)
    drawn = anchors.directions.astype(np.float64)
    drawn[known] = _unit(drawn[known] + weights[:, None] * apart)
    return drawn.astype(np.float32)


def _unit(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    lengths = np.linalg.norm(rows, axis=-1, keepdims=True)
    scaled: NDArray[np.float64] = rows / np.maximum(lengths, 1e-12)
    return scaled


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
class TopicVerdict:
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
) -> TopicVerdict:
    """Compare a text's unit vector with at least two topics' directions ([topics, dimensions], unit length)."""
    centred = vector.astype(np.float64) - mean
    cosines = directions.astype(np.float64) @ centred / max(float(np.linalg.norm(centred)), 1e-12)
    scores = rule.calibration.scores(cosines, topics)
    order = np.argsort(-scores, kind="stable")
    ranking = tuple(Topic(topics[place], round(float(scores[place]), 4)) for place in order)
    margin = float(cosines[order[0]] - cosines[order[1]])
    return TopicVerdict(ranking, rule.counted(ranking), margin)


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
