"""Groups users' contents: ``cluster_user`` and ``join_stories`` messages in, the failed ones' ids out."""

from functools import cache
from typing import Any

from aws_lambda_powertools.utilities.batch.types import PartialItemFailureResponse
from aws_lambda_powertools.utilities.typing import LambdaContext

from siftline.cluster import cluster_service, story_service
from siftline.cluster.joining import Rule
from siftline.cluster.space import Recipe
from siftline.contracts import JobType
from siftline.jobs.consume import BatchConsumer, consumer
from siftline.jobs.jobs_wiring import producer
from siftline.settings.functions import ClusterSettings


@cache
def build() -> BatchConsumer:
    """Put the parts together, once a warm environment."""
    parts = producer(settings := ClusterSettings())
    grouping = cluster_service.ClusterUser(parts.database, Recipe(), naming=settings.cluster_llm)
    subjects = {JobType.CLUSTER_USER: cluster_service.subject_of, JobType.JOIN_STORIES: story_service.subject_of}
    joining = story_service.JoinUserStories(parts.database, Rule())
    return consumer(settings, parts, [grouping, joining], subjects, reserve_s=cluster_service.LONGEST_S)


def handler(event: dict[str, Any], context: LambdaContext) -> PartialItemFailureResponse:
    """Work off one SQS event."""
    return build().handle(event, context)
