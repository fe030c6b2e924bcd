"""The outbox of points that are to be removed from Qdrant, as their contents were deleted."""

from collections.abc import Collection
from uuid import UUID

from psycopg.rows import scalar_row

from siftline.kit.db import Connection

_WAITING = "select content_id from unindexed order by deleted_at, content_id limit %(limit)s"
_DONE = """
with done as (
  select content_id from unindexed where content_id = any(%(ids)b::uuid[]) order by content_id for update)
delete from unindexed using done where unindexed.content_id = done.content_id
"""


def waiting(connection: Connection, *, limit: int) -> list[UUID]:
    """Return deleted contents whose points may still be there, those that wait longest first."""
    with connection.cursor(row_factory=scalar_row, binary=True) as cursor:
        return cursor.execute(_WAITING, {"limit": limit}).fetchall()


def done(connection: Connection, ids: Collection[UUID]) -> None:
    """Forget contents whose points are removed."""
    connection.execute(_DONE, {"ids": list(ids)})
