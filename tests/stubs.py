"""AWS's answers, stubbed at the wire."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import boto3
from botocore.config import Config
from botocore.stub import Stubber

if TYPE_CHECKING:
    from mypy_boto3_sqs import SQSClient


@contextmanager
def stubbed_sqs() -> Iterator[tuple["SQSClient", Stubber]]:
    """Hand out a client with the answers it will get; at the end, each must have been asked for."""
    client = boto3.client(
        "sqs",
        region_name="eu-central-1",
        aws_access_key_id="x",
        aws_secret_access_key="x",
        config=Config(retries={"total_max_attempts": 1}),
    )
    with Stubber(client) as stub:
        yield client, stub
        stub.assert_no_pending_responses()
