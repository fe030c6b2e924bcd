"""Search by meaning and words, and what resembles an item: both propose, PostgreSQL decides what the caller may see.

When the vectors or the model are away, words are matched alone, and the answer says so.
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Protocol
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from siftline.kit.clock import Clock, SystemClock
from siftline.kit.db import Database, DatabaseUnavailableError, open_database
from siftline.kit.errors import PermanentError, SiftlineError
from siftline.kit.log import logger
from siftline.models.embedder import Embedder
from siftline.models.embedding_api import Payment, PricedEmbedder
from siftline.models.embedding_models import EmbeddingModels, Opened
from siftline.models.unit_vector import stored_vector
from siftline.models.vectors import Hit
from siftline.rank import held_store
from siftline.rank.held_store import UNBOUND, Bounds, Filters, Row
from siftline.rank.highlight import highlights, pattern
from siftline.rank.keyword_search import Worded, Wording
from siftline.rank.languages import Levelling
from siftline.rank.query import parse
from siftline.settings.functions import SearchSettings

IDS_MAX = 5_000
"""So many ids are named to the index; who holds more is answered by widening rounds."""
_WIDEN = (2, 16, 128, 1_024)
_ASKED_MAX = 10_000
RRF_K = 60
"""How much the first places stand out (Cormack, Clarke, Büttcher 2009: reciprocal rank fusion)."""
_DEPTH = 60
_BESIDE_MAX = 8
_FILTER_NAMES = ("lang", "topic", "tag", "entity", "source_id", "folder_id", "since", "until", "unread", "starred")
_log = logger("rank")
_VECTORS_TIMEOUT_S = 5
"""The longest wait for one answer of Qdrant: somebody waits for the search."""


class Index(Protocol):
    """Finds the nearest points (``siftline.models.vectors.VectorIndex``)."""

    def search(
        self,
        vector: NDArray[np.float32],
        limit: int,
        *,
        ids: Collection[UUID] | None = None,
        exclude: Collection[UUID] = (),
    ) -> Sequence[Hit]:
        """Return the nearest, best first; only among ``ids`` where they are given, never from ``exclude``."""
        ...


class Holdings(Protocol):
    """What the caller holds and asks about."""

    def few(self, limit: int) -> Sequence[UUID] | None:
        """Return all of it, newest first; ``None`` if it is more than ``limit``."""
        ...

    def newest(self, limit: int) -> Sequence[UUID]:
        """Return at most ``limit`` contents, newest first."""
        ...

    def among(self, ids: Collection[UUID]) -> Collection[UUID]:
        """Return those of ``ids`` that are held."""
        ...


def nearest_held(
    index: Index, vector: NDArray[np.float32], limit: int, holdings: Holdings, *, exclude: Collection[UUID] = ()
) -> list[Hit]:
    """Return the nearest contents that the caller holds, best first, at most ``limit``.

    Exact for up to ``IDS_MAX`` holdings. Beyond, the whole index is asked for ever more until enough of what comes is
    held; should that not do within 10,000, the newest ``IDS_MAX`` holdings fill up, and an older one may be missed.
    """
    ids = holdings.few(IDS_MAX)
    if ids is not None:
        return list(index.search(vector, limit, ids=ids, exclude=exclude)) if ids else []
    found: dict[UUID, Hit] = {}
    seen: set[UUID] = set()
    for factor in _WIDEN:
        wanted = min(limit * factor, _ASKED_MAX)
        hits = index.search(vector, wanted, exclude=exclude)
        fresh = [hit for hit in hits if hit.id not in seen]
        seen.update(hit.id for hit in fresh)
        held = set(holdings.among([hit.id for hit in fresh]))
        found.update({hit.id: hit for hit in fresh if hit.id in held})
        if len(found) >= limit or len(hits) < wanted or wanted == _ASKED_MAX:
            break
    if len(found) < limit:
        filling = index.search(vector, limit, ids=holdings.newest(IDS_MAX), exclude=exclude)
        found.update({hit.id: hit for hit in filling})
    return sorted(found.values(), key=lambda hit: (-hit.score, hit.id))[:limit]


@dataclass(frozen=True, slots=True)
class Meaning:
    """An embedder, and the index of the vectors of its model."""

    embedder: Embedder
    index: Index


@dataclass(frozen=True, slots=True)
class Reason:
    """Why an answer is less than it should be."""

    code: str
    detail: str


@dataclass(frozen=True, slots=True)
class Answer:
    """What was found, best first; ``mode`` is ``hybrid``, ``vectors`` or ``text``, and text has its reason."""

    items: Sequence[Row]
    mode: str
    reason: Reason | None = None
    corrected: str | None = None
    """What was answered instead of what was asked, where a word was mistyped."""

    @property
    def degraded(self) -> bool:
        """Whether words were matched because meaning could not be."""
        return self.reason is not None


class NoWordsError(PermanentError):
    """There is nothing to look for in what was typed."""

    code = "no_words"


NOT_INDEXED = Reason("not_indexed", "None of your items has a vector of the current embedding model yet.")
NOT_EMBEDDED = Reason("not_embedded", "This item has no vector of the current embedding model yet.")


class Held:
    """A user's items whose text is stored, as far as filters and bounds let them be found."""

    def __init__(self, database: Database, user_id: UUID, filters: Filters, bounds: Bounds = UNBOUND) -> None:
        self._database = database
        self._user_id = user_id
        self._filters = filters
        self._bounds = bounds

    def few(self, limit: int) -> Sequence[UUID] | None:
        """Return all of it, newest first; ``None`` if it is more than ``limit``."""
        if self._everything() and self.count(limit + 1) > limit:
            return None
        ids = self.newest(limit + 1)
        return ids if len(ids) <= limit else None

    def newest(self, limit: int) -> Sequence[UUID]:
        """Return at most ``limit`` contents, newest first."""
        with self._database.statement() as connection:
            return held_store.newest(connection, self._user_id, self._filters, limit=limit, bounds=self._bounds)

    def among(self, ids: Collection[UUID]) -> Collection[UUID]:
        """Return those of ``ids`` that are held."""
        with self._database.statement() as connection:
            return held_store.among(connection, self._user_id, self._filters, ids, self._bounds)

    def count(self, limit: int) -> int:
        """Return how many items the user has whatever the filters, and no more than ``limit``."""
        with self._database.statement() as connection:
            return held_store.count(connection, self._user_id, limit=limit)

    def _everything(self) -> bool:
        return self._bounds == UNBOUND and all(getattr(self._filters, name) is None for name in _FILTER_NAMES)


