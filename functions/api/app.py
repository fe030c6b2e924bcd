"""All routes that embed nothing: items, sources, tokens, queues. An HTTP API event in, its response out."""

from functools import cache
from typing import Any

from aws_lambda_powertools.utilities.typing import LambdaContext

from siftline.api.api_wiring import open_api
from siftline.api.http.resolver import HttpApi
from siftline.kit.log import logger
from siftline.settings.functions import ApiSettings


@cache
def build() -> HttpApi:
    """Put the parts together, once a warm environment."""
    return open_api(ApiSettings(), logger("api"))


def handler(event: dict[str, Any], context: LambdaContext) -> dict[str, Any]:
    """Answer one request."""
    return build()(event, context)
