"""The feed in PostgreSQL: what may be shown, what places show, and orders as they were at a moment. All by user."""

import hashlib
import struct
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from itertools import accumulate
from uuid import UUID

from psycopg.rows import class_row, scalar_row
from pydantic import BaseModel, Field

from siftline.api.feed.feed_order import FeedCandidate, Key, Place
from siftline.api.http.shapes import EXAMPLE_ID
from siftline.api.items.item_models import Topic
from siftline.api.items.items_store import ABOUT, COLUMNS, HELD, NARROWED, Freshness, ItemRow, Listed, narrowing
from siftline.catalog.replaced_topics_store import ASKED_FOR, left_of
from siftline.catalog.usable_rows import entries_of, usable
from siftline.kit.db import Connection
from siftline.kit.ids import new_id

ORDERS_KEPT = 20
"""Orders of a user that can be paged through at a time, the newest."""
_ID_BYTES = 16
_PLACE = struct.Struct(">IfI")
"""Of each place: how many items stand in it and all places before it, its rank, and which of its source's it is."""


class FeedRow(ItemRow):
    """An item that leads a place."""

    site: str
    granular_topics: list[Topic] | None
    """What its source mostly writes about."""


class Folded(BaseModel):
    """Another item that tells the same story."""

    id: UUID = Field(examples=[EXAMPLE_ID])
    url: str = Field(examples=["https://example.org/story"])
    title: str | None = Field(description="Plain text, never HTML")
    site: str = Field(description="Publisher", examples=["Example News"])
    sort_at: datetime = Field(examples=["2026-11-27T12:00:00Z"])
    read_at: datetime | None


class MemberRow(Folded):
    """An item in a place, as it is shown under another one."""

    story_id: UUID | None
    created_at: datetime


@dataclass(frozen=True, slots=True)
class KeptPlaces:
    """A slice of an order that was kept."""

    at: datetime
    places: list[Place]
    more: bool


_STORY = "left join story_items t on t.user_id = i.user_id and t.content_id = i.content_id"
_SOURCE = """
left join sources s on s.id = i.source_id
left join subscriptions b on b.source_id = i.source_id and b.user_id = i.user_id
"""
_CANDIDATE = """
select uuid_send(i.id), uuid_send(coalesce(c.duplicate_of, c.id)), uuid_send(t.story_id), uuid_send(i.source_id),
  i.score, extract(epoch from c.sort_at)::float8
"""
# What is not scored comes first where there is too much: it is never left out.
_CANDIDATES = f"""
{_CANDIDATE} {HELD} {_STORY} left join sources s on s.id = i.source_id
where {NARROWED} and (%(topic)s::jsonb is null or {ABOUT}
  or (c.topics is null and s.granular_topics @> %(topic)s and not {ASKED_FOR}))
order by item_rank(i.score, c.sort_at, %(at)s, %(freshness_weight)s, %(half_life_s)s) desc nulls first, i.id desc
limit %(limit)s
"""

# What the user's items of a topic score in the mean, weighted by how much of it each source writes.
_STAND_INS = f"""
with means as (
  select topic ->> 'topic' as topic, avg(i.score) as mean
  from items i join contents c on c.id = i.content_id cross join lateral {entries_of("c.topics")} as topic
  where i.user_id = %(user_id)s and i.score is not null group by 1)
select uuid_send(s.id), sum(habit.score * coalesce(means.mean, %(unknown)s)) / sum(habit.score)
from sources s
cross join lateral (
  select said ->> 'topic' as topic, case when jsonb_typeof(said -> 'score') = 'number'
    then least(greatest((said ->> 'score')::numeric, 0), 1)::float8 end as score
  from {entries_of("s.granular_topics")} as said) as habit
left join means on means.topic = habit.topic
where s.id = any(%(source_ids)b::uuid[]) and habit.score > 0 group by s.id
"""  # noqa: S608  -- constants of ours

_SITE = """
, coalesce(nullif(b.title, ''), nullif(s.title, ''), nullif(c.site_name, ''), substring(c.url from '//([^/:]+)'), c.url)
as site
"""
_MEMBER = """
select i.id, t.story_id, coalesce(i.url, c.url) as url, coalesce(nullif(c.title, ''), i.told_title) as title,
  least(coalesce(c.published_at, i.told_at), i.created_at) as sort_at, i.read_at, i.created_at
"""
_MEMBERS = f"""
{_MEMBER} {_SITE}
from items i join contents c on c.id = i.content_id {_STORY} {_SOURCE}
where i.user_id = %(user_id)s and i.id = any(%(ids)b::uuid[])
"""
_LEADS = f"""
{COLUMNS}, i.score as relevance, i.score_reasons, {left_of("s.granular_topics")} as granular_topics {_SITE}
{HELD} {_SOURCE}
where i.user_id = %(user_id)s and i.id = any(%(ids)b::uuid[])
"""

