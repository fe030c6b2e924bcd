"""Words as they stand in a text, in writings with spaces and without."""

import re
from dataclasses import dataclass

_IDEOGRAPHS = "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
_HIRAGANA = "\u3040-\u309f"
_KATAKANA = "\u30a0-\u30ff"
_UNSPACED = re.compile(f"[{_IDEOGRAPHS}{_HIRAGANA}{_KATAKANA}]")
_LETTER = rf"[^\W_{_IDEOGRAPHS}{_HIRAGANA}{_KATAKANA}]"
# A word; runs of ideographs or of katakana stand for the words of Chinese and Japanese.
_WORD = re.compile(
    rf"(?P<run>[{_IDEOGRAPHS}]{{2,}}|[{_KATAKANA}]{{3,}})|(?P<word>{_LETTER}(?:(?:{_LETTER}|['\u2019&.-])*{_LETTER})?)"
)
_ELIDED = re.compile(
    r"^(?:[cdjlmnst]|qu|lorsqu|puisqu|jusqu|dell|nell|sull|all|dall|un|quell)['\u2019](?=\w)", re.IGNORECASE
)
_POSSESSIVE = re.compile(r"['\u2019]s?$")
_WEIGHT_UNSPACED = 3  # one ideograph says about as much as three letters


@dataclass(frozen=True, slots=True)
class Word:
    """A word, where it stands, and whether it is a run of a writing without spaces."""

    text: str
    start: int
    end: int
    run: bool = False


def words_of(text: str) -> list[Word]:
    """Return the words in order, without elided articles (``l'eau`` gives ``eau``) and possessive endings."""
    found = []
    for match in _WORD.finditer(text):
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
    """Return how much a text says, in letters; an ideograph counts three, digits and signs nothing."""
    return sum(_WEIGHT_UNSPACED if _UNSPACED.match(char) else 1 for char in text if char.isalpha())


def without_spaces(text: str) -> bool:
    """Say whether most of the text is in a writing that sets no spaces between words."""
    sample = [char for char in text[:2_000] if char.isalpha()]
    return sum(1 for char in sample if _UNSPACED.match(char)) * 2 > len(sample)
