"""The ``api`` and ``authorize`` functions as Lambda calls them: environment in, event in, response out."""

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from functions.api import app as api
from functions.authorize import app as authorize
from siftline.api.api_wiring import SQS_TIMEOUT_S
from siftline.kit.aws import sqs_client
from siftline.kit.db import Database
from tests.factories import lambda_context
from tests.functions import TOKEN, TOKEN_ID, USER, cold, make_sample_user, sample_event

if TYPE_CHECKING:
    from mypy_boto3_sqs import SQSClient


@pytest.fixture
def variables(queue_variables: dict[str, str], database_url: str) -> Iterator[dict[str, str]]:
    """The functions' environment: queues of one's own, and no Qdrant."""
    own = {"DATABASE_URL": database_url, "QDRANT_URL": "http://127.0.0.1:1"}
    with cold(api.build, authorize.build, **queue_variables, **own) as variables:
        yield variables
        sqs_client(SQS_TIMEOUT_S).close()


@pytest.fixture
def user(database: Database) -> None:
    """The user that the sample events are from."""
    with database.transaction() as connection:
        make_sample_user(connection)


def test_a_saved_url_becomes_a_message_on_its_queue(variables: dict[str, str], user: None, sqs: "SQSClient") -> None:
    response = api.handler(sample_event("api.ok"), lambda_context())
    assert response["statusCode"] == 202
    found = sqs.receive_message(QueueUrl=variables["CONTENT_PROCESSING_QUEUE_URL"], WaitTimeSeconds=5)
    [message] = found["Messages"]
    assert json.loads(message["Body"])["shared_content_id"] == json.loads(response["body"])["content_id"]


def test_an_unusable_url_is_a_problem(variables: dict[str, str], user: None) -> None:
    response = api.handler(sample_event("api.invalid_url"), lambda_context())
    assert (response["statusCode"], json.loads(response["body"])["code"]) == (422, "unsupported_scheme")


def test_parts_that_are_away_show_in_the_deep_health(variables: dict[str, str], user: None, database: Database) -> None:
    with database.transaction() as connection:
        connection.execute("update access_tokens set scopes = '{ops}'")
    asked = sample_event("api.ok")
    asked["requestContext"]["http"] |= {"method": "GET", "path": "/health"}
    asked |= {"rawPath": "/health", "rawQueryString": "deep=1", "queryStringParameters": {"deep": "1"}}
    asked["headers"]["authorization"] = f"Bearer {TOKEN}"
    response = api.handler(asked, lambda_context())
    parts = json.loads(response["body"])["parts"]
    states = {name: part["status"] for name, part in parts.items()}
    assert states == {"database": "ok", "queues": "ok", "vectors": "unavailable"}


def test_the_authorizer_knows_the_sample_token_and_no_malformed_one(variables: dict[str, str], user: None) -> None:
    known = authorize.handler(sample_event("authorize.ok"), None)
    assert known == {
        "isAuthorized": True,
        "context": {"user_id": USER, "token_id": TOKEN_ID, "scopes": "read write"},
    }
    assert authorize.handler(sample_event("authorize.malformed_token"), None)["isAuthorized"] is False
