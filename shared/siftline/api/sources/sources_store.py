"""Sources in PostgreSQL as their followers see them: found through the caller's subscription, never by id alone.

What changes a subscription by hand first takes the source's row, so that changes happen one after another; its job,
where that changes too, goes before (``siftline.jobs.jobs_store.take``).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Annotated, Any
from uuid import UUID

from psycopg.rows import class_row, scalar_row
from psycopg.types.json import Jsonb
from pydantic import BeforeValidator

from siftline.api.http.paging import Cursor, behind
from siftline.api.http.shapes import Cause
from siftline.api.sources.source_models import Candidate, Source
from siftline.kit.db import Connection
from siftline.kit.stored import all_readable


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
