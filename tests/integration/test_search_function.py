"""The ``search`` function as Lambda calls it: environment in, HTTP API event in, response out."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from functions.search import app
from infra.local.ports import free_port
from siftline.kit.db import Database
from siftline.models.vectors import Point, VectorIndex
from siftline.settings.functions import environment
from tests.factories import lambda_context, make_content, make_item
from tests.functions import USER, cold, make_sample_user, sample_event
from tests.models import tiny_embedder


def answered(name: str) -> tuple[int, Any]:
    response = app.handler(sample_event(name), lambda_context())
    return response["statusCode"], json.loads(response["body"])


@pytest.fixture
def variables(database_url: str, model: Path, qdrant: str, tmp_path: Path) -> Iterator[dict[str, str]]:
    """The function's environment: the tiny model, a vector store."""
    own = {"QDRANT_API_KEY": "", "MODEL_URI": str(model), "MODEL_CACHE_DIR": str(tmp_path)}
    with cold(app.build, DATABASE_URL=database_url, QDRANT_URL=qdrant, **own) as variables:
        yield variables


@pytest.fixture
def held(database: Database, model: Path, qdrant: str) -> list[str]:
    """Contents that the user of the sample events holds, in the index of the model."""
    embedder = tiny_embedder(model)
    index = VectorIndex(qdrant, model_version=embedder.model_version, dimensions=embedder.dimensions)
    titles = ["port is being deepened for larger ships", "malaria vaccine"]
    with database.transaction() as connection:
        make_sample_user(connection)
        for title in titles:
            content_id = make_content(connection, status="READY", title=title, text=title)
            make_item(connection, UUID(USER), content_id)
            index.upsert([Point(content_id, embedder.embed_passage(title))])
    index.close()
    return titles


def test_a_question_is_answered_by_meaning(variables: dict[str, str], held: list[str]):
    with environment(variables):
        status, body = answered("search.ok")

    assert status == 200
    assert (body["mode"], [item["title"] for item in body["items"]]) == ("hybrid", held)


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
