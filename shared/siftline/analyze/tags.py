"""Key phrases of a text in one normal form: lower case, singular, no hyphen, no number sign.

Candidates are runs of words that are neither too common nor parted by punctuation; what is repeated, stands in the
title, comes early or is a name weighs more (the features of YAKE, Campos et al. 2020, without its constants). Of these
the embedding model keeps the ones that lie in the text's own direction, which leaves verbs and fillers behind.
"""

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from siftline.analyze.plurals import singular
from siftline.analyze.vocabulary import LINKS, NUMBERS
from siftline.analyze.words import Word, words_of
from siftline.kit.embedder import Embedder
from siftline.kit.stop_words import STOP_WORDS

_WORDS_MAX = 3
_HYPHEN = re.compile("-")
_CAMEL = re.compile(r"-|(?<=[^\W\d_A-Z])(?=[A-Z])")
_EARLY_CHARS = 500
_SENTENCE_STARTS = frozenset(".!?:\u2026\n\"\u201c\u201e\u00ab\u2018'([")


@dataclass(frozen=True, slots=True)
class TagRule:
    """How many tags, out of how many candidates, from how much of the text."""

    limit: int = 6
    candidates_max: int = 12
    chars_max: int = 12_000
    likeness_min: float = 0.15
    """Least cosine between a phrase and the text, both centred."""
    sure: int = 3
    """The nearest so many are kept if they are at all like the text."""


@dataclass(slots=True)
class _Counted:
    count: int = 0
    in_title: bool = False
    first: int = 1_000_000
    named: int = 0
    nouns: int = 0
    """How often its last word had a capital."""

    def worth(self) -> float:
        """Return how telling it is: how often, and the more if in the title, early, or a name."""
        early = 0.5 if self.first < _EARLY_CHARS else 0.0
        return self.count * (1 + early + (0.4 if self.named * 2 >= self.count else 0.0)) + (
            2.5 if self.in_title else 0.0
        )


@dataclass(frozen=True, slots=True)
class _Token:
    form: str
    """The normal form."""
    at: int
    named: bool
    """Capitalised where ordinary words are not."""
    noun: bool
    """Capitalised, whatever for."""
    run: bool


Phrase = tuple[str, ...]


def choose_tags(
    candidates: Sequence[str],
    document: NDArray[np.float64],
    term_mean: NDArray[np.float32],
    embedder: Embedder,
    rule: TagRule = TagRule(),
) -> tuple[str, ...]:
    """Return the candidates that are about what the text is about, nearest first.

    ``document`` is the text's vector less the mean of its language, at unit length.
    """
    likeness: dict[str, float] = {}
    for phrase in candidates:
        rest = embedder.embed_passage(phrase).astype(np.float64) - term_mean
        likeness[phrase] = float(rest @ document) / max(float(np.linalg.norm(rest)), 1e-12)
    near = sorted(candidates, key=lambda phrase: -likeness[phrase])[: rule.limit]
    kept = [p for place, p in enumerate(near) if likeness[p] >= (0.0 if place < rule.sure else rule.likeness_min)]
    return tuple(kept)


def find_phrases(title: str, text: str, language: str | None = None, rule: TagRule = TagRule()) -> tuple[str, ...]:
    """Return candidates for tags, most telling first; none where nothing stands out."""
    body = text[: rule.chars_max]
    lower = {word.text for word in words_of(f"{title}\n{body}") if word.text.islower()}
    counted: dict[Phrase, _Counted] = defaultdict(_Counted)
    for part, in_title in ((title, True), (body, False)):
        for chunk in _chunks(part, lower, language):
            for phrase in _phrases(chunk):
                _count(counted[tuple(token.form for token in phrase)], phrase, in_title=in_title)
    kept = {phrase: found for phrase, found in counted.items() if _stands_out(phrase, found, language)}
    return tuple(_spelt(phrase) for phrase in _best(kept, rule.candidates_max))


