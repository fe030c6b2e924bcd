"""What a clustering reads and writes: a user's vectors and earlier stories in, a run and its stories out.

And the clusters for whose label a language model is to be asked, with the labels that it gave.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from psycopg.rows import class_row, scalar_row
from psycopg.types.json import Jsonb

from siftline.catalog.users_store import user_exists
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

_SETTLE_LABELS = """
update clusters set label = coalesce(new.label, clusters.label), label_wanted = false, updated_at = now(),
  named_by = case when new.label is null then clusters.named_by else %(named_by)s end,
  titled_by = case when new.label is null then clusters.titled_by end
from unnest(%(ids)b::uuid[], %(asked)b::text[], %(labels)b::text[]) as new (id, asked, label)
where clusters.id = new.id and clusters.user_id = %(user_id)s and clusters.label_wanted and clusters.label = new.asked
"""


@dataclass(frozen=True, slots=True)
class HeldVector:
    """A content the user holds, with its vector (float32, little-endian) and what names are made of."""

    content_id: UUID
    vector: bytes
    lang: str | None
    title: str
    excerpt: str
    topic: str | None


@dataclass(frozen=True, slots=True)
class Run:
    """A run that was written."""

    id: UUID
    model_version: str
    parameters: Mapping[str, Any]
    made_at: datetime


@dataclass(frozen=True, slots=True)
class EarlierCluster:
    """A cluster as it stands, with its members; ``x`` and ``y`` are their middle on the map.

    ``named_by`` is the language model that gave the label, if one did; ``label_wanted``: one is still to be asked;
    ``titled_by``: the content whose title stands in the label.
    """

    id: UUID
    label: str
    label_wanted: bool
    named_by: str | None
    titled_by: UUID | None
    colour: str
    first_seen_at: datetime
    members: Sequence[UUID]
    x: float | None
    y: float | None

    @property
    def centre(self) -> tuple[float, float] | None:
        """Where it lies on the map, if it was placed."""
        return None if self.x is None or self.y is None else (self.x, self.y)


@dataclass(frozen=True, slots=True)
class NewCluster:
    """A cluster to be written; ``members`` with their cosine distances to the centroid and their places on the map.

    ``fresh``: its label is a new one; else whatever label it has by then stays.
    """

    id: UUID
    label: str
    keywords: Sequence[str]
    centroid: bytes
    first_seen_at: datetime
    members: Sequence[UUID]
    distances: Sequence[float]
    colour: str
    places: Sequence[tuple[float, float]]
    fresh: bool
    titled_by: UUID | None


_LOCK = "select pg_advisory_xact_lock(hashtextextended('cluster_user:' || %(user_id)s::text, 0))"

_VECTORS = """
select c.id as content_id, e.vector, c.lang, coalesce(c.title, '') as title,
  left(coalesce(c.text, c.description, ''), %(excerpt_chars)s) as excerpt, c.topics->0->>'topic' as topic
from items i join contents c on c.id = i.content_id
  join embeddings e on e.content_id = c.id and e.model_version = %(model_version)s
where i.user_id = %(user_id)s and c.status = 'READY'
order by c.sort_at desc, c.id desc limit %(limit)s
"""

_LAST_RUN = """
select id, model_version, parameters, made_at from cluster_runs
where user_id = %(user_id)s order by made_at desc, id desc limit 1
"""

_EARLIER = """
select k.id, k.label, k.label_wanted, k.named_by, k.titled_by, k.colour, k.first_seen_at,
  array_agg(m.content_id) as members, avg(m.x) as x, avg(m.y) as y
from clusters k join cluster_memberships m on m.cluster_id = k.id
where k.user_id = %(user_id)s group by k.id
"""

_ADD_RUN = """
insert into cluster_runs (id, user_id, model_version, parameters, quality, contents, made_at)
values (%(id)s, %(user_id)s, %(model_version)s, %(parameters)s, %(quality)s, %(contents)s, %(made_at)s)
"""

# Before any cluster: who deletes a content holds it first, and its memberships, which go with it, then. Until we commit
# none of these is deleted.
_HOLD_CONTENTS = """
select from contents where id = any(%(content_ids)b::uuid[]) or id in (
  select m.content_id from cluster_memberships m join clusters k on k.id = m.cluster_id where k.user_id = %(user_id)s)
