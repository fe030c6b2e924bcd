"""Vectors in Qdrant, over HTTP: one collection a model version, one point a content, cosine distance.

The collection can be rebuilt from PostgreSQL at any time. A point's id is its content's id, so that a repeat after a
crash writes the same point again; a point of a version replaces none of a later one, so that a worker that was held up
does no harm (Qdrant's conditional updates, since 1.16).

Importing this module imports ``qdrant_client``, which takes a second or two: only the functions that search or index
vectors import it.
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, TypeVar
from uuid import UUID

import numpy as np
from qdrant_client import QdrantClient, models
from qdrant_client.common.client_exceptions import QdrantException, ResourceExhaustedResponse
from qdrant_client.http.exceptions import ResponseHandlingException, UnexpectedResponse

from siftline.kit.errors import ConfigurationError, PermanentError, TransientError
from siftline.kit.trace import span
from siftline.models.unit_vector import Vector
from siftline.models.vectors_store import COLLECTION_PREFIX, collection_name

_TRANSIENT_STATUSES = frozenset({408, 425, 429})
T = TypeVar("T")
_UPSERT_BATCH = 256
_VERSION = "version"


class VectorsUnavailableError(TransientError):
    """Qdrant could not be reached, did not answer in time, or asked to come back later."""

    code = "vectors_unavailable"
    provider = "vectors"


class VectorsRefusedError(ConfigurationError):
    """Qdrant refused the key or does not understand what it is asked: an operator must act."""

    code = "vectors_refused"
    provider = "vectors"


class CollectionMismatchError(ConfigurationError):
    """The collection, or a vector meant for it, has another number of dimensions or another distance."""

    code = "collection_mismatch"
    provider = "vectors"


class InvalidVectorError(PermanentError):
    """A vector without direction: all zero, or with a component that is not a finite number."""

    code = "invalid_vector"


class AbsentError(VectorsRefusedError):
    """There is no such collection."""


@contextmanager
def _translated() -> Iterator[None]:
    """Raise errors of ours for those of ``qdrant_client``."""
    try:
        with span("Qdrant"):
            yield
    except ResourceExhaustedResponse as error:
        raise VectorsUnavailableError(
            "The vector store asked us to retry later.", retry_after_s=float(error.retry_after_s)
        ) from error
    except UnexpectedResponse as error:
        raise _of_status(error.status_code or 0) from error
    except (ResponseHandlingException, QdrantException, ValueError) as error:  # ValueError: the answer is not JSON
        raise VectorsUnavailableError(
            "The vector store could not be reached, or its answer could not be read."
        ) from error


def _of_status(status: int) -> Exception:
    if status == 404:
        return AbsentError("The vector store has no such collection.")
    if status >= 500 or status in _TRANSIENT_STATUSES:
        return VectorsUnavailableError(f"The vector store answered {status}.")
    return VectorsRefusedError(f"The vector store rejected the request ({status}).")


@dataclass(frozen=True, slots=True)
class Point:
    """What is stored of one content. ``vector`` is float32 of the model's dimensions; nothing in it is personal."""

    id: UUID
    vector: Vector
    payload: Mapping[str, Any] = field(default_factory=dict)
    version: int | None = None
    """Of what was read: a stored point of a later version stays as it is."""


@dataclass(frozen=True, slots=True)
class Hit:
    """A stored point and its cosine similarity to the query, in [-1, 1]."""

    id: UUID
    score: float


