"""Groups users' contents into stories: ``cluster_user`` messages in, the failed ones' ids out."""

from datetime import timedelta
from functools import cache
from typing import Any

from aws_lambda_powertools.utilities.batch.types import PartialItemFailureResponse
from aws_lambda_powertools.utilities.typing import LambdaContext

from siftline.cluster.service import ClusterUser, subject_of
from siftline.cluster.space import Recipe
from siftline.contracts import JobType
from siftline.jobs.consume import BatchConsumer
from siftline.jobs.consumers import consumer
from siftline.jobs.wiring import producer
from siftline.settings import ClusterSettings


@cache
def build() -> BatchConsumer:
    """Put the parts together, once a warm environment."""
    settings = ClusterSettings()
    parts = producer(settings)
    work = ClusterUser(
        parts.database,
        Recipe(min_size=settings.cluster_min_size),
        max_contents=settings.cluster_max_contents,
        regroup_after=timedelta(seconds=settings.cluster_regroup_s),
    )
    return consumer(settings, parts, [work], {JobType.CLUSTER_USER: subject_of}, reserve_s=settings.cluster_user_s)


def handler(event: dict[str, Any], context: LambdaContext) -> PartialItemFailureResponse:
    """Work off one SQS event."""
    return build().handle(event, context)
