"""What the rules for names see in a text: tokens with their places, and the spans that look like names.

Spans end with a legal form, in writings with spaces and in those without; or a word opens or closes them:
universities, ministries, labels, clubs; in German what a noun alone is not.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from siftline.analyze.entities import entity_cues as cues
from siftline.analyze.entities.mentions import Kind
from siftline.text.legal_forms import COUNTRIES_OF
from siftline.text.names import parsed
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
# Forms that alone, and without dots, are more often something else.
_ALONE_NONE = frozenset({"Co", "SE", "Company", "AD", "AE", "CV", "HF", "KY", "RT", "BT", "DD", "AS", "EV", "LP", "GK"})
_FIRST_LETTERS = frozenset(form[0] for form in COUNTRIES_OF)
_FIRST_WORDS = frozenset(form.split()[0] for form in COUNTRIES_OF)
_FORM_TOKENS_MAX = 7
_NAME_TOKENS_MAX = 6
_WITHIN = frozenset({"&", "und", "and", "et", "y", "e", "+", "-", "de", "of"})
# Letters that a company's name has in Chinese and Japanese; hiragana and what links words end it.
_PART = "[\u30a0-\u30ff\u3005\u4e00-\u9fffA-Za-z0-9\uff21-\uff3a\uff41-\uff5a]"
_JAPANESE = "株式会社|有限会社|合同会社"
_BEHIND = f"{_JAPANESE}|股份有限公司|集团有限公司|有限责任公司|有限公司"
_LINKING = "了在的与和对是由被据从及或於于與對從"
_UNSPACED = re.compile(
    rf"(?:{_JAPANESE}){_PART}{{2,15}}|(?:(?![{_LINKING}]){_PART}){{2,15}}?(?:{_BEHIND})"
    r"|주식회사\s?[가-힣]{2,15}|[가-힣]{2,15}\s?주식회사"
)
_RUN_MAX = 6
_GERMAN_ADJECTIVE = re.compile(r"(?:[^\W\d_]er|e[rsn]?)$")
_GERMAN_NOUNS = tuple(sorted(cues.GERMAN_HEADS | cues.GERMAN_FOR, key=len, reverse=True))
_GERMAN_ENDINGS = tuple({form for head in _GERMAN_NOUNS for form in (head, head.lower())})
_GERMAN_STEMS = ("Bundes", "Landes", "Staats", "Reichs")
_OF_ENGLISH = frozenset({"of", "for"})
_AND = frozenset({"y", "e", "und", "&", "et", "and"})


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


def legal_spans(tokens: Sequence[Token]) -> Iterator[tuple[int, int]]:
    """Yield the places of names with their legal forms: ``Müller & Söhne GmbH & Co. KG``, ``Acme, Inc.``."""
    place, after = 1, 0
    while place < len(tokens):
        end = _form_end(tokens, place)
        start = _name_start(tokens, place, after) if end > place else place
        if start < place:
            yield start, end
            place = after = end
        else:
            place += 1


def unspaced_spans(text: str) -> Iterator[tuple[int, int]]:
    """Yield the places of names with their legal forms in Chinese, Japanese and Korean: ``株式会社日立製作所``."""
    for match in _UNSPACED.finditer(text):
        yield match.span()


def _form_end(tokens: Sequence[Token], place: int) -> int:
    """Return where the longest legal form that begins at a place ends; ``place`` where none does."""
    first = tokens[place].text
    bare = first.replace(".", "").replace("/", "").lower()
    dotted = "." in first[:-1] and bare[:1] in _FIRST_LETTERS
    if not (bare in _FIRST_WORDS or dotted) or (first.islower() and "." not in first):
        return place
    for end in range(min(place + _FORM_TOKENS_MAX, len(tokens)), place, -1):
        surface = " ".join(token.text for token in tokens[place:end])
        last = tokens[end - 1].text
        if not last[0].isalnum():
            continue
        found = parsed(f"x {surface}")
        if found.legal_form and found.name == "x" and surface not in _ALONE_NONE:
            return end
    return place


def _name_start(tokens: Sequence[Token], end: int, after: int) -> int:
    """Return where the name in front of a legal form begins, not before ``after``; ``end`` where there is none."""
    start = end
    if start > 1 and tokens[start - 1].text == ",":
        start -= 1
    first = start
    while start > after and first - start < _NAME_TOKENS_MAX:
        before = tokens[start - 1]
        if before.cap and not _is_cue(before.text):
            start -= 1
        elif start < first and before.text in _WITHIN and start - 2 >= after and tokens[start - 2].cap:
            start -= 2
        else:
            break
        if tokens[start].opens:
            break
    return start if start < first else end


def _is_cue(word: str) -> bool:
    """Say whether a word says what follows, in the German genitive too: ``des Unternehmens Nordlicht AG``."""
    return any(
        form in cues.CUES or form in cues.TITLES for form in (word, word.removesuffix("s"), word.removesuffix("es"))
    )


@dataclass(frozen=True, slots=True)
class Span:
    """Tokens ``start`` to ``end`` (exclusive) that a rule takes for a name; the higher ``sure`` the surer it is."""

    start: int
    end: int
    kind: Kind
    sure: int


def run_end(tokens: Sequence[Token], start: int, *, limit: int = _RUN_MAX) -> int:
    """Return where the run of capitalised words that begins at a place ends."""
    end = start
    while end < len(tokens) and end - start < limit and tokens[end].cap:
        end += 1
    return end


def run_start(tokens: Sequence[Token], end: int, *, limit: int = _RUN_MAX) -> int:
    """Return where the run of capitalised words that ends in front of a place begins; no sentence lies in between."""
    start = end
    while start > 0 and end - start < limit and tokens[start - 1].cap:
        start -= 1
        if tokens[start].opens:
            break
    return start


def complement_end(tokens: Sequence[Token], place: int) -> int:
    """Return where what a head is of ends: capitalised words, and connectors between them."""
    end = place
    while end < len(tokens) and end - place < 2 * _RUN_MAX:
        following = end
        while following < len(tokens) and following - end < 3 and tokens[following].lower in cues.CONNECTORS:
            following += 1
        pair = following - end == 1 and tokens[end].lower in _AND and end == place
        if following >= len(tokens) or not tokens[following].cap or pair or tokens[following].text in cues.HEADS_FIRST:
            break
        end = following + 1
    return end


def heads_first(tokens: Sequence[Token], *, german: bool = False) -> Iterator[Span]:
    """``Université de Paris``, ``Federación Española de Fútbol``, ``Bank of England``, ``Parti socialiste``.

    In a German text what is of something generic, as in ``Institut des Landes``, is no name.
    """
    for place, token in enumerate(tokens):
        if token.text not in cues.HEADS_FIRST:
            continue
        if german and place + 1 < len(tokens) and tokens[place + 1].lower in {"des", "der"}:
            continue
        start = place
        adjectives = place + 1
        while adjectives < len(tokens) and adjectives - place < 3 and cues.is_adjective(tokens[adjectives].text):
            adjectives += 1
        end = complement_end(tokens, adjectives)
        if end == adjectives and not token.opens:
            wordy = adjectives > place + 1 or token.text in cues.PLAIN_FIRST
            end = _plain_end(tokens, adjectives) if wordy else adjectives
        bare = end == adjectives == place + 1
        if bare or (token.opens and end == adjectives):
            continue
        yield Span(start, end, Kind.ORGANISATION, 3)


def _plain_end(tokens: Sequence[Token], place: int) -> int:
    """Return where ``de la santé`` or ``des affaires étrangères`` ends; ``place`` where there is nothing like it."""
    end = place
    while end < len(tokens) and end - place < 3 and tokens[end].lower in {"de", "du", "des", "d'", "l'", "la", "del"}:
        end += 1
    if end == place or end >= len(tokens) or not tokens[end].text.isalpha():
        return place
    end += 1
    return end + 1 if end < len(tokens) and cues.is_adjective(tokens[end].text) else end


def heads_last(tokens: Sequence[Token]) -> Iterator[Span]:
    """``Columbia Records``, ``Harvard University``, ``University of Oxford Press``."""
    for place, token in enumerate(tokens):
        if token.text not in cues.HEADS_LAST or token.opens:
            continue
        start = run_start(tokens, place, limit=4)
        start = max((at + 1 for at in range(start, place - 1) if tokens[at].text in cues.CUES), default=start)
        if start == place or tokens[start].text in cues.TITLES:
            continue
        end = place + 1
        if end + 1 < len(tokens) and tokens[end].lower in _OF_ENGLISH and tokens[end + 1].cap:
            end = run_end(tokens, end + 1)
        yield Span(start, end, Kind.ORGANISATION, 2)


def clubs(tokens: Sequence[Token]) -> Iterator[Span]:
    """``1. FC Köln``, ``SV Werder Bremen``, ``RC Lens``, ``Valencia CF``."""
    for place, token in enumerate(tokens):
        if token.text in cues.CLUB and place + 1 < len(tokens):
            end = place + 1
            while end < len(tokens) and end - place < 5 and (tokens[end].cap or _is_year(tokens[end].text)):
                end += 1
            if end < len(tokens) - 1 and tokens[end].lower in {"de", "del", "di"} and tokens[end + 1].cap:
                end = run_end(tokens, end + 1, limit=2)
            start = place - 1 if place and tokens[place - 1].text == "1." else place
            if end > place + 1:
                yield Span(start, end, Kind.ORGANISATION, 4)
        if token.text in cues.CLUB_LAST:
            start = run_start(tokens, place, limit=3)
            if start < place:
                yield Span(start, place + 1, Kind.ORGANISATION, 3)


def _is_year(word: str) -> bool:
    return word.isdigit() and len(word) in {2, 4}


def german(tokens: Sequence[Token]) -> Iterator[Span]:
    """``Technische Universität München``, ``Bundesamt für Strahlenschutz``, ``Humboldt-Universität zu Berlin``."""
    for place, token in enumerate(tokens):
        if not token.text.endswith(_GERMAN_ENDINGS):
            continue
        head = next((part for part in _GERMAN_NOUNS if _headed(token.text, part)), None)
        if head is None:
            continue
        start = place
        while start > 0 and place - start < 3 and not tokens[start].opens and _proper(tokens[start - 1]):
            start -= 1
        end = _german_end(tokens, place + 1, head)
        if start < place or end > place + 1 or "-" in token.text.removesuffix(head).strip():
            yield Span(start, end, Kind.ORGANISATION, 3)


def _headed(word: str, head: str) -> bool:
    if word == head:
        return True
    stem = word.removesuffix(head.lower()) if not word.endswith(f"-{head}") else word.removesuffix(head)
    return len(stem) < len(word) and (stem.endswith("-") or stem.startswith(_GERMAN_STEMS))


def _proper(token: Token) -> bool:
    """Say whether a word may be a proper adjective in front of a German head: ``Deutsche``, ``Berliner``."""
    return token.cap and len(token.text) > 3 and bool(_GERMAN_ADJECTIVE.search(token.text))


def _german_end(tokens: Sequence[Token], place: int, head: str) -> int:
    if place >= len(tokens):
        return place
    word = tokens[place].lower
    opened = place + 1 < len(tokens) and tokens[place + 1].cap
    if word == "für" and head in cues.GERMAN_FOR and opened and tokens[place + 1].text != tokens[place - 1].text:
        end = place + 2
        while end + 1 < len(tokens) and tokens[end].lower in {"und", ","} and tokens[end + 1].cap:
            end += 2
        return end
    if word in {"zu", "von"} and opened:
        return place + 2
    if word == "der" and head in cues.GERMAN_OF and opened:
        return place + 2
    return run_end(tokens, place, limit=3)
