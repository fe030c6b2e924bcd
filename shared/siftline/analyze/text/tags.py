"""Key phrases of a text in one normal form: lower case, singular, no hyphen, no number sign but that of C#.

Candidates are runs of words that are neither too common nor parted by punctuation; what is repeated, stands in the
title, comes early or is a name weighs more (the features of YAKE, Campos et al. 2020, without its constants). Of these
the embedding model keeps the ones that lie in the text's own direction, which leaves most verbs and fillers behind.
No part of speech is told: plain words are left out, German candidates begin with a capital, and a single word of the
languages with articles must once stand where a noun does, behind one.
"""

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from siftline.analyze.text.plurals import german_forms, singular
from siftline.models.embedder import Embedder
from siftline.text.plain_words import plain_words
from siftline.text.stop_words import STOP_WORDS
from siftline.text.words import SIGNS, Word, words_of

_LINKS = "de du des del della dei di da do dos das d' of"
LINKS = frozenset(_LINKS.split())
"""What may stand between the nouns of one phrase."""
_PARTICLES = "de van von der den ten ter di da del della dos du la le"
_DETERMINERS = {
    "en": """
the a an this that these those my your his her its our their some any no each every many several few more of in on at
for with by from into over under between against about
""",
    "fr": """
le la les l un une des du de d au aux ce cet cette ces son sa ses leur leurs notre nos votre vos mon ma mes chaque
quelques plusieurs sur dans par pour sans contre entre
""",
    "es": """
el la de los las lo unos unas un una del al este esta estos estas su sus mi cada varios varias en con sin por para
""",
    "it": """
il lo la i gli le un uno una di del dello della dei degli delle al alla ai alle dal dalla nel nella sul sulla suo sua
loro con per
""",
    "pt": """
o a os as um uma uns umas de do da dos das em no na nos nas ao à seu sua seus suas com sem por para
""",
    "nl": """
het een de die dat deze dit zijn haar hun onze geen van in op met voor bij uit tegen
""",
}
DETERMINERS = {language: frozenset(words.split()) for language, words in _DETERMINERS.items()}
"""What stands in front of nouns and hardly ever in front of verbs: articles, possessives, most prepositions."""
PARTICLES = frozenset(_PARTICLES.split())
"""What belongs to the family name behind it."""
HEAD_LAST = frozenset({"en", "nl"})
"""Languages whose noun ends a run of words, adjectives in front."""
HEAD_FIRST = frozenset({"fr", "es", "it", "pt"})
"""Languages whose noun begins it."""
_HYPHEN = re.compile("-")
_CAMEL = re.compile(r"-|(?<=[^\W\d_A-Z])(?=[A-Z])")
_ADJECTIVE_ENDINGS = ("e", "er", "en", "es")
_SENTENCE_STARTS = frozenset(".!?:\u2026\n\"\u201c\u201e\u00ab\u2018'([")
_WORDS_MAX = 3
_EARLY_CHARS = 500
Phrase = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Token:
    """A word of a chunk, or what links two of them."""

    form: str
    """The normal form."""
    at: int
    named: bool
    """Capitalised where ordinary words are not."""
    noun: bool
    """Capitalised, whatever for."""
    run: bool
    led: bool = True
    owned: bool = False


@dataclass(frozen=True, slots=True)
class Setting:
    """What is known of the whole text while its parts are read."""

    language: str | None
    lower: frozenset[str]
    """The words that it writes small somewhere."""
    forms: Mapping[str, str]
    """The shorter forms of German nouns."""
    headline: bool = False
    """All words of the part that is read have capitals."""


def in_capitals(title: str, language: str | None) -> bool:
    """Say whether a title gives a capital to all its words, or is German: its capitals show no names then."""
    telling = [word.text for word in words_of(title) if len(word.text) > 3]
    return language == "de" or (len(telling) > 3 and sum(word[0].isupper() for word in telling) >= 0.7 * len(telling))


def chunks_of(text: str, setting: Setting) -> Iterator[list[Token]]:
    """Yield runs of telling words: no common words (but links inside), no punctuation between them."""
    chunk: list[Token] = []
    words = words_of(text)
    led = False
    for place, word in enumerate(words):
        before = words[place - 1] if place else None
        gap = text[before.end : word.start] if before else "\n"
        if chunk and gap.strip().lower() in ("d'", "d\u2019"):
            chunk.append(Token("d'", before.end if before else 0, named=False, noun=False, run=False))
        elif gap.strip(" -\u00ad\t") or "\n" in gap:
            yield _headed(chunk, setting.language, led=led)
            chunk, led = [], gap.strip()[-1:] in ("'", "\u2019")
        if _links(words, place, chunk, setting.language):
            chunk.append(Token(word.text.lower(), word.start, named=False, noun=False, run=False))
        elif _is_common(word, text, setting):
            yield _headed(chunk, setting.language, led=led)
            form = word.text.lower()
            chunk, led = [], form in DETERMINERS.get(setting.language or "", ()) or (led and form not in STOP_WORDS)
        else:
            owned = before is not None and before.text.lower() in PARTICLES and word.text[0].isupper()
            chunk.extend(_tokens(text, word, setting, owned=owned))
    yield _headed(chunk, setting.language, led=led)


