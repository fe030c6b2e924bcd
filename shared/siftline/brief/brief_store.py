"""Briefings, what is new for one, what it told before, and its frozen editions, in PostgreSQL."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from psycopg.rows import class_row, dict_row, scalar_row
from psycopg.types.json import Jsonb

from siftline.brief.edition_model import (
    Briefing,
    CameIn,
    Choice,
    Coverage,
    EditionCandidate,
    FailedSource,
    Freshness,
    Told,
    Window,
)
from siftline.brief.selection import NEAR, PER_SOURCE, SCORE_UNKNOWN
from siftline.catalog.usable_rows import entries_of
from siftline.kit.db import Connection

EARLIEST = datetime(1971, 1, 1, tzinfo=UTC)
"""What says that it was published before this was not: year 1 and Unix 0 are what programs say of nothing."""
OF_STORY_MAX = 100
"""So many contents of a story are told at most; of more it is known how many."""
GRACE = timedelta(minutes=10)
"""So long at most a transaction lasts in which something becomes READY or a user's."""
COMPARED_LATE = timedelta(days=1)
"""What was only compared with a briefing's interests after the window had closed belongs to the next one, so long."""

_KNOWN_MAX = 1_000  # stories told before and gone on since; of more, the least are as those without a place
_TITLE_CHARS = 300
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

# Where a content stands: the source's title as the user has it, the page's site, or the address's host.
_SITE = """coalesce(nullif(b.title, ''), nullif(s.title, ''), (
    select coalesce(nullif(f.title, ''), nullif(fs.title, ''))
    from source_entries n join subscriptions f on f.source_id = n.source_id and f.user_id = i.user_id
      join sources fs on fs.id = n.source_id
    where n.content_id = c.id order by n.first_seen_at, n.source_id limit 1),
    nullif(c.site_name, ''), substring(c.url from '//([^/:]+)'), c.url)"""
