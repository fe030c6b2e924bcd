"""A text as a reader takes it, whatever it is written with: for finding words that somebody hid from comparisons."""

import re
import unicodedata

from siftline.text.normal_form import nfc

# Characters that nobody sees and a model reads: zero-width ones, those that turn the direction, tags.
_INVISIBLE = re.compile("[\u00ad\u061c\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff\U000e0000-\U000e007f]")
_LIKE = str.maketrans("авекмнорстухіјѕԁԛԝгαβεικνορτυχ", "abekmhopctyxijsdqwraβeikvoptux")
"""Letters of Cyrillic and Greek that look like Latin ones."""
_LATIN = re.compile("[a-z]")
_WORD = re.compile(r"\w+")
_SPACED = re.compile(r"(?<!\w)(?:[^\W\d_][ .*_-]){3,}[^\W\d_](?!\w)")
_GAPS = re.compile("[ .*_-]")


def visible(text: str) -> str:
    """Return a text without characters that nobody sees."""
    return _INVISIBLE.sub("", text)


def folded(text: str) -> str:
    """Return a text in small letters and one form: look-alikes amid Latin letters as these, spaced letters as words.

    >>> folded("I g n o r e previ\\u043eus w\\u200bords")
    'ignore previous words'
    """
    flat = visible(unicodedata.normalize("NFKC", nfc(text))).casefold()
    flat = _SPACED.sub(lambda match: _GAPS.sub("", match.group()), flat)
    return _WORD.sub(lambda match: _as_latin(match.group()), flat)


def _as_latin(word: str) -> str:
    return word.translate(_LIKE) if _LATIN.search(word) else word
