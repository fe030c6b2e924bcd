"""The one gate for lines: whatever strangers wrote, fit to stand in a header, a subject, a title, a log, a terminal.

``line`` makes one line of a text, on which nothing acts and in which nothing hides; ``mail_text`` writes a line as a
mail's header may hold it, and ``header_value`` refuses what no header of mail or HTTP may hold.

Sources: Unicode's general categories (UAX #44); bidirectional formatting characters (UAX #9) and what they are abused
for (Trojan Source, CVE-2021-42574); joiners where scripts need them (Unicode 15, section 23.2; UTS #51 for emoji).
"""

import re
import unicodedata
from collections.abc import Sequence
from email.header import Header

LINE_MAX_CHARS = 1_000
"""What nobody set another length for."""
_STACKED_MAX = 4
_STACKED = "\u0300-\u034e\u0350-\u036f\u0483-\u0489\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f"
_SELECTORS = "\ufe00-\ufe0f\U000e0100-\U000e01ef"
# Letters and symbols to Python, and nothing to a reader: a blank of Korean and one of Braille.
_BLANKS = "\u2800\u3164\uffa0"
_UNSEEN = "\u034f\u17b4\u17b5"
# What printable text may hold that is looked at more closely: everything else that is odd, Python calls unprintable.
_ODD = re.compile(f"  |[{_SELECTORS}{_BLANKS}{_UNSEEN}]|[{_STACKED}]{{{_STACKED_MAX + 1}}}")
_STACKED_MARK = re.compile(f"[{_STACKED}]")
_SELECTOR = re.compile(f"[{_SELECTORS}]")
_BLANK = frozenset(_BLANKS)
_DROPPED = frozenset(_UNSEEN)
# Signs of Arabic, Syriac and Kaithi that are seen, though Unicode counts them as formatting.
_SEEN = frozenset("\u0600\u0601\u0602\u0603\u0604\u0605\u06dd\u070f\u0890\u0891\u08e2\U000110bd\U000110cd")
_JOINERS = frozenset("\u200c\u200d\u180e")
_ZERO_WIDTH_JOINER = "\u200d"
_DIRECTION = frozenset("\u061c\u200e\u200f")
# Scripts whose letters join, or are made of parts: Arabic and its kin, those of India and South East Asia, Mongolian.
_JOINING = re.compile(
    "[\u0600-\u08ff\u0900-\u0dff\u0e80-\u109f\u1700-\u18af\u1900-\u1cff\ua800-\ua8ff\ua980-\uaaff\uabc0-\uabff"
    "\ufb50-\ufdcf\ufdf0-\ufdff\ufe70-\ufefc\U00010a00-\U00010fff\U00011000-\U00011fff\U0001e900-\U0001e95f]"
)
_EMOJI = re.compile("[\u203c-\u3299\U0001f000-\U0001fbff]")
_RIGHT_TO_LEFT = frozenset({"R", "AL"})
# Of an encoded word (RFC 2047) this is where each begins; some parsers take less than the whole form for one.
_ENCODED_WORD = "=?"
_MAIL_LINE_CHARS = 76
_NO_VALUE = re.compile(r"[^\t\x20-\x7e]")


def line(text: str, max_chars: int = LINE_MAX_CHARS) -> str:
    r"""Return text on one line of at most ``max_chars``, as it looks: what nobody sees and what acts on others is gone.

    White space of any kind, line breaks among it, is one blank. Gone are controls (C0, C1), surrogates, non-characters,
    tags, what embeds, overrides or isolates a direction of writing, zero-width signs but for joiners between what they
    join, and marks and selectors beyond those that any writing has. Encoded words stay what they are: text. Time and
    memory grow with the text's length alone, and a line of a line is the same line.

    >>> line("so\r\nfar\x1b[31m \u202egnp.exe")
    'so far[31m gnp.exe'
    """
    if text.isprintable() and not _ODD.search(text):
        return text.strip(" ")[:max_chars].rstrip(" ")
    writer = _Writer()
    for sign in text:
        writer.take(sign)
        if len(writer.kept) > max_chars:
            break
    kept = writer.kept[:max_chars]
    while kept and (kept[-1] == " " or _joins_nothing(kept)):
        kept.pop()
    return "".join(kept)


