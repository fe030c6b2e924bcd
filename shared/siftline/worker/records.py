"""SQS messages as Lambda hands them to a function, and a function's answer as Lambda reads it.

See the AWS Lambda Developer Guide, "Using Lambda with Amazon SQS" and "Implementing partial batch responses".
"""

import base64
from collections.abc import Mapping, Sequence
from typing import Any


def sqs_event(messages: Sequence[Mapping[str, Any]], queue_arn: str) -> dict[str, Any]:
    """Return the event for messages as ``ReceiveMessage`` gives them, with all attributes asked for."""
    return {"Records": [_record(message, queue_arn) for message in messages]}


def failed_ids(answer: Any, message_ids: Sequence[str], *, reports_failures: bool) -> set[str]:
    """Return the message ids that are to come again, out of those of the batch.

    An answer that is not a list of known ids means the whole batch, as it does to Lambda; without
    ``ReportBatchItemFailures`` an answer of any kind means that all is done.
    """
    if not reports_failures or not answer:
        return set()
    try:
        failed = {item["itemIdentifier"] for item in answer["batchItemFailures"] or ()}
    except (KeyError, TypeError):
        return set(message_ids)
    unknown = failed - set(message_ids)
    return set(message_ids) if unknown else failed


def _record(message: Mapping[str, Any], queue_arn: str) -> dict[str, Any]:
    record = {
        "messageId": message["MessageId"],
        "receiptHandle": message["ReceiptHandle"],
        "body": message["Body"],
        "attributes": dict(message.get("Attributes", {})),
        "messageAttributes": {name: _attribute(value) for name, value in message.get("MessageAttributes", {}).items()},
        "md5OfBody": message.get("MD5OfBody", ""),
        "eventSource": "aws:sqs",
        "eventSourceARN": queue_arn,
        "awsRegion": queue_arn.split(":")[3],
    }
    if "MD5OfMessageAttributes" in message:
        record["md5OfMessageAttributes"] = message["MD5OfMessageAttributes"]
    return record


def _attribute(value: Mapping[str, Any]) -> dict[str, Any]:
    attribute: dict[str, Any] = {"stringListValues": [], "binaryListValues": [], "dataType": value["DataType"]}
    if "StringValue" in value:
        attribute["stringValue"] = value["StringValue"]
    if "BinaryValue" in value:
        attribute["binaryValue"] = base64.b64encode(value["BinaryValue"]).decode("ascii")
    return attribute
