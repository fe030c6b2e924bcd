"""The queues of ``template.yaml`` on this machine."""

import json
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

from infra.local.aws import CLIENT_OPTIONS, CREDENTIALS
from siftline.kit.log import logger
from siftline.worker.template import QueueResource

if TYPE_CHECKING:
    from mypy_boto3_sqs import SQSClient

_log = logger("local")
_PATIENCE = Config(retries={"total_max_attempts": 2}, connect_timeout=5, read_timeout=30)


def sqs_client(endpoint: str, access_key: str = CREDENTIALS["AWS_ACCESS_KEY_ID"]) -> "SQSClient":
    """Return a client of a MiniStack that answers who has this access key."""
    options = {**CLIENT_OPTIONS, "aws_access_key_id": access_key}
    client: SQSClient = boto3.client("sqs", endpoint_url=endpoint, config=_PATIENCE, **options)
    return client


def create_queues(sqs: "SQSClient", queues: Sequence[QueueResource]) -> dict[str, str]:
    """Create the template's queues, or bring existing ones up to date; return their URLs by logical id.

    ``queues`` have dead-letter queues first (``Template.queues``).
    """
    urls: dict[str, str] = {}
    names = _names(sqs)
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


class MissingQueues:
    """Looks whether all queues are there, and makes again those that are not: a MiniStack killed loses what was new."""

    def __init__(self, sqs: "SQSClient", queues: Sequence[QueueResource]) -> None:
        self._sqs = sqs
        self._queues = queues

    def news(self) -> Iterator[str]:
        """Yield a line for each queue made again; nothing while MiniStack does not answer."""
        try:
            known = _names(self._sqs)
            missing = [queue.name for queue in self._queues if queue.name not in known]
            if missing:
                create_queues(self._sqs, self._queues)
        except (BotoCoreError, ClientError) as error:
            _log.warning("queues_not_looked_at", error_type=type(error).__name__)
            return
        for name in missing:
            _log.warning("queue_made_again", queue=name)
            yield f"The queue {name} was missing and has been recreated; the sweep resends its messages."

    def close(self) -> None:
        """Close the connections."""
        self._sqs.close()


def _names(sqs: "SQSClient") -> dict[str, str]:
    """Return the URLs of the queues that there are, by name."""
    pages = sqs.get_paginator("list_queues").paginate(PaginationConfig={"PageSize": 1000})  # SQS gives no more at once
    return {url.rpartition("/")[2]: url for page in pages for url in page.get("QueueUrls", [])}
