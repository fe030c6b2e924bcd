"""Briefings, what is new for one, what it told before, and its frozen editions, in PostgreSQL."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from psycopg.rows import class_row, scalar_row
from psycopg.types.json import Jsonb

from siftline.brief.looked_at_store import COMPARED_LATE, GRACE
from siftline.brief.model import Briefing, Candidate, Coverage, FailedSource, Freshness, Told, ToldRow, Window
from siftline.kit.db import Connection

_FAILED_SHOWN = 10

_SNAPSHOT = "set transaction isolation level repeatable read"

_LOAD = """
select b.id, b.user_id, b.name, b.interests, b.frequency, b.weekday, b.at,
  coalesce(b.time_zone, u.time_zone) as time_zone,
  b.on_empty, b.stories_max, b.channel, b.destination, b.stopped_code, b.enabled, b.rhythm_since, b.last_due_at,
  b.asked_at, b.unsubscribe_token,
  (select max(e.window_until) from editions e where e.briefing_id = b.id) as window_from
from briefings b join users u on u.id = b.user_id
where b.id = %(id)s
"""

_MADE = "select period_key from editions where briefing_id = %(id)s and period_key = any(%(keys)s)"

# What came in during the window, as READY and the user's; unread, untold, not seen before, no old news. Duplicates of
# one content count as that one. A story that is known gives its key.
_CANDIDATES = """
select c.id as content_id, i.id as item_id, coalesce(k.story_id, o.story_id, c.duplicate_of, c.id) as story_key,
  coalesce(nullif(c.title, ''), i.told_title, i.url, c.url) as title, coalesce(i.url, c.url) as url,
  coalesce(nullif(b.title, ''), nullif(s.title, ''), (
    select coalesce(nullif(f.title, ''), nullif(fs.title, ''))
    from source_entries n join subscriptions f on f.source_id = n.source_id and f.user_id = i.user_id
      join sources fs on fs.id = n.source_id
    where n.content_id = c.id order by n.first_seen_at, n.source_id limit 1),
    nullif(c.site_name, ''), substring(c.url from '//([^/:]+)'), c.url) as site,
  i.source_id, c.lang, c.summary,
  array(select t ->> 'topic' from jsonb_array_elements(coalesce(c.topics, '[]')) as t) as topics,
  coalesce(c.published_at, i.told_at) as published_at, c.sort_at,
  item_rank(i.score, c.sort_at, %(end)s, %(freshness_weight)s, %(half_life_s)s) as score,
  coalesce(i.score_reasons, '[]') as reasons, l.value as likeness, l.about
from items i join contents c on c.id = i.content_id
  left join sources s on s.id = i.source_id
  left join subscriptions b on b.source_id = i.source_id and b.user_id = i.user_id
  left join story_items k on k.user_id = i.user_id and k.content_id = c.id
  left join story_items o on o.user_id = i.user_id and o.content_id = c.duplicate_of
  left join briefing_likeness l on l.briefing_id = %(briefing_id)s and l.content_id = c.id
where i.user_id = %(user_id)s and c.status = 'READY' and i.read_at is null
  and greatest(i.created_at, c.ready_at) <= %(end)s
  and (greatest(i.created_at, c.ready_at) > %(start)s
    or (l.made_at > %(start)s and greatest(i.created_at, c.ready_at) > %(compared_late)s))
  and (i.saved or c.sort_at > %(oldest)s)
  and not exists (select from edition_items told where told.briefing_id = %(briefing_id)s and told.content_id = c.id)
  and not exists (select from editions e, unnest(e.looked_at) as seen (id) where seen.id = c.id and e.id = (
    select id from editions where briefing_id = %(briefing_id)s order by window_until desc, id desc limit 1))
order by c.sort_at desc, c.id desc limit %(limit)s
"""

_HAVE_VECTORS = "select exists (select from embeddings where content_id = any(%(ids)b::uuid[]))"

# What was told is of the story that it belongs to now; a content that was a story of its own may since be in another's.
_TOLD = """
select told.key, array_agg(distinct told.content_id) as content_ids, array_agg(distinct told.site) as sources
from (
  select coalesce(k.story_id, e.story_key) as key, e.content_id, e.site
  from edition_items e left join story_items k on k.user_id = %(user_id)s and k.content_id = e.content_id
  where e.briefing_id = %(briefing_id)s
    and (e.story_key = any(%(keys)b::uuid[]) or e.content_id = any(%(keys)b::uuid[])
      or k.story_id = any(%(keys)b::uuid[]))) as told
