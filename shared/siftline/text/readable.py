"""Tells a text from what only looks like one: bytes taken for letters, one thing said over and over, random signs."""

import re
import zlib

from siftline.text.words import UNPARTED

_SAMPLE_CHARS = 20_000
_WORDS_MIN = 50
_WORD_KINDS_MIN = 5
"""Fewer different words than this, of many, say nothing: a refrain has more."""
_PACKED_CHARS_MIN = 1_000
_PACKED_RATIO_MIN = 0.03
"""zlib leaves .3 and more of prose, .1 and more of lyrics and tables."""
_DAMAGE_RATIO_MAX = 0.1
_PLAUSIBLE_RATIO_MIN = 0.5
"""Three quarters and more of a text's letters stand in words, whatever writing it is in."""
_UNPARTED = re.compile(f"[{UNPARTED}]")
_UNPARTED_RATIO_MAX = 0.1
# Writings without cases, whose words may be one sign long or have signs within that are no letters to Python.
_CASELESS = re.compile(f"[{UNPARTED}\u0590-\u109f\u1100-\u139f\u1780-\u18af\uac00-\ud7af\U00020000-\U0003134f]")
_RUN = re.compile(r"(?:[^\W\d_][\u0300-\u036f]*)+")
_WORD = re.compile(r"\w+")
_CONTROL = frozenset([*range(8), *range(0x0E, 0x1B), *range(0x1C, 0x20)])
_BINARY_SAMPLE_BYTES = 65_536
# What files of other formats begin with, those written in letters (RTF, PostScript) among them.
_OTHER_FORMAT = re.compile(
    rb"(?:\xef\xbb\xbf)?[\s\x04]{0,64}(?:\{\\rtf|%!PS|%FDF-\d)"
    rb"|PK(?:\x03\x04|\x05\x06)|\x1f\x8b\x08|BZh\d1AY&SY|\xfd7zXZ\x00|7z\xbc\xaf\x27\x1c|Rar!\x1a\x07|\x28\xb5\x2f\xfd"
    rb"|\x89PNG\r\n\x1a\n|\xff\xd8\xff|GIF8[79]a|RIFF.{4}(?:WEBP|WAVE|AVI )|.{4}ftyp|II\x2a\x00|MM\x00\x2a"
    rb"|ID3[\x02-\x04]|OggS\x00|fLaC\x00|\x1a\x45\xdf\xa3|\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1|AT&TFORM"
    rb"|\x7fELF|\xca\xfe\xba\xbe|\x00asm|wOF[F2]\x00|SQLite format 3\x00",
    re.DOTALL,
)
_BINARY_RATIO_MAX = 0.02
_WIDE_RATIO_MIN = 0.2
_WORD_CHARS = range(3, 41)


def says_something(text: str, *, in_a_language: bool) -> bool:
    """Return whether a text of some length is one that can be summarised and sorted.

    ``in_a_language``: whether its language could be told, beyond what its page claims. Looks at the first 20,000
    characters.
    """
    sample = text[:_SAMPLE_CHARS]
    if sample.count("\ufffd") > _DAMAGE_RATIO_MAX * len(sample):
        return False
    if len(_UNPARTED.findall(sample)) <= _UNPARTED_RATIO_MAX * len(sample):
        words = _WORD.findall(sample.casefold())
        if len(words) >= _WORDS_MIN and len(set(words)) < _WORD_KINDS_MIN:
            return False
    if len(sample) >= _PACKED_CHARS_MIN:
        raw = sample.encode("utf-8", "replace")
        if len(zlib.compress(raw, 6)) < _PACKED_RATIO_MIN * len(raw):
            return False
    return in_a_language or _plausible_ratio(sample) >= _PLAUSIBLE_RATIO_MIN


def looks_binary(body: bytes) -> bool:
    """Return whether bytes are no text to read: a file of another format, or with too many signs that no text has.

    Bytes of which a good part is zero may be UTF-16.
    """
    if _OTHER_FORMAT.match(body):
        return True
    sample = body[:_BINARY_SAMPLE_BYTES]
    if sample.count(0) > _WIDE_RATIO_MIN * len(sample):
        return False
    return len(sample) - len(sample.translate(None, bytes(_CONTROL))) > _BINARY_RATIO_MAX * len(sample)


def _plausible_ratio(text: str) -> float:
    """Return the share of letters that stand in what can be a word: of some letters, in upper, lower or title case."""
    letters = plausible = 0
    for run in _RUN.findall(text):
        letters += len(run)
        if _CASELESS.search(run) or (
            len(run) in _WORD_CHARS and (run.islower() or run.isupper() or run.istitle() or run.lower() == run.upper())
        ):
            plausible += len(run)
    return plausible / letters if letters else 0.0
