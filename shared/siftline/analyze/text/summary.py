"""A summary made of the text's own sentences: central to it, not alike, in their order. Nothing is written anew.

Centrality is the cosine of a sentence to the text after the mean of the language is subtracted from both; sentences are
taken one by one by what they add (maximal marginal relevance, Carbonell and Goldstein 1998), the opening ones with a
small advantage, since news puts first what matters most.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from siftline.analyze.text.sentences import ends_properly, split_sentences
from siftline.models.embedder import Embedder
from siftline.text.words import letters, without_spaces, words_of

Vector = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class SummaryRule:
    """How a summary is chosen."""

    sentences: int = 3
    chars_max: int = 700
    candidates_max: int = 12
    """Only so many sentences are embedded; words choose them."""
    letters_min: int = 25
    letters_max: int = 400
    opening: float = 0.12
    """What the first sentence gains; the gain falls to nothing over the candidates."""
    novelty: float = 0.35
    """How much likeness to a sentence already taken costs."""
    alike_max: float = 0.8
    """A sentence more like one already taken says the same again."""


@dataclass(frozen=True, slots=True)
class Summary:
    """The summary and which of the text's sentences it consists of, counted from 0."""

    text: str
    places: tuple[int, ...]


def summarize(
    text: str,
    document: Vector,
    mean: Vector,
    embedder: Embedder,
    language: str | None = None,
    rule: SummaryRule = SummaryRule(),
) -> Summary:
    """Return the summary of a text that has letters; ``document`` is its unit vector, ``mean`` that of the language."""
    sentences = split_sentences(text, language)
    places = _candidates(sentences, rule)
    if len(places) > 1:
        vectors = np.stack([centred(embedder.embed_passage(sentences[place]), mean) for place in places])
        places = _chosen(sentences, places, vectors, centred(document, mean), rule)
    parts = [sentences[place] for place in places]
    summary = ("" if without_spaces(text) else " ").join(parts)
    return Summary(_cut(summary, rule.chars_max), tuple(places))


def _candidates(sentences: Sequence[str], rule: SummaryRule) -> list[int]:
    """Return the places of sentences worth reading, at most ``candidates_max``: the opening ones and the wordiest.

    Where no sentence is whole and of fair length, the first ones that say anything stand in.
    """
    fair = [
        place
        for place, sentence in enumerate(sentences)
        if ends_properly(sentence) and rule.letters_min <= letters(sentence) <= rule.letters_max
    ]
    if not fair:
        return [place for place, sentence in enumerate(sentences) if letters(sentence)][: rule.sentences]
    if len(fair) <= rule.candidates_max:
        return fair
    opening = rule.candidates_max // 2
    counts = Counter(word.text.lower() for sentence in sentences for word in words_of(sentence))
    later = sorted(fair[opening:], key=lambda place: -_weight(sentences[place], counts))
    return sorted([*fair[:opening], *later[: rule.candidates_max - opening]])


def _weight(sentence: str, counts: Counter[str]) -> float:
    """Return how much of what the text repeats a sentence holds, for its length."""
    words = [word.text.lower() for word in words_of(sentence) if letters(word.text) > 3 or word.run]
    return sum(counts[word] - 1 for word in words) / (len(words) + 8)


def _chosen(
    sentences: Sequence[str],
    places: Sequence[int],
    vectors: NDArray[np.float64],
    document: NDArray[np.float64],
    rule: SummaryRule,
) -> list[int]:
    central = vectors @ document + rule.opening * (1 - np.arange(len(places)) / len(places))
    alike = vectors @ vectors.T
    taken: list[int] = []
    room = rule.chars_max
    while len(taken) < rule.sentences:
        cost = alike[:, taken].max(axis=1) if taken else np.zeros(len(places))
        worth = central - rule.novelty * np.maximum(cost, 0)
        fit = [i for i in range(len(places)) if not taken or (len(sentences[places[i]]) < room and i not in taken)]
        fresh = [i for i in fit if cost[i] <= rule.alike_max]
        if not fresh:
            break
        best = max(fresh, key=lambda i: worth[i])
        taken.append(best)
        room -= len(sentences[places[best]]) + 1
    return sorted(places[i] for i in taken)


def centred(vector: Vector, mean: Vector) -> NDArray[np.float64]:
    """Return a vector less a mean, at unit length."""
    rest = vector.astype(np.float64) - mean
    direction: NDArray[np.float64] = rest / max(float(np.linalg.norm(rest)), 1e-12)
    return direction


def _cut(summary: str, chars_max: int) -> str:
    """Cut what is too long between two words; only a text without sentences gets there."""
    if len(summary) <= chars_max:
        return summary
    head = summary[:chars_max]
    return (head.rpartition(" ")[0] or head).rstrip() + "\u2026"
