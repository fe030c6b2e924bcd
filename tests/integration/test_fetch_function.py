"""The ``fetch`` function as Lambda calls it: environment in, SQS event in, partial failures out."""

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any
from uuid import UUID

import pytest

from functions.fetch import app
from siftline.kit.db import Database
from tests.factories import FakeContext, make_source
from tests.functions import cold, parked_code, sample_event
from tests.servers import Answer, serving

if TYPE_CHECKING:
    from mypy_boto3_sqs import SQSClient

SOURCE = UUID("018f4e5a-7b1c-7000-8000-000000000101")
FEED = b"<rss version='2.0'><channel><title>T</title><item><title>A</title><link>https://n.example/a</link></item></channel></rss>"


@pytest.fixture
def variables(queue_variables: dict[str, str], database_url: str) -> Iterator[dict[str, str]]:
    """The function's environment: queues of one's own, and leave to fetch from loopback."""
    own = {"HTTP_ALLOW_LOOPBACK": "1", "FIRST_IMPORT": "all"}
    with cold(app.build, **queue_variables, DATABASE_URL=database_url, **own) as variables:
        yield variables


def handled(name: str, variables: dict[str, str]) -> Any:
    return app.handler(sample_event(name, variables["FETCH_QUEUE_URL"]), FakeContext())


def test_a_sources_new_entries_go_to_the_background_queue(
    variables: dict[str, str], database: Database, sqs: "SQSClient"
) -> None:
    with serving() as server:
        # The function is never told that it ends, so no connection may stay open in it.
        server.answers["/feed"] = Answer(FEED, headers={"Connection": "close"})
        with database.transaction() as connection:
            make_source(connection, id=SOURCE, url=server.url("/feed"))
        assert handled("fetch.ok", variables) == {"batchItemFailures": []}
    found = sqs.receive_message(QueueUrl=variables["CONTENT_BACKGROUND_QUEUE_URL"], WaitTimeSeconds=5)
    [message] = found["Messages"]
    assert json.loads(message["Body"])["job_type"] == "ingest_content"


def test_a_sites_feed_is_found_and_its_poll_handed_out_at_once(
    variables: dict[str, str], database: Database, sqs: "SQSClient"
) -> None:
    page = b"<!doctype html><link rel=alternate type='application/rss+xml' href=/feed>"
    with serving() as server:
        server.answers["/"] = Answer(page, headers={"Connection": "close"})
        with database.transaction() as connection:
            make_source(connection, id=SOURCE, url=server.url("/"))
        assert handled("fetch.ok", variables) == {"batchItemFailures": []}
        expected = (server.url("/feed"), "QUEUED")
    with database.transaction() as connection:
        assert connection.execute("select feed_url, fetch_status from sources").fetchall() == [expected]
    found = sqs.receive_message(QueueUrl=variables["FETCH_QUEUE_URL"], WaitTimeSeconds=5)
    [message] = found["Messages"]
    assert json.loads(message["Body"])["job_type"] == "fetch_source"


def test_a_malformed_message_is_parked_and_blocks_nothing(variables: dict[str, str], sqs: "SQSClient") -> None:
    assert handled("fetch.malformed", variables) == {"batchItemFailures": []}

    assert parked_code(sqs, variables["FETCH_DLQ_URL"]) == "malformed_message"
