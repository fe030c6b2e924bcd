"""Who is calling? An HTTP API authorizer event in (REQUEST, payload 2.0), a simple response out."""

from functools import cache
from typing import Any

from siftline.api.http.authorize import Authorizer, open_authorizer
from siftline.settings.functions import AuthorizeSettings


@cache
def build() -> Authorizer:
    """Put the parts together, once a warm environment."""
    return open_authorizer(AuthorizeSettings())


def handler(event: dict[str, Any], context: object) -> dict[str, Any]:  # noqa: ARG001 - Lambda passes two
    """Answer one authorizer event."""
    return build()(event)
