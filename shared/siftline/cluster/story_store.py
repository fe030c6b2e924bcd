"""What stories are made of and kept in: a user's contents that have none yet, and the stories around their times."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from psycopg.rows import class_row, scalar_row

from siftline.kit.db import Connection


@dataclass(frozen=True, slots=True)
class TellingRow:
    """A content that a user holds; ``vector`` float32, little-endian. ``loose``: it is to be joined (anew)."""

    content_id: UUID
    original_id: UUID
    lang: str | None
    sort_at: datetime
    vector: bytes
    story_id: UUID | None
    lead_id: UUID | None
    loose: bool


@dataclass(frozen=True, slots=True)
class LearntMean:
    """The texts of a topic in a language that analysis has read, and the sum of their vectors (float64)."""

    lang: str
    documents: int
    vector_sum: bytes


@dataclass(frozen=True, slots=True)
class StoryToWrite:
    """A story with all its members, which stand with their cosine distances to its centroid."""

    id: UUID
    centroid: bytes
    lead_id: UUID
    members: Sequence[UUID]
    distances: Sequence[float]


_LOCK = "select pg_advisory_xact_lock(hashtextextended('join_stories:' || %(user_id)s::text, 0))"
_LAST_CHANGE = "select max(updated_at) from stories where user_id = %(user_id)s"
# What was set aside and is as it was is passed over, so that it keeps nothing else waiting.
_LOOSE = """
with waiting as (
  select i.content_id, null::uuid as story_id from items i
  where i.user_id = %(user_id)s
    and not exists (select from story_items s where s.user_id = i.user_id and s.content_id = i.content_id)
  union all
  select s.content_id, s.story_id from story_items s where s.user_id = %(user_id)s and s.stale)
select c.id as content_id, coalesce(c.duplicate_of, c.id) as original_id, c.lang, c.sort_at, e.vector, w.story_id,
  null::uuid as lead_id, true as loose
from waiting w join contents c on c.id = w.content_id
  join embeddings e on e.content_id = c.id and e.model_version = %(model_version)s
where c.status = 'READY' and not exists (select from set_aside a
  where a.job_type = 'join_stories' and a.row_id = c.id and a.mark = md5(e.vector))
order by c.sort_at desc, c.id desc limit %(limit)s
"""
# The stories near in time, and whatever holds a duplicate of what is loose.
_AROUND = """
with near as (
  select id, lead_id from stories
  where user_id = %(user_id)s and last_at >= %(first)s::timestamptz - %(gap)s
    and first_at <= %(last)s::timestamptz + %(gap)s
  union
  select stories.id, stories.lead_id
  from contents c join story_items s on s.content_id = c.id and s.user_id = %(user_id)s
    join stories on stories.id = s.story_id
  where c.id = any(%(originals)b::uuid[]) or c.duplicate_of = any(%(originals)b::uuid[]))
select c.id as content_id, coalesce(c.duplicate_of, c.id) as original_id, c.lang, c.sort_at, e.vector, s.story_id,
  near.lead_id, false as loose
from near join story_items s on s.story_id = near.id and not s.content_id = any(%(loose)b::uuid[])
  join contents c on c.id = s.content_id
  join embeddings e on e.content_id = c.id and e.model_version = %(model_version)s
"""
_LEARNT = "select lang, documents, vector_sum from topic_means where model_version = %(model_version)s"
# Items before stories, as their deletion locks them too.
_HOLD_ITEMS = """
select content_id from items where user_id = %(user_id)s and content_id = any(%(content_ids)b::uuid[])
order by content_id for key share
"""
_PUT = """
insert into stories (id, user_id, model_version, centroid, size, first_at, last_at, lead_id)
select new.id, %(user_id)s, %(model_version)s, new.centroid, 1, 'epoch', 'epoch', new.lead_id
from unnest(%(ids)b::uuid[], %(centroids)b::bytea[], %(lead_ids)b::uuid[]) as new (id, centroid, lead_id)
order by new.id
on conflict (id) do update set model_version = excluded.model_version, centroid = excluded.centroid,
  lead_id = excluded.lead_id, updated_at = clock_timestamp()
