"""The runs of telling words that tags are taken from, and what is seen of each word there."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from siftline.analyze.text.plurals import german_forms, singular
from siftline.analyze.text.vocabulary import DETERMINERS, HEAD_FIRST, HEAD_LAST, LINKS, PARTICLES
from siftline.text.plain_words import plain_words
from siftline.text.stop_words import STOP_WORDS
from siftline.text.words import Word, words_of

_HYPHEN = re.compile("-")
_CAMEL = re.compile(r"-|(?<=[^\W\d_A-Z])(?=[A-Z])")
_ADJECTIVE_ENDINGS = ("e", "er", "en", "es")
_SENTENCE_STARTS = frozenset(".!?:\u2026\n\"\u201c\u201e\u00ab\u2018'([")


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
    if len(form) < 3 and not word.run and not word.text.isupper():
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
