"""The clusters resource: what one holds, grouped into stories, and grouping it now."""

from uuid import UUID

from aws_lambda_powertools.event_handler import Response
from pydantic import BaseModel, Field

from siftline.api.clusters import clusters_store
from siftline.api.clusters.cluster_map import draw
from siftline.api.clusters.clusters_store import Cluster, Grouping, MappedCluster, Member, Point, PointRow
from siftline.api.http.auth import CurrentCaller
from siftline.api.http.paging import DEFAULT_LIMIT, Limit, Next, decode_rank, encode_rank, page
from siftline.api.http.problems import not_found
from siftline.api.http.routing import BODY_PROBLEMS, answer, route
from siftline.api.http.shapes import EXAMPLE_ID, ListPage, NothingAsked
from siftline.api.parts import Routes
from siftline.contracts import JobType, Priority
from siftline.jobs.job_model import NewJob
from siftline.kit.db import Connection

_MAP_CLUSTERS = 200
_MAP_POINTS = 5_000


class Clusters(ListPage):
    """A page of clusters, largest first."""

    items: list[Cluster]
    run: Grouping | None = Field(description="The latest grouping; null before the first")


class ClusterDetail(Cluster):
    """A cluster with a page of its items, most central first."""

    items: list[Member]
    next: str | None


class Map(BaseModel):
    """A map of the clusters: similar items are close together. Positions are stable between runs."""

    clusters: list[MappedCluster] = Field(description="Largest first, at most 200")
    points: list[Point] = Field(
        description="At most 5,000 items, the most central of each cluster; items without a cluster are not on the map"
    )
    run: Grouping | None = Field(description="The latest grouping; null before the first")


class Recompute(BaseModel):
    """A requested grouping."""

    job_id: UUID = Field(examples=[EXAMPLE_ID])


class ClusterRoutes(Routes):
    """``/v1/clusters``."""

    tag = "clusters"

    @route("GET /v1/clusters", (200, Clusters, "A page of the list"), operation_id="listClusters")
    def browse(
        self,
        caller: CurrentCaller,
        *,
        limit: Limit = DEFAULT_LIMIT,
        next: Next = None,  # noqa: A002  # the parameter's name in the API
    ) -> Clusters:
        """List your clusters."""
        with self._database.transaction() as connection:
            rows = clusters_store.list_clusters(connection, caller.user_id, decode_rank(next), limit + 1)
            run = clusters_store.last_run(connection, caller.user_id)
        shown, following = page(rows, limit, lambda row: encode_rank(row.grouped_size, row.id))
        return Clusters(items=shown, next=following, run=run)

    @route("GET /v1/clusters/map", (200, Map, "The map"), operation_id="getClusterMap")
    def show_map(self, caller: CurrentCaller) -> Map:
        """Get the map of your clusters."""
        with self._database.transaction() as connection:
            clusters, points = _mapped(connection, caller.user_id)
            run = clusters_store.last_run(connection, caller.user_id)
        return Map(clusters=clusters, points=points, run=run)

    @route(
        "GET /v1/clusters/map.svg",
        (200, "image/svg+xml", "The map as SVG, for light and dark backgrounds"),
        operation_id="drawClusterMap",
    )
    def draw_map(self, caller: CurrentCaller) -> Response[str]:
        """Draw the map of your clusters (SVG)."""
        with self._database.transaction() as connection:
            clusters, points = _mapped(connection, caller.user_id)
        return Response(
            status_code=200,
            content_type="image/svg+xml; charset=utf-8",
            body=draw(clusters, points).decode(),
            headers={"Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'"},
        )

    @route(
        "GET /v1/clusters/<cluster_id>",
        (200, ClusterDetail, "The cluster"),
        operation_id="getCluster",
        problems=(404,),
    )
    def show(
        self,
        cluster_id: UUID,
        caller: CurrentCaller,
        *,
        limit: Limit = DEFAULT_LIMIT,
        next: Next = None,  # noqa: A002  # the parameter's name in the API
    ) -> ClusterDetail:
        """Get a cluster and its items."""
        with self._database.transaction() as connection:
            cluster = clusters_store.find_cluster(connection, caller.user_id, cluster_id)
            if cluster is None:
                raise not_found("cluster")
            rows = clusters_store.members(connection, caller.user_id, cluster_id, decode_rank(next), limit + 1)
        shown, following = page(rows, limit, lambda row: encode_rank(row.distance, row.content_id))
        return ClusterDetail(**dict(cluster), items=shown, next=following)

    @route(
        "POST /v1/clusters/recompute",
        (202, Recompute, "Your items will be regrouped"),
        operation_id="recomputeClusters",
        problems=BODY_PROBLEMS,
    )
    def recompute(
        self,
        caller: CurrentCaller,
        body: NothingAsked | None = None,  # noqa: ARG002  # there to be validated
    ) -> Response[Recompute]:
        """Regroup your items now.

        One that is under way is followed by another.
        """
        job = NewJob(
            job_type=JobType.CLUSTER_USER,
            subject_id=caller.user_id,
            group_key=f"user:{caller.user_id}",
            priority=Priority.SAVED,
        )
        with self._database.transaction() as connection:
            job_ids = self._outbox.enqueue(connection, job)
        self._outbox.publish(job_ids)
        return answer(202, Recompute(job_id=job_ids[0]))


def _mapped(connection: Connection, user_id: UUID) -> tuple[list[MappedCluster], list[PointRow]]:
    """Return the largest clusters, and where the most central items of each lie."""
    clusters = clusters_store.map_clusters(connection, user_id, _MAP_CLUSTERS)
    return clusters, clusters_store.map_points(connection, user_id, [cluster.id for cluster in clusters], _MAP_POINTS)