order by url_key for key share
"""

_FORGET = "delete from clusters where user_id = %(user_id)s and id <> all(%(ids)b::uuid[])"

# What another user's run could have made under the same id cannot be ours: ids are random.
_PUT = """
insert into clusters (id, user_id, run_id, label, label_wanted, keywords, centroid, size, first_seen_at, colour,
  titled_by)
select new.id, %(user_id)s, %(run_id)s, new.label, %(naming)s and new.id = any(%(fresh)b::uuid[]),
  array(select jsonb_array_elements_text(new.keywords)), new.centroid, new.size, new.first_seen_at, new.colour,
  new.titled_by
from unnest(%(ids)b::uuid[], %(labels)b::text[], %(keywords)b::jsonb[], %(centroids)b::bytea[], %(sizes)b::int4[],
            %(first_seen)b::timestamptz[], %(colours)b::text[], %(titled_by)b::uuid[])
  as new (id, label, keywords, centroid, size, first_seen_at, colour, titled_by)
on conflict (id) do update set run_id = excluded.run_id, keywords = excluded.keywords,
  centroid = excluded.centroid, size = excluded.size, colour = excluded.colour, updated_at = now(),
  label = case when clusters.id = any(%(fresh)b::uuid[]) then excluded.label else clusters.label end,
  named_by = case when clusters.id = any(%(fresh)b::uuid[]) then null else clusters.named_by end,
  titled_by = case when clusters.id = any(%(fresh)b::uuid[]) then excluded.titled_by else clusters.titled_by end,
  label_wanted = excluded.label_wanted or (clusters.label_wanted and clusters.id <> all(%(fresh)b::uuid[]))
where clusters.user_id = excluded.user_id
"""

_EMPTY = """
delete from cluster_memberships using clusters
where clusters.id = cluster_memberships.cluster_id and clusters.user_id = %(user_id)s
"""

# Only what the user still holds.
_FILL = """
insert into cluster_memberships (cluster_id, content_id, distance, x, y)
select new.cluster_id, new.content_id, new.distance, new.x, new.y
from unnest(%(cluster_ids)b::uuid[], %(content_ids)b::uuid[], %(distances)b::float4[], %(xs)b::float4[],
            %(ys)b::float4[])
  as new (cluster_id, content_id, distance, x, y)
where exists (select from items i where i.user_id = %(user_id)s and i.content_id = new.content_id)
"""

_DROP_UNFILLED = """
delete from clusters where user_id = %(user_id)s
  and not exists (select from cluster_memberships where cluster_memberships.cluster_id = clusters.id)
"""

_RECOUNT = """
update clusters set size = counted.size
from (select m.cluster_id, count(*)::int as size from cluster_memberships m join clusters k on k.id = m.cluster_id
      where k.user_id = %(user_id)s group by m.cluster_id) as counted
where clusters.id = counted.cluster_id and clusters.size <> counted.size
"""

_FORGET_RUNS = """
delete from cluster_runs where user_id = %(user_id)s and id not in (
  select id from cluster_runs where user_id = %(user_id)s order by made_at desc, id desc limit %(keep)s)
and not exists (select from clusters where clusters.run_id = cluster_runs.id)
"""


def vectors(
    connection: Connection, user_id: UUID, version: str, *, limit: int, excerpt_chars: int
) -> Sequence[HeldVector]:
    """Return the newest ``limit`` READY contents that the user holds and that have a vector of this version."""
    values = {"user_id": user_id, "model_version": version, "limit": limit, "excerpt_chars": excerpt_chars}
    with connection.cursor(row_factory=class_row(HeldVector), binary=True) as cursor:
        return cursor.execute(_VECTORS, values).fetchall()


def last_run(connection: Connection, user_id: UUID) -> Run | None:
    """Return the user's latest run."""
    with connection.cursor(row_factory=class_row(Run)) as cursor:
        return cursor.execute(_LAST_RUN, {"user_id": user_id}).fetchone()


