"""The ``search`` function as Lambda calls it: environment in, HTTP API event in, response out."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from functions.search import app
from infra.local.postgres import free_port
from infra.local.vectors import Service, Vectors
from infra.local.wsgi import LoopbackServer
from siftline.kit.db import Database, open_database
from siftline.kit.vectors import Point, VectorIndex
from siftline.settings import environment
from tests.factories import FakeContext, make_content, make_item
from tests.models import tiny_embedder, tiny_model

EVENTS = Path(__file__).resolve().parents[2] / "events"
USER = "018f4e5a-7b1c-7000-8000-000000000001"


def answered(name: str) -> tuple[int, Any]:
    response = app.handler(json.loads((EVENTS / f"{name}.json").read_text()), FakeContext())
    return response["statusCode"], json.loads(response["body"])


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_model(tmp_path_factory.mktemp("model"))


@pytest.fixture
def qdrant(tmp_path: Path) -> Iterator[str]:
    vectors = Vectors(tmp_path / "vectors")
    with LoopbackServer(Service(vectors)) as server:
        yield server.url
    vectors.close()


@pytest.fixture
def variables(
    database: Database, database_url: str, model: Path, qdrant: str, tmp_path: Path
) -> Iterator[dict[str, str]]:
    app.build.cache_clear()
    yield {
        "DATABASE_URL": database_url,
        "QDRANT_URL": qdrant,
        "QDRANT_API_KEY": "",
        "MODEL_URI": str(model),
        "MODEL_CACHE_DIR": str(tmp_path),
    }
    open_database(database_url, 1).close()
    app.build.cache_clear()


@pytest.fixture
def held(database: Database, model: Path, qdrant: str) -> list[str]:
    """Contents that the user of the sample events holds, in the index of the model."""
    embedder = tiny_embedder(model)
    index = VectorIndex(qdrant, model_version=embedder.model_version, dimensions=embedder.dimensions)
    titles = ["port is being deepened for larger ships", "malaria vaccine"]
    with database.transaction() as connection:
        connection.execute("insert into users (id, name) values (%s, 'sample')", (USER,))
        for title in titles:
            content_id = make_content(connection, status="READY", title=title, text=title)
            make_item(connection, USER, content_id)
            index.upsert([Point(content_id, embedder.embed_passage(title))])
    index.close()
    return titles


def test_a_question_is_answered_by_meaning(variables: dict[str, str], held: list[str]):
    with environment(variables):
        status, body = answered("search.ok")

    assert status == 200
    assert (body["mode"], [item["title"] for item in body["items"]]) == ("vectors", held)


def test_an_empty_question_is_a_problem(variables: dict[str, str], held: list[str]):
    with environment(variables):
        assert answered("search.empty_query")[0] == 422


def test_a_missing_model_degrades_the_answer_until_it_is_there(
    variables: dict[str, str], held: list[str], tmp_path: Path
):
    with environment({**variables, "MODEL_URI": str(tmp_path / "nowhere")}):
        status, body = answered("search.ok")

    assert (status, body["mode"], body["reason"]["code"]) == (200, "text", "model_missing")
    assert body["items"][0]["title"] == held[0]


def test_a_qdrant_that_is_away_degrades_the_answer_and_the_next_one_is_whole_again(
    variables: dict[str, str], held: list[str], qdrant: str
):
    with environment({**variables, "QDRANT_URL": f"http://127.0.0.1:{free_port()}"}):
        assert answered("search.ok")[1]["reason"]["code"] == "vectors_unavailable"
    app.build.cache_clear()
    with environment(variables):
        assert answered("search.ok")[1]["degraded"] is False