where told.key = any(%(keys)b::uuid[])
group by told.key
"""

_COVERAGE = """
select count(*) filter (where s.last_success_at > %(start)s) as read,
  count(*) filter (where s.last_error_code is not null and s.last_fetch_at > %(start)s
    and (s.last_success_at is null or s.last_success_at <= %(start)s)) as failed,
  count(*) as all
from subscriptions b join sources s on s.id = b.source_id where b.user_id = %(user_id)s
"""

_FAILED = """
select coalesce(nullif(b.title, ''), nullif(s.title, ''), b.url, s.url) as title, s.last_error_code as error_code
from subscriptions b join sources s on s.id = b.source_id
where b.user_id = %(user_id)s and s.last_error_code is not null and s.last_fetch_at > %(start)s
  and (s.last_success_at is null or s.last_success_at <= %(start)s)
order by 1, s.id limit %(limit)s
"""

_NOW = "select now()"

_CLAIM = """
insert into editions (id, briefing_id, user_id, period_key, asked, due_at, window_from, window_until, stories, document,
  html, plain, read_token, looked_at, made_at)
values (%(id)s, %(briefing_id)s, %(user_id)s, %(period_key)s, %(asked)s, %(due_at)s, %(start)s, %(end)s, %(stories)s,
  %(document)s, %(html)s, %(plain)s, %(read_token)s, %(looked_at)b::uuid[], now())
on conflict (briefing_id, period_key) do nothing returning id
"""

_TELL = """
insert into edition_items (edition_id, briefing_id, content_id, story_key, site, place, lead, is_update)
select %(edition_id)s, %(briefing_id)s, new.content_id, new.story_key, new.site, new.place, new.lead, new.is_update
from unnest(%(content_ids)b::uuid[], %(story_keys)b::uuid[], %(sites)b::text[], %(places)b::int2[], %(leads)b::bool[],
  %(updates)b::bool[]) as new (content_id, story_key, site, place, lead, is_update)
"""

_DELIVER = """
insert into deliveries (id, edition_id, user_id, channel, destination, created_at)
values (%(id)s, %(edition_id)s, %(user_id)s, %(channel)s, %(destination)s, now())
on conflict (edition_id, channel) do nothing
"""

_SETTLE = """
update briefings set status = 'ACTIVE', error_code = null, error_detail = null, next_due_at = %(next_due_at)s,
  last_due_at = greatest(last_due_at, %(dealt_with)s),
  asked_at = case when asked_at <= %(asked_at)s then null else asked_at end, updated_at = now()
where id = %(id)s
"""

_FAIL = """
update briefings set status = 'ERROR', error_code = %(code)s, error_detail = %(detail)s,
  next_due_at = coalesce(%(next_due_at)s, next_due_at), updated_at = now()
