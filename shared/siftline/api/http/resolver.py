"""One HTTP application out of resources: admission, strict JSON, validation; a problem document for every failure."""

import math
import threading
from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any, cast

from aws_lambda_powertools import Logger
from aws_lambda_powertools.event_handler import APIGatewayHttpResolver, Response
from aws_lambda_powertools.event_handler.api_gateway import Route
from aws_lambda_powertools.event_handler.exceptions import NotFoundError
from aws_lambda_powertools.event_handler.openapi.exceptions import RequestValidationError
from aws_lambda_powertools.utilities.data_classes import APIGatewayProxyEventV2
from aws_lambda_powertools.utilities.typing import LambdaContext
from psycopg.errors import ForeignKeyViolation
from tenacity import Retrying, retry_if_exception_type, stop_after_attempt, wait_random

from siftline.api.http.auth import admit, is_by_token
from siftline.api.http.limits import RequestLimit
from siftline.api.http.paging import paging
from siftline.api.http.problems import (
    SAFE_HEADERS,
    Fault,
    Problem,
    ProblemError,
    answer,
    fault_of,
    faulty,
    not_found,
    title,
    to_json,
    unknown_user,
)
from siftline.api.http.request_checks import plain_request, read_json, refuse_body, refuse_unstorable, takes_file
from siftline.api.http.routing import Resource
from siftline.kit.clock import Clock, SystemClock
from siftline.kit.db import ConflictError
from siftline.kit.errors import PermanentError, TransientError
from siftline.kit.lines import line

_RETRY_AFTER_S = 5.0
_CONFLICT_TRIES = 5
_NAME_MAX_CHARS = 100
_POINTERS = {
    "address_refused": "#/url",
    "invalid_selector": "#/selector",
    "invalid_url": "#/url",
    "unsupported_scheme": "#/url",
}
"""Where in a body stands what these refuse."""


class HttpApi:
    """Answers API Gateway's HTTP API events (payload 2.0) from the routes of its resources, any number at once.

    The routes of the resources ``elsewhere`` are another function's; here only their methods are told. Each token may
    ask what ``limit`` lets it.
    """

    def __init__(
        self,
        resources: Sequence[Resource],
        log: Logger,
        *,
        elsewhere: Sequence[Resource] = (),
        limit: RequestLimit | None = None,
        clock: Clock | None = None,
    ) -> None:
        self._log = log
        self._limit = limit
        self._clock = clock or SystemClock()
        self.resolver, self._elsewhere = Dispatcher(resources), Dispatcher(elsewhere)
        self._handle_failures()

    def __call__(self, event: Mapping[str, Any], context: LambdaContext) -> dict[str, Any]:
        """Answer one event."""
        try:
            wrapped = APIGatewayProxyEventV2(dict(event))
            caller = admit(wrapped, self._clock.now())
            if caller is not None and self._limit is not None:
                self._limit.take(caller.token_id)
                if wrapped.http_method.upper() not in {"GET", "HEAD"}:
                    self._limit.refuse_leaving(caller.user_id)
            request = plain_request(event)
            refuse_unstorable(wrapped)
        except ProblemError as error:
            return _raw(answer(error.problem(), error.headers))
        except TransientError as error:
            return _raw(self._transient(error))
        return self.resolver.resolve(request, context)

    def routes(self) -> set[tuple[str, str]]:
        """Return every (method, path) it answers; parameters stand in braces."""
        return {(route.method, route.openapi_path) for route in self.resolver.routes()}

    def _handle_failures(self) -> None:
        handle = self.resolver.exception_handler
        handle(ProblemError)(lambda error: answer(error.problem(), error.headers))
        handle(NotFoundError)(lambda _: self._no_route())
        handle(RequestValidationError)(self._invalid)
        handle(PermanentError)(_permanent)
        handle(TransientError)(self._transient)
        handle(ForeignKeyViolation)(self._broken_reference)
        handle(Exception)(self._unexpected)

    def _invalid(self, error: RequestValidationError) -> Response[str]:
        faults = error.errors()
        places = {fault["loc"][0] for fault in faults if fault["loc"]}
        if "response" in places:  # what we were about to say is wrong, not what was asked
            return self._unexpected(error)
        named = [fault["loc"][1] for fault in faults if fault["loc"] and fault["loc"][0] == "path"]
        if named:  # not an id at all, so certainly not a known one
            return self._no_route(
                otherwise=named[0].removesuffix("_id").replace("address", "email address").replace("_", " ")
            )
        found = (fault_of(fault, self.resolver.body()) for fault in faults)
        return answer(faulty(chain(_unknown_parameters(self.resolver), found)).problem())

    def _no_route(self, *, otherwise: str = "route") -> Response[str]:
        """Answer a method that a known path does not take (RFC 9110, section 15.5.6), or an unknown path."""
        event = self.resolver.current_event
        allowed = self.resolver.methods(event.path) or self._elsewhere.methods(event.path)
        if not allowed or event.http_method.upper() in allowed:
            return answer(not_found(otherwise).problem())
        detail = f"This path supports only {', '.join(allowed)}."
        problem = ProblemError(405, "method_not_allowed", detail).problem()
        return answer(problem, {"Allow": ", ".join(allowed)})

    def _broken_reference(self, error: ForeignKeyViolation) -> Response[str]:
        """Answer a caller whose account was deleted between the look at it and the write."""
        if not (error.diag.constraint_name or "").endswith("_user_id_fkey"):
            return self._unexpected(error)
        return answer(unknown_user().problem())

    def _transient(self, error: TransientError) -> Response[str]:
        self._log.warning("request_failed", error_code=error.error_code, exc_info=error)
        problem = Problem(title=title(503), status=503, detail=error.detail, code=error.error_code)
        wait_s = error.retry_after_s if error.retry_after_s is not None else _RETRY_AFTER_S
        return answer(problem, {"Retry-After": str(math.ceil(wait_s))})

    def _unexpected(self, error: Exception) -> Response[str]:
        self._log.error("request_failed", error_code="internal_error", exc_info=error)
        problem = Problem(
            title=title(500),
            status=500,
            detail="Internal error. It was logged under this request id.",
            code="internal_error",
            request_id=getattr(self.resolver.lambda_context, "aws_request_id", None),
        )
        return answer(problem)


