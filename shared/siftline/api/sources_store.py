"""Sources and subscriptions in PostgreSQL. A source is found through the caller's subscription, never by id alone.

Subscribing, unsubscribing and changes by hand first take the source's row, so that they happen one after another.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from psycopg.rows import class_row, scalar_row
from psycopg.types.json import Jsonb

from siftline.api.paging import Cursor
from siftline.kit.db import Connection
from siftline.kit.ids import new_id


@dataclass(frozen=True, slots=True)
class SourceRow:
    """A source as one subscriber sees it."""

    subscription_id: UUID
    id: UUID
    kind: str
    url: str
    resolved_url: str | None
    site_url: str | None
    title: str | None
    topics: list[str]
    refresh_minutes: int
    own_refresh_minutes: int | None
    own_refresh_min_minutes: int | None
    own_refresh_max_minutes: int | None
    status: str
    health: str
    consecutive_failures: int
    last_fetch_at: datetime | None
    last_success_at: datetime | None
    next_fetch_at: datetime
    next_fetch_reason: str
    last_error_code: str | None
    last_error_detail: str | None
    skipped_entries: int
    imported_at: datetime | None
    items: int
    subscribed_at: datetime


@dataclass(frozen=True, slots=True)
class Taken:
    """A source's row, held until the transaction ends."""

    id: UUID
    url: str
    status: str
    health: str
    imported: bool
    subscribers: int


_PUT = """
insert into sources (id, kind, url, url_key, first_import, next_fetch_at, next_fetch_reason)
values (%(id)s, %(kind)s, %(url)s, %(url_key)s, %(first_import)s, now() + %(minutes)s * interval '1 minute',
  'first fetch is queued')
on conflict (url_key) do nothing
"""
# The strong lock at once and nothing before it: it waits for a poll that is being written (whose entries hold the row
# weakly and which will change it at its end), and a poll that comes later sees the new subscriber.
_TAKE_BY_KEY = "select id from sources where url_key = %(url_key)s for update"

_TAKE = """
select s.id, coalesce(s.resolved_url, s.url) as url, s.fetch_status as status, s.health,
  s.imported_at is not null as imported,
  (select count(*)::int from subscriptions b where b.source_id = s.id) as subscribers
from sources s where s.id = %(source_id)s
  and (%(user_id)s::uuid is null
       or exists (select from subscriptions b where b.source_id = s.id and b.user_id = %(user_id)s))
for update of s
"""

_SUBSCRIBE = """
insert into subscriptions (id, user_id, source_id, title, topics, refresh_minutes, refresh_min_minutes,
  refresh_max_minutes)
values (%(id)s, %(user_id)s, %(source_id)s, %(title)s, %(topics)s, %(refresh_minutes)s, %(refresh_min_minutes)s,
  %(refresh_max_minutes)s)
on conflict (user_id, source_id) do nothing
returning id
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

# Nobody is made to wait by another's wish: the most frequent one counts, and a lower limit only where all have one.
# What the server asked for stands above all wishes.
_SETTLE_REFRESH = """
update sources set wished_minutes = wanted.minutes, refresh_min_minutes = wanted.least,
  refresh_max_minutes = wanted.most, updated_at = now(),
  refresh_minutes = coalesce(wanted.minutes, case when wished_minutes is null then refresh_minutes end, %(default)s),
  next_fetch_at = case when consecutive_failures > 0 then next_fetch_at
    else greatest(fresh_until, least(next_fetch_at, coalesce(last_fetch_at, now())
      + coalesce(wanted.minutes, greatest(wanted.most, wanted.least)) * interval '1 minute')) end
from (select min(refresh_minutes) as minutes, min(refresh_max_minutes) as most,
        case when count(*) = count(refresh_min_minutes) then min(refresh_min_minutes) end as least
      from subscriptions where source_id = %(source_id)s) wanted
where id = %(source_id)s and (wished_minutes, sources.refresh_min_minutes, sources.refresh_max_minutes)
  is distinct from (wanted.minutes, wanted.least, wanted.most)
"""

# What stands in the ledger without its content was deleted by who held it; only the whole feed brings it back.
_ASK_WHOLE = """
update sources set last_full_at = null, body_sha256 = null, updated_at = now()
where id = %(source_id)s and exists (
  select from source_entries e where e.source_id = %(source_id)s and e.content_id is null and e.url_key is not null
    and not exists (select from item_tombstones t where t.url_key = e.url_key and t.user_id = %(user_id)s))
returning id
"""

_REVIVE = """
update sources set health = 'active', consecutive_failures = 0, last_error_code = null, last_error_detail = null,
  fetch_status = case fetch_status when 'ERROR' then 'IDLE' else fetch_status end,
  next_fetch_at = now() + refresh_minutes * interval '1 minute', next_fetch_reason = %(reason)s, updated_at = now()
