"""The routes that find by meaning: an HTTP API event in, its response out."""

from functools import cache
from typing import Any

from aws_lambda_powertools.utilities.typing import LambdaContext

from siftline.api.http.limits import open_limit
from siftline.api.http.resolver import HttpApi
from siftline.api.search_routes import SearchRoutes
from siftline.kit.log import logger
from siftline.rank.search import open_search
from siftline.settings.functions import SearchSettings


@cache
def build() -> HttpApi:
    """Put the parts together, once a warm environment."""
    settings = SearchSettings()
    return HttpApi([SearchRoutes(open_search(settings))], logger("search"), limit=open_limit(settings))


def handler(event: dict[str, Any], context: LambdaContext) -> dict[str, Any]:
    """Answer one request."""
    return build()(event, context)
