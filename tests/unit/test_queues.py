"""Sending to SQS with its answers stubbed at the wire: partial failures are sent again, never dropped (case Q18)."""

from typing import Any

import pytest
from botocore.stub import ANY

from siftline.contracts import Queue
from siftline.jobs.queues import Envelope, QueueUnavailableError, SqsQueues, body
from tests.stubs import stubbed_sqs

URL, DEAD_URL = "https://sqs.example/1/analysis", "https://sqs.example/1/analysis-dlq"


@pytest.fixture
def stubbed() -> Any:
    with stubbed_sqs() as (client, stub):
        yield SqsQueues(client, {Queue.ANALYSIS: URL}, {Queue.ANALYSIS: DEAD_URL}, sleep=lambda _: None), stub


def answer(good: list[str], bad: list[str], *, ours: bool = False) -> dict[str, Any]:
    return {
        "Successful": [{"Id": place, "MessageId": place, "MD5OfMessageBody": "0"} for place in good],
        "Failed": [{"Id": place, "SenderFault": ours, "Code": "InternalError"} for place in bad],
    }


def envelopes(count: int) -> list[Envelope]:
    return [Envelope(key=f"k{number}", body="{}", group="g") for number in range(count)]


def test_only_the_failed_entry_of_ten_is_sent_again(stubbed: Any) -> None:
    queues, stub = stubbed
    places = [str(number) for number in range(10)]
    stub.add_response("send_message_batch", answer(places[:3] + places[4:], ["3"]), {"QueueUrl": URL, "Entries": ANY})
    entry = {"Id": "3", "MessageBody": "{}", "MessageGroupId": "g"}
    stub.add_response("send_message_batch", answer(["3"], []), {"QueueUrl": URL, "Entries": [entry]})
    assert queues.send(Queue.ANALYSIS, envelopes(10)) == {f"k{number}" for number in range(10)}


def test_what_stays_unaccepted_is_not_counted_as_sent(stubbed: Any) -> None:
    queues, stub = stubbed
    for _ in range(3):
        stub.add_response("send_message_batch", answer([], ["0"]))
    assert queues.send(Queue.ANALYSIS, envelopes(1)) == set()


def test_an_entry_that_is_our_fault_is_not_sent_again(stubbed: Any) -> None:
    queues, stub = stubbed
    stub.add_response("send_message_batch", answer(["0"], ["1"], ours=True))
    assert queues.send(Queue.ANALYSIS, envelopes(2)) == {"k0"}


def test_eleven_messages_are_two_calls_and_one_lost_call_is_repeated(stubbed: Any) -> None:
    queues, stub = stubbed
    stub.add_client_error("send_message_batch", "InternalError")
    stub.add_response("send_message_batch", answer([str(number) for number in range(10)], []))
    stub.add_response("send_message_batch", answer(["0"], []))
    assert len(queues.send(Queue.ANALYSIS, envelopes(11))) == 11


def test_a_queue_that_leaves_every_try_of_a_call_unanswered_is_not_asked_for_the_rest(stubbed: Any) -> None:
    queues, stub = stubbed
    stub.add_response("send_message_batch", answer([str(number) for number in range(10)], []))
    for _ in range(3):
        stub.add_client_error("send_message_batch", "InternalError")
    assert queues.send(Queue.ANALYSIS, envelopes(40)) == {f"k{number}" for number in range(10)}


def test_parking_carries_the_cause_as_attributes(stubbed: Any) -> None:
    queues, stub = stubbed
    entry = {
        "Id": "0",
        "MessageBody": "{}",
        "MessageGroupId": "g",
        "DelaySeconds": 5,
        "MessageAttributes": {"error_code": {"DataType": "String", "StringValue": "http_503"}},
    }
    stub.add_response("send_message_batch", answer(["0"], []), {"QueueUrl": DEAD_URL, "Entries": [entry]})
    parked = Envelope(key="k", body="{}", group="g", delay_s=5, attributes={"error_code": "http_503"})
    assert queues.park(Queue.ANALYSIS, [parked]) == {"k"}


def test_depth_is_sqs_own_count_with_the_dead_beside_it(stubbed: Any) -> None:
    queues, stub = stubbed
    stub.add_response(
        "get_queue_attributes",
        {
            "Attributes": {
                "ApproximateNumberOfMessages": "7",
                "ApproximateNumberOfMessagesNotVisible": "2",
                "ApproximateNumberOfMessagesDelayed": "1",
            }
        },
    )
    stub.add_response("get_queue_attributes", {"Attributes": {"ApproximateNumberOfMessages": "4"}})
    depth = queues.depth(Queue.ANALYSIS)
    assert (depth.visible, depth.in_flight, depth.delayed, depth.dead) == (7, 2, 1, 4)


def test_a_queue_that_does_not_answer_is_a_transient_error(stubbed: Any) -> None:
    queues, stub = stubbed
    stub.add_client_error("get_queue_attributes", "InternalError")
    with pytest.raises(QueueUnavailableError):
        queues.depth(Queue.ANALYSIS)


def test_a_body_leaves_absent_fields_out() -> None:
    assert body({"job_id": 1, "url": None}) == '{"job_id": 1}'
