"""The ``fetch`` function as Lambda calls it: environment in, SQS event in, partial failures out."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from functions.fetch import app
from infra.local.aws import CREDENTIALS, REGION
from siftline.contracts import Queue
from siftline.kit.aws import sqs_client
from siftline.kit.db import Database, open_database
from siftline.kit.ids import new_id
from siftline.settings import environment
from tests.factories import FakeContext, make_source
from tests.servers import Answer, serving

EVENTS = Path(__file__).resolve().parents[2] / "events"
SOURCE = "018f4e5a-7b1c-7000-8000-000000000101"
FEED = b"<rss version='2.0'><channel><title>T</title><item><title>A</title><link>https://n.example/a</link></item></channel></rss>"


@pytest.fixture
def queue_urls(sqs_endpoint: str, database: Database, database_url: str) -> Iterator[dict[Queue, str]]:
    """Queues of one's own, and the function's environment set to them."""
    aws = {**CREDENTIALS, "AWS_ENDPOINT_URL": sqs_endpoint, "AWS_DEFAULT_REGION": REGION}
    for cached in (sqs_client, app.build):
        cached.cache_clear()
    with environment(aws):
        client = sqs_client()
        stage = str(new_id())
        queues = {queue: f"siftline-{stage}-{queue}-queue" for queue in Queue}
        urls = {queue: client.create_queue(QueueName=name)["QueueUrl"] for queue, name in queues.items()}
        dead = {queue: client.create_queue(QueueName=f"{name}-dlq")["QueueUrl"] for queue, name in queues.items()}
        names = {f"{queue.name}_QUEUE_URL": url for queue, url in urls.items()}
        names |= {f"{queue.name}_DLQ_URL": url for queue, url in dead.items()}
        with environment({**names, "DATABASE_URL": database_url, "HTTP_ALLOW_LOOPBACK": "1", "FIRST_IMPORT": "all"}):
            yield {**urls, "dead": dead[Queue.FETCH]}  # type: ignore[dict-item]  # one more, by another name
    open_database(database_url, 1).close()
    client.close()
    for cached in (sqs_client, app.build):
        cached.cache_clear()


def event(name: str, queue_url: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((EVENTS / f"{name}.json").read_text())
    for record in found["Records"]:
        record["eventSourceARN"] = f"arn:aws:sqs:{REGION}:000000000000:{queue_url.rpartition('/')[2]}"
    return found


def test_a_sources_new_entries_go_to_the_background_queue(queue_urls: dict[Any, str], database: Database) -> None:
    with serving() as server:
        server.answers["/feed"] = Answer(FEED)
        with database.transaction() as connection:
            made = make_source(connection, url=server.url("/feed"))
            connection.execute("update sources set id = %s where id = %s", (SOURCE, made))
        answer = app.handler(event("fetch.ok", queue_urls[Queue.FETCH]), FakeContext())
    assert answer == {"batchItemFailures": []}
    found = sqs_client().receive_message(QueueUrl=queue_urls[Queue.CONTENT_BACKGROUND], WaitTimeSeconds=5)
    [message] = found["Messages"]
    assert json.loads(message["Body"])["job_type"] == "ingest_content"


def test_a_malformed_message_is_parked_and_blocks_nothing(queue_urls: dict[Any, str]) -> None:
    answer = app.handler(event("fetch.malformed", queue_urls[Queue.FETCH]), FakeContext())
    assert answer == {"batchItemFailures": []}
    found = sqs_client().receive_message(QueueUrl=queue_urls["dead"], WaitTimeSeconds=5, MessageAttributeNames=["All"])
    [message] = found["Messages"]
    assert message["MessageAttributes"]["error_code"]["StringValue"] == "malformed_message"
