"""One collection of vectors: a folder that holds a shard of Qdrant's own engine. One process owns it."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from uuid import UUID

import qdrant_edge as edge

from infra.local.vectors_json import (
    PointId,
    RefusedError,
    filter_of,
    payload_selector,
    point,
    point_id,
    point_ids,
    vector,
    whole_number,
    wrong,
)

CONFIGURATION = "edge_config.json"
DISTANCES = {
    "Cosine": edge.Distance.Cosine,
    "Dot": edge.Distance.Dot,
    "Euclid": edge.Distance.Euclid,
    "Manhattan": edge.Distance.Manhattan,
}
_INDEXES = {
    "keyword": edge.PayloadSchemaType.Keyword,
    "integer": edge.PayloadSchemaType.Integer,
    "float": edge.PayloadSchemaType.Float,
    "bool": edge.PayloadSchemaType.Bool,
    "datetime": edge.PayloadSchemaType.Datetime,
    "uuid": edge.PayloadSchemaType.Uuid,
    "text": edge.PayloadSchemaType.Text,
}


class Collection:
    """An open collection. Safe from several threads; methods take and return Qdrant's JSON values.

    Raises ``RefusedError``.
    """

    def __init__(self, folder: Path) -> None:
        self._lock = threading.Lock()
        self._parameters = json.loads((folder / CONFIGURATION).read_text(encoding="utf-8"))["vectors"][""]
        self._shard = edge.EdgeShard.load(str(folder))
        self._operations = 0
        self._dirty = False

    def info(self) -> dict[str, Any]:
        """Describe it as ``GET /collections/{name}`` does."""
        with self._engine() as shard:
            info = shard.info()
        vectors = {name: self._parameters[name] for name in ("size", "distance")}
        return {
            "status": "green",
            "optimizer_status": "ok",
            "points_count": info.points_count,
            "indexed_vectors_count": info.indexed_vectors_count,
            "segments_count": info.segments_count,
            "config": {
                "params": {"vectors": vectors, "on_disk_payload": True},
                "hnsw_config": {"m": 16, "ef_construct": 100, "full_scan_threshold": 10000},
                "optimizer_config": {"default_segment_number": 0, "flush_interval_sec": 5},
            },
            "payload_schema": {},
        }

    def upsert(self, body: dict[str, Any]) -> dict[str, Any]:
        """Store or replace points; in the write-ahead log, so safe from a crash of the process, when it returns.

        With an ``update_filter`` a stored point is only replaced if it matches.
        """
        if not isinstance(body.get("points"), list):
            raise RefusedError(400, "Format error in JSON body: `points` is expected (`batch` is not served here)")
        if body.get("update_mode") is not None:
            raise wrong("`update_mode` is not served here")
        points = [point(one, self._size) for one in body["points"]]
        return self._update(edge.UpdateOperation.upsert_points(points, filter_of(body.get("update_filter"))))

    def delete(self, body: dict[str, Any]) -> dict[str, Any]:
        """Remove points by ids or by filter."""
        if "points" in body:
            return self._update(edge.UpdateOperation.delete_points([*point_ids(body["points"])]))
        chosen = filter_of(body.get("filter"))
        if chosen is None:
            raise RefusedError(400, "Format error in JSON body: `points` or `filter` is expected")
        return self._update(edge.UpdateOperation.delete_points_by_filter(chosen))

    def index(self, body: dict[str, Any]) -> dict[str, Any]:
        """Index a payload field."""
        schema = body.get("field_schema")
        kind = schema.get("type") if isinstance(schema, dict) else schema
        if kind not in _INDEXES or not isinstance(body.get("field_name"), str):
            raise RefusedError(400, f"Format error in JSON body: an index of type {kind} is not served here")
        return self._update(edge.UpdateOperation.create_field_index(body["field_name"], _INDEXES[kind]))

    def retrieve(self, body: dict[str, Any]) -> list[dict[str, Any]]:
        """Return the points with these ids that are there, in the order asked."""
        ids = point_ids(body.get("ids"))
        payload = payload_selector(body.get("with_payload"), default=True)
        with self._engine() as shard:
            records = shard.retrieve(list(ids), with_payload=payload, with_vector=bool(body.get("with_vector")))
        found = {record.id: record for record in records}
        return [_record(found[one]) for one in ids if one in found]

    def query(self, body: dict[str, Any]) -> dict[str, Any]:
        """Return the nearest points to a vector, or to a stored point (itself left out), best first."""
        unserved = {"prefetch", "using", "lookup_from"} & {name for name, value in body.items() if value is not None}
        if unserved:
            raise wrong(f"`{min(unserved)}` is not served here")
        nearest, chosen = self._nearest(body.get("query"), filter_of(body.get("filter")))
        request = edge.QueryRequest(
            limit=whole_number(body, "limit", 10, least=1),
            offset=whole_number(body, "offset", 0),
            query=edge.Query.Nearest(nearest),
            filter=chosen,
            score_threshold=body.get("score_threshold"),
            with_payload=payload_selector(body.get("with_payload"), default=False),
            with_vector=bool(body.get("with_vector")),
        )
        with self._engine() as shard:
            points = shard.query(request)
        return {"points": [{**_record(one), "version": one.version, "score": one.score} for one in points]}

    def scroll(self, body: dict[str, Any]) -> dict[str, Any]:
        """Return points in the order of their ids, from ``offset`` on."""
        if body.get("order_by") is not None:
            raise wrong("`order_by` is not served here")
        request = edge.ScrollRequest(
            offset=None if body.get("offset") is None else point_id(body["offset"]),
            limit=whole_number(body, "limit", 10, least=1),
            filter=filter_of(body.get("filter")),
            with_payload=payload_selector(body.get("with_payload"), default=True),
            with_vector=bool(body.get("with_vector")),
        )
        with self._engine() as shard:
            records, following = shard.scroll(request)
        return {"points": [_record(one) for one in records], "next_page_offset": _plain(following)}

    def count(self, body: dict[str, Any]) -> dict[str, Any]:
        """Count points exactly."""
        request = edge.CountRequest(exact=True, filter=filter_of(body.get("filter")))
        with self._engine() as shard:
            return {"count": shard.count(request)}

    def flush(self) -> None:
        """Bring what the log holds into the segments, so that the next start has little to repeat."""
        if self._dirty:
            with self._engine() as shard:
                shard.flush()
                self._dirty = False

    def close(self) -> None:
        """Flush, and let go of the files."""
        with self._engine() as shard:
            shard.flush()
            shard.close()

    @property
    def _size(self) -> int:
        return int(self._parameters["size"])

    def _nearest(self, raw: Any, chosen: edge.Filter | None) -> tuple[list[float], edge.Filter | None]:
        """Return the vector asked for, and the filter, which leaves out the point it was taken from."""
        if isinstance(raw, dict) and set(raw) == {"nearest"}:
            raw = raw["nearest"]
        if raw is None or isinstance(raw, dict):
            raise wrong("only queries by vector or by point ID are served here")
        if isinstance(raw, list):
            return vector(raw, self._size), chosen
        one = point_id(raw)
        with self._engine() as shard:
            records = shard.retrieve([one], with_payload=False, with_vector=True)
        if not records:
            raise RefusedError(404, f"Not found: No point with id {raw} found")
        itself: Any = edge.HasIdCondition({one})
        stored: Any = records[0].vector  # unnamed and dense, as all here are
        return stored, edge.Filter(must=None if chosen is None else [chosen], must_not=[itself])

    def _update(self, operation: edge.UpdateOperation) -> dict[str, Any]:
        with self._engine() as shard:
            shard.update(operation)
            self._dirty = True
            self._operations += 1
            return {"operation_id": self._operations, "status": "completed"}

    @contextmanager
    def _engine(self) -> Iterator[edge.EdgeShard]:
        with self._lock:
            try:
                yield self._shard
            except Exception as error:  # the engine raises nothing narrower
                raise RefusedError(500, f"Service internal error: {error}") from error


def create_shard(folder: Path, *, size: int, distance: str) -> None:
    """Make an empty collection on disk."""
    parameters = edge.EdgeVectorParams(size=size, distance=DISTANCES[distance])
    shard = edge.EdgeShard.create(str(folder), edge.EdgeConfig(vectors=parameters))
    shard.flush()
    shard.close()


def _plain(one: PointId | str | None) -> int | str | None:
    return str(one) if isinstance(one, UUID) else one


def _record(one: Any) -> dict[str, Any]:
    return {"id": _plain(one.id), "payload": one.payload, "vector": one.vector}
