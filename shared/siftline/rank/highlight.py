"""Where words that were looked for stand in a text: places in it, never markup, so that nobody's HTML is passed on.

A word is marked that begins as what PostgreSQL reduces the wanted one to (``lower`` in "lowering"), without case,
accents and points; an Arabic one also with what is written together with it (and, in, the). In writings without spaces
the characters themselves are.
"""

import re
import unicodedata
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from siftline.text.stop_words import STOP_WORDS
from siftline.text.words import PAIRED

EXCERPT_CHARS = 240
_MARKS_MAX = 50
_LEAD_CHARS = 60
_PAIRED = re.compile(f"[{PAIRED}]")
_WRITTEN = {"ss": "ss?", "ae": "(?:ae|æ)", "oe": "(?:oe|œ)", "եւ": "եւ?"}
_WRITTEN_FIRST = {"ss": ("s", "(?<=s)s?"), "ae": ("aæ", "(?:(?<=a)e|(?<=æ))"), "oe": ("oœ", "(?:(?<=o)e|(?<=œ))")}
# Vowel signs are no letters to Python, but parts of words: in the writings of India, Tibet and their neighbours.
_SIGNS = "".join(
    chr(code)
    for code in range(0x900, 0x1200)
    if unicodedata.category(chr(code)) in {"Mn", "Mc"} and not _PAIRED.match(chr(code))
)
_LETTER = rf"(?:[^\W{PAIRED}]|[{_SIGNS}])"
# Accents beside their letters, points of Hebrew and Arabic, and the line that draws Arabic letters apart.
_POINTS = re.compile(
    "[\u0300-\u036f\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0640\u064b-\u065f\u0670\u06d6-\u06ed]"
)
_ARABIC = re.compile("[\u0621-\u064a]")
_SIGNED = re.compile("([a-z0-9]+)0(plus|sharp)0")  # as siftline.text.words.signed writes C++ and C#
_JOINED_FIRST = "\u0648\u0641\u0628\u0643\u0644\u0627"
_JOINED = (
    "(?:(?<=[\u0648\u0641])[\u0628\u0643\u0644]?(?:\u0627?\u0644)?{0}"
    "|(?<=[\u0628\u0643\u0644])(?:\u0627?\u0644)?{0}|(?<=\u0627)\u0644{0}|(?<={0}))"
)
"""What Arabic writes together with the word behind it (and, then; in, as, for; the), as the grammar takes it off."""


@dataclass(frozen=True, slots=True)
class Highlight:
    """A text, and which parts of it were looked for: ``[start, end)`` in characters (code points), in order."""

    field: str
    text: str
    marks: Sequence[tuple[int, int]]


class _Plain(dict[int, str]):
    """Each character without accent and case; one for one, so that places stay."""

    def __missing__(self, code: int) -> str:
        whole = unicodedata.normalize("NFKC", chr(code))[:1]
        # The syllables of Hangul are made of letters, and stay whole.
        sign = whole if _PAIRED.match(whole) else unicodedata.normalize("NFKD", whole)[:1].casefold()[:1]
        self[code] = sign
        return sign


_PLAIN = _Plain(
    {ord("ø"): "o", ord("Ø"): "o", ord("ł"): "l", ord("Ł"): "l", ord("đ"): "d", 0x131: "i", 0x649: "\u064a"}
)


def pattern(lexemes: Collection[str]) -> re.Pattern[str] | None:
    """Return what finds words by what they are reduced to; ``None`` where there is nothing to find."""
    telling = [lexeme for lexeme in lexemes if lexeme not in STOP_WORDS] or list(lexemes)
    plain = {_POINTS.sub("", lexeme.translate(_PLAIN)) for lexeme in telling}
    parts = [_part(lexeme) for lexeme in sorted(plain, key=len, reverse=True) if lexeme]
    if not parts:
        return None
    # A set of characters in front is what re looks for fast; the first one is taken, so that each part looks behind.
    firsts = "".join(sorted({first for begins, _ in parts for first in begins}))
    return re.compile(f"[{re.escape(firsts)}](?:{'|'.join(part for _, part in parts)})")


def highlights(
    wanted: re.Pattern[str], title: str | None, summary: str | None, text: str | None
) -> Iterator[Highlight]:
    """Yield what is marked of a title, of a summary, and of the text the passage with the most marks."""
    for field, whole in (("title", title), ("summary", summary)):
        marks = _marks(wanted, whole or "")[:_MARKS_MAX]
        if whole and marks:
            yield Highlight(field, whole, marks)
    marks = _marks(wanted, text or "")
    if text and marks:
        yield _excerpt(text, marks)


