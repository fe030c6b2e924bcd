"""From a stored text to topics, summary, tags and vector: ``analyze_content`` messages in, the failed ones out."""

from functools import cache, partial
from typing import Any

from aws_lambda_powertools.utilities.batch.types import PartialItemFailureResponse
from aws_lambda_powertools.utilities.typing import LambdaContext

from siftline.analyze import labelling
from siftline.analyze.labelling import LabelUser
from siftline.analyze.own_wiring import open_labelling
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
    analysis = partial(open_analysis, settings, parts.database)
    own = partial(open_labelling, settings, parts.database)
    works = [
        Lazily(JobType.ANALYZE_CONTENT, AnalyzeContent.providers, analysis),
        Lazily(JobType.LABEL_USER, LabelUser.providers, own),
    ]
    subjects = {JobType.ANALYZE_CONTENT: subject_of, JobType.LABEL_USER: labelling.subject_of}
    return consumer(settings, parts, works, subjects, reserve_s=settings.analyze_text_s + settings.llm_longest_s())


def handler(event: dict[str, Any], context: LambdaContext) -> PartialItemFailureResponse:
    """Work off one SQS event."""
    return build().handle(event, context)
