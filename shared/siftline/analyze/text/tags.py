"""Key phrases of a text in one normal form: lower case, singular, no hyphen, no number sign.

Candidates are runs of words that are neither too common nor parted by punctuation; what is repeated, stands in the
title, comes early or is a name weighs more (the features of YAKE, Campos et al. 2020, without its constants). Of these
the embedding model keeps the ones that lie in the text's own direction, which leaves most verbs and fillers behind.
No part of speech is told: plain words are left out, German candidates begin with a capital, and a single word of the
languages with articles must once stand where a noun does, behind one.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from siftline.analyze.text.tag_chunks import Token, chunks_of, in_capitals, is_link, setting_of
from siftline.analyze.text.vocabulary import HEAD_FIRST, HEAD_LAST, PARTICLES
from siftline.models.embedder import Embedder

_WORDS_MAX = 3
_EARLY_CHARS = 500


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
    led: int = 0
    """How often it stood where a noun does."""
    owned: int = 0
    """How often a particle of its name stood in front of it."""

    def worth(self) -> float:
        """Return how telling it is: how often, and the more if in the title, early, or a name."""
        early = 0.5 if self.first < _EARLY_CHARS else 0.0
        return self.count * (1 + early + (0.4 if self.named * 2 >= self.count else 0.0)) + (
            2.5 if self.in_title else 0.0
        )


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
    setting = setting_of(title, body, language)
    counted: dict[Phrase, _Counted] = defaultdict(_Counted)
    for part, in_title in ((title, True), (body, False)):
        headline = in_title and in_capitals(title, language)
        for chunk in chunks_of(part, replace(setting, headline=headline)):
            for phrase in _phrases(chunk):
                key = tuple(token.form for token in phrase)
                _count(counted[key], phrase, in_title=in_title, headline=headline)
    _make_whole(counted)
    kept = {phrase: found for phrase, found in counted.items() if _stands_out(phrase, found, language)}
    sure = {phrase: found for phrase, found in kept.items() if _is_noun(phrase, found, language)}
    if not kept and title:  # a title of plain words only: the nouns of the text, said once as they may be
        sure = {phrase: found for phrase, found in counted.items() if len(phrase) == 1 and found.led and found.nouns}
    return tuple(_spelt(phrase) for phrase in _best(sure or kept, rule.candidates_max))


def _phrases(chunk: Sequence[Token]) -> Iterator[Sequence[Token]]:
    """Yield runs of one to three words out of a chunk, a fourth where one is linked; links inside not counted."""
    for start, first in enumerate(chunk):
        if is_link(first) or (start and chunk[start - 1].form == "à"):
            continue
        size = links = 0
        for end in range(start, len(chunk)):
            if is_link(chunk[end]):
                links += 1
                continue
            size += 1
            if size > _WORDS_MAX + min(links, 1) or (chunk[end].run and end > start):
                break
            yield chunk[start : end + 1]


def _count(found: _Counted, phrase: Sequence[Token], *, in_title: bool, headline: bool) -> None:
    found.count += 1
    found.in_title |= in_title
    found.first = min(found.first, 0 if in_title else phrase[0].at)
    found.nouns += phrase[-1].noun
    found.led += phrase[0].led
    found.owned += phrase[0].owned
    found.named += not headline and all(token.named or is_link(token) for token in phrase)


def _make_whole(counted: dict[Phrase, _Counted]) -> None:
    """Give what a family name counts to the whole name, if it never stands without its particle: ``Anouk de Wit``."""
    for phrase in [one for one in counted if len(one) == 1 and counted[one].owned == counted[one].count]:
        whole = [
            one
            for one in counted
            if one[-1:] == phrase and len(one) > 2 and one[-2] in PARTICLES and counted[one].nouns
        ]
        if whole:
            longest = max(whole, key=lambda one: (counted[one].count, -len(one)))
            counted[longest].count = counted.pop(phrase).count


def _stands_out(phrase: Phrase, found: _Counted, language: str | None) -> bool:
    if language == "de" and not found.nouns:  # German writes its nouns with a capital
        return False
    return found.count > 1 or (found.in_title and (len(phrase) == 1 or found.named > 0))


def _is_noun(phrase: Phrase, found: _Counted, language: str | None) -> bool:
    if len(phrase) > 1 or found.named or (language not in HEAD_FIRST and language not in HEAD_LAST):
        return True
    return found.led > 0


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
