"""What a user holds and asks about, each question a statement of its own."""

from collections.abc import Collection, Sequence
from uuid import UUID

from siftline.kit.db import Database
from siftline.rank import held_store
from siftline.rank.held_store import UNBOUND, Bounds, Filters

_NAMES = ("lang", "topic", "tag", "entity", "source_id", "folder_id", "since", "until", "unread", "starred")


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
        return self._bounds == UNBOUND and all(getattr(self._filters, name) is None for name in _NAMES)
