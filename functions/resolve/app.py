"""Tells who organisations are: ``resolve_entity`` messages in, the failed ones' ids out."""

from functools import cache
from typing import Any

from aws_lambda_powertools.utilities.batch.types import PartialItemFailureResponse
from aws_lambda_powertools.utilities.typing import LambdaContext

from siftline.contracts import JobType
from siftline.jobs.consume import BatchConsumer
from siftline.jobs.consumers import consumer
from siftline.jobs.jobs_wiring import producer
from siftline.resolve.resolve_service import LONGEST_S, subject_of
from siftline.resolve.resolve_wiring import open_resolution
from siftline.settings.functions import ResolveSettings


@cache
def build() -> BatchConsumer:
    """Put the parts together, once a warm environment."""
    settings = ResolveSettings()
    parts = producer(settings)
    work = open_resolution(settings, parts)
    return consumer(settings, parts, [work], {JobType.RESOLVE_ENTITY: subject_of}, reserve_s=LONGEST_S)


def handler(event: dict[str, Any], context: LambdaContext) -> PartialItemFailureResponse:
    """Work off one SQS event."""
    return build().handle(event, context)
