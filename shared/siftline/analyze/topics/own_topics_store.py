"""Users' own topics in PostgreSQL, their vectors, and what was found with them. Every statement takes the user."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any
from uuid import UUID

import numpy as np
from psycopg.rows import class_row

from siftline.analyze.topics.own_topics import Part, TopicSet, Vector, label_of
from siftline.analyze.topics.topic_scoring import Topic
from siftline.jobs.set_aside import checked
from siftline.jobs.set_aside_store import SetAside
from siftline.kit.db import Connection

_SETS = """
select id, source_id, topics, only_topics, version, spread_version from topic_sets
where user_id = %(user_id)s order by source_id nulls first, id
"""
_LOCK_SETS = """
select id, version from topic_sets where user_id = %(user_id)s order by id for share
"""
_SPREAD = """
insert into readings (user_id, content_id)
select items.user_id, items.content_id from items
where items.user_id = %(user_id)s and exists (select from embeddings where embeddings.content_id = items.content_id)
order by items.content_id for key share of items
on conflict (user_id, content_id) do update set due = true, asked_at = clock_timestamp()
"""
_HAVE_SPREAD = """
with own as (select id from topic_sets where id = any(%(ids)b::uuid[]) order by id for no key update)
update topic_sets set spread_version = read.version
from own join unnest(%(ids)b::uuid[], %(versions)b::int4[]) as read (id, version) using (id)
where topic_sets.id = own.id and topic_sets.version = read.version
"""
_VECTORS = """
select vectors.set_id, vectors.topic, vectors.lang, vectors.digest, vectors.vector
from topic_set_vectors as vectors join topic_sets on topic_sets.id = vectors.set_id
where topic_sets.user_id = %(user_id)s and vectors.model_version = %(model_version)s
"""
# Held, so that a set that is being deleted takes its vectors with it.
_KEEP_VECTOR = """
insert into topic_set_vectors (set_id, model_version, topic, lang, digest, vector)
select id, %(model_version)s, %(topic)s, %(lang)s, %(digest)s, %(vector)s from topic_sets
where id = %(set_id)s for key share
on conflict (set_id, model_version, topic, lang) do update set digest = excluded.digest, vector = excluded.vector
"""
_FORGET_VECTORS = """
delete from topic_set_vectors
where (set_id, model_version, topic, lang, digest) in (
  select set_id, model_version, topic, lang, digest from topic_set_vectors
  where set_id = any(%(set_ids)b::uuid[])
    and (set_id, model_version, topic, lang, digest) not in (
      select set_id, %(model_version)s, topic, lang, digest
      from unnest(%(kept_ids)b::uuid[], %(topics)b::text[], %(langs)b::text[], %(digests)b::text[])
        as kept (set_id, topic, lang, digest))
  order by set_id, model_version, topic, lang for update)
"""
# Of several sources that list a content, that which brought it to the user counts first.
_DUE = """
select readings.content_id, readings.asked_at, contents.lang,
  contents.notice_code is not distinct from 'insufficient_content'
    or (contents.notice_code is not null and contents.summary is null) as thin,
  embeddings.vector, (
    select sets.id from topic_sets as sets
    where sets.user_id = readings.user_id and sets.source_id is not null and (sets.source_id = items.source_id
      or exists (select from source_entries as entries
        where entries.source_id = sets.source_id and entries.content_id = readings.content_id))
    order by sets.source_id is not distinct from items.source_id desc, sets.id limit 1) as source_set_id
from readings
join items on items.user_id = readings.user_id and items.content_id = readings.content_id
join contents on contents.id = readings.content_id
left join embeddings on embeddings.content_id = readings.content_id
  and embeddings.model_version = %(model_version)s
where readings.user_id = %(user_id)s and readings.due
order by contents.sort_at desc, readings.content_id limit %(limit)s
"""
_WRITE = """
with own as (
  select content_id from readings where user_id = %(user_id)s and content_id = any(%(content_ids)b::uuid[])
  order by content_id for no key update)
update readings set topics = coalesce(found.topics, readings.topics),
  replaces = coalesce(found.replaces, readings.replaces), due = false, made_at = now(),
  model_version = case when found.topics is null then readings.model_version else %(model_version)s end
from own join unnest(%(content_ids)b::uuid[], %(asked)s::timestamptz[], %(topics)s::jsonb[], %(replaces)s::bool[])
  as found (content_id, asked_at, topics, replaces) using (content_id)
where readings.user_id = %(user_id)s and readings.content_id = found.content_id
  and readings.asked_at = found.asked_at
"""


@dataclass(frozen=True, slots=True)
class Due:
    """A content of a user's that is to be compared with their topics. ``vector``: float32, little-endian."""

    content_id: UUID
    asked_at: datetime
    lang: str | None
    thin: bool
    """Its text says too little to be about anything."""
    vector: bytes | None
    source_set_id: UUID | None
    """The set of the source that brought it, where that has one."""