class _Request(threading.local):
    """What a thread is at."""

    def __init__(self) -> None:
        self.current_event: Any = None
        self.lambda_context: Any = None
        self.context: dict[str, Any] = {}
        self.processed_stack_frames: list[str] = []


def _of_this_thread(name: str) -> Any:
    return property(
        lambda resolver: getattr(resolver.this_request, name),
        lambda resolver, value: setattr(resolver.this_request, name, value),
    )


class Dispatcher(APIGatewayHttpResolver):
    """Powertools' resolver for a process with threads; it also tells a path's methods and a route's parameters.

    Powertools keeps the current request on a class that every resolver of the process shares
    (``BaseRouter.current_event``), and its context on the resolver. On Lambda one environment has one request, but in a
    server with threads one would be answered with another's. Here each thread has its own.
    """

    current_event: APIGatewayProxyEventV2 = _of_this_thread("current_event")
    lambda_context: LambdaContext = _of_this_thread("lambda_context")
    context: dict[str, Any] = _of_this_thread("context")
    processed_stack_frames: list[str] = _of_this_thread("processed_stack_frames")

    def __init__(self, resources: Sequence[Resource]) -> None:
        self.this_request = _Request()
        self._parameters: dict[int, frozenset[str]] = {}
        super().__init__(enable_validation=True, serializer=to_json, json_body_deserializer=read_json, debug=False)
        for resource in resources:
            self.include_router(resource.router())
        self.use([_safe_headers, _only_known, _of_one_list, _once_more])
        for route in self.routes():
            # Else the first two requests of a route would both wrap its handler, one around the other's.
            route._build_middleware_stack(self._router_middlewares, self)  # noqa: SLF001  # no public way

    def resolve(self, event: Mapping[str, Any], context: LambdaContext) -> dict[str, Any]:
        """Answer one request."""
        self.lambda_context = context
        return super().resolve(event, context)

    def routes(self) -> list[Route]:
        """Return every route: a path without parameters goes before one with some."""
        return self._static_routes + self._dynamic_routes

    def methods(self, path: str) -> list[str]:
        """Return the methods that a path is answered for, in alphabetical order; none for an unknown path."""
        for routes in (self._static_routes, self._dynamic_routes):
            found = {route.method for route in routes if route.rule.match(path)}
            if found:
                return sorted(found)
        return []

    def parameters(self) -> frozenset[str] | None:
        """Return the names of the query parameters that the current request's route knows; ``None`` without a route."""
        route: Route = self.context["_route"]
        known = self._parameters.get(id(route))
        if known is None and route in self.routes():
            known = frozenset(field.alias for field in route.dependant.query_params)
            self._parameters[id(route)] = known
        return known

    def body(self) -> Any:
        """Return the type that the body of the current request should have; ``None`` where its route takes none."""
        route: Route | None = self.context.get("_route")
        fields = route.dependant.body_params if route is not None else []
        return fields[0].type_ if fields else None

    def _to_proxy_event(self, event: dict[str, Any]) -> APIGatewayProxyEventV2:
        self.current_event = cast("APIGatewayProxyEventV2", super()._to_proxy_event(event))
        return self.current_event


