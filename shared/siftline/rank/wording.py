"""Finds by words what a user holds: all the words before some of them, and mistyped ones mended."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from uuid import UUID

from siftline.kit.db import Database
from siftline.rank import words_store
from siftline.rank.held_store import Filters
from siftline.rank.query import Query, Term, may_be_mistyped, parse, slips_of, typing_distance
from siftline.rank.rarity import shares_of
from siftline.rank.words_store import Counted, Partly, Terms

_ENOUGH = 10
_TELLING_SHARE = 0.5


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
        better = self._spelt(user_id, filters, query, counted) if not whole else {}
        if better:
            mended = query.mended(better)
            mended_terms = self.terms(mended)
            # None hold them all: words of another language, more likely than mistyped ones.
            if mended_whole := self._whole(user_id, filters, mended_terms, limit):
                counted = self._counted(user_id, filters, mended_terms)
                return self._partly(user_id, filters, Worded(mended_terms, mended_whole, str(mended)), counted, limit)
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

    def _spelt(self, user_id: UUID, filters: Filters, query: Query, counted: Counted) -> dict[str, str]:
        """Return by mistyped word the nearest one that something of the user's holds."""
        missing = [place for place, count in enumerate(counted.found) if count == 0 or not any(counted.found)]
        options = {query.terms[place].typed: self._alike(query.terms[place]) for place in missing}
        words = [word for alike in options.values() for word in alike]
        if not words:
            return {}
        asked = parse(" ".join(words), plain=True, terms_max=len(words))
        with self._database.statement() as connection:
            terms = words_store.parse(connection, asked)
            found = words_store.counted(connection, user_id, filters, terms, most=1).found
        if not any(found):
            return {}
        counts = {term.typed: count for term, count in zip(asked.terms, found, strict=True) if count != 0}
        # What is too common to be counted ("been") only where nothing that is counted is as much alike.
        chosen = {
            typed: next(
                iter(sorted((word for word in alike if word in counts), key=lambda word: not counts[word])), None
            )
            for typed, alike in options.items()
        }
        return {typed: word for typed, word in chosen.items() if word is not None}

    def _alike(self, term: Term) -> list[str]:
        if not may_be_mistyped(term):
            return []
        with self._database.transaction() as connection:
            words = words_store.spellings(connection, term)
        near = sorted((typing_distance(term.typed.casefold(), word), place, word) for place, word in enumerate(words))
        return [word for distance, _, word in near if 0 < distance <= slips_of(term.typed)]


def _joined(shares: Mapping[UUID, float], rows: Sequence[Partly]) -> dict[UUID, float]:
    """Return what holds all the words, then what holds some; what holds all it can is not ranked twice."""
    return {**shares, **{row.id: row.share for row in rows if row.id not in shares}}
