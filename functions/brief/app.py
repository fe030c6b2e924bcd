"""Makes editions of briefings and delivers them: messages in, the failed ones' ids out."""

from functools import cache
from typing import Any

from aws_lambda_powertools.utilities.batch.types import PartialItemFailureResponse
from aws_lambda_powertools.utilities.typing import LambdaContext

from siftline.brief.brief_wiring import open_brief
from siftline.jobs.consume import BatchConsumer
from siftline.settings.functions import BriefSettings


@cache
def build() -> BatchConsumer:
    """Put the parts together, once a warm environment."""
    return open_brief(BriefSettings())


def handler(event: dict[str, Any], context: LambdaContext) -> PartialItemFailureResponse:
    """Work off one SQS event."""
    return build().handle(event, context)
