"""SQS messages as Lambda hands them over, and answers as Lambda reads them."""

import pytest
from aws_lambda_powertools.utilities.data_classes import SQSEvent

from siftline.worker.poller import failed_ids, sqs_event

ARN = "arn:aws:sqs:eu-central-1:123456789012:siftline-local-fetch-queue"
# As ReceiveMessage answers with all attributes asked for.
MESSAGE = {
    "MessageId": "059f36b4-87a3-44ab-83d2-661975830a7d",
    "ReceiptHandle": "AQEBwJnKyrHigUMZj6rYigCgxlaS3SLy0a",
    "MD5OfBody": "e4e68fb7bd0e697a0ae8f1bb342846b3",
    "Body": "Test message.",
    "Attributes": {
        "ApproximateReceiveCount": "1",
        "SentTimestamp": "1545082649183",
        "SenderId": "AIDAIENQZJOLO23YVJ4VO",
        "ApproximateFirstReceiveTimestamp": "1545082649185",
        "MessageGroupId": "user:1",
    },
    "MD5OfMessageAttributes": "00484c68edf8a2dcd0a85c7bff5b4ba1",
    "MessageAttributes": {
        "text": {"DataType": "String", "StringValue": "words"},
        "bytes": {"DataType": "Binary", "BinaryValue": b"\x00\x01"},
    },
}


def test_a_record_has_the_documented_shape_of_lambdas_sqs_event():
    [record] = sqs_event([MESSAGE], ARN)["Records"]
    assert record == {
        "messageId": MESSAGE["MessageId"],
        "receiptHandle": MESSAGE["ReceiptHandle"],
        "body": "Test message.",
        "attributes": MESSAGE["Attributes"],
        "messageAttributes": {
            "text": {"stringValue": "words", "stringListValues": [], "binaryListValues": [], "dataType": "String"},
            "bytes": {"binaryValue": "AAE=", "stringListValues": [], "binaryListValues": [], "dataType": "Binary"},
        },
        "md5OfBody": MESSAGE["MD5OfBody"],
        "md5OfMessageAttributes": MESSAGE["MD5OfMessageAttributes"],
        "eventSource": "aws:sqs",
        "eventSourceARN": ARN,
        "awsRegion": "eu-central-1",
    }


def test_powertools_reads_the_event():
    [record] = SQSEvent(sqs_event([MESSAGE], ARN)).records
    assert record.queue_url == "https://sqs.eu-central-1.amazonaws.com/123456789012/siftline-local-fetch-queue"
    assert record.attributes.approximate_receive_count == "1"


@pytest.mark.parametrize(
    ("answer", "failed"),
    [
        (None, set()),
        ({}, set()),
        ({"batchItemFailures": []}, set()),
        ({"batchItemFailures": None}, set()),
        ({"batchItemFailures": [{"itemIdentifier": "b"}]}, {"b"}),
        ({"batchItemFailures": [{"itemIdentifier": "unknown"}]}, {"a", "b"}),
        ({"batchItemFailures": [{"itemIdentifier": ""}]}, {"a", "b"}),
        ({"batchItemFailures": [{"itemIdentifier": None}]}, {"a", "b"}),
        ({"batchItemFailures": [{"wrong": "a"}]}, {"a", "b"}),
        ({"wrong": []}, {"a", "b"}),
        ("text", {"a", "b"}),
    ],
)
def test_an_answer_is_read_as_lambda_reads_it(answer, failed):
    assert failed_ids(answer, ["a", "b"], reports_failures=True) == failed


def test_without_report_batch_item_failures_every_answer_means_done():
    assert failed_ids({"batchItemFailures": [{"itemIdentifier": "a"}]}, ["a"], reports_failures=False) == set()
