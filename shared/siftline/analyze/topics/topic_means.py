"""What is learnt from the texts read: the mean that is subtracted before one is compared with topics, and directions.

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

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from siftline.analyze.topics.anchors import Anchors


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
