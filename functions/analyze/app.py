"""From a stored text to topics, summary, tags and vector: ``analyze_content`` messages in, the failed ones out."""

from functools import cache
from typing import Any

from aws_lambda_powertools.utilities.batch.types import PartialItemFailureResponse
from aws_lambda_powertools.utilities.typing import LambdaContext

from siftline.analyze.service import AnalyzeContent, subject_of
from siftline.analyze.wiring import open_analysis
from siftline.contracts import JobType
from siftline.jobs.consume import BatchConsumer
from siftline.jobs.consumers import Lazily, consumer
from siftline.jobs.wiring import producer
from siftline.settings import AnalyzeSettings


@cache
def build() -> BatchConsumer:
    """Put the parts together, once a warm environment."""
    settings = AnalyzeSettings()
    parts = producer(settings)
    work = Lazily(JobType.ANALYZE_CONTENT, AnalyzeContent.providers, lambda: open_analysis(settings, parts.database))
    longest_s = settings.analyze_text_s + settings.llm_longest_s()
    return consumer(settings, parts, [work], {JobType.ANALYZE_CONTENT: subject_of}, reserve_s=longest_s)


def handler(event: dict[str, Any], context: LambdaContext) -> PartialItemFailureResponse:
    """Work off one SQS event."""
    return build().handle(event, context)
