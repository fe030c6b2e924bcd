"""What a story is called: the phrases that its contents use and the others do not.

Class-based TF-IDF (Grootendorst 2022, "BERTopic", section 3.3) over words and pairs of words, with three
departures: a content counts a phrase once however often it repeats it, so that one long article does not name the
story; the contents of no story are a class of their own, so that a single story can be told from the rest; and a phrase
that is nearly as common outside a story does not name it.

A label is made of phrases of titles that two fifths of a story's contents have at least. What two of ten share by
chance names nothing: rather the topic that most are on and the title of the most central. Neither numbers, units, days
nor plain words name a story, nor what German writes small; of contents in several languages only names reach that far.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import log

from siftline.text.plain_words import plain_words
from siftline.text.stop_words import STOP_WORDS

LABELS_VERSION = "3"
"""Goes up when stories are named in another way; those named before are then named anew."""

_WORD = re.compile(r"[^\W\d_]+(?:['\u2019-][^\W\d_]+)*")
# Scripts written without spaces (Han, kana, Thai, Lao, Khmer, Myanmar): pairs of characters stand for words.
_UNSPACED = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff]")
_BREAK = re.compile(r"[.!?;:,\n()\[\]\"\u201c\u201d\u00ab\u00bb\u2026|/\u2013\u2014]+")
_ELISION = re.compile(r"^[cdjlmnst]['\u2019]|^qu['\u2019]|['\u2019]s$", re.IGNORECASE)
_CONTRACTION = re.compile(r"n['\u2019]t$|['\u2019](?:m|re|ve|ll|d)$", re.IGNORECASE)
_TITLE_WEIGHT = 3.0
_TEXT_CHARS = 2_000
_TITLE_CHARS = 80
# Where titles have capitals in names only.
_SMALL_TITLES = frozenset({"fr", "es", "it", "pt", "nl"})
_SHORT_TITLE_CHARS = 48
_SPREAD_MIN = 0.4
_ON_TOPIC_MIN = 0.5
_KEYWORDS = 8
_LABEL_PHRASES = 3
_PAIR_BONUS = 1.4
_LIFT = 1.5


@dataclass(frozen=True, slots=True)
class Document:
    """What is read of one content."""

    title: str
    text: str
    language: str | None = None
    topic: str | None = None
    """The id of what it is mostly about, if it was read."""


@dataclass(frozen=True, slots=True)
class Name:
    """A story's label and its key phrases, the most telling first."""

    label: str
    keywords: tuple[str, ...]
    titled_by: int | None = None
    """The place of the document whose title stands in the label; ``None`` where none does."""


def name_stories(stories: Sequence[Sequence[Document]], rest: Sequence[Document] = ()) -> list[Name]:
    """Return a name for each story. Documents come the most central first.

    A story of whose contents too few share a phrase bears the topic that half of them are on, if there is one, and the
    title of its first; ``Untitled`` where there is none.
    """
    classes = [_class_counts(documents) for documents in [*stories, rest]]
    everywhere = _Everywhere(classes)
    return [_name(counts, everywhere) for counts in classes[:-1]]


@dataclass(frozen=True, slots=True)
class _Counts:
    title: str
    titled_by: int | None
    """The place of the document whose title this is."""
    topic: str
    documents: int
    titled: frozenset[str]
    """The phrases of the titles; all where hardly a content has one."""
    weights: Mapping[str, float]
    spread: Mapping[str, int]
    """In how many documents a phrase stands."""
    forms: Mapping[str, Counter[str]]


def _class_counts(documents: Sequence[Document]) -> _Counts:
    weights: dict[str, float] = {}
    spread: Counter[str] = Counter()
    forms: dict[str, Counter[str]] = {}
    titled: set[str] = set()
    for document in documents:
        found: dict[str, float] = {}
        for text, weight in ((document.title, _TITLE_WEIGHT), (document.text[:_TEXT_CHARS], 1.0)):
            for key, form in phrases(text, document.language):
                found[key] = max(found.get(key, 0.0), weight)
                if text is document.title:
                    titled.add(key)
                forms.setdefault(key, Counter())[form] += 1
        for key, weight in found.items():
            weights[key] = weights.get(key, 0.0) + weight
        spread.update(found.keys())
    titled_by = next((at for at, document in enumerate(documents) if _WORD.search(document.title)), None)
    title = "" if titled_by is None else documents[titled_by].title
    if 2 * sum(1 for document in documents if document.title) < len(documents):
        titled.update(weights)
    return _Counts(title, titled_by, _topic(documents), len(documents), frozenset(titled), weights, spread, forms)


def _topic(documents: Sequence[Document]) -> str:
    """Return what half of the contents at least are on, as it is shown; ``""`` where there is no such topic."""
    counted = Counter(document.topic for document in documents if document.topic)
    topic, count = max(counted.items(), key=lambda one: (one[1], one[0]), default=("", 0))
    return topic.replace("_", " ").replace("-", " ").capitalize() if count >= _ON_TOPIC_MIN * len(documents) else ""


