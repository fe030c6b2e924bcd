"""What is due: sources to poll, users to cluster, rows to clean up."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import timedelta
from uuid import UUID

from psycopg.rows import class_row, scalar_row

from siftline.contracts import JobType
from siftline.jobs import jobs_store
from siftline.jobs.followers_store import NEXT_POLL
from siftline.kit.db import Connection


@dataclass(frozen=True, slots=True)
class DueSource:
    """A source whose next poll is due."""

    id: UUID
    group_key: str
    """In whose turn it is polled (``siftline.jobs.followers_store``)."""


@dataclass(frozen=True, slots=True)
class DuePage:
    """A page that a feed lists and that is to be asked for again."""

    content_id: UUID
    source_id: UUID
    user_id: UUID | None
    """One of those who have it from that feed."""


@dataclass(frozen=True, slots=True)
class LostDelivery:
    """A delivery that nobody works on and that is not over."""

    id: UUID
    user_id: UUID


@dataclass(frozen=True, slots=True)
class DueBriefing:
    """A briefing whose next edition is due, or that is to be told when it is."""

    id: UUID
    user_id: UUID


_DUE_SOURCES = f"""
select id, {NEXT_POLL} as group_key from sources
where health <> 'inactive' and next_fetch_at <= now()
  and not exists (select from jobs where jobs.job_type = 'fetch_source' and jobs.subject_id = sources.id
    and jobs.state in ('pending', 'processing'))
  and exists (select from subscriptions where subscriptions.source_id = sources.id)
order by next_fetch_at limit %(limit)s for no key update of sources skip locked
"""  # noqa: S608  -- a constant of ours

# A user whose holdings gained a vector since the last clustering.
_DUE_CLUSTERINGS = """
select users.id from users
where exists (
  select from items join embeddings using (content_id)
  where items.user_id = users.id
    and embeddings.made_at > coalesce((select max(made_at) from cluster_runs where cluster_runs.user_id = users.id),
                                      '-infinity'))
  and not exists (select from user_deletions where user_deletions.user_id = users.id)
order by users.id limit %(limit)s
"""

_DUE_BRIEFINGS = """
select id, user_id from briefings
where enabled and (next_due_at is null or next_due_at <= now())
  and not exists (select from jobs where jobs.job_type = 'run_briefing' and jobs.subject_id = briefings.id
    and jobs.state in ('pending', 'processing'))
order by next_due_at nulls first limit %(limit)s
"""

# Nothing in the house leaves one like that (sweep.py says what may). One whose job failed is closed instead.
_LOST_DELIVERIES = """
select id, user_id from deliveries
where state = 'pending' and created_at < now() - %(age)s
  and not exists (select from jobs where jobs.job_type = 'deliver_briefing' and jobs.subject_id = deliveries.id
    and jobs.state in ('pending', 'processing', 'failed'))
order by created_at limit %(limit)s
"""

_CLOSE_DELIVERIES = """
with failed as (
  select distinct on (deliveries.id) deliveries.id, jobs.error_code, jobs.error_message
  from deliveries join jobs on jobs.job_type = 'deliver_briefing' and jobs.subject_id = deliveries.id
  where deliveries.state = 'pending' and jobs.state = 'failed'
    and not exists (select from jobs live where live.job_type = 'deliver_briefing'
      and live.subject_id = deliveries.id and live.state in ('pending', 'processing'))
  order by deliveries.id, jobs.finished_at desc),
lost as (
  select deliveries.id from deliveries join failed using (id) where deliveries.state = 'pending'
  order by deliveries.id for no key update of deliveries)
update deliveries set state = case when unanswered > 0 then 'unconfirmed' else 'failed' end,
  error_code = failed.error_code, error_detail = failed.error_message
from failed join lost using (id) where deliveries.id = failed.id
"""

# What is marked as due waits for it; a run that failed is not followed by another at once.
_DUE_LABELLINGS = """
select distinct sets.user_id from topic_sets as sets
where (sets.version <> sets.spread_version
    or exists (select from readings where readings.user_id = sets.user_id and readings.due))
  and not exists (select from jobs where jobs.job_type = 'label_user' and jobs.subject_id = sets.user_id
    and (jobs.state in ('pending', 'processing')
      or (jobs.state = 'failed' and jobs.finished_at > now() - interval '1 hour')))
  and not exists (select from user_deletions where user_deletions.user_id = sets.user_id)
order by sets.user_id limit %(limit)s
"""

# Each in the turn of one of those who have it from its feed, and of all of them as evenly as their ids fall.
_DUE_PAGES = """
select content_id, source_id, (
  select user_id from items where items.content_id = asks.content_id and items.source_id = asks.source_id
  order by md5(user_id::text || asks.content_id) limit 1) as user_id
from page_asks asks where again_at <= now() order by again_at limit %(limit)s
"""
_ASKED_FOR = """
with due as (select content_id from page_asks where content_id = any(%(ids)b::uuid[]) order by content_id for update)
update page_asks set again_at = null from due where page_asks.content_id = due.content_id
"""

_OLD_COUNTS = """
with old as (select token_id from request_counts where minute < extract(epoch from now() - %(age)s) / 60
  limit %(limit)s for update skip locked)
delete from request_counts using old where request_counts.token_id = old.token_id
"""

_OLD_KEYS = """
with old as (select user_id, key from idempotency_keys where created_at < now() - %(age)s
  limit %(limit)s for update skip locked)
