"""What is due: sources to poll, users to cluster, rows to clean up."""

from dataclasses import dataclass
from datetime import timedelta
from uuid import UUID

from psycopg.rows import class_row, scalar_row

from siftline.kit.db import Connection


@dataclass(frozen=True, slots=True)
class DueSource:
    """A source whose next poll is due."""

    id: UUID
    url: str


_DUE_SOURCES = """
select id, coalesce(adopted_url, feed_url, url) as url from sources
where health <> 'inactive' and next_fetch_at <= now()
  and not exists (select from jobs where jobs.job_type = 'fetch_source' and jobs.subject_id = sources.id
    and jobs.state in ('pending', 'processing'))
  and exists (select from subscriptions where subscriptions.source_id = sources.id)
order by next_fetch_at limit %(limit)s
"""

# A user whose holdings gained a vector since the last clustering.
_DUE_CLUSTERINGS = """
select users.id from users
where exists (
  select from items join embeddings using (content_id)
  where items.user_id = users.id
    and embeddings.made_at > coalesce((select max(made_at) from cluster_runs where cluster_runs.user_id = users.id),
                                      '-infinity'))
order by users.id limit %(limit)s
"""

_OLD_KEYS = """
with old as (select user_id, key from idempotency_keys where created_at < now() - %(age)s limit %(limit)s)
delete from idempotency_keys using old
where idempotency_keys.user_id = old.user_id and idempotency_keys.key = old.key
"""


def due_sources(connection: Connection, *, limit: int) -> list[DueSource]:
    """Return subscribed sources whose poll is due and not yet under way, longest overdue first."""
    with connection.cursor(row_factory=class_row(DueSource)) as cursor:
        return cursor.execute(_DUE_SOURCES, {"limit": limit}).fetchall()


def due_clusterings(connection: Connection, *, limit: int) -> list[UUID]:
    """Return users with contents that no clustering has seen."""
    with connection.cursor(row_factory=scalar_row) as cursor:
        return cursor.execute(_DUE_CLUSTERINGS, {"limit": limit}).fetchall()


def forget_idempotency_keys(connection: Connection, *, age_s: float, limit: int) -> int:
    """Delete idempotency keys older than ``age_s``; returns how many."""
    return connection.execute(_OLD_KEYS, {"age": timedelta(seconds=age_s), "limit": limit}).rowcount
