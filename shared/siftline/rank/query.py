"""What somebody typed, taken apart as web searches are: words, "phrases", what is to be left out, and ``or``.

What is typed is never an error: signs that mean nothing are passed over. And how much each word of it says, and which
of them together say enough.
"""

import math
import re
import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from siftline.text.normal_form import nfc
from siftline.text.words import PAIRED, signed

TERMS_MAX = 16
"""Words and phrases that count, each side; the rest is for the vectors alone."""
_RUN = re.compile(rf"[{PAIRED}]+")
_PART = re.compile(r'(?P<never>-)?(?:"(?P<phrase>[^"]*)"?|(?P<word>[^\s"]+))')
_QUOTES = str.maketrans(dict.fromkeys("“”„‟«»＂", '"'))  # noqa: RUF001 - other quotation marks are meant
_LONG = 8
# Nobody sees them, and texts are stored without them.
_UNSEEN = re.compile("[\xad\u200b\ufeff]")
_SIGNS = re.compile(r"[\x00-\x1f\x7f]|[\\'&|!()<>:*]")
_TRIED_MAX = 6
_TINY = 1e-9


@dataclass(frozen=True, slots=True)
class Term:
    """A word or a phrase, as typed, and as ``websearch_to_tsquery`` takes it.

    ``first``: a single character of a writing without spaces, which a pair is to begin with.
    """

    typed: str
    parsed: str
    phrase: bool = False
    first: bool = False


@dataclass(frozen=True, slots=True)
class Query:
    """What is looked for. ``alternatives``: each is a list of places in ``terms``, all of which are to be there."""

    terms: Sequence[Term]
    never: Sequence[Term]
    alternatives: Sequence[Sequence[int]]

    @property
    def phrases(self) -> Sequence[int]:
        """The places of phrases that every answer must hold: none where there are alternatives."""
        return [place for place, term in enumerate(self.terms) if term.phrase and len(self.alternatives) == 1]

    @property
    def meaning(self) -> str:
        """Its words without what is to be left out; empty where the query is to be taken as it is."""
        return " ".join(term.typed for term in self.terms) if self.never else ""

    def mended(self, better: Mapping[str, str]) -> "Query":
        """Return the query with some words spelt otherwise."""
        terms = [term if term.typed not in better else _term(better[term.typed]) for term in self.terms]
        return Query(terms, self.never, self.alternatives)

    def choosing(self, words: Sequence[str]) -> "Query":
        """Return the query with more words behind its own, which no alternative asks for."""
        return Query([*self.terms, *map(_term, words)], self.never, self.alternatives)

    def __str__(self) -> str:
        ways = [" ".join(_shown(self.terms[place]) for place in way) for way in self.alternatives]
        return " ".join([" or ".join(ways), *(f"-{_shown(term)}" for term in self.never)]).strip()


def parse(text: str, *, plain: bool = False) -> Query:
    """Take a query apart; ``plain``: quotation marks, minus and ``or`` mean nothing.

    >>> str(parse('oil "price of gas" -coal or wind'))
    'oil "price of gas" or wind -coal'
    """
    text = _UNSEEN.sub("", nfc(text)).translate(_QUOTES)
    if plain:
        text = text.replace('"', " ")
    terms: list[Term] = []
    never: list[Term] = []
    ways: list[list[int]] = [[]]
    for part in _PART.finditer(text):
        word, phrase = part["word"], part["phrase"]
        if not plain and word and word.casefold() == "or" and not part["never"]:
            ways.append([])
            continue
        typed = " ".join(_SIGNS.sub(" ", phrase if word is None else word).split())
        if not any(sign.isalnum() for sign in typed):
            continue
        term = _term(typed, phrase=word is None)
        if part["never"] and not plain:
            never.append(term)
        elif len(terms) < TERMS_MAX:
            ways[-1].append(len(terms))
            terms.append(term)
    return Query(terms, never[:TERMS_MAX], [way for way in ways if way] or [[]])


def may_be_mistyped(term: Term) -> bool:
    """Say whether a term is a word of letters, long enough that one wrong letter leaves it what it was.

    >>> [may_be_mistyped(parse(word).terms[0]) for word in ("elction", "oil", "f-16", "東京都庁")]
    [True, False, False, False]
    """
    return not term.phrase and len(term.typed) >= 4 and term.typed.isalpha() and not _RUN.search(term.typed)


def slips_of(word: str) -> int:
    """Return how many wrong letters leave a word what it was."""
    return 1 if len(word) < _LONG else 2


def one_letter_off(word: str) -> list[str]:
    """Return patterns of ``like`` that together mean all words at a typing distance of one, and some that are nearer.

    >>> one_letter_off("ab")
    ['_ab', '_b', 'a', 'a_', 'a_b', 'ab_', 'b', 'ba']
    """
    bare = _bare(word)
    parts = [(bare[:place], bare[place:]) for place in range(len(bare) + 1)]
    added = {f"{left}_{right}" for left, right in parts}
    mistaken = {f"{left}_{right[1:]}" for left, right in parts if right}
    left_out = {f"{left}{right[1:]}" for left, right in parts if right}
    turned = {f"{left}{right[1]}{right[0]}{right[2:]}" for left, right in parts if len(right) > 1}
    return sorted(added | mistaken | left_out | turned)


