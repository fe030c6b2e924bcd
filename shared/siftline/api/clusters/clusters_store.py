"""The caller's clusters in PostgreSQL, as the API shows them. Who takes a cluster's id also takes its owner's."""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from psycopg.rows import class_row
from pydantic import BaseModel, Field

from siftline.api.http.shapes import EXAMPLE_ID
from siftline.kit.db import Connection


class Cluster(BaseModel):
    """A group of related items. Its id is stable between runs, and so is its label while the group holds together."""

    id: UUID = Field(examples=[EXAMPLE_ID])
    label: str = Field(examples=["interest rates · central bank"])
    named_by: str | None = Field(
        description="Language model and prompt version that produced the label; null: made from key phrases",
        examples=["gpt-4.1-mini/prompt-1"],
    )
    keywords: list[str] = Field(description="Key phrases, most distinctive first")
    size: int = Field(description="Number of items")
    colour: str = Field(description="Colour on the map; stays with the id", examples=["#0072B2"])
    first_seen_at: datetime
    updated_at: datetime


class ClusterRow(Cluster):
    """A cluster with ``grouped_size``: what the latest run put there, by which lists are sorted."""

    grouped_size: int


class Member(BaseModel):
    """An item of a cluster."""

    id: UUID = Field(examples=[EXAMPLE_ID])
    content_id: UUID = Field(examples=[EXAMPLE_ID])
    title: str | None
    url: str = Field(examples=["https://example.org/story"])
    lang: str | None = Field(description="ISO 639-1", examples=["en"])
    summary: str | None
    published_at: datetime | None = Field(description="As stated by the page")
    source_id: UUID | None = Field(description="The source that delivered it")
    distance: float = Field(description="Cosine distance from the cluster's centre, 0 to 2")


class MappedCluster(BaseModel):
    """A cluster on the map."""

    id: UUID = Field(examples=[EXAMPLE_ID])
    label: str = Field(examples=["interest rates · central bank"])
    size: int = Field(description="Number of items")
    colour: str = Field(examples=["#0072B2"])


class Point(BaseModel):
    """An item on the map."""

    item_id: UUID = Field(examples=[EXAMPLE_ID])
    cluster_id: UUID = Field(examples=[EXAMPLE_ID])
    title: str | None
    x: float = Field(ge=-1, le=1)
    y: float = Field(ge=-1, le=1, description="Upwards")
    colour: str = Field(description="Colour of its cluster", examples=["#0072B2"])


class PointRow(Point):
    """An item on the map with its address."""

    url: str


class Grouping(BaseModel):
    """The latest grouping."""

    made_at: datetime = Field(description="Later items are not grouped yet")
    contents: int = Field(description="Number of items considered")
    unclustered: int = Field(description="Number of these that belong to no cluster")


# A label made of the title of what the user holds no more gives way to the phrases that the others share.
_LABEL = """
case when k.titled_by is null or exists (select from items i where i.user_id = k.user_id and i.content_id = k.titled_by)
  then k.label else coalesce(nullif(array_to_string(k.keywords[1:3], ' \u00b7 '), ''), 'Untitled') end as label
"""
_HELD = """
cross join lateral (
  select count(*)::int as size from cluster_memberships m
    join items i on i.content_id = m.content_id and i.user_id = k.user_id
  where m.cluster_id = k.id) as held
"""
_CLUSTER = f"""
select k.id, {_LABEL}, k.named_by, k.keywords, held.size, k.size as grouped_size, k.colour, k.first_seen_at,
  k.updated_at
from clusters k {_HELD}
where k.user_id = %(user_id)s and held.size > 0
"""  # noqa: S608 - made of constants only
_LIST = (
    _CLUSTER
    + """
  and (%(after_size)s::int is null or k.size < %(after_size)s
    or (k.size = %(after_size)s and k.id > %(after_id)s::uuid))
order by k.size desc, k.id limit %(limit)s
"""
)
_ONE = _CLUSTER + " and k.id = %(id)s"