class Search:
    """Finds among what one holds. ``open_meaning`` is asked at every search of a user and may fail."""

    def __init__(self, database: Database, open_meaning: Callable[[UUID], Meaning], clock: Clock) -> None:
        self._database = database
        self._open_meaning = open_meaning
        self._wording = Wording(database)
        self._levelling = Levelling(database, clock)
        self._beside = ThreadPoolExecutor(_BESIDE_MAX, thread_name_prefix="search-words")

    def search(self, user_id: UUID, query: str, filters: Filters, *, limit: int) -> Answer:
        """Return what is nearest to the query in meaning and what holds its words, each by its place in both orders.

        Raises ``NoWordsError`` where nothing of it says what is looked for: signs, or only what is to be left out.
        """
        asked = parse(query)
        if not asked.terms:
            raise NoWordsError("The query contains no word to search for.")
        terms = self._wording.terms(asked)
        depth = max(limit, _DEPTH)
        # While one waits for Qdrant the other asks PostgreSQL.
        finding = self._beside.submit(self._wording.find, user_id, filters, asked, terms, limit=depth)
        hits, reason = self._nearest(user_id, asked.meaning or query, filters, terms.bounds, depth)
        worded = finding.result()
        if reason is not None:
            worded = self._wording.filled(user_id, filters, worded, limit=depth)
            return self._by_words(user_id, filters, worded, limit, reason)
        late = self._late([hit.id for hit in hits], worded)
        near = [hit.id for hit in hits if hit.id not in late]
        scores = lowered(fused([*near, *(one for one, shown in late.items() if shown)], worded.telling), late)
        chosen = dict(list(scores.items())[:limit])
        shown = self._shown(user_id, filters, chosen, terms.bounds, worded)
        return Answer(shown, "hybrid", corrected=worded.corrected)

    def similar(self, user_id: UUID, item_id: UUID, filters: Filters, *, limit: int) -> Answer | None:
        """Return what is nearest to an item of the user's, itself left out; ``None`` if it is not theirs."""
        meaning, reason = self._meaning(user_id)
        version = meaning.embedder.model_version if meaning else None
        with self._database.transaction() as connection:
            asked = held_store.asked(connection, user_id, item_id, version)
        if asked is None:
            return None
        exclude = [asked.content_id]
        if meaning is not None and version is not None and asked.vector is not None:
            try:
                vector = stored_vector(asked.vector, meaning.embedder.dimensions)
                vector = self._levelling.level(vector, version)
                hits = nearest_held(
                    meaning.index, vector, limit, Held(self._database, user_id, filters), exclude=exclude
                )
                scores = {hit.id: hit.score for hit in hits}
                return Answer(self._shown(user_id, filters, lowered(scores, self._late(list(scores)))), "vectors")
            except DatabaseUnavailableError:
                raise
            except SiftlineError as error:
                reason = _told(error)
        worded = self._wording.resembling(user_id, filters, asked.title or "", limit=limit, exclude=exclude)
        return self._by_words(user_id, filters, worded, limit, reason or NOT_EMBEDDED)

    def _nearest(
        self, user_id: UUID, text: str, filters: Filters, bounds: Bounds, limit: int
    ) -> tuple[Sequence[Hit], Reason | None]:
        """Return what is nearest in meaning, or why nobody can say."""
        held = Held(self._database, user_id, filters, bounds)
        try:
            meaning = self._open_meaning(user_id)
            vector = self._levelling.level(meaning.embedder.embed_query(text), meaning.embedder.model_version)
            hits = nearest_held(meaning.index, vector, limit, held)
        except DatabaseUnavailableError:
            raise
        except SiftlineError as error:
            return [], _told(error)
        return hits, None if hits or not held.newest(1) else NOT_INDEXED

    def _late(self, near: Sequence[UUID], worded: Worded | None = None) -> dict[UUID, bool]:
        """Return what comes last of what is near in meaning, in that order, and whether it is shown at all.

        It is thin pages, for their vectors are near to every short query; not those that hold the words, which is
        what was asked for, however little else they say. Where something holds the words, a thin page that holds none
        of them is not shown.
        """
        holding = frozenset[UUID]() if worded is None else frozenset(worded.telling)
        rest = [one for one in near if one not in holding]
        with self._database.statement() as connection:
            thin = held_store.thin(connection, rest, words="" if worded is None else worded.words)
        return {one: thin[one] or not holding for one in rest if one in thin}

    def _meaning(self, user_id: UUID) -> tuple[Meaning | None, Reason | None]:
        try:
            return self._open_meaning(user_id), None
        except SiftlineError as error:
            return None, _told(error)

    def _by_words(self, user_id: UUID, filters: Filters, worded: Worded, limit: int, reason: Reason) -> Answer:
        chosen = dict(list(worded.shares.items())[:limit])
        shown = self._shown(user_id, filters, chosen, worded.terms.bounds, worded)
        return Answer(shown, "text", reason, worded.corrected)

    def _shown(
        self,
        user_id: UUID,
        filters: Filters,
        scores: Mapping[UUID, float],
        bounds: Bounds = UNBOUND,
        worded: Worded | None = None,
    ) -> list[Row]:
        """Confirm what was found: only what is the user's at this moment, in the order given."""
        marked = [] if worded is None else [one for one in scores if one in worded.shares]
        words = "" if worded is None else worded.words
        with self._database.statement() as connection:
            rows = held_store.rows(
                connection, user_id, filters, list(scores), bounds=bounds, worded=marked, words=words
            )
        shown = [replace(rows[one], score=round(score, 4)) for one, score in scores.items() if one in rows]
        return shown if worded is None else _highlighted(shown, worded)


