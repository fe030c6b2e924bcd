"""The telling words of a text, cut to their beginnings: for saying whether one text bears what another says."""

import re
import unicodedata
from collections.abc import Iterable

from siftline.text.stop_words import STOP_WORDS
from siftline.text.words import words_of

_STEM_CHARS = 5
_WORD_CHARS_MIN = 4
_INDIC_CHARS_MIN = 2
_INDIC = re.compile("[\u0900-\u0dff]")


def stems_of(text: str) -> set[str]:
    """Return the beginnings of the telling words, the numbers, and the pairs of ideographs.

    Vowel signs are left out, as they would end a word of Indic writings.

    >>> sorted(stems_of("The banks were lending 300 ducats"))
    ['300', 'banks', 'ducat', 'lendi']
    """
    text = "".join(char for char in text if unicodedata.category(char) not in {"Mn", "Mc"})
    return {stem for word in words_of(text) for stem in _of_word(word.text.casefold(), run=word.run)}


def _of_word(word: str, *, run: bool) -> Iterable[str]:
    if run:
        return (word[place : place + 2] for place in range(len(word) - 1))
    if any(char.isdigit() for char in word):
        return (word,)
    telling = len(word) >= (_INDIC_CHARS_MIN if _INDIC.match(word) else _WORD_CHARS_MIN) and word not in STOP_WORDS
    return (word[:_STEM_CHARS],) if telling else ()
