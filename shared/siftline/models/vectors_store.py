"""The vectors that PostgreSQL keeps, as the points of a collection are made of them, and points to be removed."""

import hashlib
import re
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import numpy as np
from numpy.typing import NDArray
from psycopg.rows import class_row, scalar_row

from siftline.kit.db import Connection
from siftline.models.unit_vector import stored_vector
from siftline.text.stored_scores import topic_scores

COLLECTION_PREFIX = "contents_"
_UNSAFE = re.compile(r"[^a-z0-9._-]+")
_KEPT = """
select e.content_id as id, e.vector, coalesce(e.text_version, c.version) as version, c.lang,
  coalesce(c.topics, '[]') as topics, coalesce(v.dimensions, e.dimensions)::int as dimensions
from embeddings e join contents c on c.id = e.content_id
  left join embedding_versions v on v.model_version = e.model_version
where e.model_version = %(model_version)s
"""
_PAGE = f"{_KEPT} and e.content_id > %(after)s order by e.content_id limit %(limit)s"
_OF = f"{_KEPT} and e.content_id = any(%(ids)b::uuid[])"
# An estimate of how many vectors of all versions there are, as of the last look of autovacuum; 0 before the first.
_ABOUT = "select greatest(reltuples, 0)::bigint from pg_class where oid = 'embeddings'::regclass"
# The outbox of points that are to be removed from Qdrant, as their contents were deleted.
_TO_REMOVE = "select content_id from unindexed order by deleted_at, content_id limit %(limit)s"
_REMOVED = """
with done as (
  select content_id from unindexed where content_id = any(%(ids)b::uuid[]) order by content_id for update)
delete from unindexed using done where unindexed.content_id = done.content_id
"""


@dataclass(frozen=True, slots=True)
class Kept:
    """A content's vector (float32, little-endian), of which version of its text it is, and what stands beside it."""

    id: UUID
    vector: bytes
    version: int
    lang: str | None
    topics: Any
    dimensions: int
    """How many numbers vectors of its version have; its own, where that is not known."""

    def point(self) -> tuple[UUID, NDArray[np.float32], dict[str, Any], int]:
        """Return what ``siftline.models.vectors.Point`` is made of. Raises ``UnusableVectorError``."""
        payload = {"lang": self.lang, "topics": [topic["topic"] for topic in topic_scores(self.topics)]}
        return self.id, stored_vector(self.vector, self.dimensions), payload, self.version


def collection_name(model_version: str) -> str:
    """Return the collection's name for a model version: readable, and different for different versions.

    >>> collection_name("e5-small-int8-1")
    'contents_e5-small-int8-1'
    """
    slug = _UNSAFE.sub("_", model_version.lower())[:80]
    if slug != model_version:
        slug = f"{slug}_{hashlib.sha256(model_version.encode()).hexdigest()[:8]}"
    return f"{COLLECTION_PREFIX}{slug}"


def about(connection: Connection) -> int:
    """Return about how many vectors are kept, of all versions; 0 where the database has not looked yet."""
    with connection.cursor(row_factory=scalar_row) as cursor:
        return int(cursor.execute(_ABOUT).fetchone() or 0)


def page(connection: Connection, model_version: str, *, after: UUID, limit: int) -> list[Kept]:
    """Return the next vectors of a version, by content."""
    values = {"model_version": model_version, "after": after, "limit": limit}
    with connection.cursor(row_factory=class_row(Kept)) as cursor:
        return cursor.execute(_PAGE, values).fetchall()


def of(connection: Connection, model_version: str, ids: Collection[UUID]) -> list[Kept]:
    """Return the vectors of a version that these contents have."""
    with connection.cursor(row_factory=class_row(Kept)) as cursor:
        return cursor.execute(_OF, {"model_version": model_version, "ids": list(ids)}).fetchall()


def to_remove(connection: Connection, *, limit: int) -> list[UUID]:
    """Return deleted contents whose points may still be there, those that wait longest first."""
    with connection.cursor(row_factory=scalar_row, binary=True) as cursor:
        return cursor.execute(_TO_REMOVE, {"limit": limit}).fetchall()


def removed(connection: Connection, ids: Collection[UUID]) -> None:
    """Forget contents whose points are removed."""
    connection.execute(_REMOVED, {"ids": list(ids)})
