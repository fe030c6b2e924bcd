"""Whether the caller may: what the authorizer found, and the scope that each route needs.

One rule for every route, so that none can be forgotten: reading needs ``read``, changing needs ``write``, operating the
system needs ``ops``; only the routes in ``OPEN`` and ``OPEN_BY_TOKEN`` need nothing.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any
from uuid import UUID

from aws_lambda_powertools.event_handler import Request
from aws_lambda_powertools.event_handler.depends import Depends
from aws_lambda_powertools.utilities.data_classes import APIGatewayProxyEventV2

from siftline.api.http.callers import Caller, Scope, known_scopes
from siftline.api.http.problems import ProblemError

OPEN_FEEDS = frozenset({"/v1/feed.atom", "/v1/editions.atom"})
"""Open to feed readers, whose token stands in the query: the routes look at it themselves."""
OPEN = frozenset({"/", "/docs", "/docs/", "/favicon.ico", "/health", "/v1/openapi.json"}) | OPEN_FEEDS
OPEN_BY_TOKEN = frozenset({"/v1/unsubscribe/{token}", "/v1/mail-addresses/confirm/{token}", "/v1/read/{token}"})
"""Open to whoever was sent the link: a random token at the end of the path is all that it takes."""
_OPERATIONS = ("/v1/ops/", "/admin/")


def required_scope(method: str, path: str) -> Scope | None:
    """Return the scope that a route needs; ``None`` for an open one."""
    if path in OPEN or is_by_token(path):
        return None
    if path.startswith(_OPERATIONS):
        return Scope.OPS
    return Scope.READ if method.upper() in {"GET", "HEAD"} else Scope.WRITE


def is_by_token(path: str) -> bool:
    """Say whether a path is one of ``OPEN_BY_TOKEN``."""
    folder, _, token = path.rpartition("/")
    return token != "" and f"{folder}/{{token}}" in OPEN_BY_TOKEN


def caller_in(context: Mapping[str, Any]) -> Caller | None:
    """Return the caller from the authorizer's context, or ``None`` where there is no complete one."""
    try:
        scopes = known_scopes(str(context["scopes"]).split())
        ends = datetime.fromisoformat(context["expires_at"]) if "expires_at" in context else None
        return Caller(UUID(context["user_id"]), UUID(context["token_id"]), scopes, ends)
    except (KeyError, TypeError, ValueError, AttributeError):
        return None


def admit(event: APIGatewayProxyEventV2, now: datetime) -> Caller | None:
    """Return who calls, ``None`` on an open route; raises 401 for nobody and 403 for whose token does not allow it.

    A token that ended since the authorizer looked is nobody's.
    """
    scope = required_scope(event.http_method, event.path)
    if scope is None:
        return None
    caller = _caller(event)
    if caller.expires_at is not None and caller.expires_at <= now:
        raise unauthorized()
    if scope not in caller.scopes:
        raise lacking(scope)
    return caller


def lacking(scope: Scope) -> ProblemError:
    """Return the answer for a token without ``scope`` (RFC 6750, section 3.1)."""
    challenge = {"WWW-Authenticate": f'Bearer error="insufficient_scope", scope="{scope.value}"'}
    return ProblemError(
        403, "insufficient_scope", f"This requires a token with the scope {scope.value}.", (), challenge
    )


def unauthorized() -> ProblemError:
    """Return the answer for a request without a valid token."""
    detail = "This requires a valid access token: Authorization: Bearer <token>."
    return ProblemError(401, "unauthorized", detail, (), {"WWW-Authenticate": "Bearer"})


def _caller(event: APIGatewayProxyEventV2) -> Caller:
    caller = caller_in(event.request_context.authorizer.get_lambda)
    if caller is None:
        raise unauthorized()
    return caller


def _caller_of(request: Request) -> Caller:
    event: Any = request.resolved_event
    return _caller(event)


CurrentCaller = Annotated[Caller, Depends(_caller_of)]
"""The caller as a route's parameter."""