def fused(*lists: Sequence[UUID]) -> dict[UUID, float]:
    """Return each thing's score in (0, 1], best first: 1 is what is first in all lists.

    Of equal scores that of the last list is first: what holds the words before what is as near in meaning.

    >>> a, b = UUID(int=1), UUID(int=2)
    >>> list(fused([a, b], [b])) == list(fused([a], [b])) == [b, a]
    True
    """
    scores: dict[UUID, float] = defaultdict(float)
    for one in lists:
        for place, what in enumerate(one, start=1):
            scores[what] += (RRF_K + 1) / (RRF_K + place) / len(lists)
    last = frozenset(lists[-1]) if lists else frozenset[UUID]()
    return dict(sorted(scores.items(), key=lambda pair: (-pair[1], pair[0] not in last, pair[0])))


def lowered(scores: Mapping[UUID, float], late: Collection[UUID]) -> dict[UUID, float]:
    """Return the scores with those of ``late`` last, none of them greater than the least of the others.

    >>> a, b = UUID(int=1), UUID(int=2)
    >>> list(lowered({a: 0.9, b: 0.5}, [a]).items()) == [(b, 0.5), (a, 0.5)]
    True
    """
    first = {one: score for one, score in scores.items() if one not in late}
    least = min(first.values(), default=1.0)
    return {**first, **{one: min(score, least) for one, score in scores.items() if one in late}}


def _highlighted(rows: Sequence[Row], worded: Worded) -> list[Row]:
    """Mark the words of the query where they were found, each text by its own grammar."""
    patterns = {grammar: pattern(lexemes) for grammar, lexemes in worded.terms.lexemes.items()}
    marked = []
    for row in rows:
        wanted = patterns.get(row.grammar) if row.beginning is not None else None
        found = list(highlights(wanted, row.title, row.summary, row.beginning)) if wanted else []
        marked.append(replace(row, highlights=found))
    return marked


def _told(error: SiftlineError) -> Reason:
    _log.warning("search_degraded", error_code=error.error_code, exc_info=error)
    return Reason(error.error_code, error.detail)


def open_search(settings: SearchSettings) -> Search:
    """Return the search of the ``search`` function.

    Which model's vectors count is asked at each search; model and vectors are opened at the first one that can.
    """
    database = open_database(settings.database_url.get_secret_value(), settings.database_pool_size)
    models = EmbeddingModels(settings, database, vectors_timeout_s=_VECTORS_TIMEOUT_S)
    return Search(database, lambda user_id: meaning_of(models.active(), user_id), SystemClock())


def meaning_of(opened: Opened, user_id: UUID) -> Meaning:
    """Return what a user's search asks; where its model costs money it is the user's."""
    embedder = opened.embedder
    if isinstance(embedder, PricedEmbedder):
        embedder = embedder.paid_by(Payment(user_id, user_id))
    return Meaning(embedder, opened.index)
