"""Functions run as Lambda runs them: cold, from the environment alone, with the sample events."""

import hashlib
import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import _lru_cache_wrapper
from pathlib import Path
from typing import TYPE_CHECKING, Any

from infra.local.aws import REGION
from siftline.contracts import Queue
from siftline.kit.db import Connection, open_database
from siftline.settings.functions import environment

if TYPE_CHECKING:
    from mypy_boto3_sqs import SQSClient

EVENTS = Path(__file__).resolve().parent.parent / "events"
USER = "018f4e5a-7b1c-7000-8000-000000000001"
"""Whom the sample events are from."""
TOKEN_ID = "018f4e5a-7b1c-7000-8000-000000000002"
TOKEN = "sl_" + "A" * 43


@contextmanager
def cold(*builds: "_lru_cache_wrapper[Any]", **variables: str) -> Iterator[dict[str, str]]:
    """Set the environment of functions that have built nothing yet; at the end all they have built is forgotten."""
    for build in builds:
        build.cache_clear()
    with environment(variables):
        yield variables
    open_database(variables["DATABASE_URL"], 1).close()
    for build in builds:
        build.cache_clear()


def make_queues(sqs: "SQSClient", stage: str) -> dict[str, str]:
    """Make all queues of a stage and their dead-letter queues; returns the variables that hold their URLs."""
    return {
        f"{queue.name}_{variable}": sqs.create_queue(QueueName=f"siftline-{stage}-{queue}-{kind}")["QueueUrl"]
        for queue in Queue
        for variable, kind in (("QUEUE_URL", "queue"), ("DLQ_URL", "dlq"))
    }


def sample_event(name: str, queue_url: str = "") -> Any:
    """Return a sample event; its messages, if it brings any, as if from this queue."""
    event = json.loads((EVENTS / f"{name}.json").read_text(encoding="utf-8"))
    for record in event.get("Records", ()):
        record["eventSourceARN"] = f"arn:aws:sqs:{REGION}:000000000000:{queue_url.rpartition('/')[2]}"
    return event


def make_sample_user(connection: Connection, scopes: Sequence[str] = ("read", "write")) -> None:
    """Insert the user that the sample events are from, with their token."""
    digest = hashlib.sha256(TOKEN.encode()).digest()
    connection.execute("insert into users (id, name) values (%s, 'sample')", (USER,))
    connection.execute(
        "insert into access_tokens (id, user_id, name, token_sha256, scopes) values (%s, %s, 'sample', %s, %s)",
        (TOKEN_ID, USER, digest, list(scopes)),
    )


def parked_code(sqs: "SQSClient", dead_letter_url: str) -> str:
    """Return why the one message was parked that a dead-letter queue holds."""
    [dead] = sqs.receive_message(QueueUrl=dead_letter_url, MessageAttributeNames=["All"], WaitTimeSeconds=5)["Messages"]
    return dead["MessageAttributes"]["error_code"]["StringValue"]
