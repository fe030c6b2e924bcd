"""Deleting what is done, whatever SQS fails to do at first."""

from typing import TYPE_CHECKING, cast

import pytest
from botocore.exceptions import EndpointConnectionError

from siftline.worker.queue import Queue, QueueAwayError

if TYPE_CHECKING:
    from mypy_boto3_sqs import SQSClient

ARN = "arn:aws:sqs:us-east-1:0:q"


class FakeSqs:
    """Answers as told, one answer a call; notes what it was asked to delete and to hide."""

    def __init__(self, *answers):
        self._answers = list(answers)
        self.deleted = []
        self.hidden = []

    def _next(self):
        answer = self._answers.pop(0) if self._answers else {}
        if isinstance(answer, Exception):
            raise answer
        return answer

    def delete_message_batch(self, *, QueueUrl, Entries):  # noqa: N803  -- boto3's names
        self.deleted.append([entry["ReceiptHandle"] for entry in Entries])
        return self._next()

    def change_message_visibility_batch(self, *, QueueUrl, Entries):  # noqa: N803  -- boto3's
        self.hidden.append([(entry["ReceiptHandle"], entry["VisibilityTimeout"]) for entry in Entries])
        return self._next()

    def receive_message(self, **_):
        return self._next()


def _queue(sqs, visibility_s=30):
    return Queue(cast("SQSClient", sqs), "http://127.0.0.1/q", ARN, visibility_s, visibility_s)


def _messages(count):
    return [{"MessageId": str(n), "ReceiptHandle": f"r{n}"} for n in range(count)]


def test_what_a_partial_failure_leaves_is_deleted_again_and_nothing_else():
    sqs = FakeSqs({"Failed": [{"Id": "1", "SenderFault": False, "Code": "InternalError"}]})
    _queue(sqs).delete(_messages(3))
    assert sqs.deleted == [["r0", "r1", "r2"], ["r1"]]


def test_a_failure_that_is_our_fault_is_not_tried_again():
    sqs = FakeSqs({"Failed": [{"Id": "0", "SenderFault": True, "Code": "ReceiptHandleIsInvalid"}]})
    _queue(sqs).delete(_messages(1))
    assert sqs.deleted == [["r0"]]


def test_deleting_is_tried_again_while_sqs_is_away_but_not_for_ever():
    away = EndpointConnectionError(endpoint_url="http://127.0.0.1")
    sqs = FakeSqs(*[away] * 10)
    _queue(sqs).delete(_messages(1))
    assert sqs.deleted == [["r0"]] * 4


def test_more_than_ten_messages_are_deleted_ten_at_a_time():
    sqs = FakeSqs()
    _queue(sqs).delete(_messages(23))
    assert [len(chunk) for chunk in sqs.deleted] == [10, 10, 3]


def test_a_queue_that_is_away_is_said_in_our_own_words():
    sqs = FakeSqs(EndpointConnectionError(endpoint_url="http://127.0.0.1"))
    with pytest.raises(QueueAwayError) as raised:
        _queue(sqs).receive(1, wait_s=0)
    assert raised.value.error_code == "queue_unavailable"


def test_a_visibility_that_cannot_be_changed_is_no_error():
    sqs = FakeSqs(EndpointConnectionError(endpoint_url="http://127.0.0.1"), {"Failed": [{"Id": "0"}]})
    _queue(sqs).release(_messages(1))
    _queue(sqs).release(_messages(1))
    assert len(sqs.hidden) == 2


def test_what_could_not_be_settled_comes_again_soon_then_ever_later_up_to_the_queues_own_time():
    sqs = FakeSqs()
    queue = Queue(cast("SQSClient", sqs), "http://127.0.0.1/q", ARN, visibility_s=300, hold_s=30)
    for received in (1, 2, 3, 4, 5, 10):
        queue.postpone({"ReceiptHandle": "r", "Attributes": {"ApproximateReceiveCount": str(received)}})
    assert [hidden for [(_, hidden)] in sqs.hidden] == [30, 60, 120, 240, 300, 300]
