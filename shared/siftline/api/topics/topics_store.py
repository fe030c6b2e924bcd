"""The caller's own topics in PostgreSQL. Every statement takes the user."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from psycopg.rows import class_row, scalar_row
from psycopg.types.json import Jsonb

from siftline.kit.db import Connection
from siftline.kit.ids import new_id


@dataclass(frozen=True, slots=True)
class SetRow:
    """A set of topics."""

    topics: list[dict[str, Any]]
    only_topics: list[str] | None
    updated_at: datetime


_SET = """
select topics, only_topics, updated_at from topic_sets
where user_id = %(user_id)s and source_id is not distinct from %(source_id)s::uuid
"""
_OWN_IDS = """
select topic ->> 'id' from topic_sets cross join lateral jsonb_path_query(topics, '$[*] ? (@.id.type() == "string")')
  as topic
where user_id = %(user_id)s and source_id is null
"""
_PUT = """
insert into topic_sets as kept (id, user_id, source_id, topics, only_topics)
values (%(id)s, %(user_id)s, %(source_id)s, %(topics)s, %(only)s::text[])
on conflict (user_id, source_id) do update set topics = excluded.topics, only_topics = excluded.only_topics,
  version = kept.version + 1, updated_at = now()
where (kept.topics, kept.only_topics) is distinct from (excluded.topics, excluded.only_topics)
returning id
"""
_DROP = """
delete from topic_sets where user_id = %(user_id)s and source_id is not distinct from %(source_id)s::uuid
returning id
"""
_ANY_SET = "select exists (select from topic_sets where user_id = %(user_id)s)"
# What a set that changed asks to be compared is marked as due in the background; until then: all with a vector.
_PENDING = """
select case
  when exists (select from topic_sets where user_id = %(user_id)s and spread_version is distinct from version)
  then (select count(distinct items.content_id) from items where items.user_id = %(user_id)s
    and exists (select from embeddings where embeddings.content_id = items.content_id))
  else (select count(*) from readings where user_id = %(user_id)s and due)
end::int
"""
_KEPT_TO = """
select source_id, topic from topic_sets cross join lateral unnest(only_topics) as topic
where user_id = %(user_id)s and source_id is not null
  and not exists (select from jsonb_path_query(topics, '$[*]') as own where own ->> 'id' = topic)
order by source_id, topic
"""


def find_set(connection: Connection, user_id: UUID, source_id: UUID | None = None) -> SetRow | None:
    """Return a user's set for all they hold, or for what a source brings."""
    with connection.cursor(row_factory=class_row(SetRow)) as cursor:
        return cursor.execute(_SET, {"user_id": user_id, "source_id": source_id}).fetchone()


def own_ids(connection: Connection, user_id: UUID) -> frozenset[str]:
    """Return the ids of a user's topics for all they hold."""
    with connection.cursor(row_factory=scalar_row) as cursor:
        return frozenset(cursor.execute(_OWN_IDS, {"user_id": user_id}))


def kept_to(connection: Connection, user_id: UUID) -> list[tuple[UUID, str]]:
    """Return the topics to which a user's sources are kept, but for those that a source has itself."""
    return connection.execute(_KEPT_TO, {"user_id": user_id}).fetchall()


def put_set(
    connection: Connection,
    user_id: UUID,
    source_id: UUID | None,
    topics: Sequence[dict[str, Any]],
    only: Sequence[str] | None,
) -> bool:
    """Replace a set; one that says nothing is deleted. Returns whether that changed anything that is to be compared."""
    place = {"user_id": user_id, "source_id": source_id}
    if not topics and only is None:
        dropped = connection.execute(_DROP, place).fetchone() is not None
        row = connection.execute(_ANY_SET, place).fetchone()
        return dropped and bool(row and row[0])
    values = {**place, "id": new_id(), "topics": Jsonb(list(topics)), "only": None if only is None else list(only)}
    return connection.execute(_PUT, values).fetchone() is not None


def pending(connection: Connection, user_id: UUID) -> int:
    """Return how many of a user's contents are still to be compared with their topics."""
    with connection.cursor(row_factory=scalar_row) as cursor:
        return cursor.execute(_PENDING, {"user_id": user_id}).fetchone() or 0
