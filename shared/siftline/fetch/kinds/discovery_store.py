"""What discovery found at a site's address, in PostgreSQL: the feed to poll from now on, or those to choose from.

Whoever follows a feed by its own address and by its site's follows it once from then on. The sources' rows go first, in
the order of their keys, then each follower's, as whoever changes folders takes them.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from datetime import timedelta
from typing import Any
from uuid import UUID

from psycopg.types.json import Jsonb

from siftline.catalog.usable_rows import entries_of
from siftline.fetch.kinds.feed_locations import FeedLocation
from siftline.jobs import followers_store
from siftline.kit.db import Connection
from siftline.net.urls import canonical_url, stored_key

# What the followers of a source follow besides, and where that is polled. One that is switched off brings nothing.
_BESIDE = """
select distinct s.id, s.url_key, coalesce(s.adopted_url, s.feed_url) as polled_url
from subscriptions own join subscriptions other on other.user_id = own.user_id and other.source_id <> own.source_id
  join sources s on s.id = other.source_id
where own.source_id = %(source_id)s and s.kind = 'rss' and s.health <> 'inactive'
  and (s.url_key = %(key)s or coalesce(s.adopted_url, s.feed_url) is not null)
"""
_HOLD_SOURCES = "select id from sources where id = any(%(ids)b::uuid[]) order by url_key for update"
_FOLLOWED = """
select user_id, source_id from subscriptions where source_id = any(%(ids)b::uuid[]) order by user_id, created_at, id
"""

# An entry without a page is its source's own. Where nobody follows that any more, the source that is kept lists it.
_HAND_OVER_ENTRIES = """
with own as (
  select id, replace(url_key, %(given_up)s::text, %(kept)s::text) as kept_key from contents
  where id in (select content_id from source_entries where source_id = %(given_up)s)
    and starts_with(url_key, 'entry:' || %(given_up)s::text) and not exists (
      select from subscriptions where source_id = %(given_up)s and user_id <> all(%(leaving)b::uuid[]))
  order by url_key for update)
update contents set url_key = own.kept_key from own
where contents.id = own.id and not exists (select from contents other where other.url_key = own.kept_key)
"""

_LOCK_USER = "select id from users where id = %(user_id)s for no key update"
_MOVE_ITEMS = """
with own as (
  select id from items where user_id = %(user_id)s and source_id = %(given_up)s order by id for no key update)
update items set source_id = %(kept)s, updated_at = now() from own where items.id = own.id
"""
# What they deleted of it stays deleted.
_COPY_TOMBSTONES = """
insert into item_tombstones (url_key, user_id, deleted_at)
select replace(url_key, %(given_up)s::text, %(kept)s::text), user_id, deleted_at from item_tombstones
where user_id = %(user_id)s and starts_with(url_key, 'entry:' || %(given_up)s::text)
order by 1 on conflict (url_key, user_id) do nothing
"""
_KEEP = f"""
update subscriptions kept set title = coalesce(kept.title, other.title),
  topics = kept.topics || (select coalesce(jsonb_agg(topic), '[]') from {entries_of("other.topics")} as topic
    where not kept.topics @> topic)
from subscriptions other
where kept.user_id = %(user_id)s and kept.source_id = %(kept)s
  and other.user_id = %(user_id)s and other.source_id = %(given_up)s
"""  # noqa: S608  -- constants of ours
_MOVE_FOLDERS = """
insert into folder_sources (folder_id, user_id, source_id)
select folder_id, user_id, %(kept)s from folder_sources where user_id = %(user_id)s and source_id = %(given_up)s
order by folder_id on conflict (folder_id, source_id) do nothing
"""
_MOVE_TOPIC_SET = """
update topic_sets set source_id = %(kept)s, version = version + 1, updated_at = now()
where user_id = %(user_id)s and source_id = %(given_up)s and not exists (
  select from topic_sets other where other.user_id = %(user_id)s and other.source_id = %(kept)s)
"""
_UNFOLLOW = "delete from subscriptions where user_id = %(user_id)s and source_id = %(given_up)s"

# Their polls need no hand: that of a source which is switched off ends at once, and one in work leaves it so.
_STOP_POLLING = """
with gone as (
  select id from sources where id = any(%(ids)b::uuid[])
    and not exists (select from subscriptions where subscriptions.source_id = sources.id)
  order by url_key for no key update)
update sources set health = 'inactive', fetch_status = 'IDLE', next_fetch_reason = 'it has no followers',
  updated_at = now()