class VectorIndex:
    """The points of one model version. Every method raises ``VectorsUnavailableError`` or ``ConfigurationError``."""

    def __init__(
        self,
        client: QdrantClient | str,
        *,
        dimensions: int,
        model_version: str = "",
        collection: str = "",
        api_key: str | None = None,
        timeout_s: int = 10,
    ) -> None:
        """Take a client, or the URL of a server; nothing is sent before the first call.

        The collection is named for ``model_version``, unless it is given by its own name.
        """
        self._client = open_client(client, api_key=api_key, timeout_s=timeout_s) if isinstance(client, str) else client
        self._dimensions = dimensions
        self._known = False
        self.collection = collection or collection_name(model_version)

    def ensure(self) -> None:
        """Create the collection if there is none; raise ``CollectionMismatchError`` if it is of another shape."""
        if self._exists():
            return
        try:
            with _translated():
                self._client.create_collection(
                    self.collection,
                    vectors_config=models.VectorParams(size=self._dimensions, distance=models.Distance.COSINE),
                )
                self._client.create_payload_index(self.collection, _VERSION, models.PayloadSchemaType.INTEGER)
        except VectorsRefusedError:
            if not self._exists():  # unless another process was faster: then its shape counts
                raise
        self._known = True

    def upsert(self, points: Sequence[Point]) -> None:
        """Store points, replacing those with the same ids but of no later version; durable when it returns.

        Creates the collection.
        Raises ``InvalidVectorError`` or ``CollectionMismatchError`` before anything is sent if a vector is not fit.
        """
        for point in points:
            self._check(point.vector)
        self.ensure()
        by_version: dict[int | None, list[models.PointStruct]] = defaultdict(list)
        for point in points:
            by_version[point.version].append(_struct(point))
        for version, structs in by_version.items():
            for start in range(0, len(structs), _UPSERT_BATCH):
                self._upsert_or_create(structs[start : start + _UPSERT_BATCH], version)

    def search(
        self, vector: Vector, limit: int, *, ids: Collection[UUID] | None = None, exclude: Collection[UUID] = ()
    ) -> list[Hit]:
        """Return the nearest points, best first, at most ``limit``.

        With ``ids`` only those points are looked at, never those in ``exclude``. No collection means no hits.
        """
        self._check(vector)
        if limit < 1 or (ids is not None and not ids):
            return []
        condition = models.Filter(
            must=None if ids is None else [models.HasIdCondition(has_id=[str(i) for i in ids])],
            must_not=[models.HasIdCondition(has_id=[str(i) for i in exclude])] if exclude else None,
        )

        def call() -> list[Hit]:
            response = self._client.query_points(
                self.collection, query=vector.tolist(), query_filter=condition, limit=limit, with_payload=False
            )
            return [Hit(UUID(str(point.id)), float(point.score)) for point in response.points]

        return self._read(call, [])

    def retrieve(self, ids: Collection[UUID]) -> dict[UUID, Vector]:
        """Return the stored vectors (unit length, as cosine collections keep them) of those ids that are there."""
        if not ids:
            return {}

        def call() -> dict[UUID, Vector]:
            records = self._client.retrieve(
                self.collection, [str(i) for i in ids], with_payload=False, with_vectors=True
            )
            return {UUID(str(record.id)): np.asarray(record.vector, dtype=np.float32) for record in records}

        return self._read(call, {})

    def scroll(self, limit: int, after: UUID | None = None) -> tuple[list[UUID], UUID | None]:
        """Return up to ``limit`` point ids in id order, and where the next page starts (``None``: that was all)."""

        def call() -> tuple[list[UUID], UUID | None]:
            records, following = self._client.scroll(
                self.collection,
                limit=limit,
                offset=None if after is None else str(after),
                with_payload=False,
                with_vectors=False,
            )
            return [UUID(str(record.id)) for record in records], None if following is None else UUID(str(following))

        nothing: tuple[list[UUID], UUID | None] = ([], None)
        return self._read(call, nothing)

    def versions(self, ids: Collection[UUID]) -> dict[UUID, int | None]:
        """Return of those ids that are there which version of what was read their points are of."""
        if not ids:
            return {}

        def call() -> dict[UUID, int | None]:
            records = self._client.retrieve(self.collection, [str(i) for i in ids], with_payload=[_VERSION])
            return {UUID(str(record.id)): (record.payload or {}).get(_VERSION) for record in records}

        return self._read(call, {})

    def drop(self) -> None:
        """Delete the collection with all its points; one that is not there is no error."""
        with _translated():
            self._client.delete_collection(self.collection)
        self._known = False

    def delete(self, ids: Collection[UUID]) -> None:
        """Remove points; ids that are not there are no error."""
        if not ids:
            return
        points = models.PointIdsList(points=[str(i) for i in ids])
        self._read(lambda: self._client.delete(self.collection, points_selector=points, wait=True), None)

    def count(self) -> int:
        """Return how many points are stored, exactly."""
        return self._read(lambda: int(self._client.count(self.collection, exact=True).count), 0)

    def close(self) -> None:
        """Close the HTTP connections."""
        self._client.close()

    def _upsert_or_create(self, structs: list[models.PointStruct], version: int | None) -> None:
        try:
            self._upsert(structs, version)
        except AbsentError:  # dropped since we looked, to be built again
            self._known = False
            self.ensure()
            self._upsert(structs, version)

    def _upsert(self, structs: list[models.PointStruct], version: int | None) -> None:
        unless_later = None
        if version is not None:
            unless_later = models.Filter(must_not=[models.FieldCondition(key=_VERSION, range=models.Range(gt=version))])
        with _translated():
            self._client.upsert(self.collection, points=structs, wait=True, update_filter=unless_later)

    def _read(self, call: Callable[[], T], absent: T) -> T:
        """Return what ``call`` answers, or ``absent`` where there is no collection."""
        if not self._exists():
            return absent
        try:
            with _translated():
                return call()
        except AbsentError:
            self._known = False
            return absent

    def _exists(self) -> bool:
        """Say whether the collection is there, checking its shape once a process."""
        if self._known:
            return True
        with _translated():
            if not self._client.collection_exists(self.collection):
                return False
            shape = self._client.get_collection(self.collection).config.params.vectors
        if (
            not isinstance(shape, models.VectorParams)
            or shape.size != self._dimensions
            or shape.distance != models.Distance.COSINE
        ):
            raise CollectionMismatchError(
                f"The collection {self.collection} is not for cosine vectors of {self._dimensions} dimensions."
            )
        self._known = True
        return True

    def _check(self, vector: Vector) -> None:
        if vector.shape != (self._dimensions,):
            raise CollectionMismatchError(
                f"A vector of shape {vector.shape} does not fit {self.collection}, "
                f"which has {self._dimensions} dimensions."
            )
        if not np.isfinite(vector).all() or not vector.any():
            raise InvalidVectorError("The vector is zero or contains a value that is not a finite number.")


