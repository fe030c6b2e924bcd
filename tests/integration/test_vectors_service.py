"""The vector service answers qdrant-client as the client's own in-memory mode does, and keeps what it was told."""

import random
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any
from uuid import UUID

import httpx
import psutil
import pytest
from qdrant_client import QdrantClient, models
from qdrant_client.http.exceptions import UnexpectedResponse

from infra.local.ports import free_port
from infra.local.processes import wait_until
from tests.vectors import serving_vectors

ROOT = Path(__file__).resolve().parents[2]
SIZE = 8
RNG = random.Random(7)
IDS = [str(UUID(int=RNG.getrandbits(128), version=4)) for _ in range(40)]
POINTS = [
    models.PointStruct(
        id=identity,
        vector=[RNG.gauss(0, 1) for _ in range(SIZE)],
        payload={"lang": ["en", "de", "fr"][n % 3], "n": n, "tags": ["a", "b"] if n % 2 else ["c"]},
    )
    for n, identity in enumerate(IDS)
]
QUERY = [RNG.gauss(0, 1) for _ in range(SIZE)]


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    with serving_vectors(tmp_path_factory.mktemp("vectors")) as url:
        yield url


@pytest.fixture(scope="module")
def client(service):
    client = QdrantClient(url=service)
    yield client
    client.close()


@pytest.fixture(scope="module")
def memory():
    client = QdrantClient(":memory:")
    yield client
    client.close()


SHAPE = models.VectorParams(size=SIZE, distance=models.Distance.COSINE)


def _filled(name, *clients):
    for one in clients:
        one.create_collection(name, vectors_config=SHAPE)
        one.upsert(name, points=POINTS, wait=True)


@pytest.fixture(scope="module")
def pair(client, memory):
    """The service and the client's own in-memory mode, holding the same points in the collection ``c``: to read."""
    _filled("c", client, memory)
    return client, memory


@pytest.fixture
def changing(client, memory):
    """The same, in a collection ``changing`` of this test's own."""
    _filled("changing", client, memory)
    yield client, memory
    for one in (client, memory):
        one.delete_collection("changing")


@pytest.fixture(scope="module")
def empty(client):
    """A collection that no test writes to."""
    client.create_collection("empty", vectors_config=SHAPE)


def _field(key, **match):
    kinds: dict[str, type[Any]] = {"value": models.MatchValue, "any": models.MatchAny, "except": models.MatchExcept}
    [(kind, value)] = match.items()
    return models.FieldCondition(key=key, match=kinds[kind](**{kind: value}))


FILTERS = {
    "none": None,
    "one language": models.Filter(must=[_field("lang", value="de")]),
    "any of two languages": models.Filter(must=[_field("lang", any=["de", "fr"])]),
    "all but one language": models.Filter(must=[_field("lang", **{"except": ["de"]})]),
    "a value in a list": models.Filter(must=[_field("tags", any=["b"])]),
    "a number": models.Filter(must=[_field("n", value=3)]),
    "some ids": models.Filter(must=[models.HasIdCondition(has_id=IDS[:7])]),
    "not some ids": models.Filter(must_not=[models.HasIdCondition(has_id=IDS[:7])]),
    "either": models.Filter(should=[_field("lang", value="de"), _field("tags", any=["c"])]),
    "a range": models.Filter(must=[models.FieldCondition(key="n", range=models.Range(gte=3, lt=20))]),
    "a filter in a filter": models.Filter(
        must=[models.Filter(should=[_field("n", value=1), _field("n", value=2)])], must_not=[_field("n", value=2)]
    ),
    "nothing": models.Filter(must=[_field("lang", value="xx")]),
}


def _seen(points):
    return [(p.id, pytest.approx(p.score, abs=1e-5), p.payload) for p in points]


