"""Search by meaning, and what resembles an item: vectors propose, PostgreSQL decides what the caller may see.

When the vectors or the model are away, words are matched instead, and the answer says so.
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from typing import Protocol
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from siftline.kit.db import Database, DatabaseUnavailableError
from siftline.kit.errors import SiftlineError
from siftline.kit.log import logger
from siftline.kit.stop_words import STOP_WORDS
from siftline.rank import store
from siftline.rank.nearest import Hit, Index, nearest_held
from siftline.rank.store import Filters, Row

_WORDS_MAX = 8
_log = logger("rank")


class QueryEmbedder(Protocol):
    """Turns what somebody looks for into a vector (``siftline.kit.embedder.Embedder``)."""

    @property
    def model_version(self) -> str:
        """The version whose vectors it makes."""
        ...

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """Return the unit vector of a query."""
        ...


@dataclass(frozen=True, slots=True)
class Meaning:
    """An embedder, and the index of the vectors of its model."""

    embedder: QueryEmbedder
    index: Index


@dataclass(frozen=True, slots=True)
class Reason:
    """Why an answer is less than it should be."""

    code: str
    detail: str


@dataclass(frozen=True, slots=True)
class Answer:
    """What was found, best first; ``mode`` is ``vectors`` or ``text``, and text has its reason."""

    items: Sequence[Row]
    mode: str
    reason: Reason | None = None

    @property
    def degraded(self) -> bool:
        """Whether words were matched because meaning could not be."""
        return self.reason is not None


NOT_INDEXED = Reason("not_indexed", "None of your items has a vector of the current model yet.")
NOT_EMBEDDED = Reason("not_embedded", "This item has no vector of the current model yet.")


class Search:
    """Finds among what one holds. ``open_meaning`` is asked at every search of a user and may fail."""

    def __init__(self, database: Database, open_meaning: Callable[[UUID], Meaning]) -> None:
        self._database = database
        self._open_meaning = open_meaning

    def search(self, user_id: UUID, query: str, filters: Filters, *, limit: int) -> Answer:
        """Return what is nearest to the query in meaning."""
        holdings = _Holdings(self._database, user_id, filters)
        try:
            meaning = self._open_meaning(user_id)
            hits = nearest_held(meaning.index, meaning.embedder.embed_query(query), limit, holdings)
        except DatabaseUnavailableError:
            raise
        except SiftlineError as error:
            return self._by_words(user_id, query, filters, limit, _told(error))
        if not hits and holdings.newest(1):
            return self._by_words(user_id, query, filters, limit, NOT_INDEXED)
        return Answer(self._shown(user_id, filters, hits), "vectors")

    def similar(self, user_id: UUID, item_id: UUID, filters: Filters, *, limit: int) -> Answer | None:
        """Return what is nearest to an item of the user's, itself left out; ``None`` if it is not theirs."""
        meaning, reason = self._meaning(user_id)
        version = meaning.embedder.model_version if meaning else None
        with self._database.transaction() as connection:
            asked = store.asked(connection, user_id, item_id, version)
        if asked is None:
            return None
        exclude = [asked.content_id]
        if meaning is not None and asked.vector is not None:
            vector = np.frombuffer(asked.vector, dtype="<f4").astype(np.float32)
            holdings = _Holdings(self._database, user_id, filters)
            try:
                hits = nearest_held(meaning.index, vector, limit, holdings, exclude=exclude)
                return Answer(self._shown(user_id, filters, hits), "vectors")
            except DatabaseUnavailableError:
                raise
            except SiftlineError as error:
                reason = _told(error)
        return self._by_words(user_id, asked.title or "", filters, limit, reason or NOT_EMBEDDED, exclude)

    def _meaning(self, user_id: UUID) -> tuple[Meaning | None, Reason | None]:
        try:
            return self._open_meaning(user_id), None
        except SiftlineError as error:
            return None, _told(error)

    def _shown(self, user_id: UUID, filters: Filters, hits: Sequence[Hit]) -> list[Row]:
        """Confirm the hits: only what is the user's at this moment, in the order of the hits, thin pages last."""
        with self._database.transaction() as connection:
            rows = store.rows(connection, user_id, filters, [hit.id for hit in hits])
        shown = [replace(rows[hit.id], score=round(hit.score, 4)) for hit in hits if hit.id in rows]
        return sorted(shown, key=lambda row: row.thin)

    def _by_words(
        self,
        user_id: UUID,
        text: str,
        filters: Filters,
        limit: int,
        reason: Reason,
        exclude: Collection[UUID] = (),
    ) -> Answer:
        words = words_of(text)
        found: list[Row] = []
        if words:
            with self._database.transaction() as connection:
                found = store.matches(connection, user_id, filters, words, limit=limit, exclude=exclude)
        return Answer([replace(row, score=round(row.score, 4)) for row in found], "text", reason)


class _Holdings:
    """What a user holds and asks about, each question a transaction of its own."""

    def __init__(self, database: Database, user_id: UUID, filters: Filters) -> None:
        self._database = database
        self._user_id = user_id
        self._filters = filters

    def newest(self, limit: int) -> Sequence[UUID]:
        with self._database.transaction() as connection:
            return store.newest(connection, self._user_id, self._filters, limit=limit)

    def among(self, ids: Collection[UUID]) -> Collection[UUID]:
        with self._database.transaction() as connection:
            return store.among(connection, self._user_id, self._filters, ids)


def words_of(text: str) -> list[str]:
    """Return the first words of a text to be matched, without the common ones unless there are no others.

    >>> words_of("The price of oil, the price!")
    ['price', 'oil']
    """
    words = list(dict.fromkeys(word.strip(".,;:!?\"'()[]«»“”").casefold() for word in text.split()))
    words = [word for word in words if word]
    return ([word for word in words if word not in STOP_WORDS] or words)[:_WORDS_MAX]


def _told(error: SiftlineError) -> Reason:
    _log.warning("search_degraded", error_code=error.error_code, exc_info=error)
    return Reason(error.error_code, error.detail)
