"""The ``brief`` function as Lambda calls it: environment in, SQS event in, partial failures out."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

from functions.brief import app
from siftline.kit.aws import mail_client
from siftline.kit.db import Database
from tests.factories import lambda_context
from tests.functions import cold, parked_code, sample_event

if TYPE_CHECKING:
    from mypy_boto3_sqs import SQSClient

_GOOD: dict[str, list[Any]] = {"batchItemFailures": []}


@pytest.fixture
def variables(queue_variables: dict[str, str], database_url: str) -> Iterator[dict[str, str]]:
    """The function's environment: queues of one's own, and a sender."""
    own = {"DATABASE_URL": database_url, "MAIL_FROM": "News <news@siftline.example>"}
    with cold(app.build, mail_client, **queue_variables, **own) as variables:
        yield variables


def handled(name: str, variables: dict[str, str]) -> Any:
    return app.handler(sample_event(name, variables["BRIEFING_QUEUE_URL"]), lambda_context(remaining_ms=60_000))


@pytest.mark.parametrize("case", ["bounce", "complaint"])
def test_what_ses_tells_ends_delivery_to_the_address(variables: dict[str, str], database: Database, case: str) -> None:
    assert handled(f"brief.{case}", variables) == _GOOD
    assert handled(f"brief.{case}", variables) == _GOOD
    with database.transaction() as connection:
        kept = connection.execute("select address, reason from mail_suppressions").fetchall()
    assert kept == [("recipient@example.com", {"bounce": "bounced", "complaint": "complained"}[case])]


@pytest.mark.parametrize(
    ("case", "code"),
    [("ok", "unknown_subject"), ("deliver", "unknown_subject"), ("malformed", "malformed_message")],
)
def test_what_names_nothing_or_makes_no_sense_is_parked(
    variables: dict[str, str], sqs: "SQSClient", case: str, code: str
) -> None:
    assert handled(f"brief.{case}", variables) == _GOOD
    assert parked_code(sqs, variables["BRIEFING_DLQ_URL"]) == code