def typing_distance(one: str, other: str) -> int:
    """Return how many letters were left out, added, mistaken or typed in the wrong order (Damerau, 1964).

    Accents do not count.

    >>> typing_distance("pirce", "price"), typing_distance("goverment", "government"), typing_distance("ete", "été")
    (1, 1, 0)
    """
    a, b = _bare(one), _bare(other)
    before: list[int] = []
    last = list(range(len(b) + 1))
    for row, sign in enumerate(a, start=1):
        now = [row]
        for column, against in enumerate(b, start=1):
            cost = min(last[column] + 1, now[-1] + 1, last[column - 1] + (sign != against))
            if row > 1 and column > 1 and sign == b[column - 2] and a[row - 2] == against:
                cost = min(cost, before[column - 2] + 1)
            now.append(cost)
        before, last = last, now
    return last[-1]


def likely_slip(typed: str, word: str) -> bool:
    """Say whether letters were only swapped or left out: likelier than that a certain wrong one was typed.

    >>> likely_slip("brid", "bird"), likely_slip("solr", "solar"), likely_slip("brid", "grid")
    (True, True, False)
    """
    return not Counter(_bare(typed)) - Counter(_bare(word))


def _bare(word: str) -> str:
    return "".join(sign for sign in unicodedata.normalize("NFKD", word) if not unicodedata.combining(sign))


def _term(typed: str, *, phrase: bool = False) -> Term:
    """Quote what PostgreSQL is to parse: within quotation marks no sign and no word is an operator.

    The pairs of a word need not stand side by side: positions are kept of the beginning of long texts only.
    """
    parts = _RUN.sub(_in_order if phrase else _pairs, signed(typed)).split()
    together = phrase or not _RUN.search(typed)
    parsed = f'"{" ".join(parts)}"' if together else " ".join(f'"{part}"' for part in parts)
    return Term(typed, parsed, phrase, first=len(typed) == 1 and not together)


def _pairs(run: re.Match[str]) -> str:
    """Return a run of characters without spaces as overlapping pairs, as ``search_parted`` in 0001_schema.sql does."""
    signs = run.group()
    return f" {' '.join(signs[at : at + 2] for at in range(max(len(signs) - 1, 1)))} "


def _in_order(run: re.Match[str]) -> str:
    """Return the pairs with the single characters that stand in the index where something else adjoins the run."""
    signs, before, after = run.group(), run.string[: run.start()].strip(), run.string[run.end() :].strip()
    pairs = (signs[at : at + 2] for at in range(len(signs) - 1))
    inner = " ".join([*signs[: bool(before)], *pairs, *(signs[-1] if after else "")])
    return f" {inner or signs} "


def _shown(term: Term) -> str:
    return f'"{term.typed}"' if term.phrase else term.typed


def shares_of(holdings: int, found: Sequence[int | None]) -> list[float]:
    """Return each word's share of what all of them say, in [0, 1], by how many of the holdings hold it.

    A word that nothing holds says no more than any that something does; ``None`` is a word that does not count.

    >>> shares_of(10, [5, 5, None]), shares_of(10, [5, 0])
    ([0.5, 0.5, 0.0], [0.5, 0.5])
    """
    most = max((count for count in found if count), default=1)
    weights = [0.0 if count is None else math.log1p(max(holdings, 1) / (count or most)) for count in found]
    total = sum(weights) or 1.0
    return [weight / total for weight in weights]


def telling(shares: Sequence[float], least: float) -> list[tuple[int, ...]]:
    """Return ways, each a set of words, so that whatever holds a share of ``least`` holds all words of one of them.

    With few words no other thing does; with many, what holds less may too. None where ``least`` is nothing.

    >>> telling([0.6, 0.2, 0.2], 0.5), telling([0.4, 0.3, 0.3], 0.5)
    ([(0,)], [(0, 1), (0, 2), (1, 2)])
    """
    if least <= 0:
        return []
    least -= _TINY
    if len(shares) > _TRIED_MAX:
        return _weighty(shares, least)
    ways: list[tuple[int, ...]] = []
    for size in range(1, len(shares) + 1):
        for way in combinations(range(len(shares)), size):
            if sum(shares[place] for place in way) >= least and not any(set(known) <= set(way) for known in ways):
                ways.append(way)
    return ways


def _weighty(shares: Sequence[float], least: float) -> list[tuple[int, ...]]:
    """Return all words but the lightest, which even together are not enough."""
    together = 0.0
    light: set[int] = set()
    for place in sorted(range(len(shares)), key=lambda one: shares[one]):
        together += shares[place]
        if together >= least:
            break
        light.add(place)
    return [(place,) for place in range(len(shares)) if place not in light]
