"""Sources in PostgreSQL as their followers see them: found through the caller's subscription, never by id alone.

Here they are made, followed and woken, any number at once, and looked after by hand. Whoever changes a source takes its
row, behind its poll's job (``siftline.jobs.jobs_store.take``), and several in the order of their keys: so changes
happen one after another, and none waits for one who waits for it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Annotated, Any
from uuid import UUID

from psycopg.rows import class_row, kwargs_row, scalar_row
from psycopg.types.json import Jsonb
from pydantic import BeforeValidator

from siftline.api.http.paging import Cursor, behind
from siftline.api.http.shapes import Cause
from siftline.api.sources.source_addresses import Address
from siftline.api.sources.source_models import Candidate, Source
from siftline.contracts import JobType
from siftline.jobs import jobs_store as jobs
from siftline.kit.db import Connection
from siftline.kit.ids import new_id
from siftline.kit.stored import all_readable
from siftline.net.urls import stored_key


class SourceRow(Source):
    """A source as one subscriber sees it, but for what its error and its live job say in words (``sources``)."""

    candidates: Annotated[list[Candidate], BeforeValidator(partial(all_readable, Candidate))]
    topics: Annotated[list[str], BeforeValidator(partial(all_readable, str))]
    subscription_id: UUID
    last_error_code: str | None
    last_error_detail: str | None
    last_error: Cause | None = None
    waiting_until: datetime | None = None
    waiting_reason: str | None = None


@dataclass(frozen=True, slots=True)
class Taken:
    """A source's row, as far as changing it needs it."""

    id: UUID
    health: str
    subscribers: int


@dataclass(frozen=True, slots=True)
class Wish:
    """What a user wants to follow, and how."""

    address: Address
    title: str | None = None
    topics: Sequence[str] = ()
    refresh_minutes: int | None = None
    refresh_min_minutes: int | None = None
    refresh_max_minutes: int | None = None
    first_import: str | None = None
    """Counts where the source is new."""


@dataclass(frozen=True, slots=True)
class HeldSource:
    """A source's row, held until the transaction ends."""

    id: UUID
    url_key: str
    status: str
    health: str
    imported: bool


_TAKE = """
select s.id, s.health, (select count(*)::int from subscriptions b where b.source_id = s.id) as subscribers
from sources s
where s.id = %(source_id)s and exists (
  select from subscriptions b where b.source_id = s.id and b.user_id = %(user_id)s)
for update of s
"""

_SUBSCRIPTION_CHANGE = """
update subscriptions set
  title = case when %(set_title)s then %(title)s else title end,
  topics = case when %(set_topics)s then %(topics)s else topics end,
  refresh_minutes = case when %(set_refresh_minutes)s then %(refresh_minutes)s else refresh_minutes end,
  refresh_min_minutes = case when %(set_refresh_min_minutes)s then %(refresh_min_minutes)s
    else refresh_min_minutes end,
  refresh_max_minutes = case when %(set_refresh_max_minutes)s then %(refresh_max_minutes)s
    else refresh_max_minutes end
where source_id = %(source_id)s and user_id = %(user_id)s
"""

_UNSUBSCRIBE = "delete from subscriptions where source_id = %(source_id)s and user_id = %(user_id)s"

_DEACTIVATE = """
update sources set health = 'inactive', fetch_status = 'IDLE', next_fetch_reason = %(reason)s, updated_at = now()
where id = %(source_id)s
"""

