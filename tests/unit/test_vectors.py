import uuid

import httpx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from qdrant_client import QdrantClient, models

from siftline.kit.errors import ConfigurationError, TransientError
from siftline.models.vectors import (
    CollectionMismatchError,
    InvalidVectorError,
    Point,
    VectorIndex,
    VectorsRefusedError,
    VectorsUnavailableError,
)
from siftline.models.vectors_store import collection_name

# What is created for a real server's sake means nothing to the client's own memory.
pytestmark = pytest.mark.filterwarnings("ignore:Payload indexes have no effect")
A, B, C = (uuid.UUID(int=n) for n in (1, 2, 3))


@pytest.fixture
def client():
    client = QdrantClient(":memory:")
    yield client
    client.close()


@pytest.fixture
def index(client):
    return VectorIndex(client, model_version="tiny-1", dimensions=2)


def vector(*values: float):
    return np.array(values, dtype=np.float32)


def answering(status: int, headers: dict[str, str] | None = None, body: str = "{}") -> VectorIndex:
    """A real client whose far side answers always the same."""
    transport = httpx.MockTransport(lambda _: httpx.Response(status, headers=headers, text=body))
    client = QdrantClient(url="http://127.0.0.1:1", check_compatibility=False, transport=transport)
    return VectorIndex(client, model_version="tiny-1", dimensions=2)


def test_the_nearest_points_come_first_with_their_cosine(index):
    index.upsert([Point(A, vector(1, 0)), Point(B, vector(0, 2)), Point(C, vector(3, 3))])

    hits = index.search(vector(0, 1), 2)

    assert [hit.id for hit in hits] == [B, C]
    assert hits[0].score == pytest.approx(1.0)
    assert hits[1].score == pytest.approx(0.5**0.5)


def test_a_search_looks_only_at_the_ids_it_is_given_and_never_at_excluded_ones(index):
    index.upsert([Point(A, vector(1, 0)), Point(B, vector(1, 0.1)), Point(C, vector(1, 0.2))])

    assert [hit.id for hit in index.search(vector(1, 0), 9, ids=[B, C])] == [B, C]
    assert [hit.id for hit in index.search(vector(1, 0), 9, exclude=[A])] == [B, C]
    assert [hit.id for hit in index.search(vector(1, 0), 9, ids=[A, B], exclude=[A])] == [B]
    assert index.search(vector(1, 0), 9, ids=[]) == []
    assert index.search(vector(1, 0), 0) == []


def test_storing_the_same_point_again_keeps_one_and_takes_the_newer_vector(index):
    index.upsert([Point(A, vector(1, 0), {"lang": "en"})])
    index.upsert([Point(A, vector(0, 1), {"lang": "en"})])

    assert index.count() == 1
    assert index.retrieve([A, B])[A] == pytest.approx(vector(0, 1))


def test_a_point_of_an_older_version_replaces_no_newer_one(index):
    index.upsert([Point(A, vector(1, 0), version=2), Point(B, vector(1, 0))])
    index.upsert(
        [Point(A, vector(0, 1), version=1), Point(B, vector(0, 1), version=1), Point(C, vector(0, 1), version=1)]
    )

    assert index.retrieve([A, B, C])[A] == pytest.approx(vector(1, 0))
    assert index.retrieve([A, B, C])[B] == pytest.approx(vector(0, 1))
    assert index.retrieve([A, B, C])[C] == pytest.approx(vector(0, 1))
    for version in (2, 3):
        index.upsert([Point(A, vector(0, version), version=version)])
        assert index.retrieve([A])[A] == pytest.approx(vector(0, 1))


def test_more_points_than_one_batch_are_all_stored(index):
    index.upsert([Point(uuid.UUID(int=n + 1), vector(1, n)) for n in range(600)])

    assert index.count() == 600


def test_deleting_is_repeatable_and_takes_unknown_ids(index):
    index.upsert([Point(A, vector(1, 0)), Point(B, vector(0, 1))])
    index.delete([A, C])
    index.delete([A, C])
    index.delete([])

    assert index.count() == 1
    assert index.retrieve([A]) == {}


def test_without_a_collection_everything_reads_as_empty(index):
    assert index.search(vector(1, 0), 5) == []
    assert index.retrieve([A]) == {}
    assert index.retrieve([]) == {}
    assert index.scroll(10) == ([], None)
    assert index.count() == 0
    index.delete([A])


def test_scrolling_visits_every_point_once(index):
    ids = [uuid.UUID(int=n + 1) for n in range(25)]
    index.upsert([Point(i, vector(1, 0)) for i in ids])

    seen, after = [], None
    while True:
        page, after = index.scroll(10, after)
        seen += page
        if after is None:
            break

    assert sorted(seen) == ids


def test_ensure_is_repeatable_and_two_processes_may_race(client):
    first = VectorIndex(client, model_version="tiny-1", dimensions=2)
    second = VectorIndex(client, model_version="tiny-1", dimensions=2)
    first.ensure()
    first.ensure()
    second.ensure()

    assert client.get_collection(first.collection).config.params.vectors.distance == models.Distance.COSINE


@pytest.mark.parametrize(
    "shape",
    [
        models.VectorParams(size=3, distance=models.Distance.COSINE),
        models.VectorParams(size=2, distance=models.Distance.DOT),
        {"named": models.VectorParams(size=2, distance=models.Distance.COSINE)},
    ],
)
def test_a_collection_of_another_shape_is_a_configuration_fault_for_every_call(client, index, shape):
    client.create_collection(index.collection, vectors_config=shape)

    for call in (index.ensure, index.count, lambda: index.search(vector(1, 0), 1)):
        with pytest.raises(CollectionMismatchError) as caught:
            call()
        assert caught.value.error_code == "collection_mismatch"
        assert isinstance(caught.value, ConfigurationError)


