"""The ``cluster`` function as Lambda calls it: environment in, SQS event in, partial failures out."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from functions.cluster import app
from infra.local.aws import CREDENTIALS, REGION
from siftline.contracts import Queue
from siftline.kit.aws import sqs_client
from siftline.kit.db import Database, open_database
from siftline.kit.ids import new_id
from siftline.settings import environment
from tests.factories import FakeContext, make_content, make_item

EVENTS = Path(__file__).resolve().parents[2] / "events"
USER = "018f4e5a-7b1c-7000-8000-000000000001"


@pytest.fixture
def queues(sqs_endpoint: str, database: Database, database_url: str) -> Iterator[dict[str, str]]:
    """Queues of one's own, and the function's environment set to them."""
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
        with environment({**urls, "DATABASE_URL": database_url}):
            yield urls
    open_database(database_url, 1).close()
    client.close()
    for cached in (sqs_client, app.build):
        cached.cache_clear()


def event(name: str, queues: dict[str, str]) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((EVENTS / f"{name}.json").read_text())
    queue = queues["CLUSTERING_QUEUE_URL"].rpartition("/")[2]
    for record in found["Records"]:
        record["eventSourceARN"] = f"arn:aws:sqs:{REGION}:000000000000:{queue}"
    return found


def test_the_plain_message_groups_the_users_contents(queues: dict[str, str], database: Database) -> None:
    rng = np.random.default_rng(0)
    with database.transaction() as connection:
        connection.execute("insert into users (id, name) values (%s, 'sample')", (USER,))
        for row in range(12):
            vector = (np.eye(16)[row // 6] + rng.normal(scale=0.02, size=16)).astype("<f4")
            content_id = make_content(connection, status="READY", title=f"Story {row // 6}")
            make_item(connection, USER, content_id)
            connection.execute(
                "insert into embeddings (content_id, model_version, dimensions, vector) values (%s, 'tiny', 16, %s)",
                (content_id, vector.tobytes()),
            )

    answer = app.handler(event("cluster.ok", queues), FakeContext(remaining_ms=150_000))

    assert answer == {"batchItemFailures": []}
    with database.transaction() as connection:
        assert connection.execute("select array_agg(size) from clusters").fetchone() == ([6, 6],)
        assert connection.execute("select state from jobs").fetchall() == [("completed",)]


def test_a_malformed_message_is_parked_and_blocks_nothing(queues: dict[str, str]) -> None:
    answer = app.handler(event("cluster.malformed", queues), FakeContext(remaining_ms=150_000))

    assert answer == {"batchItemFailures": []}
    found = sqs_client().receive_message(
        QueueUrl=queues["CLUSTERING_DLQ_URL"], WaitTimeSeconds=5, MessageAttributeNames=["All"]
    )
    assert found["Messages"][0]["MessageAttributes"]["error_code"]["StringValue"] == "malformed_message"
