"""Finds by words what a user holds: all the words before some of them, and mistyped ones mended."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from uuid import UUID

from siftline.kit.db import Database
from siftline.rank import words_store
from siftline.rank.held_store import Filters
from siftline.rank.query import Query, Term, likely_slip, may_be_mistyped, parse, shares_of, slips_of, typing_distance
from siftline.rank.words_store import Counted, Partly, Terms

_ENOUGH = 10
_TELLING_SHARE = 0.5
_COMPARED_MAX = 512
"""Of how many texts each spelling is in, so much is told apart, before some are tried with the other words."""
_WAYS_MAX = 16


@dataclass(frozen=True, slots=True)
class Worded:
    """Contents by words, the best first, each with the share of the words that it holds."""

    terms: Terms
    shares: Mapping[UUID, float]
    corrected: str | None = None
    """The query that was answered, where a word of it was in nothing that the user holds."""
    weights: Sequence[float] = ()
    """Of each word, where those that hold some of them were looked for."""

    @property
    def words(self) -> str:
        """The ``tsquery`` of any of the words, where those that hold some of them are found; else nothing."""
        return self.terms.any if self.weights else ""

    @property
    def telling(self) -> Sequence[UUID]:
        """Those that hold enough of the words to be weighed against what is near in meaning."""
        return [one for one, share in self.shares.items() if share >= _TELLING_SHARE]


@dataclass(frozen=True, slots=True)
class _Spelling:
    word: str
    distance: int
    likely: bool


class Wording:
    """Full text over what one holds."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def terms(self, query: Query) -> Terms:
        """Read a query by the grammars of the texts."""
        with self._database.statement() as connection:
            return words_store.parse(connection, query)

    def find(self, user_id: UUID, filters: Filters, query: Query, terms: Terms, *, limit: int) -> Worded:
        """Return what holds the words of a query, or enough of them to be telling; where one is in nothing of the
        user's, what holds one that is spelt alike, if something then holds them all.
        """
        if not query.terms:
            return Worded(terms, {})
        whole = self._whole(user_id, filters, terms, limit)
        if len(whole) >= min(_ENOUGH, limit):
            return Worded(terms, whole)
        counted = self._counted(user_id, filters, terms)
        mended = self._spelt(user_id, filters, query, counted) if not whole else None
        if mended is not None:
            terms = self.terms(mended)
            whole = self._whole(user_id, filters, terms, limit)
            counted = self._counted(user_id, filters, terms)
            return self._partly(user_id, filters, Worded(terms, whole, str(mended)), counted, limit)
        return self._partly(user_id, filters, Worded(terms, whole), counted, limit)

    def filled(self, user_id: UUID, filters: Filters, worded: Worded, *, limit: int) -> Worded:
        """Return what was found, and behind it what holds fewer of the words."""
        if not worded.weights:
            return worded
        with self._database.statement() as connection:
            rows = words_store.partly(
                connection, user_id, filters, worded.terms, worded.weights, least=0.0, limit=limit
            )
        return replace(worded, shares=_joined(worded.shares, rows))

    def resembling(
        self, user_id: UUID, filters: Filters, title: str, *, limit: int, exclude: Collection[UUID]
    ) -> Worded:
        """Return what has words of a title in common with it."""
        terms = self.terms(parse(title, plain=True))
        with self._database.statement() as connection:
            counted = words_store.counted(connection, user_id, filters, terms, exclude=exclude)
            weights = shares_of(counted.holdings, counted.found)
            rows = words_store.partly(
                connection, user_id, filters, terms, weights, least=0.0, limit=limit, exclude=exclude
            )
        return Worded(terms, _joined({}, rows))

    def _whole(self, user_id: UUID, filters: Filters, terms: Terms, limit: int) -> dict[UUID, float]:
        with self._database.statement() as connection:
            return dict.fromkeys(words_store.matched(connection, user_id, filters, terms, limit=limit), 1.0)

    def _counted(self, user_id: UUID, filters: Filters, terms: Terms) -> Counted:
        with self._database.statement() as connection:
            return words_store.counted(connection, user_id, filters, terms)

    def _partly(self, user_id: UUID, filters: Filters, worded: Worded, counted: Counted, limit: int) -> Worded:
        """Return with it what holds a telling share of the words."""
        weights = shares_of(counted.holdings, counted.found)
        with self._database.statement() as connection:
            rows = words_store.partly(
                connection, user_id, filters, worded.terms, weights, least=_TELLING_SHARE, limit=limit
            )
        return replace(worded, shares=_joined(worded.shares, rows), weights=weights)

    def _spelt(self, user_id: UUID, filters: Filters, query: Query, counted: Counted) -> Query | None:
        """Return the query with words spelt otherwise, so that something of the user's holds them all.

        Of spellings as near, those that more holds together; ``None`` where nothing holds them all: words of another
        language, more likely than mistyped ones.
        """
        missing = [place for place, count in enumerate(counted.found) if count == 0 or not any(counted.found)]
        options = {query.terms[place].typed: self._alike(query.terms[place]) for place in missing}
        words = list(dict.fromkeys(one.word for alike in options.values() for one in alike))
        if not words:
            return None
        size = len(query.terms)
        with self._database.statement() as connection:
            terms = words_store.parse(connection, query.choosing(words))
            chosen = replace(terms, each=terms.each[size:])
            found = words_store.counted(connection, user_id, filters, chosen, most=_COMPARED_MAX).found
            places = {word: place for place, (word, count) in enumerate(zip(words, found, strict=True)) if count != 0}
            held = {word: found[place] for word, place in places.items()}
            ways = _ways(options, held)
            asked = [_asked(query, {typed: size + places[one.word] for typed, one in way.items()}) for way in ways]
            together = [words_store.whole_of(one, terms.terms, len(terms.grammars)) for one in asked]
            whole = words_store.counted(connection, user_id, filters, replace(terms, each=together)).found
        likely = [
            (_rank(way, held, count), place)
            for place, (way, count) in enumerate(zip(ways, whole, strict=True))
            if count
        ]
        if not likely:
            return None
        _, best = min(likely)
        return query.mended({typed: one.word for typed, one in ways[best].items()})

    def _alike(self, term: Term) -> list[_Spelling]:
        if not may_be_mistyped(term):
            return []
        with self._database.transaction() as connection:
            words = words_store.spellings(connection, term)
        typed = term.typed.casefold()
        near = [_Spelling(word, typing_distance(typed, word), likely_slip(typed, word)) for word in words]
        return [one for one in near if 0 < one.distance <= slips_of(term.typed)]