def _permanent(error: PermanentError) -> Response[str]:
    """Answer why an address, or what goes with it, is refused; routes with other fields word such faults themselves."""
    pointer = _POINTERS.get(error.error_code)
    faults = [Fault(code=error.error_code, detail=error.detail, pointer=pointer)] if pointer else []
    return answer(ProblemError(422, error.error_code, error.detail, faults).problem())


def _safe_headers(app: Dispatcher, next_middleware: Any) -> Response[Any]:
    response: Response[Any] = next_middleware(app)
    for name, value in SAFE_HEADERS.items():
        response.headers.setdefault(name, value)
    return response


def _only_known(app: Dispatcher, next_middleware: Any) -> Response[Any]:
    """Refuse what no route would look at: a misspelt filter would otherwise answer with everything."""
    event = app.current_event
    faults = _unknown_parameters(app)
    if faults:
        raise faulty(faults, "unknown_parameter")
    reads = event.http_method.upper() in {"GET", "HEAD"} or takes_file(event.path)
    if event.body and app.parameters() is not None and app.body() is None and not reads:
        refuse_body(event.body)
    response: Response[Any] = next_middleware(app)
    return response


def _unknown_parameters(app: Dispatcher) -> list[Fault]:
    """Return the parameters that a route does not know.

    To links in mails and feeds, others add parameters of their own (``utm_source``): these say nothing to us.
    """
    known = app.parameters()
    if known is None or is_by_token(app.current_event.path):
        return []
    detail = f"Known parameters: {', '.join(sorted(known))}." if known else "This path takes no parameters."
    sent = app.current_event.query_string_parameters
    unknown = (line(name, _NAME_MAX_CHARS) for name in sent if name not in known)
    return [Fault(code="unknown_parameter", detail=detail, parameter=name) for name in unknown]


def _of_one_list(app: Dispatcher, next_middleware: Any) -> Response[Any]:
    """Let the pages of a list be of that list alone."""
    event = app.current_event
    with paging(event.path, event.query_string_parameters):
        response: Response[Any] = next_middleware(app)
    return response


def _once_more(app: Dispatcher, next_middleware: Any) -> Response[Any]:
    """Run a route again whose transaction PostgreSQL broke off to end a deadlock: nothing of it has happened.

    Everybody takes a job before its subject (``siftline.jobs.jobs_store.hold``), but one may come into being in
    between. The waits differ, so that two requests that met do not meet again.
    """
    tries = Retrying(
        retry=retry_if_exception_type(ConflictError),
        stop=stop_after_attempt(_CONFLICT_TRIES),
        wait=wait_random(0, 0.1),
        reraise=True,
    )
    response: Response[Any] = tries(next_middleware, app)
    return response


def _raw(response: Response[str]) -> dict[str, Any]:
    return {
        "statusCode": response.status_code,
        "headers": dict(response.headers),
        "body": response.body,
        "isBase64Encoded": False,
        "cookies": [],
    }