delete from idempotency_keys using old
where idempotency_keys.user_id = old.user_id and idempotency_keys.key = old.key
"""

# Whom no content names any more, and nobody told who it is; the aliases go with it. One that is being named just now is
# younger than this, or its alias is held by who names it, and it is left for the next time.
_ORPHANS = """
with orphans as (
  select id from entities
  where canonical_id is null and created_at < now() - %(age)s
    and not exists (select from content_entities where content_entities.entity_id = entities.id)
    and not exists (select from jobs where jobs.job_type = 'resolve_entity' and jobs.subject_id = entities.id
      and jobs.state in ('pending', 'processing'))
  limit %(limit)s for update of entities skip locked),
held as (
  select entity_aliases.kind, entity_aliases.temporary_id, entity_aliases.entity_id from entity_aliases
  join orphans on orphans.id = entity_aliases.entity_id
  order by kind, temporary_id for update of entity_aliases skip locked),
free as (
  select orphans.id from orphans
  where (select count(*) from held where held.entity_id = orphans.id)
    = (select count(*) from entity_aliases where entity_aliases.entity_id = orphans.id))
delete from entities using free where entities.id = free.id
  and not exists (select from content_entities where content_entities.entity_id = entities.id)
"""
_GONE = """
select asked.id from unnest(%(ids)b::uuid[]) as asked (id)
where not exists (select from contents where contents.id = asked.id)
"""


def due_sources(connection: Connection, *, limit: int) -> list[DueSource]:
    """Lock and return subscribed sources whose poll is due and not yet under way, longest overdue first.

    Skips what another holds; what got a poll in the moment before it was locked is told by a second look.
    """
    with connection.cursor(row_factory=class_row(DueSource)) as cursor:
        due = cursor.execute(_DUE_SOURCES, {"limit": limit}).fetchall()
    polled = jobs_store.live(connection, [source.id for source in due], JobType.FETCH_SOURCE)
    return [source for source in due if source.id not in polled]


def due_pages(connection: Connection, *, limit: int) -> list[DuePage]:
    """Return the pages that are to be asked for again now."""
    with connection.cursor(row_factory=class_row(DuePage)) as cursor:
        return cursor.execute(_DUE_PAGES, {"limit": limit}).fetchall()


def asked_for(connection: Connection, content_ids: Sequence[UUID]) -> None:
    """Note that these pages are asked for now: whoever does says when next. After their jobs, as workers write them."""
    if content_ids:
        connection.execute(_ASKED_FOR, {"ids": list(content_ids)})


def due_clusterings(connection: Connection, *, limit: int) -> list[UUID]:
    """Return users with contents that no clustering has seen."""
    with connection.cursor(row_factory=scalar_row) as cursor:
        return cursor.execute(_DUE_CLUSTERINGS, {"limit": limit}).fetchall()


def due_briefings(connection: Connection, *, limit: int) -> list[DueBriefing]:
    """Return briefings whose edition is due and not yet under way, longest overdue first."""
    with connection.cursor(row_factory=class_row(DueBriefing)) as cursor:
        return cursor.execute(_DUE_BRIEFINGS, {"limit": limit}).fetchall()


def lost_deliveries(connection: Connection, *, age_s: float, limit: int) -> list[LostDelivery]:
    """Return deliveries older than ``age_s`` that are not over and have no job, oldest first."""
    with connection.cursor(row_factory=class_row(LostDelivery)) as cursor:
        return cursor.execute(_LOST_DELIVERIES, {"age": timedelta(seconds=age_s), "limit": limit}).fetchall()


def close_deliveries(connection: Connection) -> int:
    """End the deliveries whose job ended where nobody could tell them, with its worker; returns how many."""
    return connection.execute(_CLOSE_DELIVERIES).rowcount


def due_labellings(connection: Connection, *, limit: int) -> list[UUID]:
    """Return users who hold something that is to be compared with their own topics."""
    with connection.cursor(row_factory=scalar_row) as cursor:
        return cursor.execute(_DUE_LABELLINGS, {"limit": limit}).fetchall()


def forget_request_counts(connection: Connection, *, age_s: float, limit: int) -> int:
    """Delete counts of tokens that nobody asked by for ``age_s``; returns how many."""
    values = {"age": timedelta(seconds=age_s), "limit": limit}
    return connection.execute(_OLD_COUNTS, values).rowcount


def forget_idempotency_keys(connection: Connection, *, age_s: float, limit: int) -> int:
    """Delete idempotency keys older than ``age_s``; returns how many."""
    return connection.execute(_OLD_KEYS, {"age": timedelta(seconds=age_s), "limit": limit}).rowcount


def forget_entities(connection: Connection, *, age_s: float, limit: int) -> int:
    """Delete entities older than ``age_s`` that no content names and that have no canonical id; returns how many.

    What a provider told is kept: it answers for the name when it is met again.
    """
    return connection.execute(_ORPHANS, {"age": timedelta(seconds=age_s), "limit": limit}).rowcount


def gone(connection: Connection, ids: Collection[UUID]) -> list[UUID]:
    """Return those of ``ids`` that are no content's."""
    with connection.cursor(row_factory=scalar_row, binary=True) as cursor:
        return cursor.execute(_GONE, {"ids": list(ids)}).fetchall()
