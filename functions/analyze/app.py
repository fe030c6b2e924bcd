"""From a stored text to topics, summary, tags and vector, and to its readers' scores: SQS batch in, failed ids out."""

from functools import cache, partial
from typing import Any

from aws_lambda_powertools.utilities.batch.types import PartialItemFailureResponse
from aws_lambda_powertools.utilities.typing import LambdaContext

from siftline.analyze import analyze_service
from siftline.analyze.analyze_wiring import longest_s, open_analysis, open_directions, open_labelling
from siftline.analyze.topics import labelling
from siftline.cluster import naming
from siftline.contracts import JobType
from siftline.jobs.consume import BatchConsumer, Lazily, consumer
from siftline.jobs.jobs_wiring import producer
from siftline.rank import scoring
from siftline.settings.functions import AnalyzeSettings


@cache
def build() -> BatchConsumer:
    """Put the parts together, once a warm environment."""
    parts = producer(settings := AnalyzeSettings())
    directions = partial(open_directions, settings, parts.database, parts.clock)
    works = [
        Lazily(analyze_service.AnalyzeContent, partial(open_analysis, settings, parts.database)),
        Lazily(labelling.LabelUser, partial(open_labelling, settings, parts.database)),
        Lazily(naming.NameClusters, partial(naming.open_naming, settings, parts.database)),
        Lazily(scoring.ScoreUser, lambda: scoring.ScoreUser(parts.database, directions(), parts.clock)),
    ]
    subjects = {JobType.ANALYZE_CONTENT: analyze_service.subject_of, JobType.LABEL_USER: labelling.subject_of}
    subjects |= {JobType.SCORE_USER: scoring.subject_of, JobType.NAME_CLUSTERS: naming.subject_of}
    return consumer(settings, parts, works, subjects, reserve_s=max(longest_s(settings), scoring.LONGEST_S))


def handler(event: dict[str, Any], context: LambdaContext) -> PartialItemFailureResponse:
    """Work off one SQS event."""
    return build().handle(event, context)