def _ways(options: Mapping[str, Sequence[_Spelling]], held: Mapping[str, int | None]) -> list[dict[str, _Spelling]]:
    """Return ways to spell all the words: for each of them the likeliest that something holds, by itself."""
    known = {typed: [one for one in alike if one.word in held] for typed, alike in options.items()}
    choices = {typed: alike for typed, alike in known.items() if alike}
    if not choices:
        return []
    each = int(_WAYS_MAX ** (1 / len(choices)))
    best = [
        sorted(alike, key=lambda one: _rank({"": one}, held, held[one.word] or 1))[: max(each, 1)]
        for alike in choices.values()
    ]
    return [dict(zip(choices, way, strict=True)) for way in product(*best)]


def _asked(query: Query, chosen: Mapping[str, int]) -> list[list[int]]:
    """Return the alternatives of a query with other places for some of its words."""
    return [[chosen.get(query.terms[place].typed, place) for place in way] for way in query.alternatives]


def _rank(way: Mapping[str, _Spelling], held: Mapping[str, int | None], count: int) -> tuple[int, int, int]:
    """Return the less the likelier: by slips, then by how many hold it, the double for letters swapped or left out.

    What is too common to be counted ("been") only where nothing that is counted is as much alike.
    """
    uncounted = sum(held[one.word] is None for one in way.values())
    slips = sum(one.distance for one in way.values())
    return uncounted, slips, -count * 2 ** sum(one.likely for one in way.values())


def _joined(shares: Mapping[UUID, float], rows: Sequence[Partly]) -> dict[UUID, float]:
    """Return what holds all the words, then what holds some; what holds all it can is not ranked twice."""
    return {**shares, **{row.id: row.share for row in rows if row.id not in shares}}