where id = %(id)s
"""


@dataclass(frozen=True, slots=True)
class Edition:
    """An edition to be frozen."""

    id: UUID
    briefing_id: UUID
    user_id: UUID
    period_key: str
    asked: bool
    due_at: datetime
    start: datetime
    end: datetime
    document: Mapping[str, Any]
    html: str
    plain: str
    read_token: str
    looked_at: Sequence[UUID]


def snapshot(connection: Connection) -> datetime:
    """Make all that this transaction reads be of one moment, and return it. Comes first in a transaction."""
    connection.execute(_SNAPSHOT)
    with connection.cursor(row_factory=scalar_row) as cursor:
        [moment] = cursor.execute(_NOW).fetchall()
    now: datetime = moment
    return now


def load(connection: Connection, briefing_id: UUID) -> Briefing | None:
    """Return a briefing with what came before."""
    with connection.cursor(row_factory=class_row(Briefing)) as cursor:
        return cursor.execute(_LOAD, {"id": briefing_id}).fetchone()


def made(connection: Connection, briefing_id: UUID, keys: Sequence[str]) -> frozenset[str]:
    """Return those of the periods that have an edition."""
    with connection.cursor(row_factory=scalar_row) as cursor:
        return frozenset(cursor.execute(_MADE, {"id": briefing_id, "keys": list(keys)}).fetchall())


def candidates(
    connection: Connection,
    briefing: Briefing,
    window: Window,
    *,
    oldest: datetime,
    freshness: Freshness,
    limit: int,
) -> Sequence[Candidate]:
    """Return what came in between, newest first. What is older than ``oldest`` counts only if it was saved by hand."""
    values = {
        "user_id": briefing.user_id,
        "briefing_id": briefing.id,
        "start": window.start - GRACE,
        "compared_late": window.start - COMPARED_LATE,
        "end": window.end,
        "oldest": oldest,
        "freshness_weight": freshness.weight,
        "half_life_s": freshness.half_life_s,
        "limit": limit,
    }
    with connection.cursor(row_factory=class_row(Candidate)) as cursor:
        return cursor.execute(_CANDIDATES, values).fetchall()


def have_vectors(connection: Connection, content_ids: Sequence[UUID]) -> bool:
    """Say whether any of these contents can be compared with interests."""
    [(found,)] = connection.execute(_HAVE_VECTORS, {"ids": list(content_ids)}).fetchall()
    return bool(found)


def told(connection: Connection, briefing: Briefing, keys: Sequence[UUID]) -> Mapping[UUID, Told]:
    """Return what earlier editions told of these stories."""
    values = {"briefing_id": briefing.id, "user_id": briefing.user_id, "keys": list(keys)}
    rows = connection.execute(_TOLD, values).fetchall()
    return {key: Told(key, frozenset(contents), frozenset(sources)) for key, contents, sources in rows}


def coverage(connection: Connection, user_id: UUID, start: datetime) -> Coverage:
    """Return how the user's sources did since ``start``."""
    values = {"user_id": user_id, "start": start, "limit": _FAILED_SHOWN}
    [(read, failed, every)] = connection.execute(_COVERAGE, values).fetchall()
    with connection.cursor(row_factory=class_row(FailedSource)) as cursor:
        shown = cursor.execute(_FAILED, values).fetchall() if failed else []
    return Coverage(read, failed, every - read - failed, shown)


def freeze(connection: Connection, edition: Edition, rows: Sequence[ToldRow]) -> bool:
    """Claim the edition's period and write it; ``False`` where another run made this period's edition already."""
    values = {
        "id": edition.id,
        "briefing_id": edition.briefing_id,
        "user_id": edition.user_id,
        "period_key": edition.period_key,
        "asked": edition.asked,
        "due_at": edition.due_at,
        "start": edition.start,
        "end": edition.end,
        "stories": len(edition.document["stories"]),
        "document": Jsonb(edition.document),
        "html": edition.html,
        "plain": edition.plain,
        "read_token": edition.read_token,
        "looked_at": list(edition.looked_at),
    }
    if connection.execute(_CLAIM, values).fetchone() is None:
        return False
    if rows:
        connection.execute(
            _TELL,
            {
                "edition_id": edition.id,
                "briefing_id": edition.briefing_id,
                "content_ids": [row.content_id for row in rows],
                "story_keys": [row.story_key for row in rows],
                "sites": [row.site for row in rows],
                "places": [row.place for row in rows],
                "leads": [row.lead for row in rows],
                "updates": [row.is_update for row in rows],
            },
        )
    return True


def add_delivery(connection: Connection, delivery_id: UUID, edition: Edition, channel: str, destination: str) -> None:
    """Write that an edition is to be delivered."""
    values = {
        "id": delivery_id,
        "edition_id": edition.id,
        "user_id": edition.user_id,
        "channel": channel,
        "destination": destination,
    }
    connection.execute(_DELIVER, values)


def settle(
    connection: Connection,
    briefing_id: UUID,
    *,
    next_due_at: datetime,
    dealt_with: datetime | None = None,
    asked_at: datetime | None = None,
) -> None:
    """Say that a run is over, when the next edition is due, and which period or wish was dealt with."""
    values = {"id": briefing_id, "next_due_at": next_due_at, "dealt_with": dealt_with, "asked_at": asked_at}
    connection.execute(_SETTLE, values)


def fail(connection: Connection, briefing_id: UUID, *, code: str, detail: str, next_due_at: datetime | None) -> None:
    """Say why there is no edition; ``None`` leaves the time at which it is tried."""
    connection.execute(_FAIL, {"id": briefing_id, "code": code, "detail": detail, "next_due_at": next_due_at})
