"""The clusters resource: what one holds, grouped into stories, and grouping it now."""

from uuid import UUID

from aws_lambda_powertools.event_handler import Response
from pydantic import BaseModel, Field

from siftline.api.clusters import clusters_store
from siftline.api.clusters.cluster_map import draw
from siftline.api.clusters.clusters_store import Cluster, Grouping, MappedCluster, Member, Point, PointRow
from siftline.api.http.auth import CurrentCaller
from siftline.api.http.hand_out import HandOut
from siftline.api.http.paging import DEFAULT_LIMIT, Limit, Next, decode_rank, encode_rank, page
from siftline.api.http.problems import not_found
from siftline.api.http.routing import BODY_PROBLEMS, Resource, answer, route
from siftline.api.http.shapes import NothingAsked, Page
from siftline.contracts import JobType, Priority
from siftline.jobs import jobs_store as jobs
from siftline.jobs.job_model import NewJob
from siftline.kit.db import Connection, Database

_MAP_CLUSTERS = 200
_MAP_POINTS = 5_000
_ID = "018f4e5a-7b1c-7000-8000-0123456789ab"


class Clusters(Page):
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

    job_id: UUID = Field(examples=[_ID])


class ClusterRoutes(Resource):
    """``/v1/clusters``."""

    def __init__(self, database: Database, hand_out: HandOut, *, max_attempts: int) -> None:
        self._database = database
        self._hand_out = hand_out
        self._max_attempts = max_attempts

    @route(
        "GET /v1/clusters",
        (200, Clusters, "A page of the list"),
        summary="List your clusters",
        operation_id="listClusters",
        tag="clusters",
    )
    def browse(
        self,
        caller: CurrentCaller,
        *,
        limit: Limit = DEFAULT_LIMIT,
        next: Next = None,  # noqa: A002  # the parameter's name in the API
    ) -> Clusters:
        """List clusters."""
        with self._database.transaction() as connection:
            rows = clusters_store.list_clusters(connection, caller.user_id, decode_rank(next), limit + 1)
            run = clusters_store.last_run(connection, caller.user_id)
        shown, following = page(rows, limit, lambda row: encode_rank(row.grouped_size, row.id))
        return Clusters(items=shown, next=following, run=run)

    @route(
        "GET /v1/clusters/map",
        (200, Map, "The map"),
        summary="Get the map of your clusters",
        operation_id="getClusterMap",
        tag="clusters",
    )
    def show_map(self, caller: CurrentCaller) -> Map:
        """Show the map in numbers."""
        with self._database.transaction() as connection:
            clusters, points = _mapped(connection, caller.user_id)
            run = clusters_store.last_run(connection, caller.user_id)
        return Map(clusters=clusters, points=points, run=run)

    @route(
        "GET /v1/clusters/map.svg",
        (200, "image/svg+xml", "The map as SVG, for light and dark backgrounds"),
        summary="Draw the map of your clusters (SVG)",
        operation_id="drawClusterMap",
        tag="clusters",
    )
    def draw_map(self, caller: CurrentCaller) -> Response[str]:
        """Draw the map."""
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
        summary="Get a cluster and its items",
        operation_id="getCluster",
        tag="clusters",
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
        """Show one cluster."""
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
        summary="Regroup your items now",
        operation_id="recomputeClusters",
        tag="clusters",
        problems=BODY_PROBLEMS,
    )
    def recompute(
        self,
        caller: CurrentCaller,
        body: NothingAsked | None = None,  # noqa: ARG002  # there to be validated
    ) -> Response[Recompute]:
        """Queue a grouping; one that is under way is followed by another."""
        job = NewJob(
            job_type=JobType.CLUSTER_USER,
            subject_id=caller.user_id,
            group_key=f"user:{caller.user_id}",
            priority=Priority.SAVED,
        )
        with self._database.transaction() as connection:
            job_ids = jobs.enqueue(connection, [job], max_attempts=self._max_attempts)
        self._hand_out(job_ids)
        return answer(202, Recompute(job_id=job_ids[0]))


def _mapped(connection: Connection, user_id: UUID) -> tuple[list[MappedCluster], list[PointRow]]:
    """Return the largest clusters, and where the most central items of each lie."""
    clusters = clusters_store.map_clusters(connection, user_id, _MAP_CLUSTERS)
    return clusters, clusters_store.map_points(connection, user_id, [cluster.id for cluster in clusters], _MAP_POINTS)