def earlier(connection: Connection, user_id: UUID) -> Sequence[EarlierCluster]:
    """Return the user's clusters as they stand."""
    with connection.cursor(row_factory=class_row(EarlierCluster), binary=True) as cursor:
        return cursor.execute(_EARLIER, {"user_id": user_id}).fetchall()


def lock(connection: Connection, user_id: UUID) -> None:
    """Have whoever writes this user's clusters wait for this transaction's end."""
    connection.execute(_LOCK, {"user_id": user_id})


def now(connection: Connection) -> datetime:
    """Return the time at which this transaction began."""
    with connection.cursor(row_factory=scalar_row) as cursor:
        moment: datetime | None = cursor.execute("select now()").fetchone()
        if moment is None:  # pragma: no cover - a select without from has a row
            raise LookupError("now")
        return moment


def write(
    connection: Connection,
    user_id: UUID,
    run: Run,
    clusters: Sequence[NewCluster],
    *,
    quality: Mapping[str, Any],
    contents: int,
    keep_runs: int,
    naming: bool,
) -> None:
    """Make ``clusters`` the user's clusters, in place of those before, with the run that made them.

    ``naming``: a language model is to be asked for the labels of those whose label is a new one.

    A lock per user makes two runs take turns: the later one replaces the earlier one's clusters whole. Contents that
    the user let go of meanwhile are left out, and so are clusters of which nothing is left.
    """
    user = {"user_id": user_id}
    lock(connection, user_id)
    if not user_exists(connection, user_id):
        return
    connection.execute(
        _HOLD_CONTENTS, {**user, "content_ids": [one for cluster in clusters for one in cluster.members]}
    )
    connection.execute(
        _ADD_RUN,
        {
            "id": run.id,
            "user_id": user_id,
            "model_version": run.model_version,
            "parameters": Jsonb(run.parameters),
            "quality": Jsonb(quality),
            "contents": contents,
            "made_at": run.made_at,
        },
    )
    connection.execute(_FORGET, {**user, "ids": [cluster.id for cluster in clusters]})
    connection.execute(_EMPTY, user)
    if clusters:
        _fill(connection, user_id, run, clusters, naming=naming)
    connection.execute(_DROP_UNFILLED, user)
    connection.execute(_RECOUNT, user)
    connection.execute(_FORGET_RUNS, {**user, "keep": keep_runs})


def _fill(connection: Connection, user_id: UUID, run: Run, clusters: Sequence[NewCluster], *, naming: bool) -> None:
    connection.execute(
        _PUT,
        {
            "user_id": user_id,
            "run_id": run.id,
            "ids": [cluster.id for cluster in clusters],
            "labels": [cluster.label for cluster in clusters],
            "keywords": [Jsonb(list(cluster.keywords)) for cluster in clusters],
            "centroids": [cluster.centroid for cluster in clusters],
            "sizes": [len(cluster.members) for cluster in clusters],
            "first_seen": [cluster.first_seen_at for cluster in clusters],
            "colours": [cluster.colour for cluster in clusters],
            "fresh": [cluster.id for cluster in clusters if cluster.fresh],
            "titled_by": [cluster.titled_by for cluster in clusters],
            "naming": naming,
        },
    )
    connection.execute(
        _FILL,
        {
            "user_id": user_id,
            "cluster_ids": [cluster.id for cluster in clusters for _ in cluster.members],
            "content_ids": [member for cluster in clusters for member in cluster.members],
            "distances": [distance for cluster in clusters for distance in cluster.distances],
            "xs": [x for cluster in clusters for x, _ in cluster.places],
            "ys": [y for cluster in clusters for _, y in cluster.places],
        },
    )


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


def settle_labels(connection: Connection, user_id: UUID, outcomes: Sequence[Outcome], named_by: str) -> None:
    """Put labels in place of those that were asked about; a cluster that has another by now keeps it."""
    lock(connection, user_id)
    connection.execute(
        _SETTLE_LABELS,
        {
            "user_id": user_id,
            "named_by": named_by,
            "ids": [outcome.cluster_id for outcome in outcomes],
            "asked": [outcome.asked for outcome in outcomes],
            "labels": [outcome.label for outcome in outcomes],
        },
    )
