"""Names by rules: known ones, legal forms, words that open or close an organisation's name, acronyms, titles.

Nothing is learnt here. Each rule proposes spans of tokens; of those that overlap the longest stays, and among equals
the one whose rule is surer. Rules ask for a capital letter where their language does not give one to every noun; German
ones ask for more than that (a proper adjective, a place, ``für``).
"""

import re
from collections.abc import Iterator, Sequence

from siftline.analyze.entities import entity_cues as cues
from siftline.analyze.entities.entity_spans import (
    Names,
    Span,
    Token,
    clubs,
    german,
    heads_first,
    heads_last,
    is_acronym,
    legal_spans,
    lines_of,
    run_end,
    tokens_of,
    unspaced_spans,
)
from siftline.analyze.entities.mentions import Kind, Mention
from siftline.text.names import parsed
from siftline.text.plain_words import plain_words

_GERMAN = frozenset({"de", "lb", "gsw"})
_SURNAMES_MAX = 6
_ROMAN = re.compile(r"^[IVXLCDM]+$")
_ARTICLES = frozenset({"la", "l'", "der", "die", "the", "del", "du", "dell'"})


class RuleRecognizer:
    """Finds names by rules; needs no model. Give it whole sentences: it looks at what stands around a name."""

    model_id = "rules"
    model_version = "2"

    def __init__(self) -> None:
        self._organisations = Names(lines_of("organisations.txt", "|"))
        self._places = Names(lines_of("places.txt", "|"))
        self._given = lines_of("given_names.txt", " ")

    def recognize(self, text: str, language: str | None) -> Sequence[Mention]:
        """Return the mentions in order, none overlapping another."""
        tokens = tokens_of(text)
        spans = [*self._known(tokens, language), *self._people(tokens)]
        spans += [Span(*found, Kind.ORGANISATION, 5) for found in legal_spans(tokens)]
        spans += [
            *clubs(tokens),
            *heads_first(tokens, german=language in _GERMAN),
            *heads_last(tokens),
            *self._cued(tokens),
        ]
        if language in _GERMAN:
            spans += german(tokens)
        kept = _apart(spans)
        kept = _apart([*kept, *_acronyms(tokens, kept)])
        kept = _apart([*kept, *_again(tokens, kept)])
        mentions = [Mention(tokens[span.start].start, tokens[span.end - 1].end, span.kind) for span in kept]
        mentions += [Mention(start, end, Kind.ORGANISATION) for start, end in unspaced_spans(text)]
        return _in_order(mentions)

    def _known(self, tokens: Sequence[Token], language: str | None) -> Iterator[Span]:
        plain = plain_words(language or "und")  # Elf Verletzte are eleven
        for place, token in enumerate(tokens):
            end = self._organisations.end_at(tokens, place)
            word = end == place + 1 and not token.text.isupper() and token.lower in plain
            if end > place and not word:
                yield Span(place, end, Kind.ORGANISATION, 6)
            end = self._places.end_at(tokens, place)
            if end > place:
                yield Span(place, end, Kind.PLACE, 4)

    def _people(self, tokens: Sequence[Token]) -> Iterator[Span]:
        for place, token in enumerate(tokens):
            titled = place > 0 and tokens[place - 1].text in cues.TITLES
            named = token.text.partition("-")[0] in self._given
            end = _surname_end(tokens, place + 1)
            if token.cap and named and end > place + 1:
                yield Span(place, end, Kind.PERSON, 3)
            elif (
                token.cap
                and titled
                and tokens[place - 1].text not in cues.SAINTS
                and not self._organisations.end_at(tokens, place) > place
            ):
                yield Span(place, max(end, place + 1), Kind.PERSON, 2)

    def _cued(self, tokens: Sequence[Token]) -> Iterator[Span]:
        """Names behind ``l'entreprise`` or ``die Firma``, and behind ``PDG de``."""
        for place, token in enumerate(tokens):
            start = place + 1
            if token.text in cues.LEADERS and start < len(tokens) and tokens[start].lower in cues.OF:
                start += 1
            elif token.text not in cues.CUES:
                continue
            if start < len(tokens) and tokens[start].text in {'"', "\u00ab", "\u201c", "\u201e"}:
                start += 1
            end = run_end(tokens, start, limit=4)
            if end == start or len(tokens[start].text) < 2 or self._somebody(tokens, start, end):
                continue
            if end == start + 1 and _asked_of(tokens, place, tokens[start].text):
                continue
            yield Span(start, end, Kind.ORGANISATION, 2)

    def _somebody(self, tokens: Sequence[Token], start: int, end: int) -> bool:
        return tokens[start].text in self._given or self._places.end_at(tokens, start) == end


