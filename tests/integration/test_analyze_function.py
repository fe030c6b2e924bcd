"""The ``analyze`` function as Lambda calls it: environment in, SQS event in, partial failures out."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from functions.analyze import app
from infra.local.aws import CREDENTIALS, REGION
from infra.local.vectors import Service, Vectors
from infra.local.wsgi import LoopbackServer
from siftline.contracts import Queue
from siftline.kit.aws import sqs_client
from siftline.kit.db import Database, open_database
from siftline.kit.ids import new_id
from siftline.kit.vectors import VectorIndex
from siftline.settings import environment
from tests.factories import FakeContext, make_content
from tests.models import CORPUS, HIDDEN, tiny_embedder, tiny_model

EVENTS = Path(__file__).resolve().parents[2] / "events"
CONTENT = UUID("018f4e5a-7b1c-7000-8000-0000000000a1")


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
    sqs_endpoint: str, database: Database, database_url: str, model: Path, qdrant: str, tmp_path: Path
) -> Iterator[dict[str, str]]:
    """The function's environment: queues of one's own, the tiny model, a vector store."""
    aws = {**CREDENTIALS, "AWS_ENDPOINT_URL": sqs_endpoint, "AWS_DEFAULT_REGION": REGION}
    for cached in (sqs_client, app.build):
        cached.cache_clear()
    with environment(aws):
        client = sqs_client()
        stage = str(new_id())
        urls = {}
        for queue in Queue:
            urls[f"{queue.name}_QUEUE_URL"] = client.create_queue(QueueName=f"{stage}-{queue}")["QueueUrl"]
            urls[f"{queue.name}_DLQ_URL"] = client.create_queue(QueueName=f"{stage}-{queue}-dlq")["QueueUrl"]
        yield {
            **urls,
            "DATABASE_URL": database_url,
            "QDRANT_URL": qdrant,
            "MODEL_URI": str(model),
            "MODEL_CACHE_DIR": str(tmp_path / "cache"),
        }
    open_database(database_url, 1).close()
    client.close()
    for cached in (sqs_client, app.build):
        cached.cache_clear()


def handled(name: str, variables: dict[str, str]) -> Any:
    event = json.loads((EVENTS / f"{name}.json").read_text())
    queue = variables["ANALYSIS_QUEUE_URL"].rpartition("/")[2]
    for record in event["Records"]:
        record["eventSourceARN"] = f"arn:aws:sqs:{REGION}:000000000000:{queue}"
    with environment(variables):
        return app.handler(event, FakeContext())


def make_text(database: Database) -> None:
    with database.transaction() as connection:
        content_id = make_content(connection, title="Match won", text=". ".join([*CORPUS, *CORPUS]) + ".")
        connection.execute("update contents set id = %s where id = %s", (CONTENT, content_id))


def test_the_plain_message_makes_a_content_ready_and_its_vector_found(variables, database, model, qdrant):
    make_text(database)

    assert handled("analyze.ok", variables) == {"batchItemFailures": []}

    with database.transaction() as connection:
        row = connection.execute("select status, topics is null, summary <> '' from contents").fetchone()
    assert row == ("READY", False, True)
    embedder = tiny_embedder(model)
    index = VectorIndex(qdrant, model_version=embedder.model_version, dimensions=HIDDEN)
    assert [hit.id for hit in index.search(embedder.embed_query("football team"), 5)] == [CONTENT]
    index.close()


def test_a_malformed_message_is_parked_with_its_cause(variables):
    assert handled("analyze.malformed", variables) == {"batchItemFailures": []}

    received = sqs_client().receive_message(
        QueueUrl=variables["ANALYSIS_DLQ_URL"], MessageAttributeNames=["All"], WaitTimeSeconds=5
    )
    assert received["Messages"][0]["MessageAttributes"]["error_code"]["StringValue"] == "malformed_message"


def test_a_missing_model_is_told_as_what_it_is_and_the_job_waits_for_it_at_no_cost(variables, database, tmp_path):
    make_text(database)

    answer = handled("analyze.ok", {**variables, "MODEL_URI": str(tmp_path / "nowhere")})

    assert answer == {"batchItemFailures": []}
    with database.transaction() as connection:
        job = connection.execute("select state, attempts, waits_for, error_message from jobs").fetchone()
        breaker = connection.execute("select provider, error_code from breakers").fetchone()
    assert job[:3] == ("pending", 0, "model_missing")
    assert "There is no model" in job[3]
    assert breaker == ("model", "model_missing")


def test_topics_of_ones_own_are_taken_from_the_file_that_is_named(variables, database, tmp_path):
    make_text(database)
    file = tmp_path / "topics.toml"
    file.write_text(
        '[[topics]]\nid = "ball-games"\nen = "football, goal, team"\n[[topics]]\nid = "money"\nen = "bank"\n'
    )

    handled("analyze.ok", {**variables, "TOPICS_FILE": str(file), "TOPIC_THRESHOLD": "0", "TOPICS_MAX": "2"})

    with database.transaction() as connection:
        topics = connection.execute("select topics from contents").fetchone()[0]
    assert {topic["topic"] for topic in topics} == {"ball-games", "money"}
