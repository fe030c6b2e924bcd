"""What the caller holds, in PostgreSQL: candidates for a search, and the word on what may be shown.

Every statement takes the user: what another one holds, or nobody holds any more, is never returned.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol
from uuid import UUID

from psycopg.rows import class_row, scalar_row
from psycopg.types.json import Jsonb

from siftline.kit.db import Connection


class Filters(Protocol):
    """Which of the caller's items may be found; ``None`` means any."""

    @property
    def lang(self) -> str | None:
        """In this language."""
        ...

    @property
    def topic(self) -> str | None:
        """About this topic, by its id."""
        ...

    @property
    def tag(self) -> str | None:
        """With this tag, the user's own or found by reading."""
        ...

    @property
    def entity(self) -> str | None:
        """That name this one, by its canonical id or a temporary one."""
        ...

    @property
    def source_id(self) -> UUID | None:
        """Brought by this source."""
        ...

    @property
    def since(self) -> datetime | None:
        """Not older than this."""
        ...

    @property
    def until(self) -> datetime | None:
        """Older than this."""
        ...

    @property
    def unread(self) -> bool | None:
        """Only unread ones, or only read ones."""
        ...

    @property
    def starred(self) -> bool | None:
        """Only starred ones, or only others."""
        ...


@dataclass(frozen=True, slots=True)
class Row:
    """An item that may be shown. ``score`` is that of a text match, in (0, 1]; 0 where vectors ranked it."""

    id: UUID
    content_id: UUID
    title: str | None
    url: str
    lang: str | None
    summary: str | None
    topics: list[dict[str, Any]] | None
    own_topics: list[dict[str, Any]] | None
    published_at: datetime | None
    source_id: UUID | None
    thin: bool = False
    """Its page says too little to be about anything: its vector is near to every short query."""
    score: float = 0.0


@dataclass(frozen=True, slots=True)
class Asked:
    """The item that others are to resemble. ``vector`` is float32, little-endian; ``None`` where it has none."""

    content_id: UUID
    title: str | None
    vector: bytes | None


_FILTERED = """
from items i join contents c on c.id = i.content_id
left join readings r on r.user_id = i.user_id and r.content_id = i.content_id
where i.user_id = %(user_id)s and c.status = 'READY'
  and (%(lang)s::text is null or c.lang = %(lang)s)
  and (%(topic)s::jsonb is null or r.topics @> %(topic)s or (c.topics @> %(topic)s and r.replaces is not true))
  and (%(tag)s::text is null or %(tag)s = any(i.tags) or %(tag)s = any(c.tags))
  and (%(source_id)s::uuid is null or i.source_id = %(source_id)s or i.content_id in (
    select e.content_id from source_entries e join subscriptions b on b.source_id = e.source_id
    where e.source_id = %(source_id)s and b.user_id = %(user_id)s and e.content_id is not null))
  and (%(entity)s::text is null or exists (select from content_entities named
    where named.content_id = c.id and named.entity_id in (
      select id from entities where canonical_id = %(entity)s
      union select entity_id from entity_aliases where temporary_id = %(entity)s)))
  and (%(since)s::timestamptz is null or c.sort_at >= %(since)s)
  and (%(until)s::timestamptz is null or c.sort_at < %(until)s)
  and (%(unread)s::boolean is null or (i.read_at is null) = %(unread)s)
  and (%(starred)s::boolean is null or (i.starred_at is not null) = %(starred)s)
"""

_COLUMNS = """
select i.id, i.content_id, c.title, c.url, c.lang, c.summary,
  case when r.replaces then '[]' else c.topics end as topics,
  case when r.made_at is not null then r.topics end as own_topics, c.published_at, i.source_id,
  c.notice_code is not distinct from 'insufficient_content' or (c.notice_code is not null and c.summary is null) as thin
"""

_NEWEST = f"select c.id {_FILTERED} order by c.sort_at desc, c.id desc limit %(limit)s"
_AMONG = f"select c.id {_FILTERED} and c.id = any(%(ids)b::uuid[])"
_ROWS = f"{_COLUMNS} {_FILTERED} and c.id = any(%(ids)b::uuid[])"

