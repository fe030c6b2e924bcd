"""From an address to a stored text: a batch of ``ingest_content`` messages in, the failed ones' ids out."""

from functools import cache
from typing import Any

from aws_lambda_powertools.utilities.batch.types import PartialItemFailureResponse
from aws_lambda_powertools.utilities.typing import LambdaContext

from siftline.contracts import JobType
from siftline.ingest.reader import ENTRY_S, PageReader
from siftline.ingest.service import IngestContent, subject_of
from siftline.jobs.consume import BatchConsumer
from siftline.jobs.consumers import consumer
from siftline.jobs.wiring import producer
from siftline.kit.http import HttpClient
from siftline.settings import IngestSettings


@cache
def build() -> BatchConsumer:
    """Put the parts together, once a warm environment."""
    settings = IngestSettings()
    parts = producer(settings)
    work = IngestContent(
        parts.database,
        HttpClient.of(settings),
        PageReader(page_read_s=settings.page_read_s, memory_bytes=settings.page_read_memory_bytes),
        page_max_bytes=settings.page_max_bytes,
        analysis_enabled=settings.siftline_analysis_enabled,
    )
    reserve_s = settings.http_total_s + settings.page_read_s + ENTRY_S
    return consumer(settings, parts, [work], {JobType.INGEST_CONTENT: subject_of}, reserve_s=reserve_s)


def handler(event: dict[str, Any], context: LambdaContext) -> PartialItemFailureResponse:
    """Work off one SQS event."""
    return build().handle(event, context)
