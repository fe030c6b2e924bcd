"""Words as they stand in a text, in writings with spaces and without."""

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass

from siftline.text.stop_words import STOP_WORDS

_IDEOGRAPHS = "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
_HIRAGANA = "\u3040-\u309f"
_KATAKANA = "\u30a0-\u30ff"
_UNSPACED = re.compile(f"[{_IDEOGRAPHS}{_HIRAGANA}{_KATAKANA}]")
_LETTER = rf"[^\W_{_IDEOGRAPHS}{_HIRAGANA}{_KATAKANA}]"
UNPARTED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
"""Thai, Lao, Burmese, Khmer, kana and Han part no words by spaces: a character counts as a word."""
PAIRED = rf"{UNPARTED}\uac00-\ud7a3"
"""Those that are searched by pairs of characters; Hangul too, whose words grow endings."""
# Names that end in signs: C++23 and Notepad++, C# and F#. A number sign behind a longer word is a heading's link.
_SIGNED = rf"(?<![^\W{PAIRED}])(?:[A-Za-z][A-Za-z0-9]*\+\+(?!\+)|[A-Za-z]#(?![^\W\d{PAIRED}]|#))"
# A word; runs of ideographs or of katakana stand for the words of Chinese and Japanese.
_WORD = re.compile(
    rf"(?P<signed>{_SIGNED})|(?P<run>[{_IDEOGRAPHS}]{{2,}}|[{_KATAKANA}]{{3,}})|(?P<word>{_LETTER}(?:(?:{_LETTER}|['\u2019&.-])*{_LETTER})?)"
)
_ELIDED = re.compile(
    r"^(?:[cdjlmnst]|qu|lorsqu|puisqu|jusqu|dell|nell|sull|all|dall|un|quell)['\u2019](?=\w)", re.IGNORECASE
)
_POSSESSIVE = re.compile(r"['\u2019]s?$")
# How many letters of Latin writing one letter of another script says about as much as: of whole words (Han, and kana
# between them; Yi), of syllables (Hangul, Ethiopic, Cherokee, Canadian), and of consonants whose vowels are not written
# (Hebrew, Arabic, Syriac). Elsewhere, in alphabets and where signs for vowels count as letters, it is about one.
_WEIGHTS = (
    (
        3.0,
        re.compile(
            f"[{_IDEOGRAPHS}{_HIRAGANA}{_KATAKANA}\u31f0-\u31ff\uff66-\uff9d\ua000-\ua48c\U00020000-\U0003134f]"
        ),
    ),
    (2.0, re.compile("[\u3105-\u312f\uac00-\ud7a3\u1200-\u139f\u13a0-\u13ff\uab70-\uabbf\u1400-\u167f\u18b0-\u18f5]")),
    (1.5, re.compile("[\u05d0-\u05ea\u0620-\u064a\u066e-\u06d3\u06fa-\u06ff\u0710-\u072f\u0750-\u077f]")),
)
# Signs for vowels that stand with a letter and are none to Python, from Devanagari to Khmer.
_VOWEL_SIGNS = re.compile(
    "[\u0900-\u0903\u093a-\u094f\u0955-\u0957\u0962\u0963\u0981-\u0983\u09bc-\u09cd\u0a01-\u0a03\u0a3c-\u0a4d\u0a81-\u0a83"
    "\u0abc-\u0acd\u0b01-\u0b03\u0b3c-\u0b57\u0b82\u0bbe-\u0bcd\u0c00-\u0c04\u0c3e-\u0c56\u0c81-\u0c83\u0cbc-\u0cd6\u0d00-\u0d03"
    "\u0d3e-\u0d4d\u0d82\u0d83\u0dca-\u0ddf\u0e31\u0e34-\u0e3a\u0e47-\u0e4e\u0eb1\u0eb4-\u0ebc\u0ec8-\u0ecd\u0f71-\u0f84\u102b-\u103e"
    "\u1056-\u1059\u17b4-\u17d3]"
)
SIGNS = "+#"
_SPELT = {"+": "0plus0", "#": "0sharp0"}
_SIGNED_NAME = re.compile(_SIGNED)
# As Japanese and Chinese write Latin letters, digits and these signs among their own, too.
_WIDE_SIGNS = re.compile("[\uff0b\uff03]")
_NARROW = {ord(wide): unicodedata.normalize("NFKC", wide) for wide in map(chr, range(0xFF01, 0xFF5F)) if wide.isalnum()}
_NARROW |= {0xFF0B: "+", 0xFF03: "#"}
_BESIDE = rf"(?![{PAIRED}])(?:[^\W_]|[{SIGNS}])"
_TOUCHING = re.compile(rf"([{PAIRED}])(?={_BESIDE})|({_BESIDE})(?=[{PAIRED}])")