# A word in the title says three times what one in the summary or the text does.
_MATCHES = f"""
select id, content_id, title, url, lang, summary, topics, own_topics, published_at, source_id, thin,
  weight::float8 / (3 * cardinality(%(patterns)b::text[])) as score
from (
  {_COLUMNS}, c.sort_at, (
    select sum(case when c.title ilike word then 3
      when c.summary ilike word or c.description ilike word or c.text ilike word then 1 else 0 end)
    from unnest(%(patterns)b::text[]) as word) as weight
  {_FILTERED} and c.id <> all(%(exclude)b::uuid[])
) as matched
where weight > 0 order by weight desc, sort_at desc, content_id desc limit %(limit)s
"""  # noqa: S608 - made of constants only

_ASKED = """
select i.content_id, c.title,
  (select e.vector from embeddings e where e.content_id = c.id and e.model_version = %(model_version)s) as vector
from items i join contents c on c.id = i.content_id
where i.id = %(item_id)s and i.user_id = %(user_id)s
"""

_GONE = """
select asked.id from unnest(%(ids)b::uuid[]) as asked (id)
where not exists (select from contents where contents.id = asked.id)
"""


def newest(connection: Connection, user_id: UUID, filters: Filters, *, limit: int) -> list[UUID]:
    """Return the contents of the user's READY items that pass the filters, newest first, at most ``limit``."""
    values = {**_values(filters), "user_id": user_id, "limit": limit}
    with connection.cursor(row_factory=scalar_row, binary=True) as cursor:
        return cursor.execute(_NEWEST, values).fetchall()


def among(connection: Connection, user_id: UUID, filters: Filters, ids: Collection[UUID]) -> set[UUID]:
    """Return those of ``ids`` that are contents of the user's READY items and pass the filters."""
    values = {**_values(filters), "user_id": user_id, "ids": list(ids)}
    with connection.cursor(row_factory=scalar_row, binary=True) as cursor:
        return set(cursor.execute(_AMONG, values).fetchall())


def rows(connection: Connection, user_id: UUID, filters: Filters, ids: Collection[UUID]) -> dict[UUID, Row]:
    """Return by content what may be shown of ``ids``; what the user let go of or never held is not in it."""
    values = {**_values(filters), "user_id": user_id, "ids": list(ids)}
    with connection.cursor(row_factory=class_row(Row), binary=True) as cursor:
        return {row.content_id: row for row in cursor.execute(_ROWS, values)}


def matches(
    connection: Connection,
    user_id: UUID,
    filters: Filters,
    words: Sequence[str],
    *,
    limit: int,
    exclude: Collection[UUID] = (),
) -> list[Row]:
    """Return the user's READY items that hold some of ``words`` in any case, those with most of them first."""
    patterns = [f"%{_literal(word)}%" for word in words]
    values = {
        **_values(filters),
        "user_id": user_id,
        "patterns": patterns,
        "exclude": list(exclude),
        "limit": limit,
    }
    with connection.cursor(row_factory=class_row(Row), binary=True) as cursor:
        return cursor.execute(_MATCHES, values).fetchall()


def asked(connection: Connection, user_id: UUID, item_id: UUID, model_version: str | None) -> Asked | None:
    """Return the user's item with its vector of this model version, or ``None`` if it is not theirs."""
    values = {"user_id": user_id, "item_id": item_id, "model_version": model_version}
    with connection.cursor(row_factory=class_row(Asked), binary=True) as cursor:
        return cursor.execute(_ASKED, values).fetchone()


def gone(connection: Connection, ids: Collection[UUID]) -> list[UUID]:
    """Return those of ``ids`` that are no content's."""
    with connection.cursor(row_factory=scalar_row, binary=True) as cursor:
        return cursor.execute(_GONE, {"ids": list(ids)}).fetchall()


def _values(filters: Filters) -> dict[str, Any]:
    """Return the parameters of ``_FILTERED``."""
    return {
        "lang": filters.lang,
        "topic": Jsonb([{"topic": filters.topic}]) if filters.topic is not None else None,
        "tag": filters.tag,
        "source_id": filters.source_id,
        "entity": filters.entity,
        "since": filters.since,
        "until": filters.until,
        "unread": filters.unread,
        "starred": filters.starred,
    }


def _literal(word: str) -> str:
    """Return a word in which nothing is a wildcard of LIKE."""
    return word.replace("\\", "\\\\").replace("%", r"\%").replace("_", r"\_")
