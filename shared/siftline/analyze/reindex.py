"""Re-embedding: vectors of another model made beside those that count, until they take their place (blue/green).

Texts are embedded page by page, points written to the new collection, then vectors to PostgreSQL: what was done is seen
there, so a run that was killed goes on where it stopped, and two runs do nothing twice but at worst a page. Meanwhile
searches ask the old collection, and new texts are read with the old model; their vectors are made by the next round.
When a round finds none, the old version is sealed for a moment, the few that came meanwhile are made, and both change
places in one transaction, which looks once more that none is missing. A model that makes no vector of too many texts
does not take its place: the run ends with an error, and the next one tries those texts again.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from siftline.analyze import reindex_store
from siftline.analyze.article_reader import SOURCE, Article
from siftline.analyze.reindex_store import Wanting
from siftline.jobs import set_aside
from siftline.jobs.set_aside import checked, sifted
from siftline.kit.db import Database, settled
from siftline.kit.errors import PermanentError, TransientError
from siftline.models import embedding_store, vectors_store
from siftline.models.embedding_api import EmbeddingBudgetError
from siftline.models.embedding_store import Version
from siftline.models.unit_vector import UnusableVectorError
from siftline.models.vectors import Point, VectorIndex

PAGE = 64
REINDEX = "reindex"
"""Under this name rows are set aside that have no point."""
SEAL_S = 30.0
"""Within this the last texts are embedded; if not, another round is."""
_TRIES = 10
_WAIT_MAX_S = 60.0
_FIRST = UUID(int=0)
SAMPLE = 16
REFUSED_FEW = 10
"""So many texts without a vector are put up with always, but not all of them."""
REFUSED_SHARE = 0.01
"""Of more, this share of all texts."""

Vector = NDArray[np.float32]
_Result = TypeVar("_Result")


class ReindexRunningError(PermanentError):
    """Another re-embedding is under way."""

    code = "reindex_running"


class ReindexRefusedError(PermanentError):
    """The new model makes no vector of too many texts."""

    code = "reindex_refused"


class Target(Protocol):
    """What makes the new vectors."""

    def embed_passages(self, texts: Sequence[str]) -> Sequence[Vector | None]:
        """Return the unit vectors of texts; ``None`` where the model makes none."""
        ...


@dataclass(frozen=True, slots=True)
class Plan:
    """What is to be done: contents that need a vector, of how many, at what pace, and for how much."""

    contents: int
    wanting: int
    seconds: float
    usd: float


@dataclass(frozen=True, slots=True)
class Measured:
    """How long a sample of texts took, what it cost (0 for a model on this machine), and how many got no vector."""

    texts: int
    seconds: float
    micro_usd: float
    unusable: int = 0


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a run is: vectors made by it, those it still knows to be missing, refused texts, its seconds."""

    made: int
    wanting: int
    refused: int
    seconds: float