def _struct(point: Point) -> models.PointStruct:
    payload = dict(point.payload) if point.version is None else {**point.payload, _VERSION: point.version}
    return models.PointStruct(id=str(point.id), vector=point.vector.tolist(), payload=payload)


def open_client(url: str, *, api_key: str | None = None, timeout_s: int = 10) -> QdrantClient:
    """Return a client for the server at ``url``; every request ends within ``timeout_s`` seconds."""
    # As a header: the client's own argument warns of plain HTTP, which on this machine or behind a proxy is right.
    headers = {"api-key": api_key} if api_key else None
    return QdrantClient(url=url, headers=headers, timeout=timeout_s, check_compatibility=False)


def open_collections(url: str, *, api_key: str | None = None, timeout_s: int = 10) -> list[VectorIndex]:
    """Return an index for each collection of contents on the server, whatever model versions they are of."""
    client = open_client(url, api_key=api_key, timeout_s=timeout_s)
    found = []
    with _translated():
        names = [one.name for one in client.get_collections().collections if one.name.startswith(COLLECTION_PREFIX)]
        for name in sorted(names):
            shape = client.get_collection(name).config.params.vectors
            if isinstance(shape, models.VectorParams):
                found.append(VectorIndex(client, collection=name, dimensions=shape.size))
    return found
