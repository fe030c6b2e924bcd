"""Names that a word opens or closes: universities, ministries, labels, clubs; in German what a noun alone is not."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from siftline.analyze.entities import entity_cues as cues
from siftline.analyze.entities.entity_text import Token
from siftline.analyze.entities.mentions import Kind

_RUN_MAX = 6
_GERMAN_ADJECTIVE = re.compile(r"(?:[^\W\d_]er|e[rsn]?)$")
_GERMAN_NOUNS = tuple(sorted(cues.GERMAN_HEADS | cues.GERMAN_FOR, key=len, reverse=True))
_GERMAN_ENDINGS = tuple({form for head in _GERMAN_NOUNS for form in (head, head.lower())})
_GERMAN_STEMS = ("Bundes", "Landes", "Staats", "Reichs")
_OF_ENGLISH = frozenset({"of", "for"})
_AND = frozenset({"y", "e", "und", "&", "et", "and"})


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


def complement_end(tokens: Sequence[Token], place: int, *, joins: frozenset[str] = cues.CONNECTORS) -> int:
    """Return where what a head is of ends: capitalised words, and connectors between them."""
    end = place
    while end < len(tokens) and end - place < 2 * _RUN_MAX:
        following = end
        while following < len(tokens) and following - end < 3 and tokens[following].lower in joins:
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