# An item is of the source that brought it and of all that list its page too; each page is counted once a source.
_LIST = """
with shown as materialized (
  select b.id, b.source_id from subscriptions b join sources s on s.id = b.source_id
  where b.user_id = %(user_id)s
    and (%(source_id)s::uuid is null or s.id = %(source_id)s)
    and (%(health)s::text is null or s.health = %(health)s)
    and (%(folder_id)s::uuid is null or exists (select from folder_sources f
      where f.folder_id = %(folder_id)s and f.user_id = b.user_id and f.source_id = b.source_id))
    and (%(after_at)s::timestamptz is null or (b.created_at, b.id) < (%(after_at)s, %(after_id)s::uuid))
  order by b.created_at desc, b.id desc limit %(limit)s),
listed as materialized (
  select source_id, count(*)::int as items
  from (
    select i.source_id, i.content_id from items i join shown on shown.source_id = i.source_id
    where i.user_id = %(user_id)s
    union
    select e.source_id, i.content_id from source_entries e join shown on shown.source_id = e.source_id
      join items i on i.content_id = e.content_id
    where i.user_id = %(user_id)s) as pages
  group by source_id)
select b.id as subscription_id, s.id, s.kind, coalesce(b.url, s.url) as url, s.options ->> 'selector' as selector,
  s.feed_url, s.candidates, s.resolved_url, s.site_url, coalesce(b.title, s.title) as title, b.topics,
  coalesce((select jsonb_agg(jsonb_build_object('id', f.id, 'name', f.name) order by lower(f.name))
    from folder_sources placed join folders f on f.id = placed.folder_id
    where placed.user_id = b.user_id and placed.source_id = b.source_id), '[]') as folders,
  s.refresh_minutes, b.refresh_minutes as own_refresh_minutes,
  b.refresh_min_minutes as own_refresh_min_minutes, b.refresh_max_minutes as own_refresh_max_minutes,
  s.fetch_status as status, s.health,
  s.consecutive_failures, s.last_fetch_at, s.last_success_at, s.next_fetch_at, s.next_fetch_reason, s.last_error_code,
  s.last_error_detail, s.skipped_entries, s.imported_at,
  coalesce(listed.items, 0) as items,
  b.created_at as subscribed_at
from shown join subscriptions b on b.id = shown.id join sources s on s.id = shown.source_id
  left join listed on listed.source_id = s.id
order by b.created_at desc, b.id desc
"""

_PUT = """
insert into sources (id, kind, url, url_key, options, first_import, typed_origin, next_fetch_at, next_fetch_reason)
select id, kind, url, url_key, options, first_import, typed_origin, now() + minutes * interval '1 minute',
  'first fetch is queued'
from unnest(%(ids)b::uuid[], %(kinds)b::text[], %(urls)b::text[], %(keys)b::text[], %(options)b::jsonb[],
            %(first_imports)s::text[], %(typed)s::text[], %(minutes)b::int4[])
  as new (id, kind, url, url_key, options, first_import, typed_origin, minutes)
order by url_key on conflict (url_key) do nothing
"""
# What a newcomer's spelling adds: that it can be asked with https, and what they typed of this machine.
_LEARN = """
with held as (
  select id from sources where url_key = any(%(keys)b::text[]) and typed_origin is null
  order by url_key for no key update)
update sources set typed_origin = coalesce(sources.typed_origin, new.typed_origin), updated_at = now(),
  url = case when sources.url like 'http://%%' and new.url like 'https://%%' and sources.typed_origin is null
    then new.url else sources.url end
from held, unnest(%(keys)b::text[], %(urls)b::text[], %(typed)s::text[]) as new (url_key, url, typed_origin)
where sources.id = held.id and sources.url_key = new.url_key and sources.typed_origin is null
  and (new.typed_origin is not null or (sources.url like 'http://%%' and new.url like 'https://%%'))
"""
_IDS = "select id from sources where url_key = any(%(keys)b::text[])"
# The strong lock at once and nothing before it: it waits for a poll that is being written (whose entries hold the row
# weakly and which will change it at its end), and a poll that comes later sees the new subscriber.
_TAKE_BY_KEYS = """
select id, url_key, fetch_status as status, health, imported_at is not null as imported
from sources where url_key = any(%(keys)b::text[]) order by url_key for update
"""

_SUBSCRIBE = """
insert into subscriptions (id, user_id, source_id, url, title, topics, refresh_minutes, refresh_min_minutes,
  refresh_max_minutes)
select id, %(user_id)s, source_id, url, title, topics, every, least, most
from unnest(%(ids)b::uuid[], %(source_ids)b::uuid[], %(urls)s::text[], %(titles)s::text[], %(topics)b::jsonb[],
            %(every)s::int4[], %(least)s::int4[], %(most)s::int4[])
  as new (id, source_id, url, title, topics, every, least, most)
order by source_id on conflict (user_id, source_id) do nothing
returning source_id
"""

# Where a source is really polled, once that was found or said: of what a user follows, and of what is wanted.
_ALIASES = """
select s.id, s.url_key, coalesce(s.adopted_url, s.feed_url) as polled_url,
  exists (select from subscriptions b where b.source_id = s.id and b.user_id = %(user_id)s) as followed
from sources s
where s.kind = 'rss' and coalesce(s.adopted_url, s.feed_url) is not null
  and (s.url_key = any(%(keys)b::text[])
       or s.id in (select source_id from subscriptions where user_id = %(user_id)s))
order by s.id
"""
_FOLLOWED = """
select s.url_key, s.id from sources s join subscriptions b on b.source_id = s.id
where b.user_id = %(user_id)s and s.url_key = any(%(keys)b::text[])
"""
_COUNT = "select count(*) from subscriptions where user_id = %(user_id)s"