# A time before the first news on the web, or after it was seen, is none: then it counts when it was first seen.
_CAN_BE = "{at} between %(earliest)s and %(end)s + interval '1 day'"
# All that came in during the window, each content of the user's once: not told, and not seen by the edition before.
# ``left_out`` is why a content is none to choose from. Duplicates of one content count as that one, and a story that is
# known gives its key. One pass over what the user holds; nothing wide is read here.
_CAME = f"""
with recursive came as materialized (
  select c.id as content_id, i.id as item_id, c.status, i.read_at is not null as read, i.saved,
    c.duplicate_of is not null as duplicate,
    coalesce(k.story_id, o.story_id, c.duplicate_of, c.id) as story_key, {_SITE} as site, counted.at,
    not coalesce({_CAN_BE.format(at="coalesce(c.published_at, i.told_at)")}, false) as undated,
    item_rank(i.score, counted.at, %(end)s, %(freshness_weight)s, %(half_life_s)s) as score, l.value as likeness
  from items i join contents c on c.id = i.content_id
    left join sources s on s.id = i.source_id
    left join subscriptions b on b.source_id = i.source_id and b.user_id = i.user_id
    left join story_items k on k.user_id = i.user_id and k.content_id = c.id
    left join story_items o on o.user_id = i.user_id and o.content_id = c.duplicate_of
    left join briefing_likeness l on l.briefing_id = %(briefing_id)s and l.content_id = c.id
    cross join lateral (select case when {_CAN_BE.format(at="c.sort_at")} then c.sort_at
      when {_CAN_BE.format(at="c.first_seen_at")} then c.first_seen_at else i.created_at end as at) counted
  where i.user_id = %(user_id)s and (
    (c.status <> 'READY' and i.created_at > %(start)s and i.created_at <= %(end)s)
    or (c.status = 'READY' and greatest(i.created_at, c.ready_at) <= %(end)s
      and (greatest(i.created_at, c.ready_at) > %(since)s
        or (l.made_at > %(since)s and greatest(i.created_at, c.ready_at) > %(compared_late)s))
      and c.id not in (select content_id from edition_items where briefing_id = %(briefing_id)s)
      and c.id not in (select unnest(looked_at) from editions where id = (
        select id from editions where briefing_id = %(briefing_id)s order by window_until desc, id desc limit 1))))
), compared as (
  select coalesce(bool_or(likeness is not null), false) as any_of from came
  where status = 'READY' and not read and (saved or at > %(oldest)s)
), judged as (
  select came.*, case
    when status = 'FAILED' then 'failed' when status <> 'READY' then 'waiting' when read then 'read'
    when not saved and at <= %(oldest)s then 'too_old'
    when %(near_only)s and compared.any_of and coalesce(likeness, 0) < %(near)s then 'not_about'
    when content_id = any(%(unusable)b::uuid[]) then 'unusable' end as left_out,
    coalesce(least(greatest((coalesce(score, 0) + coalesce(likeness, 0))
      / nullif(num_nonnulls(score, likeness), 0), 0), 1), %(unknown)s) as relevance
  from came cross join compared)
"""  # noqa: S608 - made of constants only
# The best stories of the whole window, by what ``selection`` orders them by, and all that an earlier edition told: one
# of these takes no place unless it changed. Of each story the best contents, one of each site first. Beside each row,
# and alone where there is none, stands what all that came in adds up to.
_LOOK = f"""
{_CAME}, counted as (
  select count(*)::int as came_in, count(*) filter (where left_out = 'failed')::int as failed,
    count(*) filter (where left_out = 'waiting')::int as waiting,
    count(*) filter (where left_out = 'read')::int as read,
    count(*) filter (where left_out = 'too_old')::int as too_old,
    count(*) filter (where left_out = 'not_about')::int as not_about,
    count(*) filter (where left_out = 'unusable')::int as unusable,
    count(*) filter (where left_out is null)::int as looked_at, (select count(*) from stories)::int as stories,
    count(*) filter (where left_out is null and undated)::int as undated, (select any_of from compared) as compared,
    count(*) filter (where left_out is null and duplicate)::int as duplicates
  from judged
), known as (
  select distinct coalesce(k.story_id, e.story_key) as story_key
  from edition_items e left join story_items k on k.user_id = %(user_id)s and k.content_id = e.content_id
  where e.briefing_id = %(briefing_id)s
), stories as (
  select story_key, count(*) as size, max(at) as newest, story_key in (select story_key from known) as known,
    1 - (1 - max(relevance)) / (1 + %(per_source)s * ln(count(distinct site))::float8) as weight
  from judged where left_out is null group by story_key
), chosen as materialized (
  select * from (
    select stories.*, row_number() over (partition by known order by weight desc, newest desc, story_key) as place
    from stories) as ordered
  where place <= case when known then %(known_max)s else %(places)s end
), members as materialized (
  select * from (
    select of_site.*, row_number() over (
      partition by story_key order by place_of_site, relevance desc, at desc, content_id) as place_of_story
    from (
      select judged.*, row_number() over (
        partition by story_key, site order by relevance desc, at desc, content_id) as place_of_site
      from judged where left_out is null and story_key in (select story_key from chosen)) as of_site) as ordered
  where place_of_story <= %(of_story_max)s)
select to_jsonb(counted) as counted,
  m.content_id, coalesce(c.duplicate_of, c.id) as original_id, m.item_id, m.story_key,
  left(coalesce(nullif(c.title, ''), i.told_title, i.url, c.url), %(title_chars)s) as title,
  coalesce(i.url, c.url) as url,
  left(m.site, %(title_chars)s) as site, i.source_id, c.lang, c.summary,
  array(select t ->> 'topic' from {entries_of("c.topics")} as t where t ->> 'topic' is not null) as topics,
  case when {_CAN_BE.format(at="coalesce(c.published_at, i.told_at)")}
    then coalesce(c.published_at, i.told_at) end as published_at, m.at as sort_at, m.score,
  coalesce(i.score_reasons, '[]') as reasons, m.likeness, l.about, chosen.size::int as story_size
from counted left join (
  members m join chosen using (story_key) join contents c on c.id = m.content_id join items i on i.id = m.item_id
  left join briefing_likeness l on l.briefing_id = %(briefing_id)s and l.content_id = m.content_id) on true
order by m.story_key, m.place_of_story
"""  # noqa: S608 - made of constants only
_HAVE_VECTORS = f"""
{_CAME} select exists (select from judged join embeddings using (content_id) where left_out is null)
"""  # noqa: S608 - made of constants only