@pytest.mark.parametrize("name", FILTERS)
def test_a_query_finds_the_same_points_in_the_same_order(pair, name):
    service, memory = pair
    asked = {"query": QUERY, "query_filter": FILTERS[name], "limit": 12, "with_payload": True}
    expected = memory.query_points("c", **asked).points
    assert [(p.id, p.score, p.payload) for p in service.query_points("c", **asked).points] == _seen(expected)


@pytest.mark.parametrize("name", FILTERS)
def test_counting_and_scrolling_agree(pair, name):
    service, memory = pair
    chosen = FILTERS[name] or models.Filter()
    assert service.count("c", count_filter=chosen).count == memory.count("c", count_filter=chosen).count
    assert _all(service, "c", chosen) == _all(memory, "c", chosen)


def _all(client, collection, chosen=None):
    found: dict[Any, Any] = {}
    offset = None
    while True:
        page, offset = client.scroll(collection, scroll_filter=chosen, limit=9, offset=offset, with_payload=True)
        found |= {record.id: record.payload for record in page}
        if offset is None:
            return found


def test_deleting_by_filter_agrees(changing):
    for one in changing:
        one.delete("changing", points_selector=models.FilterSelector(filter=FILTERS["either"]), wait=True)
    service, memory = changing
    assert 0 < service.count("changing").count < len(POINTS)
    assert _all(service, "changing") == _all(memory, "changing")


def test_offset_threshold_and_query_by_a_stored_point_agree(pair):
    service, memory = pair
    for asked in (
        {"query": QUERY, "limit": 5, "offset": 3},
        {"query": QUERY, "limit": 40, "score_threshold": 0.2},
        {"query": IDS[4], "limit": 6},
        {"query": IDS[4], "limit": 6, "query_filter": FILTERS["one language"]},
    ):
        expected = _seen(memory.query_points("c", with_payload=False, **asked).points)
        assert [(p.id, p.score, p.payload) for p in service.query_points("c", with_payload=False, **asked).points] == (
            expected
        )


def test_points_are_given_back_as_they_were_stored_with_unit_vectors(pair):
    service, memory = pair
    wanted = [IDS[3], IDS[1], str(UUID(int=1))]
    for with_payload in (True, False, ["lang"]):
        got = service.retrieve("c", wanted, with_payload=with_payload, with_vectors=True)
        expected = memory.retrieve("c", wanted, with_payload=with_payload, with_vectors=True)
        assert {r.id: (r.payload or None) for r in got} == {r.id: (r.payload or None) for r in expected}
        for one in got:
            [same] = [r for r in expected if r.id == one.id]
            assert one.vector == pytest.approx(same.vector, abs=1e-6)


def test_storing_a_point_again_replaces_it_and_deleting_unknown_ids_is_no_error(changing):
    for one in changing:
        one.upsert("changing", points=[models.PointStruct(id=IDS[0], vector=QUERY, payload={"new": True})], wait=True)
        one.delete("changing", points_selector=models.PointIdsList(points=[IDS[1], str(UUID(int=2))]), wait=True)
    service, memory = changing
    assert _all(service, "changing") == _all(memory, "changing")
    assert service.query_points("changing", query=QUERY, limit=1).points[0].id == IDS[0]


def test_with_an_update_filter_only_points_that_match_are_replaced(changing):
    for n, (identity, value) in enumerate([(IDS[3], "other"), (IDS[4], "other"), (str(UUID(int=9)), "fresh")]):
        german = models.Filter(must=[models.FieldCondition(key="lang", match=models.MatchValue(value="de"))])
        structs = [models.PointStruct(id=identity, vector=QUERY, payload={"new": f"{value} {n}"})]
        for one in changing:
            one.upsert("changing", points=structs, wait=True, update_filter=german)
    service, memory = changing
    assert _all(service, "changing") == _all(memory, "changing")
    assert [record.payload.get("new") for record in service.retrieve("changing", [IDS[3], IDS[4]])] == [None, "other 1"]