_WISH = """
select b.title, b.topics, b.refresh_minutes, b.refresh_min_minutes, b.refresh_max_minutes, s.first_import
from subscriptions b join sources s on s.id = b.source_id
where b.user_id = %(user_id)s and b.source_id = %(source_id)s
"""

# What stands in the ledger without its content was deleted by who held it; only the whole feed brings it back.
_ASK_WHOLE = """
update sources set last_full_at = null, body_sha256 = null, updated_at = now()
where id = any(%(source_ids)b::uuid[]) and exists (
  select from source_entries e where e.source_id = sources.id and e.content_id is null and e.url_key is not null
    and not exists (select from item_tombstones t where t.url_key = e.url_key and t.user_id = %(user_id)s))
returning id
"""

_REVIVE = """
update sources set health = 'active', consecutive_failures = 0, last_error_code = null, last_error_detail = null,
  fetch_status = case fetch_status when 'ERROR' then 'IDLE' else fetch_status end,
  next_fetch_at = now() + refresh_minutes * interval '1 minute', next_fetch_reason = %(reason)s, updated_at = now()
where id = any(%(source_ids)b::uuid[])
"""


def take_source(connection: Connection, source_id: UUID, user_id: UUID) -> Taken | None:
    """Hold the row of a source that a user follows."""
    with connection.cursor(row_factory=class_row(Taken)) as cursor:
        return cursor.execute(_TAKE, {"source_id": source_id, "user_id": user_id}).fetchone()


def key_of(connection: Connection, source_id: UUID) -> str:
    """Return the key of a source that there is."""
    [(key,)] = connection.execute("select url_key from sources where id = %s", (source_id,)).fetchall()
    return str(key)


def typed_origin(connection: Connection, source_id: UUID) -> str | None:
    """Return the origin of this machine that somebody typed as they followed a source."""
    with connection.cursor(row_factory=scalar_row) as cursor:
        return cursor.execute("select typed_origin from sources where id = %s", (source_id,)).fetchone()


def change_subscription(connection: Connection, user_id: UUID, source_id: UUID, changes: Mapping[str, Any]) -> None:
    """Change what is a user's own about a source; only the fields named in ``changes``."""
    values: dict[str, Any] = {"source_id": source_id, "user_id": user_id}
    for name in ("title", "topics", "refresh_minutes", "refresh_min_minutes", "refresh_max_minutes"):
        values[f"set_{name}"] = name in changes
        values[name] = changes.get(name)
    values["topics"] = Jsonb(values["topics"] or [])
    connection.execute(_SUBSCRIPTION_CHANGE, values)


def unsubscribe(connection: Connection, user_id: UUID, source_id: UUID) -> None:
    """Let a user no longer follow a source."""
    connection.execute(_UNSUBSCRIBE, {"user_id": user_id, "source_id": source_id})


def deactivate(connection: Connection, source_id: UUID, *, reason: str) -> None:
    """Poll a source no more; what it brought stays."""
    connection.execute(_DEACTIVATE, {"source_id": source_id, "reason": reason})


def list_sources(
    connection: Connection,
    user_id: UUID,
    *,
    limit: int,
    after: Cursor | None = None,
    health: str | None = None,
    source_id: UUID | None = None,
    folder_id: UUID | None = None,
) -> list[SourceRow]:
    """Return what a user follows, newest subscription first, at most ``limit``, beginning behind ``after``."""
    values = {
        "user_id": user_id,
        "source_id": source_id,
        "folder_id": folder_id,
        "health": health,
        **behind(after),
        "limit": limit,
    }
    with connection.cursor(row_factory=class_row(SourceRow)) as cursor:
        return cursor.execute(_LIST, values).fetchall()


def put_sources(connection: Connection, wishes: Sequence[Wish], *, default_minutes: int) -> dict[str, HeldSource]:
    """Return the one source of each wish's key, made now or before, its row held, and before it its poll's job."""
    wanted = {wish.address.key: wish for wish in wishes}
    addresses, keys = [wish.address for wish in wanted.values()], list(wanted)
    values = {
        "ids": [new_id() for _ in addresses],
        "kinds": [address.kind.value for address in addresses],
        "urls": [address.url for address in addresses],
        "keys": keys,
        "options": [Jsonb(dict(address.options)) for address in addresses],
        "first_imports": [wish.first_import for wish in wanted.values()],
        "typed": [address.typed_origin for address in addresses],
        "minutes": [wish.refresh_minutes or default_minutes for wish in wanted.values()],
    }

    def put() -> dict[str, HeldSource]:
        connection.execute(_PUT, values)
        return take_sources(connection, keys)

    found = jobs.take(connection, lambda: ids_of(connection, keys), put, JobType.FETCH_SOURCE)
    connection.execute(_LEARN, values)
    return found