@dataclass(frozen=True, slots=True)
class FoundTopics:
    """What a content is about by a user's topics; ``topics`` is ``None`` where nothing can be said anew."""

    content_id: UUID
    asked_at: datetime
    topics: Sequence[Topic] | None
    replaces: bool


@dataclass(frozen=True, slots=True)
class KeptVector:
    """A vector of a topic's part, and what it was made from."""

    set_id: UUID
    topic: str
    lang: str
    digest: str
    vector: bytes


@dataclass(frozen=True, slots=True)
class _SetRow:
    id: UUID
    source_id: UUID | None
    topics: Any
    only_topics: list[str] | None
    version: int
    spread_version: int


def sets_of(connection: Connection, user_id: UUID) -> tuple[list[TopicSet], list[SetAside]]:
    """Return a user's sets, the one for all they hold first, and those that cannot be read."""
    with connection.cursor(row_factory=class_row(_SetRow)) as cursor:
        rows = cursor.execute(_SETS, {"user_id": user_id}).fetchall()
    _, aside = checked(rows, _set, row_id=lambda row: row.id, kind="topic_set")
    # One that cannot be read is there all the same, without topics: what was written with others knows its version.
    broken = {one.row_id for one in aside}
    return [_set(row) if row.id not in broken else _set(replace(row, topics=[])) for row in rows], aside


def _set(row: _SetRow) -> TopicSet:
    return TopicSet(
        row.id,
        row.source_id,
        tuple(label_of(topic) for topic in row.topics),
        None if row.only_topics is None else frozenset(row.only_topics),
        row.version,
        row.spread_version,
    )


def spread(connection: Connection, user_id: UUID, sets: Sequence[TopicSet]) -> None:
    """Mark all of a user's contents that have a vector as due, as these versions of their sets ask."""
    connection.execute(_SPREAD, {"user_id": user_id})
    values = {"ids": [one.id for one in sets], "versions": [one.version for one in sets]}
    connection.execute(_HAVE_SPREAD, values)


def vectors_of(connection: Connection, user_id: UUID, model_version: str) -> list[KeptVector]:
    """Return the vectors of a model that a user's topics have."""
    with connection.cursor(row_factory=class_row(KeptVector)) as cursor:
        return cursor.execute(_VECTORS, {"user_id": user_id, "model_version": model_version}).fetchall()


def keep_vector(connection: Connection, set_id: UUID, model_version: str, part: Part, vector: Vector) -> None:
    """Keep a vector; nothing where its set is gone."""
    values = {
        "set_id": set_id,
        "model_version": model_version,
        "topic": part.topic,
        "lang": part.lang,
        "digest": part.digest,
        "vector": vector.astype("<f4").tobytes(),
    }
    connection.execute(_KEEP_VECTOR, values)


def forget_vectors(connection: Connection, model_version: str, kept: Mapping[UUID, Sequence[Part]]) -> None:
    """Delete vectors of these sets that are of other parts or another model."""
    pairs = [(set_id, part) for set_id, parts in kept.items() for part in parts]
    values = {
        "set_ids": list(kept),
        "model_version": model_version,
        "kept_ids": [set_id for set_id, _ in pairs],
        "topics": [part.topic for _, part in pairs],
        "langs": [part.lang for _, part in pairs],
        "digests": [part.digest for _, part in pairs],
    }
    connection.execute(_FORGET_VECTORS, values)


def due(connection: Connection, user_id: UUID, model_version: str, *, limit: int) -> list[Due]:
    """Return a user's contents that are to be compared, newest first, at most ``limit``."""
    values = {"user_id": user_id, "model_version": model_version, "limit": limit}
    with connection.cursor(row_factory=class_row(Due)) as cursor:
        return cursor.execute(_DUE, values).fetchall()


def write(
    connection: Connection, user_id: UUID, model_version: str, sets: Sequence[TopicSet], found: Sequence[FoundTopics]
) -> bool:
    """Write what was found with these sets; returns whether they are still as they were, and else writes nothing.

    What was asked for anew meanwhile stays due.
    """
    with connection.cursor() as cursor:
        present = dict(cursor.execute(_LOCK_SETS, {"user_id": user_id}).fetchall())
    if present != {one.id: one.version for one in sets}:
        return False
    values = {
        "user_id": user_id,
        "model_version": model_version,
        "content_ids": [one.content_id for one in found],
        "asked": [one.asked_at for one in found],
        "topics": [None if one.topics is None else _json(one.topics) for one in found],
        "replaces": [None if one.topics is None else one.replaces for one in found],
    }
    connection.execute(_WRITE, values)
    return True


def as_vector(kept: bytes) -> Vector:
    """Return stored numbers as a vector."""
    return np.frombuffer(kept, "<f4").astype(np.float32)


def _json(topics: Sequence[Topic]) -> str:
    return json.dumps([{"topic": topic.topic, "score": topic.score} for topic in topics])