from gone where sources.id = gone.id
"""

# Another feed in the place of one that is gone counts as a failure until it is read: two that name each other must
# not pass for health.
_FOUND = """
update sources set
  feed_url = %(feed_url)s, candidates = '[]', etag = null, last_modified = null, body_sha256 = null,
  last_full_at = null, resolved_url = null, resolved_since = null, resolved_polls = 0, adopted_url = null,
  fetch_status = 'IDLE', last_fetch_at = now(),
  consecutive_failures = consecutive_failures + (feed_url is not null)::int,
  health = case when health = 'active' and feed_url is not null and consecutive_failures + 1 >= %(degraded_at)s
    then 'degraded' else health end,
  next_fetch_at = now() + refresh_minutes * interval '1 minute', next_fetch_reason = 'its feed was found',
  updated_at = now()
where id = %(source_id)s
"""

_ASKED_OTHERWISE = """
update sources set options = %(options)s, fetch_status = 'IDLE', updated_at = now() where id = %(source_id)s
"""

_LEFT_ALONE = """
update sources set candidates = %(candidates)s, next_fetch_at = greatest(next_fetch_at, now() + %(wait)s),
  next_fetch_reason = %(reason)s, updated_at = now()
where id = %(source_id)s
"""


def _hold_same(connection: Connection, source_id: UUID, feed_url: str) -> list[UUID]:
    """Hold a source that will be polled at ``feed_url``, and what its followers follow that is polled there already.

    Returns the ids of these others; the caller holds the source's job.
    """
    key = canonical_url(feed_url)
    beside = connection.execute(_BESIDE, {"source_id": source_id, "key": key}).fetchall()
    same = [id_ for id_, url_key, polled in beside if url_key == key or (polled and stored_key(polled) == key)]
    connection.execute(_HOLD_SOURCES, {"ids": [source_id, *same]})
    return same


def _merge_same(connection: Connection, source_id: UUID, same: Sequence[UUID]) -> None:
    """Let who follows a source and others of ``same``, all held before, follow only what they followed first.

    It keeps its name and wishes, and gets the items, folders and topics of the others; what nobody follows any more is
    not polled.
    """
    if not same:
        return
    ids = [source_id, *same]
    twice = list(_twice(connection, source_id, ids))
    kept_for = {given_up: kept for _, kept, given_up in twice}
    for given_up, kept in kept_for.items():  # contents go before the items of whoever holds them
        leaving = [user_id for user_id, _, left in twice if left == given_up]
        connection.execute(_HAND_OVER_ENTRIES, {"kept": kept, "given_up": given_up, "leaving": leaving})
    for user_id, kept, given_up in twice:
        values = {"user_id": user_id, "kept": kept, "given_up": given_up}
        for statement in (
            _LOCK_USER,
            _MOVE_ITEMS,
            _COPY_TOMBSTONES,
            _KEEP,
            _MOVE_FOLDERS,
            _MOVE_TOPIC_SET,
            _UNFOLLOW,
        ):
            connection.execute(statement, values)
    connection.execute(_STOP_POLLING, {"ids": ids})
    followers_store.settle_refresh(connection, ids)


def _twice(connection: Connection, source_id: UUID, ids: Sequence[UUID]) -> Iterator[tuple[UUID, UUID, UUID]]:
    """Yield who follows a source and another, what of it they followed first, and each that they followed later."""
    followed: dict[UUID, list[UUID]] = defaultdict(list)
    for user_id, followed_id in connection.execute(_FOLLOWED, {"ids": list(ids)}).fetchall():
        followed[user_id].append(followed_id)
    for user_id, [kept, *later] in followed.items():
        if source_id in {kept, *later}:
            yield from ((user_id, kept, given_up) for given_up in later)


def found(connection: Connection, source_id: UUID, feed_url: str, *, degraded_at: int) -> None:
    """Let a source be polled at ``feed_url``, of which nothing is known yet.

    Who follows that feed already follows it once from now on.
    """
    same = _hold_same(connection, source_id, feed_url)
    connection.execute(_FOUND, {"source_id": source_id, "feed_url": feed_url, "degraded_at": degraded_at})
    _merge_same(connection, source_id, same)


def asked_otherwise(connection: Connection, source_id: UUID, options: Mapping[str, Any]) -> None:
    """Keep a source's options, by which its next poll asks in another way."""
    connection.execute(_ASKED_OTHERWISE, {"source_id": source_id, "options": Jsonb(dict(options))})


def left_alone(
    connection: Connection, source_id: UUID, *, reason: str, candidates: Sequence[FeedLocation], wait_s: float
) -> None:
    """Leave a page alone for a long while, which only a person can help; keep the feeds to choose from, if any."""
    connection.execute(
        _LEFT_ALONE,
        {
            "source_id": source_id,
            "candidates": Jsonb([asdict(candidate) for candidate in candidates]),
            "wait": timedelta(seconds=wait_s),
            "reason": reason,
        },
    )
