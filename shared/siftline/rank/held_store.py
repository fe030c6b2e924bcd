"""What the caller holds, in PostgreSQL: candidates for a search, and the word on what may be shown.

Every statement takes the user: what another one holds, or nobody holds any more, is never returned.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol
from uuid import UUID

from psycopg.rows import class_row, scalar_row, tuple_row
from psycopg.types.json import Jsonb

from siftline.catalog.replaced_topics_store import ASKED_FOR, left_of
from siftline.catalog.usable_rows import usable
from siftline.kit.db import Connection
from siftline.rank.highlight import Highlight


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
    def folder_id(self) -> UUID | None:
        """Brought by a source in this folder of the user's."""
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
class Bounds:
    """What a query asks of every answer, by grammar as texts of ``tsquery``; ``None`` means nothing."""

    must: Mapping[str, str] | None = None
    """Its words hold this."""
    never: Mapping[str, str] | None = None
    """They hold nothing of this."""


UNBOUND = Bounds()


@dataclass(frozen=True, slots=True)
class Row:
    """An item that may be shown. ``score`` is in (0, 1], or a cosine."""

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
    grammar: str = ""
    beginning: str | None = None
    """Of its text, empty where it has none; ``None`` where no words of the query were found in it."""
    score: float = 0.0
    highlights: Sequence[Highlight] = ()


@dataclass(frozen=True, slots=True)
class Asked:
    """The item that others are to resemble. ``vector`` is float32, little-endian; ``None`` where it has none."""

    content_id: UUID
    title: str | None
    vector: bytes | None


# A text is found by its words once it is stored; its vector comes when it has been read.
_FINDABLE = "(c.status = 'READY' or c.text is not null)"
_READINGS = "left join readings r on r.user_id = i.user_id and r.content_id = i.content_id"
_FILTERS = {
    "lang": "c.lang = %(lang)s",
    "topic": f"(r.topics @> %(topic)s or (c.topics @> %(topic)s and r.replaces is not true and not {ASKED_FOR}))",
    "tag": "(%(tag)s = any(i.tags) or %(tag)s = any(c.tags))",
    "source_id": """(i.source_id = %(source_id)s or i.content_id in (
      select e.content_id from source_entries e join subscriptions b on b.source_id = e.source_id
      where e.source_id = %(source_id)s and b.user_id = %(user_id)s and e.content_id is not null))""",
    "folder_id": """(exists (select from folder_sources f
      where f.folder_id = %(folder_id)s and f.user_id = %(user_id)s and f.source_id = i.source_id) or exists (
        select from source_entries e join folder_sources f on f.source_id = e.source_id
        where e.content_id = i.content_id and f.folder_id = %(folder_id)s and f.user_id = %(user_id)s))""",
    "entity": """exists (select from content_entities named
      where named.content_id = c.id and named.entity_id in (
        select id from entities where canonical_id = %(entity)s
        union select entity_id from entity_aliases where temporary_id = %(entity)s))""",
    "since": "c.sort_at >= %(since)s",
    "until": "c.sort_at < %(until)s",
    "unread": "(i.read_at is null) = %(unread)s",
    "starred": "(i.starred_at is not null) = %(starred)s",
    "must": """c.id in (select bound.content_id from content_words bound
      where bound.words @@ %(must_any)s::tsquery and bound.words @@ (%(must)s ->> bound.grammar)::tsquery)""",
    "never": """not exists (select from content_words bound where bound.content_id = c.id
      and bound.words @@ %(never_any)s::tsquery and bound.words @@ (%(never)s ->> bound.grammar)::tsquery)""",
}

_ROWS = f"""
select i.id, i.content_id, coalesce(nullif(c.title, ''), i.told_title) as title, coalesce(i.url, c.url) as url, c.lang,
  c.summary,
  case when r.replaces then '[]' else {left_of("c.topics")} end as topics,
  case when r.made_at is not null then r.topics end as own_topics,
  coalesce(c.published_at, i.told_at) as published_at, i.source_id,
  search_grammar(c.lang) as grammar,
  case when {{worded}} then left(coalesce(c.text, ''), 20000) end as beginning
{{filtered}} and c.id = any(%(ids)b::uuid[])
"""
_FOUND = "c.id = any(%(worded)b::uuid[])"
_HOLDS = """(c.id = any(%(worded)b::uuid[]) or exists (select from content_words
    where content_words.content_id = c.id and content_words.words @@ %(words)s::tsquery))"""

# Pages that say too little to be about anything.
_THIN = """
select c.id, coalesce(w.words @@ %(words)s::tsquery, false) as worded
from contents c left join content_words w on w.content_id = c.id
where c.id = any(%(ids)b::uuid[])
  and (c.notice_code = 'insufficient_content' or (c.notice_code is not null and c.summary is null))
"""

_ASKED = """
select i.content_id, c.title,
  (select e.vector from embeddings e where e.content_id = c.id and e.model_version = %(model_version)s) as vector
from items i join contents c on c.id = i.content_id
where i.id = %(item_id)s and i.user_id = %(user_id)s
"""

_COUNT = "select count(*) from (select from items where user_id = %(user_id)s limit %(limit)s) as held"
# Of each language the newest texts with a vector, among the newest texts of all.
_SPOKEN = """
select newest.lang, e.vector
from (
  select id, lang, row_number() over (partition by lang order by sort_at desc, id desc) as place
  from (select id, lang, sort_at from contents where status = 'READY' and lang is not null
    order by sort_at desc, id desc limit %(among)s) as read
) as newest
join embeddings e on e.content_id = newest.id and e.model_version = %(model_version)s
where newest.place <= %(each)s
"""


