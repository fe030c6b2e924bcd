"""All routes that embed nothing: items, sources, tokens, queues. An HTTP API event in, its response out."""

from functools import cache
from typing import Any

from aws_lambda_powertools.utilities.typing import LambdaContext

from siftline.api.resolver import HttpApi
from siftline.api.wiring import open_api
from siftline.ingest.saving import save_urls
from siftline.kit.log import logger
from siftline.settings import ApiSettings


@cache
def build() -> HttpApi:
    """Put the parts together, once a warm environment."""
    return open_api(ApiSettings(), save_urls, logger("api"))


def handler(event: dict[str, Any], context: LambdaContext) -> dict[str, Any]:
    """Answer one request."""
    return build()(event, context)
