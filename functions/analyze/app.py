"""From a stored text to topics, summary, tags and vector, and to its readers' scores: SQS batch in, failed ids out."""

from functools import cache, partial
from typing import Any

from aws_lambda_powertools.utilities.batch.types import PartialItemFailureResponse
from aws_lambda_powertools.utilities.typing import LambdaContext

from siftline.analyze import labelling, service
from siftline.analyze.own_wiring import open_labelling
from siftline.analyze.wiring import open_analysis, open_directions
from siftline.contracts import JobType
from siftline.jobs.consume import BatchConsumer
from siftline.jobs.consumers import Lazily, consumer
from siftline.jobs.wiring import producer
from siftline.rank import scoring, scoring_wiring
from siftline.settings import AnalyzeSettings


@cache
def build() -> BatchConsumer:
    """Put the parts together, once a warm environment."""
    settings = AnalyzeSettings()
    parts = producer(settings)
    analysis = partial(open_analysis, settings, parts.database)
    own = partial(open_labelling, settings, parts.database)
    scores = partial(scoring_wiring.open_scoring, settings, parts, open_directions)
    works = [
        Lazily(JobType.ANALYZE_CONTENT, service.AnalyzeContent.providers, analysis),
        Lazily(JobType.LABEL_USER, labelling.LabelUser.providers, own),
        Lazily(JobType.SCORE_USER, scoring.ScoreUser.providers, scores),
    ]
    users = {JobType.LABEL_USER: labelling.subject_of, JobType.SCORE_USER: scoring.subject_of}
    longest_s = max(settings.analyze_text_s + settings.llm_longest_s() + settings.embedding_s(), settings.score_user_s)
    return consumer(settings, parts, works, {JobType.ANALYZE_CONTENT: service.subject_of, **users}, reserve_s=longest_s)


def handler(event: dict[str, Any], context: LambdaContext) -> PartialItemFailureResponse:
    """Work off one SQS event."""
    return build().handle(event, context)
