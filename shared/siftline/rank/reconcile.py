"""Removes points whose content is gone: the index is told of a deletion late, or never if a worker died."""

from collections.abc import Collection, Sequence
from typing import Protocol
from uuid import UUID

from siftline.kit.aws import secret
from siftline.kit.db import Database
from siftline.rank import store
from siftline.settings import VectorSettings

PAGE = 1_000


class Points(Protocol):
    """The points of a collection (``siftline.kit.vectors.VectorIndex``)."""

    def scroll(self, limit: int, after: UUID | None = None) -> tuple[Sequence[UUID], UUID | None]:
        """Return a page of ids, and where the next one starts."""
        ...

    def delete(self, ids: Collection[UUID]) -> None:
        """Remove points."""
        ...


def remove_ghosts(settings: VectorSettings, database: Database) -> int:
    """Remove every point without a content from the collections of all model versions; returns how many.

    Raises ``VectorsUnavailableError``, ``ConfigurationError`` or ``DatabaseUnavailableError``.
    """
    # A second or two and 100 MB, which only this one of schedule's ticks needs.
    from siftline.kit.vectors import open_collections  # noqa: PLC0415 - for that reason

    key = secret(settings.qdrant_api_key.get_secret_value())
    return sum(remove_from(index, database) for index in open_collections(settings.qdrant_url, api_key=key))


def remove_from(points: Points, database: Database, *, page: int = PAGE) -> int:
    """Remove the points without a content from one collection; returns how many.

    A content's row stands before its point is written and ids are never used again, so what is missing stays missing.
    """
    removed = 0
    after: UUID | None = None
    while True:
        ids, after = points.scroll(page, after)
        with database.transaction() as connection:
            gone = store.gone(connection, ids)
        points.delete(gone)
        removed += len(gone)
        if after is None:
            return removed