_STEM_CHARS = 5
_WORD_CHARS_MIN = 4
_INDIC_CHARS_MIN = 2
_INDIC = re.compile("[\u0900-\u0dff]")


@dataclass(frozen=True, slots=True)
class Word:
    """A word, where it stands, and whether it is a run of a writing without spaces."""

    text: str
    start: int
    end: int
    run: bool = False


def signed(text: str) -> str:
    """Return a text with each name that ends in signs as one word, as the index of words holds it (``search_cut``).

    Words of Latin, digits and the like stand apart from writings without spaces.

    >>> signed("C++23, C# and C"), signed("用Python3编程")
    ('C0plus0 23, C0sharp0  and C', '用 Python3 编程')
    """
    spaced = _TOUCHING.sub(r"\1\2 ", _narrow(text))
    return _SIGNED_NAME.sub(lambda name: f"{name[0].rstrip(SIGNS)}{_SPELT[name[0][-1]]} ", spaced)


def _narrow(text: str) -> str:
    """Return a text whose wide signs, and the letters and digits with them, are ASCII; one for one, so places stay."""
    return text.translate(_NARROW) if _WIDE_SIGNS.search(text) else text


def words_of(text: str) -> list[Word]:
    """Return the words in order, without elided articles (``l'eau`` gives ``eau``) and possessive endings."""
    found = []
    for match in _WORD.finditer(_narrow(text)):
        word, start, end = match.group(), match.start(), match.end()
        elided = _ELIDED.match(word)
        if elided:
            word, start = word[elided.end() :], start + elided.end()
        bare = _POSSESSIVE.sub("", word)
        end -= len(word) - len(bare)
        if bare:
            found.append(Word(bare, start, end, match.lastgroup == "run"))
    return found


def letters(text: str) -> int:
    """Return how much a text says, in letters of Latin; digits and signs say nothing.

    Whatever is as long as to say something, whole or in part, is measured so: scripts are not equally dense.
    """
    found = float(sum(map(str.isalpha, text)))
    return round(found if text.isascii() else found + _more_than_seen(text))


def extent(text: str) -> int:
    """Return how long a text would be in Latin writing: its characters, those of denser scripts for more than one."""
    return len(text) if text.isascii() else round(len(text) + _denser(text))


def _more_than_seen(text: str) -> float:
    return len(_VOWEL_SIGNS.findall(text)) + _denser(text)


def _denser(text: str) -> float:
    return sum((weight - 1) * len(script.findall(text)) for weight, script in _WEIGHTS)


def without_spaces(text: str) -> bool:
    """Say whether most of the text is in a writing that sets no spaces between words."""
    sample = [char for char in text[:2_000] if char.isalpha()]
    return sum(1 for char in sample if _UNSPACED.match(char)) * 2 > len(sample)


def stems_of(text: str) -> set[str]:
    """Return the beginnings of the telling words, the numbers, and the pairs of ideographs.

    Vowel signs are left out, as they would end a word of Indic writings.

    >>> sorted(stems_of("The banks were lending 300 ducats"))
    ['300', 'banks', 'ducat', 'lendi']
    """
    text = "".join(char for char in text if unicodedata.category(char) not in {"Mn", "Mc"})
    return {stem for word in words_of(text) for stem in _stems_of_word(word.text.casefold(), run=word.run)}


def _stems_of_word(word: str, *, run: bool) -> Iterable[str]:
    if run:
        return (word[place : place + 2] for place in range(len(word) - 1))
    if any(char.isdigit() for char in word):
        return (word,)
    if word[-1] in SIGNS:
        return (word,)
    telling = len(word) >= (_INDIC_CHARS_MIN if _INDIC.match(word) else _WORD_CHARS_MIN) and word not in STOP_WORDS
    return (word[:_STEM_CHARS],) if telling else ()
