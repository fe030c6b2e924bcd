"""Clusters for whose label a language model is to be asked, and the labels that it gave."""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from psycopg.rows import class_row, scalar_row

from siftline.cluster import cluster_store
from siftline.kit.db import Connection

_WANTED = """
select k.id as cluster_id, k.label, coalesce(c.title, '') as title,
  left(coalesce(c.text, c.description, ''), %(excerpt_chars)s) as excerpt, c.lang
from (
  select id, label, size from clusters where user_id = %(user_id)s and label_wanted
  order by size desc, id limit %(clusters)s) k
cross join lateral (
  select m.content_id, m.distance from cluster_memberships m
  where m.cluster_id = k.id
    and exists (select from items i where i.user_id = %(user_id)s and i.content_id = m.content_id)
  order by m.distance, m.content_id limit %(contents)s) m
join contents c on c.id = m.content_id
order by k.size desc, k.id, m.distance, m.content_id
"""
_MORE = "select exists (select from clusters where user_id = %(user_id)s and label_wanted)"
_PAYER = "select id from users where id = %(user_id)s for key share"
_SETTLE = """
update clusters set label = coalesce(new.label, clusters.label), label_wanted = false, updated_at = now(),
  named_by = case when new.label is null then clusters.named_by else %(named_by)s end,
  titled_by = case when new.label is null then clusters.titled_by end
from unnest(%(ids)b::uuid[], %(asked)b::text[], %(labels)b::text[]) as new (id, asked, label)
where clusters.id = new.id and clusters.user_id = %(user_id)s and clusters.label_wanted and clusters.label = new.asked
"""


@dataclass(frozen=True, slots=True)
class WantedTitle:
    """A content of a cluster that is to be named; ``label`` is the cluster's label so far."""

    cluster_id: UUID
    label: str
    title: str
    excerpt: str
    lang: str | None


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of asking for a cluster's label: one in place of ``asked``, or ``None`` where that one stays."""

    cluster_id: UUID
    asked: str
    label: str | None


def wanted(
    connection: Connection, user_id: UUID, *, clusters: int, contents: int, excerpt_chars: int
) -> Sequence[WantedTitle]:
    """Return the most central ``contents`` of a user's largest clusters that are to be named, cluster by cluster."""
    values = {"user_id": user_id, "clusters": clusters, "contents": contents, "excerpt_chars": excerpt_chars}
    with connection.cursor(row_factory=class_row(WantedTitle)) as cursor:
        return cursor.execute(_WANTED, values).fetchall()


def more(connection: Connection, user_id: UUID) -> bool:
    """Say whether there are clusters of a user's that are to be named."""
    with connection.cursor(row_factory=scalar_row) as cursor:
        return bool(cursor.execute(_MORE, {"user_id": user_id}).fetchone())


def payer(connection: Connection, user_id: UUID) -> UUID | None:
    """Return the user, who is not deleted before this transaction ends; ``None`` if there is no such user."""
    with connection.cursor(row_factory=scalar_row) as cursor:
        found: UUID | None = cursor.execute(_PAYER, {"user_id": user_id}).fetchone()
    return found


def settle(connection: Connection, user_id: UUID, outcomes: Sequence[Outcome], named_by: str) -> None:
    """Put labels in place of those that were asked about; a cluster that has another by now keeps it."""
    cluster_store.lock(connection, user_id)
    connection.execute(
        _SETTLE,
        {
            "user_id": user_id,
            "named_by": named_by,
            "ids": [outcome.cluster_id for outcome in outcomes],
            "asked": [outcome.asked for outcome in outcomes],
            "labels": [outcome.label for outcome in outcomes],
        },
    )
