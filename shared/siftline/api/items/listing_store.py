"""The caller's items as lists: newest first, or best first."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any
from uuid import UUID

from psycopg.types.json import Jsonb

from siftline.api.http.paging import Cursor, RankCursor, behind
from siftline.api.http.shapes import Filters
from siftline.api.items.items_store import COLUMNS, Freshness, ItemRow
from siftline.catalog.replaced_topics_store import ASKED_FOR
from siftline.catalog.usable_rows import usable
from siftline.kit.db import Connection

UNRANKED = -1.0
"""Where what has no score yet stands: behind everything else."""


@dataclass(frozen=True, slots=True)
class Listed(Filters):
    """Which items to list; ``None`` means any."""

    status: str | None = None
    entity_ids: Sequence[UUID] | None = None


HELD = """
from items i join contents c on c.id = i.content_id
left join readings r on r.user_id = i.user_id and r.content_id = i.content_id
"""
ABOUT = f"r.topics @> %(topic)s or (c.topics @> %(topic)s and r.replaces is not true and not {ASKED_FOR})"
NARROWED = """
i.user_id = %(user_id)s
  and (%(status)s::text is null or c.status = %(status)s)
  and (%(tag)s::text is null or %(tag)s = any(i.tags) or %(tag)s = any(c.tags))
  and (%(source_id)s::uuid is null or i.source_id = %(source_id)s or i.content_id in (
    select e.content_id from source_entries e join subscriptions b on b.source_id = e.source_id
    where e.source_id = %(source_id)s and b.user_id = %(user_id)s and e.content_id is not null))
  and (%(folder_id)s::uuid is null or exists (select from folder_sources f
    where f.folder_id = %(folder_id)s and f.user_id = %(user_id)s and f.source_id = i.source_id) or exists (
      select from source_entries e join folder_sources f on f.source_id = e.source_id
      where e.content_id = i.content_id and f.folder_id = %(folder_id)s and f.user_id = %(user_id)s))
  and (%(entity_ids)s::uuid[] is null or exists (select from content_entities named
    where named.content_id = c.id and named.entity_id = any(%(entity_ids)s)))
  and (%(since)s::timestamptz is null or c.sort_at >= %(since)s)
  and (%(until)s::timestamptz is null or c.sort_at < %(until)s)
  and (%(unread)s::boolean is null or (i.read_at is null) = %(unread)s)
  and (%(starred)s::boolean is null or (i.starred_at is not null) = %(starred)s)
"""
_LISTED = f"{HELD} where {NARROWED} and (%(topic)s::jsonb is null or {ABOUT})"
_NEWEST_FIRST = f"""
{COLUMNS} {_LISTED}
  and (%(after_at)s::timestamptz is null or (c.sort_at, i.id) < (%(after_at)s, %(after_id)s::uuid))
order by c.sort_at desc, i.id desc limit %(limit)s
"""
# What is not scored yet comes last, newest first by its id; lists of a user are short enough to be sorted as they are.
_RANK = "coalesce(item_rank(i.score, c.sort_at, %(at)s, %(freshness_weight)s, %(half_life_s)s), -1)"
_BEST_FIRST = f"""
{COLUMNS} {_LISTED}
  and (%(after_rank)s::float8 is null or ({_RANK}, i.id) < (%(after_rank)s, %(after_id)s::uuid))
order by {_RANK} desc, i.id desc limit %(limit)s
"""


def list_items(
    connection: Connection, user_id: UUID, filters: Listed, freshness: Freshness, after: Cursor | None, limit: int
) -> list[ItemRow]:
    """Return a user's items, newest first, at most ``limit``, beginning behind ``after``."""
    return _listed(connection, _NEWEST_FIRST, user_id, filters, freshness, behind(after) | {"limit": limit})


def best_items(
    connection: Connection, user_id: UUID, filters: Listed, freshness: Freshness, after: RankCursor | None, limit: int
) -> list[ItemRow]:
    """Return a user's items by their scores as of ``freshness.at``, best first, beginning behind ``after``."""
    values = {"after_rank": after.rank if after else None, "after_id": after.id if after else None}
    return _listed(connection, _BEST_FIRST, user_id, filters, freshness, values | {"limit": limit})


def narrowing(user_id: UUID, filters: Listed) -> dict[str, Any]:
    """Return the values of ``NARROWED`` and ``ABOUT``."""
    topic = None if filters.topic is None else Jsonb([{"topic": filters.topic}])
    return asdict(filters) | {"user_id": user_id, "topic": topic}


def _listed(
    connection: Connection,
    statement: str,
    user_id: UUID,
    filters: Listed,
    freshness: Freshness,
    place: Mapping[str, Any],
) -> list[ItemRow]:
    return usable(connection, ItemRow, statement, {**narrowing(user_id, filters), **asdict(freshness), **place})
