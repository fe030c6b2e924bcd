"""The queues of ``template.yaml`` on this machine."""

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import boto3
from botocore.config import Config

from infra.local.aws import CLIENT_OPTIONS
from siftline.worker.template import QueueResource

if TYPE_CHECKING:
    from mypy_boto3_sqs import SQSClient

_PATIENCE = Config(retries={"total_max_attempts": 2}, connect_timeout=5, read_timeout=30)


def sqs_client(endpoint: str) -> "SQSClient":
    """Return a client of a MiniStack."""
    client: SQSClient = boto3.client("sqs", endpoint_url=endpoint, config=_PATIENCE, **CLIENT_OPTIONS)
    return client


def create_queues(sqs: "SQSClient", queues: Sequence[QueueResource]) -> dict[str, str]:
    """Create the template's queues, or bring existing ones up to date; return their URLs by logical id.

    ``queues`` have dead-letter queues first (``Template.queues``).
    """
    urls: dict[str, str] = {}
    names = {name.rpartition("/")[2]: name for name in sqs.list_queues(MaxResults=1000).get("QueueUrls", [])}
    for queue in queues:
        attributes: Any = dict(queue.attributes)  # names are the template's; SQS refuses a wrong one
        if queue.dead_letter is not None:
            target = sqs.get_queue_attributes(QueueUrl=urls[queue.dead_letter], AttributeNames=["QueueArn"])
            policy = {
                "deadLetterTargetArn": target["Attributes"]["QueueArn"],
                "maxReceiveCount": queue.max_receive_count,
            }
            attributes["RedrivePolicy"] = json.dumps(policy)
        url = names.get(queue.name) or sqs.create_queue(QueueName=queue.name)["QueueUrl"]
        if attributes:
            sqs.set_queue_attributes(QueueUrl=url, Attributes=attributes)
        urls[queue.logical_id] = url
    return urls