def _chunks(text: str, lower: set[str], language: str | None) -> Iterator[list[_Token]]:
    """Yield runs of telling words: no stop words (but links inside), no punctuation between them."""
    chunk: list[_Token] = []
    before: Word | None = None
    for word in words_of(text):
        gap = text[before.end : word.start] if before else "\n"
        if chunk and gap.strip().lower() in ("d'", "d\u2019"):
            chunk.append(_Token("d'", before.end if before else 0, named=False, noun=False, run=False))
        elif gap.strip(" -\u00ad\t") or "\n" in gap:
            yield chunk
            chunk = []
        link = word.text.lower() in LINKS
        if not link and _is_common(word):
            yield chunk
            chunk = []
        elif not link or chunk:
            chunk.extend(_tokens(text, word, lower, language))
        before = word
    yield chunk


def _is_common(word: Word) -> bool:
    form = word.text.lower()
    if form in STOP_WORDS or form in NUMBERS or form[0].isdecimal():
        return True
    return len(form) < 3 and not word.run and not word.text.isupper()


def _tokens(text: str, word: Word, lower: set[str], language: str | None) -> Iterator[_Token]:
    """Yield the word in its normal form, or the parts of a compound with hyphens or of a #HashTag."""
    inside = text[: word.start].rstrip()[-1:] not in _SENTENCE_STARTS
    hashtag = text[word.start - 1 : word.start] == "#"
    for part in (_CAMEL if hashtag else _HYPHEN).split(word.text):
        if not part:
            continue
        form = part.lower()
        noun = part[0].isupper()
        one = singular(form, language)
        common = not noun or form in lower or one in lower
        yield _Token(one if common else form, word.start, not common and inside, noun, word.run)


def _phrases(chunk: Sequence[_Token]) -> Iterator[Sequence[_Token]]:
    """Yield runs of one to three words out of a chunk, links inside not counted."""
    for start, first in enumerate(chunk):
        if first.form in LINKS:
            continue
        size = 0
        for end in range(start, len(chunk)):
            if chunk[end].form in LINKS:
                continue
            size += 1
            if size > _WORDS_MAX or (chunk[end].run and end > start):
                break
            yield chunk[start : end + 1]


def _count(found: _Counted, phrase: Sequence[_Token], *, in_title: bool) -> None:
    found.count += 1
    found.in_title |= in_title
    found.first = min(found.first, 0 if in_title else phrase[0].at)
    found.nouns += phrase[-1].noun
    found.named += all(token.named or token.form in LINKS for token in phrase)


def _stands_out(phrase: Phrase, found: _Counted, language: str | None) -> bool:
    if language == "de" and not found.nouns:  # German writes its nouns with a capital
        return False
    return found.count > 1 or (found.in_title and (len(phrase) == 1 or found.named > 0))


def _best(found: dict[Phrase, _Counted], limit: int) -> list[Phrase]:
    """Take the most telling phrases; of two that contain each other the longer stands for both if it is common."""
    order = sorted(found, key=lambda phrase: (-found[phrase].worth() * (1 + 0.25 * (len(phrase) - 1)), phrase))
    chosen: list[Phrase] = []
    for phrase in order:
        if any(_within(phrase, other) or _within(other, phrase) for other in chosen):
            continue
        longer = [other for other in order if _within(phrase, other) and found[other].count * 2 > found[phrase].count]
        pick = max(longer, key=lambda other: (found[other].count, len(other)), default=phrase)
        if any(_within(pick, other) or _within(other, pick) for other in chosen):
            continue
        chosen.append(pick)
        if len(chosen) == limit:
            break
    return chosen


def _within(short: Phrase, long: Phrase) -> bool:
    return any(long[place : place + len(short)] == short for place in range(len(long) - len(short) + 1))


def _spelt(phrase: Phrase) -> str:
    return " ".join(phrase).replace("d' ", "d'")
