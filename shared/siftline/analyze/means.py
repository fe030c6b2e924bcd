"""The mean vector that is subtracted before a text is compared with topics: where it starts and how it learns.

A text's vector says mostly that it is a text, in this language, of this style; only what is left after the mean is
subtracted says what it is about. The mean of a language starts at the average news that are shipped and moves towards
what is really read there, under three rules that were measured on streams of news (English, French; e5-small):

- every topic weighs the same, however often it is read, or a reader of football alone would see football vanish
  (with four articles in five about one topic: 79 % right, against 59 % for a plain running mean);
- average news count as ``pseudo_documents`` read texts, so that the first few do not decide;
- at most half of the way is gone (``reach``), unless nothing is shipped for the language.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from siftline.analyze.anchors import Anchors


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
