"""The ``api`` and ``authorize`` functions as Lambda calls them: environment in, event in, response out."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from functions.api import app as api
from functions.authorize import app as authorize
from infra.local.aws import CREDENTIALS, REGION
from siftline.api.bearer import token_sha256
from siftline.contracts import Queue
from siftline.kit.aws import sqs_client
from siftline.kit.db import Database, open_database
from siftline.kit.ids import new_id
from siftline.settings import ApiSettings, environment
from tests.factories import FakeContext

EVENTS = Path(__file__).resolve().parents[2] / "events"
USER = "018f4e5a-7b1c-7000-8000-000000000001"
TOKEN_ID = "018f4e5a-7b1c-7000-8000-000000000002"


def event(name: str) -> dict[str, Any]:
    return dict(json.loads((EVENTS / f"{name}.json").read_text()))


@pytest.fixture
def queue_urls(sqs_endpoint: str, database: Database, database_url: str) -> Iterator[dict[Queue, str]]:
    """Queues of one's own, and the functions' environment set to them."""
    aws = {**CREDENTIALS, "AWS_ENDPOINT_URL": sqs_endpoint, "AWS_DEFAULT_REGION": REGION}
    for cached in (sqs_client, api.build, authorize.build):
        cached.cache_clear()
    with environment(aws):
        client, hurried = sqs_client(), sqs_client(ApiSettings.model_fields["sqs_timeout_s"].default)
        urls = {queue: client.create_queue(QueueName=f"{queue}-{new_id()}")["QueueUrl"] for queue in Queue}
        names = {f"{queue.name}_QUEUE_URL": url for queue, url in urls.items()}
        names |= {f"{queue.name}_DLQ_URL": url for queue, url in urls.items()}
        with environment({**names, "DATABASE_URL": database_url, "QDRANT_URL": "http://127.0.0.1:1"}):
            yield urls
    open_database(database_url, 1).close()
    for used in (client, hurried):
        used.close()
    for cached in (sqs_client, api.build, authorize.build):
        cached.cache_clear()


@pytest.fixture
def user(database: Database) -> str:
    """The user that the sample events are from, with their token."""
    with database.transaction() as connection:
        connection.execute("insert into users (id, name) values (%s, 'sample')", (USER,))
        connection.execute(
            "insert into access_tokens (id, user_id, name, token_sha256, scopes) values (%s, %s, 't', %s, %s)",
            (TOKEN_ID, USER, token_sha256("sl_" + "A" * 43), ["read", "write"]),
        )
    return USER


def test_a_saved_url_becomes_a_message_on_its_queue(queue_urls: dict[Queue, str], user: str) -> None:
    response = api.handler(event("api.ok"), FakeContext())
    assert response["statusCode"] == 202
    found = sqs_client().receive_message(QueueUrl=queue_urls[Queue.CONTENT_PROCESSING], WaitTimeSeconds=5)
    [message] = found["Messages"]
    assert json.loads(message["Body"])["shared_content_id"] == json.loads(response["body"])["content_id"]


def test_an_unusable_url_is_a_problem(queue_urls: dict[Queue, str], user: str) -> None:
    response = api.handler(event("api.invalid_url"), FakeContext())
    assert (response["statusCode"], json.loads(response["body"])["code"]) == (422, "unsupported_scheme")


def test_parts_that_are_away_show_in_the_deep_health(
    queue_urls: dict[Queue, str], user: str, database: Database
) -> None:
    with database.transaction() as connection:
        connection.execute("update access_tokens set scopes = '{ops}'")
    asked = event("api.ok")
    asked["requestContext"]["http"] |= {"method": "GET", "path": "/health"}
    asked |= {"rawPath": "/health", "rawQueryString": "deep=1", "queryStringParameters": {"deep": "1"}}
    asked["headers"]["authorization"] = "Bearer sl_" + "A" * 43
    response = api.handler(asked, FakeContext())
    parts = json.loads(response["body"])["parts"]
    states = {name: part["status"] for name, part in parts.items()}
    assert states == {"database": "ok", "queues": "ok", "vectors": "unavailable"}


def test_the_authorizer_knows_the_sample_token_and_no_malformed_one(queue_urls: dict[Queue, str], user: str) -> None:
    known = authorize.handler(event("authorize.ok"), None)
    assert known == {
        "isAuthorized": True,
        "context": {"user_id": USER, "token_id": TOKEN_ID, "scopes": "read write"},
    }
    assert authorize.handler(event("authorize.malformed_token"), None)["isAuthorized"] is False