@pytest.mark.parametrize("bad", [vector(0, 0), vector(float("nan"), 1), vector(float("inf"), 1)])
def test_a_vector_without_direction_is_refused_before_anything_is_stored(index, bad):
    with pytest.raises(InvalidVectorError):
        index.upsert([Point(A, vector(1, 0)), Point(B, bad)])
    with pytest.raises(InvalidVectorError):
        index.search(bad, 1)
    assert index.count() == 0


def test_a_vector_of_another_length_is_refused(index):
    with pytest.raises(CollectionMismatchError):
        index.upsert([Point(A, vector(1, 0, 0))])


def test_model_versions_do_not_share_a_collection(client):
    one = VectorIndex(client, model_version="tiny-1", dimensions=2)
    two = VectorIndex(client, model_version="tiny-2", dimensions=2)
    one.upsert([Point(A, vector(1, 0))])

    assert two.count() == 0


@given(st.text(max_size=200), st.text(max_size=200))
def test_collection_names_are_safe_and_differ_where_versions_differ(left, right):
    for name in (collection_name(left), collection_name(right)):
        assert len(name) <= 110
        assert set(name) <= set("abcdefghijklmnopqrstuvwxyz0123456789._-")
    assert (collection_name(left) == collection_name(right)) == (left == right)


@pytest.mark.parametrize("status", [408, 429, 500, 502, 503, 504])
def test_a_struggling_server_is_a_transient_error(status):
    with pytest.raises(VectorsUnavailableError) as caught:
        answering(status).count()
    assert isinstance(caught.value, TransientError)
    assert caught.value.error_code == "vectors_unavailable"


def test_retry_after_of_the_server_is_handed_on():
    with pytest.raises(VectorsUnavailableError) as caught:
        answering(429, {"Retry-After": "17"}).count()
    assert caught.value.retry_after_s == 17


@pytest.mark.parametrize("status", [400, 401, 403, 422])
def test_a_refusing_server_is_a_configuration_fault(status):
    with pytest.raises(VectorsRefusedError):
        answering(status).ensure()


def test_a_retry_after_that_is_a_date_is_still_a_transient_error():
    with pytest.raises(VectorsUnavailableError):
        answering(429, {"Retry-After": "Wed, 21 Oct 2026 07:28:00 GMT"}).count()


def test_something_else_listening_on_the_port_is_a_transient_error():
    with pytest.raises(VectorsUnavailableError):
        answering(200, body="<html>hello</html>").count()


def test_a_server_that_refuses_connections_is_a_transient_error():
    def refuse(request: httpx.Request) -> httpx.Response:
        raise httpx.ConnectError("refused", request=request)

    client = QdrantClient(url="http://127.0.0.1:1", check_compatibility=False, transport=httpx.MockTransport(refuse))
    with pytest.raises(VectorsUnavailableError):
        VectorIndex(client, model_version="tiny-1", dimensions=2).search(vector(1, 0), 1)


class Recorded:
    """A far side that follows a script of (method, path ending, status, body)."""

    def __init__(self, *script: tuple[str, str, int, object]) -> None:
        self.script = list(script)

    def __call__(self, request: httpx.Request) -> httpx.Response:
        method, ending, status, body = self.script.pop(0)
        assert (request.method, request.url.path.endswith(ending)) == (method, True), request.url
        return httpx.Response(status, json=body)

    def index(self) -> VectorIndex:
        client = QdrantClient(url="http://127.0.0.1:1", check_compatibility=False, transport=httpx.MockTransport(self))
        return VectorIndex(client, model_version="tiny-1", dimensions=2)


OK = {"result": True, "status": "ok", "time": 0.0}
DONE = {"result": {"operation_id": 1, "status": "completed"}, "status": "ok", "time": 0.0}
GONE = {"status": {"error": "Not found: Collection `contents_tiny-1` doesn't exist!"}, "time": 0.0}
EXISTS, ABSENT = ({"result": {"exists": e}, "status": "ok", "time": 0.0} for e in (True, False))


def test_a_collection_dropped_under_a_running_process_is_made_again_by_the_next_write():
    script = Recorded(
        ("GET", "/exists", 200, ABSENT),
        ("PUT", "/contents_tiny-1", 200, OK),
        ("PUT", "/index", 200, DONE),
        ("PUT", "/points", 200, DONE),
        ("PUT", "/points", 404, GONE),
        ("GET", "/exists", 200, ABSENT),
        ("PUT", "/contents_tiny-1", 200, OK),
        ("PUT", "/index", 200, DONE),
        ("PUT", "/points", 200, DONE),
    )
    index = script.index()
    index.upsert([Point(A, vector(1, 0))])
    index.upsert([Point(A, vector(1, 0))])

    assert script.script == []


def test_a_collection_dropped_under_a_running_process_reads_as_empty():
    index = Recorded(
        ("GET", "/exists", 200, ABSENT),
        ("PUT", "/contents_tiny-1", 200, OK),
        ("PUT", "/index", 200, DONE),
        ("POST", "/points/query", 404, GONE),
        ("GET", "/exists", 200, ABSENT),
    ).index()
    index.ensure()

    assert index.search(vector(1, 0), 3) == []
    assert index.search(vector(1, 0), 3) == []