# What was told is of the story that it belongs to now; a content that was a story of its own may since be in another's.
# What an edition saw shortly before its window closed. A window is told by times, and a transaction that was not over
# when it closed has times within it: the next edition looks back for these. By what the edition before wrote down here
# it tells them from what was seen and left out.
_LOOKED_AT = """
select c.id
from items i join contents c on c.id = i.content_id
  left join briefing_likeness l on l.briefing_id = %(briefing_id)s and l.content_id = c.id
where i.user_id = %(user_id)s and c.status = 'READY' and greatest(i.created_at, c.ready_at) <= %(end)s
  and (greatest(i.created_at, c.ready_at) > %(since)s
    or (l.made_at > %(since)s and greatest(i.created_at, c.ready_at) > %(compared_late)s))
  and (l.value is not null or not %(compared_only)s)
order by c.id
"""
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


@dataclass(frozen=True, slots=True)
class Looking:
    """What an edition looks at, and by what it judges that. ``places``: so many stories that were not told before."""

    briefing: Briefing
    window: Window
    oldest: datetime
    """What counts as published until then is too old, unless it was saved by hand."""
    freshness: Freshness
    places: int
    unusable: Sequence[UUID] = ()
    """Contents that cannot be told: they take no place, and are no part of their stories."""
    widened: int = 1
    """So many times as much is loaded as an edition needs: to find what else cannot be told."""

    def values(self) -> dict[str, Any]:
        """Return the parameters of the statements below."""
        return {
            "user_id": self.briefing.user_id,
            "briefing_id": self.briefing.id,
            "start": self.window.start,
            "since": self.window.start - GRACE,
            "compared_late": self.window.start - COMPARED_LATE,
            "end": self.window.end,
            "earliest": EARLIEST,
            "oldest": self.oldest,
            "freshness_weight": self.freshness.weight,
            "half_life_s": self.freshness.half_life_s,
            "near_only": self.briefing.about,
            "near": NEAR,
            "unknown": SCORE_UNKNOWN,
            "per_source": PER_SOURCE,
            "unusable": list(self.unusable),
            "places": self.places * self.widened,
            "known_max": _KNOWN_MAX * self.widened,
            "of_story_max": OF_STORY_MAX * self.widened,
            "title_chars": _TITLE_CHARS,
        }


def look(connection: Connection, looking: Looking) -> tuple[CameIn, Sequence[EditionCandidate]]:
    """Count all that came in, and return its best stories and those that were told before, each by its best contents.

    They are found in the database, in one pass: how much came in makes no difference to what is loaded.
    """
    with connection.cursor(row_factory=dict_row) as cursor:
        rows = cursor.execute(_LOOK, looking.values()).fetchall()
    counted = [CameIn(**row.pop("counted")) for row in rows]
    return counted[0], [EditionCandidate(**row) for row in rows if row["content_id"] is not None]


def have_vectors(connection: Connection, looking: Looking) -> bool:
    """Say whether any of what is chosen from can be compared with interests."""
    [(found,)] = connection.execute(_HAVE_VECTORS, looking.values()).fetchall()
    return bool(found)


def looked_at(connection: Connection, briefing: Briefing, end: datetime, *, compared_only: bool) -> Sequence[UUID]:
    """Return the contents that an edition whose window closes at ``end`` sees and the next one might see again.

    ``compared_only``: what has not been compared with the briefing's interests was not judged, and may come again.
    """
    values = {
        "briefing_id": briefing.id,
        "user_id": briefing.user_id,
        "end": end,
        "since": end - GRACE,
        "compared_late": end - GRACE - COMPARED_LATE,
        "compared_only": compared_only,
    }
    with connection.cursor(row_factory=scalar_row) as cursor:
        return cursor.execute(_LOOKED_AT, values).fetchall()


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


def freeze(connection: Connection, edition: Edition, choice: Choice) -> bool:
    """Claim the edition's period and write it; ``False`` where another run made this period's edition already."""
    values = {
        **asdict(edition),
        "stories": len(edition.document["stories"]),
        "document": Jsonb(edition.document),
        "looked_at": list(edition.looked_at),
    }
    if connection.execute(_CLAIM, values).fetchone() is None:
        return False
    rows = [(place, slot, one) for place, slot in enumerate(choice.slots, 1) for one in (slot.lead, *slot.others)]
    if rows:
        connection.execute(
            _TELL,
            {
                "edition_id": edition.id,
                "briefing_id": edition.briefing_id,
                "content_ids": [one.content_id for _, _, one in rows],
                "story_keys": [slot.story_key for _, slot, _ in rows],
                "sites": [one.site for _, _, one in rows],
                "places": [place for place, _, _ in rows],
                "leads": [one is slot.lead for _, slot, one in rows],
                "updates": [slot.update for _, slot, _ in rows],
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
