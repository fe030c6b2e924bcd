"""Who the caller's items are about. Every statement looks only at contents that the caller holds."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from psycopg.rows import class_row, scalar_row
from pydantic import BaseModel, Field

from siftline.api.http.paging import Cursor, behind
from siftline.api.http.shapes import EXAMPLE_ID
from siftline.api.items.item_models import Named
from siftline.kit.db import Connection


@dataclass(frozen=True, slots=True)
class EntityRow:
    """An entity and in how many of the caller's items it is named."""

    id: UUID
    kind: str
    name: str
    temporary_id: str
    canonical_id: str | None
    provider: str | None
    reason: str | None
    items: int


class Naming(BaseModel):
    """An item that mentions an entity."""

    id: UUID = Field(examples=[EXAMPLE_ID])
    content_id: UUID = Field(examples=[EXAMPLE_ID])
    title: str | None
    url: str = Field(examples=["https://example.org/story"])
    lang: str | None = Field(description="ISO 639-1", examples=["en"])
    sort_at: datetime
    mentions: int = Field(description="Number of mentions")


class NamingRow(Naming):
    """An item that mentions an entity, with the time by which the list is sorted."""

    place_at: datetime


_LIST = """
select held.* from (
  select e.id, e.kind, e.name, e.temporary_id, e.canonical_id, e.provider, e.reason, count(*)::int as items
  from items i join content_entities ce on ce.content_id = i.content_id join entities e on e.id = ce.entity_id
  where i.user_id = %(user_id)s and (%(kind)s::text is null or e.kind = %(kind)s)
  group by e.id) as held
where %(after_items)s::int is null or items < %(after_items)s or (items = %(after_items)s and id > %(after_id)s::uuid)
order by items desc, id limit %(limit)s
"""
_IDS = """
select id from entities where canonical_id = %(word)s
union
select entity_id from entity_aliases where temporary_id = %(word)s
"""
_ONE = """
select e.id, e.kind, e.name, e.temporary_id, e.canonical_id, e.provider, e.reason, count(*)::int as items
from items i join content_entities ce on ce.content_id = i.content_id join entities e on e.id = ce.entity_id
where i.user_id = %(user_id)s and e.id = any(%(ids)b::uuid[])
group by e.id order by items desc, e.kind = 'ORG' desc, e.id limit 1
"""
_ALIASES = "select name from entity_aliases where entity_id = %(id)s order by created_at, temporary_id limit 100"
_NAMING = """
select i.id, i.content_id, coalesce(nullif(c.title, ''), i.told_title) as title, coalesce(i.url, c.url) as url,
  c.lang, least(coalesce(c.published_at, i.told_at), i.created_at) as sort_at, c.sort_at as place_at, ce.mentions
from content_entities ce join items i on i.content_id = ce.content_id and i.user_id = %(user_id)s
  join contents c on c.id = i.content_id
where ce.entity_id = %(id)s
  and (%(after_at)s::timestamptz is null or (c.sort_at, i.id) < (%(after_at)s, %(after_id)s::uuid))
order by c.sort_at desc, i.id desc limit %(limit)s
"""
_NAMED = """
select coalesce(e.canonical_id, e.temporary_id) as id, e.kind, e.name, ce.mentions
from content_entities ce join entities e on e.id = ce.entity_id
where ce.content_id = %(content_id)s order by ce.mentions desc, e.name, e.id
"""


def list_entities(
    connection: Connection, user_id: UUID, kind: str | None, after: tuple[float, UUID] | None, limit: int
) -> Sequence[EntityRow]:
    """Return whom the user's items name, the most often named first, after the one of this number and id."""
    items, entity_id = after or (None, None)
    values = {"user_id": user_id, "kind": kind, "after_items": items, "after_id": entity_id, "limit": limit}
    with connection.cursor(row_factory=class_row(EntityRow)) as cursor:
        return cursor.execute(_LIST, values).fetchall()


def ids_of(connection: Connection, word: str) -> list[UUID]:
    """Return the entities of a canonical id, or of a temporary id that is theirs or was."""
    with connection.cursor(row_factory=scalar_row) as cursor:
        return cursor.execute(_IDS, {"word": word}).fetchall()


def find_entity(connection: Connection, user_id: UUID, ids: Sequence[UUID]) -> EntityRow | None:
    """Return which of these the user's items name most, ``None`` where they name none."""
    with connection.cursor(row_factory=class_row(EntityRow)) as cursor:
        return cursor.execute(_ONE, {"user_id": user_id, "ids": list(ids)}).fetchone()


def aliases(connection: Connection, entity_id: UUID) -> list[str]:
    """Return an entity's names, at most a hundred, as each was written first."""
    with connection.cursor(row_factory=scalar_row) as cursor:
        return cursor.execute(_ALIASES, {"id": entity_id}).fetchall()


def naming(
    connection: Connection, user_id: UUID, entity_id: UUID, after: Cursor | None, limit: int
) -> Sequence[NamingRow]:
    """Return the user's items that name an entity, newest first, beginning behind ``after``."""
    values = {"user_id": user_id, "id": entity_id, **behind(after), "limit": limit}
    with connection.cursor(row_factory=class_row(NamingRow)) as cursor:
        return cursor.execute(_NAMING, values).fetchall()


def named_by(connection: Connection, content_id: UUID) -> Sequence[Named]:
    """Return whom a content names, the most often named first."""
    with connection.cursor(row_factory=class_row(Named)) as cursor:
        return cursor.execute(_NAMED, {"content_id": content_id}).fetchall()