_KEEP = """
insert into feed_orders (id, user_id, digest, at, item_ids, places)
values (%(id)s, %(user_id)s, %(digest)b, %(at)s, %(item_ids)b, %(places)b)
on conflict (user_id, digest) do update set at = excluded.at, places = excluded.places, made_at = now()
returning id
"""
_FORGET = """
delete from feed_orders where id in (
  select id from feed_orders where user_id = %(user_id)s order by made_at desc, id desc offset %(kept)s
  for update skip locked)
"""
_FORGET_OLD = """
delete from feed_orders where id in (
  select id from feed_orders where made_at < now() - interval '1 day' order by made_at limit 20 for update skip locked)
"""

# A slice begins with the place before it, whose end is where its own items begin.
_PLACES = """
select at, substring(places from %(start)s for %(length)s), length(places)
from feed_orders where id = %(id)s and user_id = %(user_id)s
"""
_ITEM_IDS = """
select substring(item_ids from %(start)s for %(length)s) from feed_orders where id = %(id)s and user_id = %(user_id)s
"""


def candidates(
    connection: Connection, user_id: UUID, filters: Listed, freshness: Freshness, limit: int
) -> list[FeedCandidate]:
    """Return what of a user's items may be shown: the ``limit`` most relevant ones, in no order."""
    values = narrowing(user_id, filters) | asdict(freshness) | {"limit": limit}
    with connection.cursor(binary=True) as cursor:
        return [FeedCandidate._make(row) for row in cursor.execute(_CANDIDATES, values).fetchall()]


def stand_ins(connection: Connection, user_id: UUID, source_ids: Iterable[Key], unknown: float) -> Mapping[Key, float]:
    """Return by source how relevant what it mostly writes about is to the user; only sources of which that is known."""
    values = {"user_id": user_id, "source_ids": [UUID(bytes=key) for key in source_ids], "unknown": unknown}
    return dict(connection.execute(_STAND_INS, values).fetchall())


def members(connection: Connection, user_id: UUID, item_ids: Sequence[UUID]) -> dict[UUID, MemberRow]:
    """Return those of these items that the user still holds."""
    with connection.cursor(row_factory=class_row(MemberRow)) as cursor:
        return {row.id: row for row in cursor.execute(_MEMBERS, {"user_id": user_id, "ids": list(item_ids)})}


def leads(connection: Connection, user_id: UUID, item_ids: Sequence[UUID], freshness: Freshness) -> dict[UUID, FeedRow]:
    """Return those of these items that the user still holds, with all that a list shows."""
    values = {"user_id": user_id, "ids": list(item_ids), **asdict(freshness)}
    return {row.id: row for row in usable(connection, FeedRow, _LEADS, values)}


def keep(connection: Connection, user_id: UUID, at: datetime, places: Sequence[Place]) -> UUID:
    """Keep an order to be paged through, and forget old ones. One that is there already is kept once."""
    item_ids = b"".join(item_id for place in places for item_id in place.item_ids)
    sizes = [len(place.item_ids) for place in places]
    packed = b"".join(
        _PLACE.pack(end, place.rank, place.nth) for end, place in zip(accumulate(sizes), places, strict=True)
    )
    digest = hashlib.sha256(struct.pack(f">{len(sizes)}I", *sizes) + item_ids).digest()
    values = {"id": new_id(), "user_id": user_id, "digest": digest, "at": at, "item_ids": item_ids, "places": packed}
    with connection.cursor(row_factory=scalar_row) as cursor:
        [order_id] = cursor.execute(_KEEP, values).fetchall()
    connection.execute(_FORGET, {"user_id": user_id, "kept": ORDERS_KEPT})
    connection.execute(_FORGET_OLD)
    return order_id  # type: ignore[no-any-return]  # a column of any type


def kept(connection: Connection, user_id: UUID, order_id: UUID, first: int, count: int) -> KeptPlaces | None:
    """Return ``count`` places of an order from place ``first`` (0 is the best) on; ``None`` if it is not kept."""
    whose = {"id": order_id, "user_id": user_id}
    before = min(first, 1)
    slice_ = {"start": (first - before) * _PLACE.size + 1, "length": (count + before) * _PLACE.size}
    row = connection.execute(_PLACES, whose | slice_).fetchone()
    if row is None:
        return None
    at, packed, length_bytes = row
    found = list(_PLACE.iter_unpack(packed))
    begin = found.pop(0)[0] if before and found else 0
    if not found:
        return KeptPlaces(at, [], more=False)
    ends = [end for end, _, _ in found]
    span = {"start": begin * _ID_BYTES + 1, "length": (ends[-1] - begin) * _ID_BYTES}
    [(ids,)] = connection.execute(_ITEM_IDS, whose | span).fetchall()
    item_ids = [ids[start : start + _ID_BYTES] for start in range(0, len(ids), _ID_BYTES)]
    places = [
        Place(tuple(item_ids[start - begin : end - begin]), rank, nth)
        for start, (end, rank, nth) in zip([begin, *ends], found, strict=False)
    ]
    return KeptPlaces(at, places, more=length_bytes > (first + count) * _PLACE.size)
