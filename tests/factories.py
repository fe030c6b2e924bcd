"""Makes what tests need in the database and as events; every value may be overridden."""

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, cast
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from siftline.contracts import QUEUE_OF, JobType
from siftline.jobs import jobs_store
from siftline.jobs.job_model import ClaimedJob, NewJob
from siftline.kit.db import Connection, Database
from siftline.kit.errors import PermanentError
from siftline.kit.ids import new_id
from siftline.net.urls import typed_origin

if TYPE_CHECKING:
    from aws_lambda_powertools.utilities.typing import LambdaContext


def make_user(connection: Connection, *, name: str | None = None) -> UUID:
    """Insert a user, of a name that nobody else has unless told."""
    user_id = new_id()
    name = f"reader {user_id}" if name is None else name
    connection.execute("insert into users (id, name) values (%s, %s)", (user_id, name))
    return user_id


def make_token(
    connection: Connection, user_id: UUID, token_id: UUID, scopes: Iterable[str], *, expires_at: datetime | None = None
) -> None:
    """Insert an access token whose secret nobody knows."""
    connection.execute(
        "insert into access_tokens (id, user_id, name, token_sha256, scopes, expires_at)"
        " values (%s, %s, %s, %s, %s, %s)",
        (token_id, user_id, "of a test", hashlib.sha256(token_id.bytes).digest(), list(scopes), expires_at),
    )


def make_content(connection: Connection, *, url: str | None = None, **columns: Any) -> UUID:
    """Insert a content whose address somebody typed; further columns by name."""
    content_id = new_id()
    url = url or f"https://news.example/{content_id}"
    values = {"id": content_id, "url": url, "url_key": url, "typed_origin": _typed(url), **columns}
    names = ", ".join(values)
    places = ", ".join(f"%({name})s" for name in values)
    connection.execute(f"insert into contents ({names}) values ({places})", values)
    return content_id


def embed(connection: Connection, content_id: UUID, row: NDArray[np.float32], model: str) -> None:
    """Keep a content's vector by a model of this version."""
    connection.execute(
        "insert into embeddings (content_id, model_version, dimensions, vector) values (%s, %s, %s, %s)",
        (content_id, model, len(row), row.astype("<f4").tobytes()),
    )


def claimed(user_id: UUID, job_type: JobType) -> ClaimedJob:
    """Return a job about a user as whoever holds it sees it; there is no row of it."""
    return ClaimedJob(
        id=new_id(),
        job_type=job_type,
        queue=QUEUE_OF[job_type],
        subject_id=user_id,
        group_key=f"user:{user_id}",
        payload={},
        priority=0,
        attempts=1,
        max_attempts=4,
        lease_token=new_id(),
        lease_until=datetime.now(UTC) + timedelta(minutes=10),
        deferred_since=None,
    )


def make_item(connection: Connection, user_id: UUID, content_id: UUID) -> UUID:
    """Insert an item: the user holds the content."""
    item_id = new_id()
    connection.execute(
        "insert into items (id, user_id, content_id, saved) values (%s, %s, %s, true)", (item_id, user_id, content_id)
    )
    return item_id


def make_source(connection: Connection, *, url: str | None = None, **columns: Any) -> UUID:
    """Insert a source whose address somebody typed; further columns by name."""
    source_id = new_id()
    url = url or f"https://feeds.example/{source_id}.xml"
    values = {"id": source_id, "kind": "rss", "url": url, "url_key": url, "typed_origin": _typed(url), **columns}
    names = ", ".join(values)
    places = ", ".join(f"%({name})s" for name in values)
    connection.execute(f"insert into sources ({names}) values ({places})", values)
    return source_id


def make_subscription(connection: Connection, user_id: UUID, source_id: UUID) -> UUID:
    """Insert a subscription: the user follows the source."""
    subscription_id = new_id()
    connection.execute(
        "insert into subscriptions (id, user_id, source_id) values (%s, %s, %s)", (subscription_id, user_id, source_id)
    )
    return subscription_id


def _typed(url: str) -> str | None:
    try:
        return typed_origin(url)
    except (PermanentError, ValueError):
        return None  # what no person could follow or save stands in tests all the same


def make_job(
    database: Database,
    *,
    job_type: JobType = JobType.ANALYZE_CONTENT,
    subject_id: UUID | None = None,
    group_key: str = "user:a",
    **more: Any,
) -> UUID:
    """Enqueue a job in a transaction of its own, about a fresh content unless told."""
    with database.transaction() as connection:
        subject = subject_id or make_content(connection)
        more.setdefault("queue", QUEUE_OF[job_type])
        return jobs_store.enqueue(
            connection, [NewJob(job_type=job_type, subject_id=subject, group_key=group_key, **more)]
        )[0]


def sqs_event(queue: str, *bodies: Mapping[str, Any] | str, message_ids: list[str] | None = None) -> dict[str, Any]:
    """Return an SQS event as Lambda gets it, one record a body."""
    ids = message_ids or [str(new_id()) for _ in bodies]
    return {
        "Records": [
            {
                "messageId": message_id,
                "receiptHandle": f"handle-{message_id}",
                "body": body if isinstance(body, str) else json.dumps(body, default=str),
                "attributes": {
                    "ApproximateReceiveCount": "1",
                    "SentTimestamp": "1764250000000",
                    "SenderId": "AIDAEXAMPLE",
                    "ApproximateFirstReceiveTimestamp": "1764250000001",
                },
                "messageAttributes": {},
                "md5OfBody": "0" * 32,
                "eventSource": "aws:sqs",
                "eventSourceARN": f"arn:aws:sqs:eu-central-1:000000000000:siftline-local-{queue}-queue",
                "awsRegion": "eu-central-1",
            }
            for message_id, body in zip(ids, bodies, strict=True)
        ]
    }


@dataclass
class FakeContext:
    """Lambda's context with a settable rest of time."""

    remaining_ms: int = 50_000
    function_name: str = "function"
    memory_limit_in_mb: int = 512
    invoked_function_arn: str = "arn:aws:lambda:eu-central-1:000000000000:function:function"
    aws_request_id: str = field(default_factory=lambda: str(new_id()))

    def get_remaining_time_in_millis(self) -> int:
        """Return the milliseconds left."""
        return self.remaining_ms


def lambda_context(*, remaining_ms: int = 50_000) -> "LambdaContext":
    """Return a fake context as handlers take it."""
    return cast("LambdaContext", FakeContext(remaining_ms))