where id = %(source_id)s
"""

_DEACTIVATE = """
update sources set health = 'inactive', fetch_status = 'IDLE', next_fetch_reason = %(reason)s, updated_at = now()
where id = %(source_id)s
"""

_LIST = """
select b.id as subscription_id, s.id, s.kind, s.url, s.resolved_url, s.site_url, coalesce(b.title, s.title) as title,
  b.topics, s.refresh_minutes, b.refresh_minutes as own_refresh_minutes,
  b.refresh_min_minutes as own_refresh_min_minutes, b.refresh_max_minutes as own_refresh_max_minutes,
  s.fetch_status as status, s.health,
  s.consecutive_failures, s.last_fetch_at, s.last_success_at, s.next_fetch_at, s.next_fetch_reason, s.last_error_code,
  s.last_error_detail, s.skipped_entries, s.imported_at,
  (select count(*)::int from items i where i.source_id = s.id and i.user_id = b.user_id) as items,
  b.created_at as subscribed_at
from subscriptions b join sources s on s.id = b.source_id
where b.user_id = %(user_id)s
  and (%(source_id)s::uuid is null or s.id = %(source_id)s)
  and (%(health)s::text is null or s.health = %(health)s)
  and (%(after_at)s::timestamptz is null or (b.created_at, b.id) < (%(after_at)s, %(after_id)s::uuid))
order by b.created_at desc, b.id desc limit %(limit)s
"""


def put_source(
    connection: Connection, *, kind: str, url: str, url_key: str, first_import: str | None, minutes: int
) -> UUID:
    """Return the one source of this key, made now or before, its row held; ``first_import`` counts for a new one."""
    values = {
        "id": new_id(),
        "kind": kind,
        "url": url,
        "url_key": url_key,
        "first_import": first_import,
        "minutes": minutes,
    }
    with connection.cursor(row_factory=scalar_row) as cursor:
        cursor.execute(_PUT, values)
        [source_id] = cursor.execute(_TAKE_BY_KEY, values).fetchall()
    found: UUID = source_id
    return found


def take_source(connection: Connection, source_id: UUID, user_id: UUID | None = None) -> Taken | None:
    """Hold a source's row; with a user, only one that they follow."""
    with connection.cursor(row_factory=class_row(Taken)) as cursor:
        return cursor.execute(_TAKE, {"source_id": source_id, "user_id": user_id}).fetchone()


def subscribe(
    connection: Connection,
    user_id: UUID,
    source_id: UUID,
    *,
    title: str | None,
    topics: Sequence[str],
    refresh_minutes: int | None,
    refresh_min_minutes: int | None = None,
    refresh_max_minutes: int | None = None,
) -> bool:
    """Let a user follow a source; false if they do already."""
    values = {
        "id": new_id(),
        "user_id": user_id,
        "source_id": source_id,
        "title": title,
        "topics": Jsonb(list(topics)),
        "refresh_minutes": refresh_minutes,
        "refresh_min_minutes": refresh_min_minutes,
        "refresh_max_minutes": refresh_max_minutes,
    }
    return connection.execute(_SUBSCRIBE, values).fetchone() is not None


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


def settle_refresh(connection: Connection, source_id: UUID, *, default_minutes: int) -> None:
    """Set how often a source is polled to the most frequent wish of its subscribers, or else within their limits.

    Where the last wish is gone it begins with ``default_minutes``.
    """
    connection.execute(_SETTLE_REFRESH, {"source_id": source_id, "default": default_minutes})


def ask_whole(connection: Connection, source_id: UUID, user_id: UUID) -> bool:
    """Let the next poll ask for the whole feed, if others deleted what this user has never had; says whether so."""
    return connection.execute(_ASK_WHOLE, {"source_id": source_id, "user_id": user_id}).fetchone() is not None


def revive(connection: Connection, source_id: UUID, *, reason: str) -> None:
    """Make a source healthy, forgetting its failures; the caller queues its fetch."""
    connection.execute(_REVIVE, {"source_id": source_id, "reason": reason})


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
) -> list[SourceRow]:
    """Return what a user follows, newest subscription first, at most ``limit``, beginning behind ``after``."""
    values = {
        "user_id": user_id,
        "source_id": source_id,
        "health": health,
        "after_at": after.at if after else None,
        "after_id": after.id if after else None,
        "limit": limit,
    }
    with connection.cursor(row_factory=class_row(SourceRow)) as cursor:
        return cursor.execute(_LIST, values).fetchall()
