"""Finds by words what a user holds: all the words before some of them, and mistyped ones mended."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from siftline.kit.db import Database
from siftline.rank import words_store
from siftline.rank.holdings import Held
from siftline.rank.query import Query, Term, may_be_mistyped, parse, typing_distance
from siftline.rank.store import Filters
from siftline.rank.words_store import Partly, Terms

_ENOUGH = 10
_RARITY_MAX = 5_000
_TELLING_SHARE = 0.5


@dataclass(frozen=True, slots=True)
class Worded:
    """Contents by words, the best first, each with the share of the words that it holds."""

    terms: Terms
    shares: Mapping[UUID, float]
    corrected: str | None = None
    """The query that was answered, where a word of it was in nothing that the user holds."""

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
        """Return what holds the words of a query; where one is in nothing of the user's, one that is spelt alike, if
        something then holds them all.
        """
        if not query.terms:
            return Worded(terms, {})
        shares = self._whole(user_id, filters, terms, limit)
        if len(shares) >= min(_ENOUGH, limit):
            return Worded(terms, shares)
        rows = self._partly(user_id, filters, terms, limit)
        better = self._spelt(user_id, filters, query, rows) if not shares else {}
        if not better:
            return Worded(terms, _joined(shares, rows))
        mended = query.mended(better)
        mended_terms = self.terms(mended)
        whole = self._whole(user_id, filters, mended_terms, limit)
        if not whole:  # words of another language, more likely than mistyped ones
            return Worded(terms, _joined(shares, rows))
        return Worded(mended_terms, _joined(whole, self._partly(user_id, filters, mended_terms, limit)), str(mended))

    def resembling(
        self, user_id: UUID, filters: Filters, title: str, *, limit: int, exclude: Collection[UUID]
    ) -> Worded:
        """Return what has words of a title in common with it."""
        terms = self.terms(parse(title, plain=True))
        return Worded(terms, _joined({}, self._partly(user_id, filters, terms, limit, exclude)))

    def _whole(self, user_id: UUID, filters: Filters, terms: Terms, limit: int) -> dict[UUID, float]:
        with self._database.statement() as connection:
            return dict.fromkeys(words_store.matched(connection, user_id, filters, terms, limit=limit), 1.0)

    def _partly(
        self, user_id: UUID, filters: Filters, terms: Terms, limit: int, exclude: Collection[UUID] = ()
    ) -> list[Partly]:
        holdings = Held(self._database, user_id, filters).count(_RARITY_MAX)
        with self._database.statement() as connection:
            return words_store.partly(
                connection, user_id, filters, terms, holdings=holdings, limit=limit, exclude=exclude
            )

    def _spelt(self, user_id: UUID, filters: Filters, query: Query, rows: Sequence[Partly]) -> dict[str, str]:
        """Return by mistyped word the nearest one that something of the user's holds."""
        missing = rows[0].missing if rows else range(len(query.terms))
        options = {query.terms[place].typed: self._alike(query.terms[place]) for place in missing}
        words = [word for alike in options.values() for word in alike]
        if not words:
            return {}
        asked = parse(" ".join(words), plain=True, terms_max=len(words))
        found = self._partly(user_id, filters, self.terms(asked), 1)
        held = set(words) - {asked.terms[place].typed for place in found[0].missing} if found else set()
        chosen = {typed: next((word for word in alike if word in held), None) for typed, alike in options.items()}
        return {typed: word for typed, word in chosen.items() if word is not None}

    def _alike(self, term: Term) -> list[str]:
        if not may_be_mistyped(term):
            return []
        with self._database.transaction() as connection:
            words = words_store.spellings(connection, term)
        near = sorted((typing_distance(term.typed.casefold(), word), place, word) for place, word in enumerate(words))
        return [word for distance, _, word in near if 0 < distance <= (1 if len(term.typed) < 8 else 2)]


def _joined(shares: Mapping[UUID, float], rows: Sequence[Partly]) -> dict[UUID, float]:
    """Return what holds all the words, then what holds some; what holds all it can is not ranked twice."""
    return {**shares, **{row.id: row.share for row in rows if row.id not in shares}}