def _asked_of(tokens: Sequence[Token], place: int, word: str) -> bool:
    """Say whether a German noun behind a cue is rather what it does something to: ``will das Unternehmen Beeren``."""
    return place > 1 and tokens[place - 2].lower in cues.MODALS and word.endswith(("e", "en", "er"))


def _surname_end(tokens: Sequence[Token], place: int) -> int:
    """Return where a surname and further given names that begin at a place end."""
    end = place
    while end < len(tokens) and end - place < _SURNAMES_MAX:
        following = end
        while following < len(tokens) and following - end < 2 and tokens[following].lower in cues.PARTICLES:
            following += 1
        if following >= len(tokens) or not tokens[following].cap or tokens[following].text in cues.CLUB:
            break
        end = following + 1
    return end


def _acronyms(tokens: Sequence[Token], kept: Sequence[Span]) -> Iterator[Span]:
    """``Organisation mondiale de la santé (OMS)``; ``la CGT``; the words in front of brackets that spell them out."""
    ends = {span.end for span in kept if span.kind is Kind.ORGANISATION}
    for place, token in enumerate(tokens[1:], 1):
        word = token.text
        if not is_acronym(word) or word.upper() in cues.NOT_ORGANISATIONS or _ROMAN.match(word):
            continue
        before = tokens[place - 1].text
        closed = place + 1 < len(tokens) and tokens[place + 1].text == ")"
        if before == "(" and closed:
            spelt = _spelt(tokens, place - 1, word)
            if place - 1 in ends or spelt is not None:
                yield Span(place, place + 1, Kind.ORGANISATION, 3)
            if spelt is not None and place - 1 not in ends:
                yield Span(spelt, place - 1, Kind.ORGANISATION, 2)
        elif before.lower() in _ARTICLES and len(word) > 2 and run_end(tokens, place + 1) == place + 1:
            yield Span(place, place + 1, Kind.ORGANISATION, 1)


def _spelt(tokens: Sequence[Token], end: int, acronym: str) -> int | None:
    """Return where the words in front of a bracket begin whose first letters are the acronym, ``None`` without any."""
    letters = list(acronym.replace(".", "").lower())
    place = end
    while letters and place > 0:
        place -= 1
        word = tokens[place].lower
        if word[0] == letters[-1]:
            letters.pop()
        elif word not in cues.CONNECTORS:
            return None
    return place if not letters and tokens[place].cap else None


def _again(tokens: Sequence[Token], kept: Sequence[Span]) -> Iterator[Span]:
    """The same words again, without the legal form too: what was an organisation once is one each time."""
    once: dict[tuple[str, ...], None] = {}
    for span in kept:
        if span.kind is Kind.ORGANISATION:
            words = tuple(token.text for token in tokens[span.start : span.end])
            once |= dict.fromkeys((words, _without_form(words)))
    firsts: dict[str, list[tuple[str, ...]]] = {}
    for words in once:
        firsts.setdefault(words[0], []).append(words)
    for place, token in enumerate(tokens):
        for words in firsts.get(token.text, ()):
            if tuple(found.text for found in tokens[place : place + len(words)]) == words:
                yield Span(place, place + len(words), Kind.ORGANISATION, 1)


def _without_form(words: tuple[str, ...]) -> tuple[str, ...]:
    """Return a name's words without its legal form; all of them where the rest is too short to be told again."""
    rest = words
    while len(rest) > 1 and (parsed(" ".join(rest)).legal_form or rest[-1] in {",", "&"}):
        rest = rest[:-1]
    return rest if len(" ".join(rest)) > 3 else words


def _apart(spans: Sequence[Span]) -> list[Span]:
    """Return spans of which none overlaps another: the longest, then the surest, then the first."""
    taken: set[int] = set()
    kept = []
    for span in sorted(spans, key=lambda one: (one.start - one.end, -one.sure, one.start)):
        places = set(range(span.start, span.end))
        if not places & taken:
            taken |= places
            kept.append(span)
    return kept


def _in_order(mentions: Sequence[Mention]) -> list[Mention]:
    ordered: list[Mention] = []
    for mention in sorted(mentions, key=lambda one: (one.start, -one.end)):
        if not ordered or mention.start >= ordered[-1].end:
            ordered.append(mention)
    return ordered