class _Everywhere:
    """What the classes come to together."""

    def __init__(self, classes: Sequence[_Counts]) -> None:
        self._documents = sum(counts.documents for counts in classes)
        self._weights: dict[str, float] = {}
        self._spread: Counter[str] = Counter()
        for counts in classes:
            self._spread.update(counts.spread)
            for key, weight in counts.weights.items():
                self._weights[key] = self._weights.get(key, 0.0) + weight
        filled = sum(1 for counts in classes if counts.documents)
        self._average = sum(self._weights.values()) / max(1, filled)

    def rarity(self, key: str) -> float:
        """Return the class-based inverse frequency, log(1 + A / f): A words in a class on average, f times the key."""
        return log(1.0 + self._average / self._weights[key])

    def tells(self, key: str, counts: _Counts) -> bool:
        """Say whether the class uses a phrase clearly more often than the contents outside it do."""
        outside = self._documents - counts.documents
        if not outside:
            return True
        usual = (self._spread[key] - counts.spread[key]) / outside
        return counts.spread[key] / counts.documents >= _LIFT * usual


def _name(counts: _Counts, everywhere: _Everywhere) -> Name:
    scored: list[tuple[float, int, str]] = []
    least = min(2, counts.documents)  # what stands in one content only says little of the others
    for place, (key, weight) in enumerate(counts.weights.items()):
        if counts.spread[key] >= least and everywhere.tells(key, counts):
            bonus = _PAIR_BONUS if " " in key else 1.0
            scored.append((-bonus * weight / counts.documents * everywhere.rarity(key), place, key))
    chosen: list[str] = []
    for _, _, key in sorted(scored):
        if not any(_overlaps(key, other) for other in chosen):
            chosen.append(key)
        if len(chosen) == _KEYWORDS:
            break
    enough = _SPREAD_MIN * counts.documents
    shared = [key for key in chosen if counts.spread[key] >= enough and key in counts.titled]
    label = " · ".join(_shown(counts.forms[key]) for key in shared[:_LABEL_PHRASES])
    keywords = tuple(_shown(counts.forms[key]) for key in chosen)
    return Name(label, keywords) if label else Name(_fallback(counts), keywords, counts.titled_by)


def _fallback(counts: _Counts) -> str:
    if counts.topic and counts.title:
        return f"{counts.topic} · {_short(counts.title, _SHORT_TITLE_CHARS)}"
    return _short(counts.title, _TITLE_CHARS) or counts.topic or "Untitled"


def _short(title: str, limit: int) -> str:
    """Return a title's first words, as many as fit, with an ellipsis where some are left out."""
    title = " ".join(title.split())
    if len(title) <= limit:
        return title
    return f"{title[:limit].rsplit(' ', 1)[0].rstrip(' ,;:.-')}\u2026"


def _overlaps(key: str, other: str) -> bool:
    """Say whether two phrases share a word, or a word's beginning (``kenya``, ``kenyan``)."""
    return any(
        one == two or (min(len(one), len(two)) >= 5 and (one.startswith(two) or two.startswith(one)))
        for one in key.split()
        for two in other.split()
    )


def _shown(forms: Counter[str]) -> str:
    """Return the spelling used most; of equals the first in the alphabet, capitals before small letters."""
    return min(forms, key=lambda form: (-forms[form], form))


def phrases(text: str, language: str | None = None) -> Iterable[tuple[str, str]]:
    """Yield each word and pair of neighbouring words that may name something: (case-folded key, as written).

    A stop word ends a phrase, as a comma does, and so does a plain word of the language (of any where it is not known).
    German ones are written with a capital, as its nouns are.

    >>> [key for key, _ in phrases("The Bank of Ghana raised nine rates", "en")]
    ['bank', 'ghana', 'rates']
    """
    for clause in _BREAK.split(text):
        before: tuple[str, str] | None = None
        for raw in _WORD.findall(clause):
            if _UNSPACED.search(raw):
                before = None
                yield from ((raw[at : at + 2].casefold(), raw[at : at + 2]) for at in range(max(1, len(raw) - 1)))
                continue
            form = _bare(raw)
            key = form.casefold()
            if len(key) < 3 or key in STOP_WORDS or _CONTRACTION.search(key) or _is_plain(form, before, language):
                before = None
                continue
            yield key, form
            if before is not None and before[0] != key:
                yield f"{before[0]} {key}", f"{before[1]} {form}"
            before = (key, form)


def _is_plain(form: str, before: tuple[str, str] | None, language: str | None) -> bool:
    """Say whether a word names nothing by itself; the second word of a name does (``Puerto Claro``), and NATO."""
    if language == "de" and form.islower():
        return True
    behind_name = language in _SMALL_TITLES and before is not None and before[1][0].isupper() and form[0].isupper()
    return not form.isupper() and not behind_name and form.casefold() in plain_words(language)


@lru_cache(maxsize=50_000)
def _bare(word: str) -> str:
    """Return a word without what is glued to it: l'économie, qu'il, Ghana's."""
    return _ELISION.sub("", word)
