"""Powertools' resolver for a process with threads; it also tells a path's methods and a route's parameters.

Powertools keeps the current request on a class that every resolver of the process shares
(``BaseRouter.current_event``), and its context on the resolver. On Lambda one environment has one request, but in a
server with threads one would be answered with another's. Here each thread has its own.
"""

import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from aws_lambda_powertools.event_handler import APIGatewayHttpResolver, Response
from aws_lambda_powertools.event_handler.api_gateway import Route, Router
from aws_lambda_powertools.utilities.data_classes import APIGatewayProxyEventV2
from aws_lambda_powertools.utilities.data_classes.common import BaseProxyEvent
from aws_lambda_powertools.utilities.typing import LambdaContext


class _Request(threading.local):
    """What a thread is at."""

    def __init__(self) -> None:
        self.event: Any = None
        self.lambda_context: Any = None
        self.context: dict[str, Any] = {}
        self.frames: list[str] = []


class Dispatcher(APIGatewayHttpResolver):
    """Answers requests of several threads at once from the routes of its routers."""

    def __init__(
        self,
        routers: Sequence[Router],
        middlewares: Sequence[Callable[..., Response[Any]]],
        *,
        serializer: Callable[[Any], str],
        json_body_deserializer: Callable[[str], Any],
    ) -> None:
        self._request = _Request()
        self._parameters: dict[int, frozenset[str]] = {}
        super().__init__(
            enable_validation=True, serializer=serializer, json_body_deserializer=json_body_deserializer, debug=False
        )
        for router in routers:
            self.include_router(router)
        self.use(list(middlewares))
        for route in self.routes():
            # Else the first two requests of a route would both wrap its handler, one around the other's.
            route._build_middleware_stack(self._router_middlewares, self)  # noqa: SLF001  # no public way

    @property
    def current_event(self) -> APIGatewayProxyEventV2:
        """The request that this thread is at."""
        event: APIGatewayProxyEventV2 = self._request.event
        return event

    @current_event.setter
    def current_event(self, event: BaseProxyEvent) -> None:
        self._request.event = event

    @property
    def lambda_context(self) -> LambdaContext:
        """Lambda's context of this thread's request."""
        context: LambdaContext = self._request.lambda_context
        return context

    @lambda_context.setter
    def lambda_context(self, context: LambdaContext) -> None:
        self._request.lambda_context = context

    @property
    def context(self) -> dict[str, Any]:
        """What middlewares hand to each other while this thread's request lasts."""
        return self._request.context

    @context.setter
    def context(self, context: dict[str, Any]) -> None:
        self._request.context = context

    @property
    def processed_stack_frames(self) -> list[str]:
        """The middlewares that this thread's request went through."""
        return self._request.frames

    @processed_stack_frames.setter
    def processed_stack_frames(self, frames: list[str]) -> None:
        self._request.frames = frames

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
        self.current_event = super()._to_proxy_event(event)
        return self.current_event