def test_an_indexed_field_filters_as_before(changing):
    service, memory = changing
    service.create_payload_index("changing", "lang", field_schema=models.PayloadSchemaType.KEYWORD, wait=True)
    german = FILTERS["one language"]
    assert _all(service, "changing", german) == _all(memory, "changing", german)


def test_collections_come_and_go(client):
    assert not client.collection_exists("coming")
    client.create_collection("coming", vectors_config=SHAPE)
    assert client.collection_exists("coming")
    shape = client.get_collection("coming").config.params.vectors
    assert (shape.size, shape.distance) == (SIZE, models.Distance.COSINE)
    assert "coming" in [one.name for one in client.get_collections().collections]
    assert client.delete_collection("coming")
    assert not client.delete_collection("coming")
    assert "coming" not in [one.name for one in client.get_collections().collections]


@pytest.mark.parametrize(
    ("call", "status", "words"),
    [
        (lambda c: c.get_collection("none"), 404, "doesn't exist"),
        (lambda c: c.count("none"), 404, "doesn't exist"),
        (lambda c: c.query_points("empty", query=[1.0, 2.0]), 400, "expected dim: 8, got 2"),
        (lambda c: c.upsert("empty", points=[models.PointStruct(id=1, vector=[1.0])]), 400, "expected dim: 8, got 1"),
        (lambda c: c.upsert("empty", points=[models.PointStruct(id="x", vector=QUERY)]), 400, "not a valid point ID"),
        (
            lambda c: c.create_collection("empty", vectors_config=models.VectorParams(size=5, distance="Cosine")),
            409,
            "already exists",
        ),
    ],
)
def test_a_wrong_request_gets_qdrants_error(client, empty, call, status, words):
    with pytest.raises(UnexpectedResponse) as raised:
        call(client)
    assert raised.value.status_code == status
    assert words in raised.value.structured()["status"]["error"]
    assert client.count("empty").count == 0


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/collections/empty/points/query", "{"),
        ("/collections/empty/points/query", "[]"),
        ("/collections/empty/points/query", '{"query": null}'),
        ("/collections/empty/points/query", '{"prefetch": [{}], "query": [1]}'),
        ("/collections/empty/points/query", '{"query": [NaN, 1, 1, 1, 1, 1, 1, 1]}'),
        ("/collections/empty/points/scroll", '{"filter": {"must": [{"geo_radius": {}}]}}'),
        ("/collections/empty/points/scroll", '{"filter": {"must": [{"key": "a"}]}}'),
        ("/collections/empty/points/scroll", '{"filter": {"must": [{"has_id": ["x"]}]}}'),
        ("/collections/empty/points/scroll", '{"limit": 0}'),
        ("/collections/empty/points", '{"ids": "x"}'),
        ("/collections/empty/points/delete", "{}"),
    ],
)
def test_what_is_not_understood_is_refused_not_ignored(service, empty, path, body):
    answer = httpx.post(service + path, content=body)
    assert answer.status_code in (400, 422)
    assert answer.json()["status"]["error"]


def test_a_killed_service_keeps_every_point_it_acknowledged_and_listens_on_loopback_only(tmp_path):
    port = free_port()
    command = [sys.executable, "-m", "infra.local.vectors", "--folder", str(tmp_path), "--port", str(port)]
    client = QdrantClient(url=f"http://127.0.0.1:{port}", check_compatibility=False)
    for round_ in range(2):
        with subprocess.Popen(command, cwd=ROOT) as process:
            assert wait_until(lambda: _healthy(port), 300)
            if round_ == 0:
                _filled("c", client)
                listening = [
                    one.laddr.ip for one in psutil.Process(process.pid).net_connections("inet") if not one.raddr
                ]
                assert listening == ["127.0.0.1"]
                process.kill()
            else:
                assert client.count("c").count == len(POINTS)
                process.send_signal(signal.SIGTERM)
                assert process.wait(60) == 0
    client.close()


def _healthy(port):
    try:
        return httpx.get(f"http://127.0.0.1:{port}/healthz").is_success
    except httpx.TransportError:
        return False