class Reindex:
    """Makes the vectors of ``new`` beside those of ``old``. ``local``: its running means are warmed as well."""

    def __init__(
        self,
        database: Database,
        old: Version,
        new: Version,
        target: Target,
        index: VectorIndex,
        *,
        local: bool,
        tell: Callable[[Progress], None] = lambda _: None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._database = database
        self._old, self._new = old.model_version, new.model_version
        self._version = new
        self._target = target
        self._index = index
        self._local = local
        self._tell = tell
        self._sleep = sleep
        self._made = self._refused = self._wanting = 0
        self._started = time.monotonic()

    def sample(self) -> list[str]:
        """Return some of the texts that are to be embedded."""
        with self._database.transaction() as connection:
            page = reindex_store.page(connection, self._old, self._new, source=SOURCE, after=_FIRST, limit=SAMPLE)
        return [_whole(content) for content in page]

    def plan(self, measured: Measured | None) -> Plan:
        """Return what there is to do, going by what a sample took."""
        with self._database.transaction() as connection:
            contents, wanting = reindex_store.counts(connection, self._old, self._new)
        if measured is None or not measured.texts:
            return Plan(contents, wanting, 0.0, 0.0)
        share = wanting / measured.texts
        return Plan(contents, wanting, measured.seconds * share, measured.micro_usd * share / 1_000_000)

    def check(self, plan: Plan, measured: Measured) -> None:
        """Raise ``ReindexRefusedError`` where the sample shows that a run would come to nothing."""
        if measured.unusable and measured.unusable == measured.texts and not _few(plan.wanting, plan.contents):
            raise ReindexRefusedError(
                f"{self._new} made no usable vector for any of the {measured.texts} sample texts: zero, not finite, or"
                f" refused. {self._old} stays in use."
            )

    def run(self) -> Progress:
        """Make all vectors and switch; texts that had none in a run before are tried again.

        Raises ``ReindexRefusedError``, and what the model or the vector store raise in the end.
        """
        with self._database.transaction() as connection:
            embedding_store.begin(connection, self._version)
            _, self._wanting = reindex_store.counts(connection, self._old, self._new)
        self._patiently(self._index.ensure)
        while True:
            if self._round():
                continue
            with self._database.transaction() as connection:
                embedding_store.seal(connection, SEAL_S)
            self._round()
            if settled(self._database, lambda connection: embedding_store.switch(connection, self._new)):
                return self._progress()

    def _round(self) -> int:
        """Embed what is missing; returns how many there were."""
        after, found = _FIRST, 0
        while True:
            with self._database.transaction() as connection:
                page = reindex_store.page(connection, self._old, self._new, source=SOURCE, after=after, limit=PAGE)
            if not page:
                return found
            self._page(page)
            after, found = page[-1].id, found + len(page)
            self._tell(self._progress())

    def _page(self, page: Sequence[Wanting]) -> None:
        embedded = sifted(page, self._embedded, row_id=lambda one: one.id, kind="content")
        by_id = {content.id: vector for content, vector in zip(embedded.used, embedded.result, strict=True)}
        pairs = [(content, by_id.get(content.id)) for content in page]
        made = [(content, vector) for content, vector in pairs if vector is not None]
        refused = [content for content, vector in pairs if vector is None]
        points = [Point(content.id, vector, content.payload, content.version) for content, vector in made]
        self._patiently(lambda: self._index.upsert(points))
        settled(
            self._database,
            lambda connection: reindex_store.keep(connection, self._old, self._new, made, means=self._local),
        )
        if embedded.aside:
            with self._database.transaction() as connection:
                set_aside.tell(connection, REINDEX, embedded.aside, [])
        if refused:
            with self._database.transaction() as connection:
                reindex_store.refuse(connection, self._old, self._new, refused, UnusableVectorError.code)
            self._bearable()
        self._made += len(made)
        self._refused += len(refused)
        self._wanting = max(self._wanting - len(page), 0)

    def _embedded(self, page: Sequence[Wanting]) -> Sequence[Vector | None]:
        if not page:
            return []
        return self._patiently(lambda: self._target.embed_passages([_whole(content) for content in page]))

    def _bearable(self) -> None:
        """Go on only while few texts were left without a vector: each that is would not be found any more."""
        with self._database.transaction() as connection:
            contents, _ = reindex_store.counts(connection, self._old, self._new)
            refusals = reindex_store.refusals(connection, self._old, self._new)
        refused = sum(one.contents for one in refusals)
        if _few(refused, contents):
            return
        reasons = "; ".join(f"{one.error_code}: {one.contents}, such as {', '.join(one.examples)}" for one in refusals)
        raise ReindexRefusedError(
            f"{self._new} made no vector for {refused} of {contents} texts ({reasons}). {self._old} stays in use; the"
            " new vectors are kept, and a new run retries these texts."
        )

    def _patiently(self, work: Callable[[], _Result]) -> _Result:
        """Do what may fail for a while, again and again; a used-up budget is not waited for."""
        for attempt in range(_TRIES):
            try:
                return work()
            except EmbeddingBudgetError:
                raise
            except TransientError as error:
                if attempt == _TRIES - 1:
                    raise
                self._sleep(min(error.retry_after_s or 2.0**attempt, _WAIT_MAX_S))
        raise AssertionError  # pragma: no cover - the last attempt returns or raises

    def _progress(self) -> Progress:
        return Progress(self._made, self._wanting, self._refused, time.monotonic() - self._started)


def rebuild(
    database: Database, model_version: str, index: VectorIndex, tell: Callable[[int], None] = lambda _: None
) -> int:
    """Write every vector of a version that PostgreSQL keeps into its collection; returns how many. Embeds nothing."""
    index.ensure()
    after, written = _FIRST, 0
    while True:
        with database.transaction() as connection:
            page = vectors_store.page(connection, model_version, after=after, limit=4 * PAGE)
        if not page:
            return written
        good, aside = checked(page, vectors_store.Kept.point, row_id=lambda one: one.id, kind="content")
        index.upsert([Point(*one.point()) for one in good])
        with database.transaction() as connection:
            set_aside.tell(connection, REINDEX, aside, [one.id for one in good])
        after, written = page[-1].id, written + len(good)
        tell(written)


def _few(refused: int, contents: int) -> bool:
    """Tell whether so many texts without a vector are put up with."""
    return refused < contents and refused <= max(REFUSED_FEW, REFUSED_SHARE * contents)


def _whole(content: Wanting) -> str:
    return Article(content.title, content.text).whole
