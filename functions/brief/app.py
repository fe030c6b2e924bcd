"""Makes editions of briefings: ``run_briefing`` messages in, the failed ones' ids out."""

from datetime import timedelta
from functools import cache
from typing import Any

from aws_lambda_powertools.utilities.batch.types import PartialItemFailureResponse
from aws_lambda_powertools.utilities.typing import LambdaContext

from siftline.brief.edition import Links
from siftline.brief.model import Freshness
from siftline.brief.service import RunBriefing, subject_of
from siftline.contracts import JobType
from siftline.jobs.consume import BatchConsumer
from siftline.jobs.consumers import consumer
from siftline.jobs.wiring import producer
from siftline.settings import BriefSettings


@cache
def build() -> BatchConsumer:
    """Put the parts together, once a warm environment."""
    settings = BriefSettings()
    parts = producer(settings)
    age = timedelta(days=settings.news_max_age_days)
    freshness = Freshness(settings.score_freshness_weight, settings.score_half_life_h * 3_600)
    links = Links(settings.public_url.rstrip("/"))
    work = RunBriefing(parts.database, parts.clock, links, news_max_age=age, freshness=freshness)
    return consumer(settings, parts, [work], {JobType.RUN_BRIEFING: subject_of}, reserve_s=settings.run_briefing_s)


def handler(event: dict[str, Any], context: LambdaContext) -> PartialItemFailureResponse:
    """Work off one SQS event."""
    return build().handle(event, context)
