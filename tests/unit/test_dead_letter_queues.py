"""Dead-letter queues, SQS's answers stubbed at the wire: moves and partial failures, which no endpoint here has."""

from datetime import UTC, datetime
from typing import Any

import pytest

from siftline.contracts import Queue
from siftline.jobs.dead_letters import RECEIVED_TOO_OFTEN, Letter, SqsDeadLetters
from siftline.jobs.queues import QueueUnavailableError
from siftline.kit.clock import SystemClock
from siftline.kit.ids import new_id
from tests.fakes import FakeSender
from tests.stubs import stubbed_sqs

URL, DEAD_URL = "https://sqs.example/1/analysis", "https://sqs.example/1/analysis-dlq"
JOB, PARK, CONTENT = new_id(), new_id(), new_id()
PARKED = f'{{"job_type": "analyze_content", "job_id": "{JOB}", "park_id": "{PARK}", "shared_content_id": "{CONTENT}"}}'


@pytest.fixture
def stubbed() -> Any:
    with stubbed_sqs() as (client, stub):
        yield (
            SqsDeadLetters(client, FakeSender(), {Queue.ANALYSIS: URL}, {Queue.ANALYSIS: DEAD_URL}, SystemClock()),
            stub,
        )


def letter(body: str = "{}", **attributes: str) -> Letter:
    return Letter(str(new_id()), "receipt", body, attributes, "g", datetime(2026, 11, 28, tzinfo=UTC))


def _arns(stub: Any) -> None:
    for url, name in ((DEAD_URL, "analysis-dlq"), (URL, "analysis")):
        stub.add_response(
            "get_queue_attributes",
            {"Attributes": {"QueueArn": f"arn:aws:sqs:eu-central-1:1:{name}"}},
            {"QueueUrl": url, "AttributeNames": ["QueueArn"]},
        )


def test_sqs_is_asked_to_move_everything_to_the_queue_itself(stubbed: Any) -> None:
    letters, stub = stubbed
    _arns(stub)
    arns = {
        "SourceArn": "arn:aws:sqs:eu-central-1:1:analysis-dlq",
        "DestinationArn": "arn:aws:sqs:eu-central-1:1:analysis",
    }
    stub.add_response("start_message_move_task", {"TaskHandle": "t"}, arns)
    assert letters.move_all(Queue.ANALYSIS) is True


def test_where_sqs_cannot_move_that_is_said_and_no_error(stubbed: Any) -> None:
    letters, stub = stubbed
    _arns(stub)
    stub.add_client_error("start_message_move_task", "AWS.SimpleQueueService.UnsupportedOperation")
    assert letters.move_all(Queue.ANALYSIS) is False


def test_only_deleted_letters_are_counted(stubbed: Any) -> None:
    letters, stub = stubbed
    failed = [{"Id": "1", "SenderFault": False, "Code": "InternalError"}]
    stub.add_response("delete_message_batch", {"Successful": [{"Id": "0"}, {"Id": "2"}], "Failed": failed})
    assert letters.delete(Queue.ANALYSIS, [letter(), letter(), letter()]) == 2


def test_a_letter_that_the_queue_does_not_accept_stays(stubbed: Any) -> None:
    letters, stub = stubbed
    good, bad = letter("[1]"), letter("[2]")
    letters._sender.refuse = lambda envelope: envelope.key == bad.message_id
    stub.add_response("delete_message_batch", {"Successful": [{"Id": "0"}], "Failed": []})
    assert letters.send_back(Queue.ANALYSIS, [good, bad]) == {good.message_id}


def test_an_sqs_that_is_away_is_a_transient_error(stubbed: Any) -> None:
    letters, stub = stubbed
    stub.add_client_error("receive_message", "InternalError")
    with pytest.raises(QueueUnavailableError):
        letters.visit(Queue.ANALYSIS, lambda seen: seen, budget_s=1, messages_max=10)


@pytest.mark.parametrize(
    ("found", "parking", "code"),
    [
        (letter(PARKED, error_code="http_503", park_id=str(PARK), job_id=str(JOB)), (JOB, PARK), "http_503"),
        (letter(PARKED), (JOB, PARK), RECEIVED_TOO_OFTEN),
        (letter(PARKED, error_code="unexpected_job_type", original_message_id="m"), None, "unexpected_job_type"),
        (letter("{not json", error_code="malformed_message", original_message_id="m"), None, "malformed_message"),
        (letter("{}", error_code="\x1b[2J"), None, "[2J"),
    ],
    ids=["parked", "copied by hand", "astray", "malformed", "hostile"],
)
def test_a_letter_is_a_jobs_copy_or_stands_for_none(found: Letter, parking: Any, code: str) -> None:
    assert (found.parking, found.error_code) == (parking, code)
