"""A text as the rules for names see it: tokens with their places, and which of them look like parts of names."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from siftline.text.stop_words import STOP_WORDS

_DATA = Path(__file__).parent / "data"
# Elided articles stand alone (l'Université), a possessive stays (King's College), dots stay inside abbreviations.
_TOKEN = re.compile(
    r"(?:[cdjlmnst]|qu|dell|nell|sull|all|dall|un)['\u2019](?=\s?\w)"
    r"|(?:[^\W\d_]\.){2,}|(?:Dr|Mr|Mrs|Ms|St|Bros|Inc|Corp|Co|Ltd|Prof|Sr|Sra|Jr)\.|\d+\.(?=\s[A-Z])"
    r"|[^\W_]+(?:(?:[&+.\-/\u2010\u2011]|['\u2019])[^\W_]+)*(?:['\u2019](?=\s|$))?|[^\w\s]",
    re.IGNORECASE,
)
_SENTENCE_END = frozenset('.!?\u2026:;"\u00ab\u201c\u201e\u201d\u00bb()[]\u2013\u2014-*\u2022\u2018')
_FUNCTION_WORDS = """
der die das den dem des ein eine einer eines und oder in im am an zu zum zur von vom mit für auf bei nach aus als
le la les l' un une des du de d' et ou en dans par pour sur avec au aux ce cette son sa ses il elle ils elles on
el los las lo unos unas del al y e o u con por para su sus se que él ella
the a an and or of for with by on at to from as he she it they his her its in is was
il lo gli i uno una di da dal della dei nel e o con per su het een van en voor met op
"""
_FUNCTION = frozenset(_FUNCTION_WORDS.split())


@dataclass(frozen=True, slots=True)
class Token:
    """A word or a sign. ``cap``: it may be part of a name; ``opens``: it begins a sentence or a quotation."""

    text: str
    start: int
    end: int
    cap: bool
    opens: bool

    @property
    def lower(self) -> str:
        """The word in lower case."""
        return self.text.lower()


def tokens_of(text: str) -> list[Token]:
    """Return the tokens of a text in order."""
    found: list[Token] = []
    opens, end = True, 0
    for match in _TOKEN.finditer(text):
        word = match.group()
        opens = opens or "\n" in text[end : match.start()]
        found.append(Token(word, match.start(), match.end(), _is_cap(word, opens=opens), opens))
        opens, end = word in _SENTENCE_END, match.end()
    return found


def _is_cap(word: str, *, opens: bool) -> bool:
    if not any(char.isupper() for char in word):
        return False
    lower = word.lower()
    if lower in _FUNCTION or (opens and lower in STOP_WORDS):
        return False
    return word[0].isupper() or word[0].isdigit() or any(char.isupper() for char in word[1:3])


def is_acronym(word: str) -> bool:
    """Say whether a word is two to six capitals, digits behind them allowed: CGT, U.S., G20."""
    bare = word.replace(".", "")
    return 2 <= len(bare) <= 6 and bare.isalnum() and bare.isupper() and bare[0].isalpha() and not bare[1:].isdigit()


def lines_of(name: str, separator: str) -> frozenset[str]:
    """Return the entries of a file of names; lines that begin with ``#`` are comments."""
    lines = (_DATA / name).read_text(encoding="utf-8").splitlines()
    entries = (entry.strip() for line in lines if not line.startswith("#") for entry in line.split(separator))
    return frozenset(entry for entry in entries if entry)


class Names:
    """Known names, found in a run of tokens as they are written."""

    def __init__(self, names: Iterable[str]) -> None:
        by_first: dict[str, list[tuple[str, ...]]] = {}
        for name in names:
            words = tuple(_plain(token.text) for token in tokens_of(name))
            by_first.setdefault(words[0], []).append(words)
        self._by_first: Mapping[str, Sequence[tuple[str, ...]]] = {
            first: sorted(found, key=len, reverse=True) for first, found in by_first.items()
        }

    def end_at(self, tokens: Sequence[Token], place: int) -> int:
        """Return where the longest known name that begins at a place ends (exclusive); ``place`` where none does."""
        for words in self._by_first.get(_plain(tokens[place].text), ()):
            here = tokens[place : place + len(words)]
            if len(here) == len(words) and all(
                _plain(token.text) == word for token, word in zip(here, words, strict=True)
            ):
                return place + len(words)
        return place


def _plain(word: str) -> str:
    return word.replace("\u2019", "'")
