"""The ``cluster`` function as Lambda calls it: environment in, SQS event in, partial failures out."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any
from uuid import UUID

import numpy as np
import pytest

from functions.cluster import app
from siftline.kit.db import Database
from siftline.settings.functions import environment
from tests.factories import lambda_context, make_content, make_item
from tests.functions import USER, cold, make_sample_user, parked_code, sample_event

if TYPE_CHECKING:
    from mypy_boto3_sqs import SQSClient


@pytest.fixture
def variables(queue_variables: dict[str, str], database_url: str) -> Iterator[dict[str, str]]:
    """The function's environment: queues of one's own."""
    with cold(app.build, **queue_variables, DATABASE_URL=database_url) as variables:
        yield variables


def handled(name: str, variables: dict[str, str]) -> Any:
    return app.handler(sample_event(name, variables["CLUSTERING_QUEUE_URL"]), lambda_context(remaining_ms=150_000))


def hold_two_matters(database: Database) -> None:
    """Let the sample user hold twelve contents about two matters."""
    rng = np.random.default_rng(0)
    with database.transaction() as connection:
        make_sample_user(connection)
        for row in range(12):
            vector = (np.eye(16)[row // 6] + rng.normal(scale=0.02, size=16)).astype("<f4")
            content_id = make_content(connection, status="READY", title=f"Story {row // 6}")
            make_item(connection, UUID(USER), content_id)
            connection.execute(
                "insert into embeddings (content_id, model_version, dimensions, vector) values (%s, 'tiny', 16, %s)",
                (content_id, vector.tobytes()),
            )


def test_the_plain_message_groups_the_users_contents(variables: dict[str, str], database: Database) -> None:
    hold_two_matters(database)

    assert handled("cluster.ok", variables) == {"batchItemFailures": []}

    with database.transaction() as connection:
        assert connection.execute("select array_agg(size) from clusters").fetchone() == ([6, 6],)
        jobs = connection.execute("select job_type, state from jobs order by job_type").fetchall()
    assert jobs == [("cluster_user", "completed"), ("join_stories", "pending")]


def test_with_the_setting_new_clusters_are_handed_on_to_be_named(variables: dict[str, str], database: Database) -> None:
    hold_two_matters(database)

    with environment({**variables, "CLUSTER_LLM": "true"}):
        assert handled("cluster.ok", variables) == {"batchItemFailures": []}

    with database.transaction() as connection:
        jobs = connection.execute("select job_type, queue from jobs where state = 'pending' order by 1").fetchall()
        assert connection.execute("select bool_and(label_wanted) from clusters").fetchone() == (True,)
    assert jobs == [("join_stories", "clustering"), ("name_clusters", "analysis-background")]


def test_a_message_about_stories_joins_what_has_none(variables: dict[str, str], database: Database) -> None:
    hold_two_matters(database)

    assert handled("cluster.stories", variables) == {"batchItemFailures": []}

    with database.transaction() as connection:
        assert connection.execute("select array_agg(size) from stories").fetchone() == ([6, 6],)
        assert connection.execute("select job_type, state from jobs").fetchall() == [("join_stories", "completed")]


def test_a_malformed_message_is_parked_and_blocks_nothing(variables: dict[str, str], sqs: "SQSClient") -> None:
    assert handled("cluster.malformed", variables) == {"batchItemFailures": []}

    assert parked_code(sqs, variables["CLUSTERING_DLQ_URL"]) == "malformed_message"
