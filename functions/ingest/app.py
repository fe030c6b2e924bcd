"""From an address to a stored text: a batch of messages in, the failed ones' ids out."""

from functools import cache
from typing import Any

from aws_lambda_powertools.utilities.batch.types import PartialItemFailureResponse
from aws_lambda_powertools.utilities.typing import LambdaContext

from siftline.contracts import JobType
from siftline.ingest.ingest_wiring import longest_s, open_ingest
from siftline.ingest.saving import subject_of
from siftline.jobs.consume import BatchConsumer, consumer
from siftline.jobs.jobs_wiring import producer
from siftline.settings.functions import IngestSettings


@cache
def build() -> BatchConsumer:
    """Put the parts together, once a warm environment."""
    settings = IngestSettings()
    parts = producer(settings)
    subjects = {JobType.INGEST_CONTENT: subject_of, JobType.TRANSCRIBE_CONTENT: subject_of}
    return consumer(settings, parts, open_ingest(settings, parts), subjects, reserve_s=longest_s(settings))


def handler(event: dict[str, Any], context: LambdaContext) -> PartialItemFailureResponse:
    """Work off one SQS event."""
    return build().handle(event, context)