def take_sources(connection: Connection, keys: Sequence[str]) -> dict[str, HeldSource]:
    """Hold the sources' rows; their polls' jobs go before (``siftline.jobs.jobs_store.take``)."""
    with connection.cursor(row_factory=class_row(HeldSource)) as cursor:
        return {found.url_key: found for found in cursor.execute(_TAKE_BY_KEYS, {"keys": list(keys)})}


def ids_of(connection: Connection, keys: Sequence[str]) -> list[UUID]:
    """Return the sources of these keys, as many as there are."""
    with connection.cursor(row_factory=scalar_row) as cursor:
        return cursor.execute(_IDS, {"keys": list(keys)}).fetchall()


def subscribe(connection: Connection, user_id: UUID, asked: Sequence[tuple[UUID, Wish]]) -> set[UUID]:
    """Let a user follow sources; returns those that they did not follow before."""
    wishes = [wish for _, wish in asked]
    values = {
        "user_id": user_id,
        "ids": [new_id() for _ in asked],
        "source_ids": [source_id for source_id, _ in asked],
        "urls": [wish.address.own_url for wish in wishes],
        "titles": [wish.title for wish in wishes],
        "topics": [Jsonb(list(wish.topics)) for wish in wishes],
        "every": [wish.refresh_minutes for wish in wishes],
        "least": [wish.refresh_min_minutes for wish in wishes],
        "most": [wish.refresh_max_minutes for wish in wishes],
    }
    with connection.cursor(row_factory=scalar_row) as cursor:
        return set(cursor.execute(_SUBSCRIBE, values))


def followed_by_key(connection: Connection, user_id: UUID, keys: Sequence[str]) -> dict[str, UUID]:
    """Return which of these sources a user follows."""
    return dict(connection.execute(_FOLLOWED, {"user_id": user_id, "keys": list(keys)}).fetchall())


def followed_otherwise(connection: Connection, user_id: UUID, keys: Sequence[str]) -> dict[str, UUID]:
    """Return which of these sources a user follows under another address, and what that source is.

    A site and the feed that was found there are one, and so is an address and where it has moved to for good.
    """
    aliases = connection.execute(_ALIASES, {"user_id": user_id, "keys": list(keys)}).fetchall()
    keyed = {key: stored_key(url) for _, key, url, _ in aliases}
    polled = {key: own for key, own in keyed.items() if own is not None}
    wanted = [*keys, *(polled[key] for key in keys if key in polled)]
    direct = followed_by_key(connection, user_id, wanted)
    held = {polled[key]: source_id for source_id, key, _, followed in aliases if followed and key in polled} | direct
    found = {key: held.get(key) or held.get(polled.get(key, key)) for key in keys if key not in direct}
    return {key: source_id for key, source_id in found.items() if source_id is not None}


def count_followed(connection: Connection, user_id: UUID) -> int:
    """Return how many sources a user follows."""
    [(count,)] = connection.execute(_COUNT, {"user_id": user_id}).fetchall()
    return int(count)


def wish_of(connection: Connection, user_id: UUID, source_id: UUID, address: Address) -> Wish:
    """Return what a follower wishes for a source, as a wish for another at ``address``."""
    with connection.cursor(row_factory=kwargs_row(partial(Wish, address))) as cursor:
        [wish] = cursor.execute(_WISH, {"user_id": user_id, "source_id": source_id}).fetchall()
    return wish


def ask_whole(connection: Connection, source_ids: Sequence[UUID], user_id: UUID) -> set[UUID]:
    """Let the next poll ask for the whole feed where others deleted what this user has never had; returns where."""
    with connection.cursor(row_factory=scalar_row) as cursor:
        return set(cursor.execute(_ASK_WHOLE, {"source_ids": list(source_ids), "user_id": user_id}))


def revive(connection: Connection, source_ids: Sequence[UUID], *, reason: str) -> None:
    """Make sources healthy, forgetting their failures; the caller queues their fetches."""
    connection.execute(_REVIVE, {"source_ids": list(source_ids), "reason": reason})