def _part(lexeme: str) -> tuple[str, str]:
    """Return the characters that a word may begin with, and the pattern of it behind such a one."""
    if _PAIRED.search(lexeme):
        return lexeme[0], f"(?<={re.escape(lexeme[0])}){re.escape(lexeme[1:])}"
    if signed := _SIGNED.fullmatch(lexeme):
        name, signs = signed[1], {"plus": r"\+\+", "sharp": "#"}[signed[2]]
        return name[0], rf"(?<!{_LETTER}.)(?<={name[0]}){name[1:]}{signs}"
    stem = lexeme[:-1] if len(lexeme) > 4 and lexeme[-1] in "iy" else lexeme
    if stem[:2] in _WRITTEN_FIRST:
        (begins, head), tail = _WRITTEN_FIRST[stem[:2]], stem[2:]
    elif _ARABIC.match(stem):
        begins, head, tail = stem[0] + _JOINED_FIRST, _JOINED.format(stem[0]), stem[1:]
    else:
        begins, head, tail = stem[0], f"(?<={re.escape(stem[0])})", stem[1:]
    written = re.sub("|".join(_WRITTEN), lambda found: _WRITTEN[found.group()], re.escape(tail))
    more = 1 if len(lexeme) < 4 else 3 if len(lexeme) == 4 else 6
    signs = r"\+\+|#" if len(lexeme) == 1 else r"\+\+"
    return begins, rf"(?<!{_LETTER}.){head}{written}{_LETTER}{{0,{more}}}(?!{_LETTER}|{signs})"


def _marks(wanted: re.Pattern[str], text: str) -> list[tuple[int, int]]:
    """Return the places, those that touch each other as one."""
    if not text.isascii() and _POINTS.search(text):
        return _marks_among_points(wanted, text)
    found: list[tuple[int, int]] = []
    plain = text.lower() if text.isascii() else text.translate(_PLAIN)
    at = 0
    while match := wanted.search(plain, at):
        start, end = match.span()
        if found and start <= found[-1][1]:
            found[-1] = (found[-1][0], max(end, found[-1][1]))
        else:
            found.append((start, end))
        # Pairs of characters overlap.
        at = max(start + 1, end - 1 if _PAIRED.match(plain[start]) else end)
    return found


def _marks_among_points(wanted: re.Pattern[str], text: str) -> list[tuple[int, int]]:
    """Return the places in a text whose letters have points or accents beside them: these are looked past."""
    places = [place for place, sign in enumerate(text) if not _POINTS.match(sign)]
    bare = "".join(text[place] for place in places)
    behind = [*places[1:], len(text)]
    return [(places[start], behind[end - 1]) for start, end in _marks(wanted, bare)]


def _excerpt(text: str, marks: Sequence[tuple[int, int]]) -> Highlight:
    best = last = most = 0
    for first, (start, _) in enumerate(marks):
        last = max(last, first)
        while last + 1 < len(marks) and marks[last + 1][1] <= start + EXCERPT_CHARS - _LEAD_CHARS:
            last += 1
        if last - first + 1 > most:
            best, most = first, last - first + 1
    begin = _word_begin(text, max(marks[best][0] - _LEAD_CHARS, 0), marks[best][0])
    end = _word_end(text, min(max(begin + EXCERPT_CHARS, marks[best][1]), len(text)), marks[best + most - 1][1])
    shown = text[begin:end].replace("\n", " ")
    lead = "… " if begin else ""
    places = [(start - begin + len(lead), stop - begin + len(lead)) for start, stop in marks[best : best + most]]
    return Highlight("text", lead + shown + (" …" if end < len(text) else ""), places[:_MARKS_MAX])


def _word_begin(text: str, at: int, mark: int) -> int:
    """Return where the first whole word behind ``at`` begins, or ``at`` where none does before the mark."""
    if at == 0:
        return 0
    space = next((place for place in range(at, mark) if text[place].isspace()), None)
    return at if space is None else space + 1


def _word_end(text: str, at: int, mark: int) -> int:
    """Return where the last whole word before ``at`` ends, or ``at`` where none does behind the mark."""
    if at == len(text):
        return at
    return next((place for place in range(at, mark, -1) if text[place].isspace()), at)