class _Writer:
    """Takes a text sign by sign. What is kept depends on what was kept before alone."""

    def __init__(self) -> None:
        self.kept: list[str] = []
        self._stacked = 0
        self._right_to_left = False
        self._joins_emoji = False

    def take(self, sign: str) -> None:
        category = unicodedata.category(sign)
        if sign.isspace() or sign in _BLANK:
            if self.kept and self.kept[-1] != " ":
                self._keep(" ")
        elif self._may_stay(sign, category):
            self._keep(sign)

    def _keep(self, sign: str) -> None:
        if self._joins_emoji and not _EMOJI.match(sign):
            self.kept.pop()  # it joined an emoji to nothing
            if sign == " " and self.kept[-1] == " ":
                return
        self._joins_emoji = sign == _ZERO_WIDTH_JOINER and not _JOINING.match(self.kept[-1])
        self._stacked = self._stacked + 1 if _STACKED_MARK.match(sign) else 0
        self._right_to_left = self._right_to_left or unicodedata.bidirectional(sign) in _RIGHT_TO_LEFT
        self.kept.append(sign)

    def _may_stay(self, sign: str, category: str) -> bool:
        last = self.kept[-1] if self.kept else ""
        if sign in _JOINERS:
            return self._may_join(sign, last)
        if sign in _DIRECTION:
            return self._right_to_left and last not in _DIRECTION
        if _SELECTOR.match(sign):
            return last not in ("", " ") and not _SELECTOR.match(last) and last not in _JOINERS
        if _STACKED_MARK.match(sign):
            return self._stacked < _STACKED_MAX
        if category == "Cf":
            return sign in _SEEN
        return category not in ("Cc", "Cs") and sign not in _DROPPED and not _is_no_character(sign)

    @staticmethod
    def _may_join(sign: str, last: str) -> bool:
        if not last or last in _JOINERS:
            return False
        if _JOINING.match(last):
            return True
        return sign == _ZERO_WIDTH_JOINER and (_EMOJI.match(last) is not None or last == "\ufe0f")


def _joins_nothing(kept: Sequence[str]) -> bool:
    """Say whether a line ends with an emoji that waits for another one; letters may end so."""
    return kept[-1] == _ZERO_WIDTH_JOINER and not _JOINING.match(kept[-2])


def _is_no_character(sign: str) -> bool:
    """Say whether Unicode promises that this is never a character, or never one that is seen."""
    code = ord(sign)
    if code & 0xFFFE == 0xFFFE or 0xFDD0 <= code <= 0xFDEF:
        return True
    return code == 0x2065 or 0xFFF0 <= code <= 0xFFF8 or 0xE0000 <= code <= 0xE0FFF


def mail_text(name: str, text: str, max_chars: int = LINE_MAX_CHARS) -> str:
    """Return text as the value of a mail's header ``name``, folded: what is read from it is ``line(text)`` again.

    In ASCII; all of it in encoded words (RFC 2047) where it is not plain, or looks like one itself: Python's own
    package takes such text for an encoded word, and writes out what that hides (3.11.7, 3.12.1).

    >>> mail_text("Subject", "=?utf-8?q?Flood=0D=0ABcc:_x@evil.example?=")
    '=?utf-8?q?=3D=3Futf-8=3Fq=3FFlood=3D0D=3D0ABcc=3A=5Fx=40evil=2Eexample=3F=3D?='
    """
    plain = line(text, max_chars)
    if plain.isascii() and _ENCODED_WORD not in plain and len(name) + 2 + len(plain) <= _MAIL_LINE_CHARS:
        return plain
    return Header(plain, "utf-8", maxlinelen=_MAIL_LINE_CHARS, header_name=name).encode(linesep="\r\n")


def header_value(value: str) -> str:
    """Return a header's value of our own making; raises ``ValueError`` where it holds what would make two of it.

    Visible ASCII, blanks and tabs (RFC 9110, section 5.5; RFC 5322, section 2.2).
    """
    if _NO_VALUE.search(value):
        raise ValueError("This value is not allowed in a header.")
    return value
