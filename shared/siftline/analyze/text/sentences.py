"""Where sentences end, in any writing. Every sentence is a piece of the text as it stands; nothing is rewritten."""
# ruff: noqa: RUF001 - Cyrillic abbreviations are meant

import re

_ABBREVIATIONS = """
mr mrs ms dr prof st sr jr rev gen col lt sgt capt gov sen rep hon no nos vol ed eds fig inc ltd corp co vs approx dept
est jan feb mar apr jun jul aug sept sep oct nov dec mon tue wed thu fri etc al cf e.g i.e a.m p.m u.s u.k
bzw ca evtl ggf inkl usw vgl z.b d.h u.a o.ä nr hr fr bd abs art abb zzgl mio mrd tel str
m mm mme mlle mgr p pp env av apr. chap éd sra srta ud uds pág págs núm excmo aprox admón avda
sig sigg dott ing avv prof.ssa sig.ra pag ecc exmo dra n.º dhr mw drs ir bijv enz t.a.v o.a
г гг ул им тыс млн млрд руб т.е т.д т.п
"""
_ORDINAL_LANGUAGES = "de da nb nn no fi cs sk sl hr bs sr hu pl et lv tr is lb"
ABBREVIATIONS = frozenset(_ABBREVIATIONS.split())
"""Words followed by a full stop inside a sentence; without the stop, in lower case."""
ORDINAL_LANGUAGES = frozenset(_ORDINAL_LANGUAGES.split())
"""Languages that write the day of a month, a king's number or a century as a number with a full stop."""

# Sentence ends of Latin, Greek, Cyrillic, Arabic, Indic, Ethiopic and Armenian writing need a space after them;
# those of Chinese, Japanese, Burmese and Khmer do not.
_STOPS = r".!?\u2026\u061f\u06d4\u0964\u1362\u0589"
_CLOSERS = r"\"'\u2019\u201d\u00bb)\]\u203a\u201c\u2018"
_SPACED = re.compile(rf"(?<![{_STOPS}])[{_STOPS}]++(?:[{_CLOSERS}]|\s[\u00bb\u203a])*(?=\s)")
_UNSPACED = re.compile(
    r"[\u3002\uff01\uff1f\u104b\u17d4]+(?:[\u201d\u2019\uff09)]|[\u300d\u300f](?![\u3040-\u309f]))*(?![\u300d\u300f])"
)
_END = re.compile(rf"[{_STOPS}\u3002\uff01\uff1f\u104b\u17d4](?:[{_CLOSERS}\u300d\u300f\uff09]|\s[\u00bb\u203a])*$")
_BREAK = re.compile(r"\n\s*\n|\n(?=\s*[-*\u2022\u2013]\s)")
# A line break between two ideographs or kana is no space.
_WRAP = re.compile(
    "(?<=[\u3000-\u30ff\u3400-\u9fff\uff00-\uffef])[ \t]*\n[ \t]*(?=[\u3000-\u30ff\u3400-\u9fff\uff00-\uffef])"
)
_NEXT_START = re.compile(r"[\s\"'\u2018\u201c\u00ab\u201e(\[\u00bf\u00a1\u2013\u2014-]*(\S)")
_OPENERS = r"\s(\"'\u201c\u201e\u00ab"
_WORD_BEFORE = re.compile(rf"(?:.*[{_OPENERS}])?([^{_OPENERS}]*)", re.DOTALL)  # one look back, from the end
_WORD_MAX_CHARS = 64  # as far back as an abbreviation may begin
_ORDINAL = re.compile(r"^\d{1,3}$")
_DOTTED = re.compile(r"^(?:[^\W\d_]\.)+[^\W\d_]?$")


def split_sentences(text: str, language: str | None = None) -> list[str]:
    """Return the text's sentences in order, white space inside made single. Headings count as sentences."""
    found: list[str] = []
    for paragraph in _BREAK.split(text):
        flat = " ".join(_WRAP.sub("", paragraph).split())
        start = 0
        for end in _ends(flat, language):
            found.append(flat[start:end].strip())
            start = end
        found.append(flat[start:].strip())
    return [sentence for sentence in found if sentence]


def ends_properly(sentence: str) -> bool:
    """Say whether a sentence ends as sentences do, unlike a heading, a caption or a menu."""
    return bool(_END.search(sentence))


def _ends(flat: str, language: str | None) -> list[int]:
    ends = {match.end() for match in _UNSPACED.finditer(flat)}
    ends |= {match.end() for match in _SPACED.finditer(flat) if _closes(flat, match, language)}
    return sorted(ends)


def _closes(flat: str, match: re.Match[str], language: str | None) -> bool:
    """Decide whether a stop ends a sentence by the word before it and the letter after it."""
    following = _NEXT_START.match(flat, match.end())
    if following is None:
        return True
    if following[1].islower():
        return False
    if match.group()[0] != "." or match.group()[1:2] == ".":
        return True
    before = _WORD_BEFORE.fullmatch(flat, max(0, match.start() - _WORD_MAX_CHARS), match.start())
    word = before[1].lower() if before else ""
    if word in ABBREVIATIONS or _DOTTED.match(word):
        return False
    if len(word) == 1 and word.isalpha():  # an initial
        return False
    return not (language in ORDINAL_LANGUAGES and _ORDINAL.search(word))