_MEMBERS = """
select i.id, i.content_id, coalesce(nullif(c.title, ''), i.told_title) as title, coalesce(i.url, c.url) as url, c.lang,
  c.summary, coalesce(c.published_at, i.told_at) as published_at, i.source_id, m.distance
from cluster_memberships m join items i on i.content_id = m.content_id and i.user_id = %(user_id)s
  join contents c on c.id = m.content_id
where m.cluster_id = %(id)s
  and (%(after_distance)s::float4 is null
    or (m.distance, m.content_id) > (%(after_distance)s::float4, %(after_id)s::uuid))
order by m.distance, m.content_id limit %(limit)s
"""

_MAP_CLUSTERS = f"""
select k.id, {_LABEL}, held.size, k.colour from clusters k {_HELD}
where k.user_id = %(user_id)s and held.size > 0 order by k.size desc, k.id limit %(limit)s
"""  # noqa: S608 - made of constants only

# Of each cluster the most central members, so that a crowd leaves none out.
_MAP_POINTS = """
select placed.item_id, placed.cluster_id, placed.title, placed.url, placed.x, placed.y, placed.colour
from (
  select i.id as item_id, m.cluster_id, left(coalesce(nullif(c.title, ''), i.told_title), 200) as title,
    coalesce(i.url, c.url) as url, m.x, m.y, k.colour,
    row_number() over (partition by m.cluster_id order by m.distance, m.content_id) as place
  from cluster_memberships m join items i on i.content_id = m.content_id and i.user_id = %(user_id)s
    join contents c on c.id = m.content_id join clusters k on k.id = m.cluster_id
  where m.cluster_id = any(%(cluster_ids)b::uuid[]) and m.x is not null and m.y is not null
) as placed
order by placed.place, placed.cluster_id limit %(limit)s
"""

# One whose figures cannot be read is passed over.
_LAST_RUN = """
select made_at, contents, (quality ->> 'unclustered')::int as unclustered from cluster_runs
where user_id = %(user_id)s and quality ->> 'unclustered' ~ '^[0-9]{1,9}$' order by made_at desc, id desc limit 1
"""


def list_clusters(
    connection: Connection, user_id: UUID, after: tuple[float, UUID] | None, limit: int
) -> list[ClusterRow]:
    """Return the user's clusters, largest first, after the one of this size and id."""
    size, cluster_id = after or (None, None)
    values = {"user_id": user_id, "after_size": size, "after_id": cluster_id, "limit": limit}
    with connection.cursor(row_factory=class_row(ClusterRow)) as cursor:
        return cursor.execute(_LIST, values).fetchall()


def find_cluster(connection: Connection, user_id: UUID, cluster_id: UUID) -> ClusterRow | None:
    """Return the user's cluster."""
    with connection.cursor(row_factory=class_row(ClusterRow)) as cursor:
        return cursor.execute(_ONE, {"id": cluster_id, "user_id": user_id}).fetchone()


def members(
    connection: Connection, user_id: UUID, cluster_id: UUID, after: tuple[float, UUID] | None, limit: int
) -> list[Member]:
    """Return the user's items in a cluster, most central first, after the one of this distance and content."""
    distance, content_id = after or (None, None)
    values = {
        "user_id": user_id,
        "id": cluster_id,
        "after_distance": distance,
        "after_id": content_id,
        "limit": limit,
    }
    with connection.cursor(row_factory=class_row(Member)) as cursor:
        return cursor.execute(_MEMBERS, values).fetchall()


def map_clusters(connection: Connection, user_id: UUID, limit: int) -> list[MappedCluster]:
    """Return the user's clusters, largest first."""
    with connection.cursor(row_factory=class_row(MappedCluster)) as cursor:
        return cursor.execute(_MAP_CLUSTERS, {"user_id": user_id, "limit": limit}).fetchall()


def map_points(connection: Connection, user_id: UUID, cluster_ids: Sequence[UUID], limit: int) -> list[PointRow]:
    """Return the items of these clusters that have a place on the map, the most central of each first."""
    values = {"user_id": user_id, "cluster_ids": list(cluster_ids), "limit": limit}
    with connection.cursor(row_factory=class_row(PointRow)) as cursor:
        return cursor.execute(_MAP_POINTS, values).fetchall()


def last_run(connection: Connection, user_id: UUID) -> Grouping | None:
    """Return what the user's latest run came to."""
    with connection.cursor(row_factory=class_row(Grouping)) as cursor:
        return cursor.execute(_LAST_RUN, {"user_id": user_id}).fetchone()