where stories.user_id = excluded.user_id
"""
_FILL = """
insert into story_items (user_id, content_id, story_id, distance)
select %(user_id)s, new.content_id, new.story_id, new.distance
from unnest(%(content_ids)b::uuid[], %(story_ids)b::uuid[], %(distances)b::float4[])
  as new (content_id, story_id, distance)
where new.content_id = any(%(held)b::uuid[])
order by new.content_id
on conflict (user_id, content_id) do update set distance = excluded.distance, stale = false,
  joined_at = case when story_items.story_id = excluded.story_id then story_items.joined_at else now() end,
  story_id = excluded.story_id
"""
_RECOUNT = """
update stories set size = counted.size, first_at = counted.first_at, last_at = counted.last_at,
  lead_id = case when stories.lead_id = any(counted.members) then stories.lead_id else counted.members[1] end
from (select s.story_id, count(*)::int as size, min(c.sort_at) as first_at, max(c.sort_at) as last_at,
        array_agg(c.id order by s.distance, c.id) as members
      from story_items s join contents c on c.id = s.content_id
      where s.story_id = any(%(ids)b::uuid[]) group by s.story_id) as counted
where stories.id = counted.story_id
"""
_DROP_EMPTY = """
delete from stories where user_id = %(user_id)s and id = any(%(ids)b::uuid[])
  and not exists (select from story_items where story_items.story_id = stories.id)
"""


def last_change(connection: Connection, user_id: UUID) -> datetime | None:
    """Return when a user's stories were last written; whoever works on them compares it before it writes."""
    with connection.cursor(row_factory=scalar_row) as cursor:
        at: datetime | None = cursor.execute(_LAST_CHANGE, {"user_id": user_id}).fetchone()
        return at


def loose(connection: Connection, user_id: UUID, version: str, *, limit: int) -> Sequence[TellingRow]:
    """Return the newest ``limit`` READY contents with a vector of this version in no story, or changed since."""
    values = {"user_id": user_id, "model_version": version, "limit": limit}
    with connection.cursor(row_factory=class_row(TellingRow), binary=True) as cursor:
        return cursor.execute(_LOOSE, values).fetchall()


def around(
    connection: Connection, user_id: UUID, version: str, rows: Sequence[TellingRow], gap: timedelta
) -> Sequence[TellingRow]:
    """Return the members of the stories that ``rows`` may belong to, themselves left out."""
    values = {
        "user_id": user_id,
        "model_version": version,
        "first": min(row.sort_at for row in rows),
        "last": max(row.sort_at for row in rows),
        "gap": gap,
        "originals": list({row.original_id for row in rows}),
        "loose": [row.content_id for row in rows],
    }
    with connection.cursor(row_factory=class_row(TellingRow), binary=True) as cursor:
        return cursor.execute(_AROUND, values).fetchall()


def learnt_means(connection: Connection, version: str) -> Sequence[LearntMean]:
    """Return what analysis has learnt of the texts of each language and topic."""
    with connection.cursor(row_factory=class_row(LearntMean), binary=True) as cursor:
        return cursor.execute(_LEARNT, {"model_version": version}).fetchall()


def hold(connection: Connection, user_id: UUID) -> None:
    """Let no other run write a user's stories until this transaction ends."""
    connection.execute(_LOCK, {"user_id": user_id})


def write(
    connection: Connection, user_id: UUID, version: str, stories: Sequence[StoryToWrite], emptied: Sequence[UUID]
) -> None:
    """Write stories whole and delete those ``emptied`` by it. What the user let go of meanwhile is left out."""
    members = [member for story in stories for member in story.members]
    ids = [story.id for story in stories]
    user = {"user_id": user_id}
    held = [row[0] for row in connection.execute(_HOLD_ITEMS, {**user, "content_ids": members}).fetchall()]
    connection.execute(
        _PUT,
        {
            **user,
            "model_version": version,
            "ids": ids,
            "centroids": [story.centroid for story in stories],
            "lead_ids": [story.lead_id for story in stories],
        },
    )
    connection.execute(
        _FILL,
        {
            **user,
            "content_ids": members,
            "story_ids": [story.id for story in stories for _ in story.members],
            "distances": [distance for story in stories for distance in story.distances],
            "held": held,
        },
    )
    connection.execute(_RECOUNT, {"ids": ids})
    connection.execute(_DROP_EMPTY, {**user, "ids": [*ids, *emptied]})