def filtered(filters: Filters, bounds: Bounds, *, items: str = "items i", readings: bool = False) -> str:
    """Return from where a statement takes what the user holds, as far as filters and bounds let it be found.

    Only what is asked for stands in it: PostgreSQL plans by what could apply. ``items`` may join what was found before;
    ``readings``: the user's own, as ``r``, are wanted in any case. The parameters are those of ``values_of``.
    """
    values = values_of(filters, bounds)
    wanted = [condition for name, condition in _FILTERS.items() if values[name] is not None]
    joined = _READINGS if readings or filters.topic is not None else ""
    where = " and ".join(["i.user_id = %(user_id)s", _FINDABLE, *wanted])
    return f"from {items} join contents c on c.id = i.content_id {joined} where {where}"


def count(connection: Connection, user_id: UUID, *, limit: int) -> int:
    """Return how many items the user has, and no more than ``limit``."""
    values = {"user_id": user_id, "limit": limit}
    with connection.cursor(row_factory=scalar_row, binary=True) as cursor:
        return cursor.execute(_COUNT, values).fetchone() or 0


def newest(
    connection: Connection, user_id: UUID, filters: Filters, *, limit: int, bounds: Bounds = UNBOUND
) -> list[UUID]:
    """Return contents of the user's items that can be found and pass the filters, newest first, at most ``limit``."""
    values = {**values_of(filters, bounds), "user_id": user_id, "limit": limit}
    with connection.cursor(row_factory=scalar_row, binary=True) as cursor:
        held = filtered(filters, bounds)
        return cursor.execute(
            f"select c.id {held} order by c.sort_at desc, c.id desc limit %(limit)s", values
        ).fetchall()


def among(
    connection: Connection, user_id: UUID, filters: Filters, ids: Collection[UUID], bounds: Bounds = UNBOUND
) -> set[UUID]:
    """Return those of ``ids`` that are contents of the user's items, can be found and pass the filters."""
    values = {**values_of(filters, bounds), "user_id": user_id, "ids": list(ids)}
    with connection.cursor(row_factory=scalar_row, binary=True) as cursor:
        held = filtered(filters, bounds)
        return set(cursor.execute(f"select c.id {held} and c.id = any(%(ids)b::uuid[])", values).fetchall())


def rows(
    connection: Connection,
    user_id: UUID,
    filters: Filters,
    ids: Collection[UUID],
    *,
    bounds: Bounds = UNBOUND,
    worded: Collection[UUID] = (),
    words: str = "",
) -> dict[UUID, Row]:
    """Return by content what may be shown of ``ids``; what the user let go of or never held is not in it.

    With the beginnings of the texts of ``worded``, and of those whose words match the ``tsquery`` of ``words``.
    """
    values = {**values_of(filters, bounds), "user_id": user_id, "ids": list(ids), "worded": list(worded)}
    statement = _ROWS.format(worded=_HOLDS if words else _FOUND, filtered=filtered(filters, bounds, readings=True))
    found = usable(connection, Row, statement, {**values, "words": words}, binary=True)
    return {row.content_id: row for row in found}


def thin(connection: Connection, ids: Collection[UUID], *, words: str = "") -> dict[UUID, bool]:
    """Return which of ``ids`` say too little to be about anything, and whether they match the ``tsquery``."""
    with connection.cursor(row_factory=tuple_row, binary=True) as cursor:
        return dict(cursor.execute(_THIN, {"ids": list(ids), "words": words}).fetchall())


def asked(connection: Connection, user_id: UUID, item_id: UUID, model_version: str | None) -> Asked | None:
    """Return the user's item with its vector of this model version, or ``None`` if it is not theirs."""
    values = {"user_id": user_id, "item_id": item_id, "model_version": model_version}
    with connection.cursor(row_factory=class_row(Asked), binary=True) as cursor:
        return cursor.execute(_ASKED, values).fetchone()


def spoken(connection: Connection, model_version: str, *, each: int, among: int) -> list[tuple[str, bytes]]:
    """Return language and vector of texts: of each language at most ``each``, of the newest ``among`` texts."""
    with connection.cursor(binary=True) as cursor:
        values = {"model_version": model_version, "each": each, "among": among}
        return cursor.execute(_SPOKEN, values).fetchall()


def values_of(filters: Filters, bounds: Bounds) -> dict[str, Any]:
    """Return the parameters of ``filtered``."""
    return {
        "must": None if bounds.must is None else Jsonb(bounds.must),
        "must_any": _any(bounds.must),
        "never": None if bounds.never is None else Jsonb(bounds.never),
        "never_any": _any(bounds.never),
        "lang": filters.lang,
        "topic": Jsonb([{"topic": filters.topic}]) if filters.topic is not None else None,
        "tag": filters.tag,
        "source_id": filters.source_id,
        "folder_id": filters.folder_id,
        "entity": filters.entity,
        "since": filters.since,
        "until": filters.until,
        "unread": filters.unread,
        "starred": filters.starred,
    }


def _any(queries: Mapping[str, str] | None) -> str:
    """Return what an index is asked before each text is by its own grammar."""
    return " | ".join(f"({query})" for query in dict.fromkeys((queries or {}).values()))