def _links(words: Sequence[Word], place: int, chunk: Sequence[Token], language: str | None) -> bool:
    """Say whether a word joins what is in front of it to what follows: ``of``, a name's ``van``, ``moteur à gaz``."""
    if not chunk:
        return False
    form, after = words[place].text, words[place + 1].text if place + 1 < len(words) else ""
    if form.lower() in LINKS:
        return True
    if form == "à" and language == "fr":
        return after.islower() and after not in STOP_WORDS and after[0].isalpha() and words[place - 1].text.islower()
    return (
        form in PARTICLES
        and (chunk[-1].noun or chunk[-1].form in PARTICLES)
        and (after[:1].isupper() or after in PARTICLES)
    )


def _headed(chunk: list[Token], language: str | None, *, led: bool) -> list[Token]:
    """Return a chunk in which the word is marked that is a noun, if an article stands in front of the chunk."""
    if language not in HEAD_FIRST and language not in HEAD_LAST:
        return chunk
    head = 0 if language in HEAD_FIRST else len(chunk) - 1
    behind = [place for place in range(1, len(chunk)) if chunk[place - 1].form in LINKS]
    return [
        replace(token, led=token.run or (led and place == head) or place in behind) for place, token in enumerate(chunk)
    ]


def _is_common(word: Word, text: str, setting: Setting) -> bool:
    form = word.text.lower()
    if form in STOP_WORDS or form[0].isdecimal():
        return True
    if len(form) < 3 and not word.run and not word.text.isupper() and form[-1] not in SIGNS:
        return True
    if setting.language == "en" and form.partition("-")[0] in plain_words("und"):  # a nineteen-year-old
        return True
    return form in plain_words(setting.language or "und") and not _may_be_named(word, text, setting)


def _may_be_named(word: Word, text: str, setting: Setting) -> bool:
    """Say whether a plain word is part of a name here: ``Puerto Claro``; in English only in front of another."""
    if word.text.isupper():
        return True
    inside = text[: word.start].rstrip()[-1:] not in {"", *_SENTENCE_STARTS}
    if setting.headline or not inside or not word.text[0].isupper():
        return False
    return setting.language in HEAD_FIRST or (setting.language == "en" and text[word.end + 1 : word.end + 2].isupper())


def _tokens(text: str, word: Word, setting: Setting, *, owned: bool) -> Iterator[Token]:
    """Yield the word in its normal form, or the parts of a compound with hyphens or of a #HashTag."""
    inside = text[: word.start].rstrip()[-1:] not in _SENTENCE_STARTS
    inside &= word.start > 0 or setting.language != "de"
    hashtag = text[word.start - 1 : word.start] == "#"
    whole = setting.language == "de" and not hashtag
    for part in [word.text] if whole else (_CAMEL if hashtag else _HYPHEN).split(word.text):
        if not part:
            continue
        form = part.lower()
        noun = part[0].isupper()
        one = setting.forms.get(form) or singular(form, setting.language)
        common = not noun or form in setting.lower or one in setting.lower
        shown = one if common or form in setting.forms else form
        if setting.language == "de" and not inside and form.endswith(_ADJECTIVE_ENDINGS):
            noun = not text[word.end + 1 : word.end + 2].isupper()  # Heißer Sand: the capital is the sentence's
        yield Token(shown.replace("-", " "), word.start, not common and inside, noun, word.run, owned=owned)


def is_link(token: Token) -> bool:
    """Say whether a token only joins its neighbours."""
    return token.form in LINKS or token.form == "à" or (token.form in PARTICLES and not token.noun)


def setting_of(title: str, body: str, language: str | None) -> Setting:
    """Return what is known of a text as a whole."""
    words = [word.text for word in words_of(f"{title}\n{body}")]
    nouns = (word.lower() for word in words if word[0].isupper()) if language == "de" else ()
    return Setting(language, frozenset(word for word in words if word.islower()), german_forms(nouns))


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
