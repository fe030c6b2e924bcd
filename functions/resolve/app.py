"""Tells who organisations are: ``resolve_entity`` messages in, the failed ones' ids out."""

from functools import cache
from typing import Any

from aws_lambda_powertools.utilities.batch.types import PartialItemFailureResponse
from aws_lambda_powertools.utilities.typing import LambdaContext

from siftline.contracts import JobType
from siftline.jobs.consume import BatchConsumer, consumer
from siftline.jobs.jobs_wiring import producer
from siftline.kit.aws import secret
from siftline.resolve.providers import open_providers
from siftline.resolve.resolve_service import LONGEST_S, ResolveEntity, subject_of
from siftline.settings.functions import ResolveSettings


@cache
def build() -> BatchConsumer:
    """Put the parts together, once a warm environment."""
    settings = ResolveSettings()
    parts = producer(settings)
    work = ResolveEntity(
        parts.database,
        open_providers(settings, parts.database, parts.clock),
        salt=secret(settings.entity_salt.get_secret_value()),
    )
    return consumer(settings, parts, [work], {JobType.RESOLVE_ENTITY: subject_of}, reserve_s=LONGEST_S)


def handler(event: dict[str, Any], context: LambdaContext) -> PartialItemFailureResponse:
    """Work off one SQS event."""
    return build().handle(event, context)
