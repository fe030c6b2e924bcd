"""Is the system well? Open for the shallow answer; the deep one asks every part and needs the scope ``ops``."""

from collections.abc import Callable, Mapping
from typing import Annotated, Any, Literal

from aws_lambda_powertools import Logger
from aws_lambda_powertools.event_handler import Request, Response
from aws_lambda_powertools.event_handler.depends import Depends
from aws_lambda_powertools.event_handler.openapi.params import Header, Query
from pydantic import BaseModel, Field

from siftline.api.http.auth import lacking, unauthorized
from siftline.api.http.authorize import Authorizer, source_ip_of
from siftline.api.http.callers import Scope
from siftline.api.http.routing import Resource, answer, route
from siftline.kit.errors import SiftlineError

Check = Callable[[], object]
"""Returns when a part is well; raises one of our errors when it is not."""


class Part(BaseModel):
    """One part of the system."""

    status: Literal["ok", "unavailable"]
    detail: str | None = Field(default=None, description="What is wrong with it")


class HealthReport(BaseModel):
    """Health of the system."""

    status: Literal["ok", "unavailable"] = Field(description="`unavailable` if any part is unavailable")
    parts: dict[str, Part] | None = Field(
        default=None,
        description="With `deep=1`: database, queues, vectors, and the worker if one runs beside the API",
        examples=[{"database": {"status": "ok"}}],
    )


def _source_ip_of(request: Request) -> str:
    event: Any = request.resolved_event
    return source_ip_of(event.raw_event)


class HealthRoutes(Resource):
    """``/health``."""

    def __init__(self, authorizer: Authorizer, checks: Mapping[str, Check], log: Logger) -> None:
        self._authorizer = authorizer
        self._checks = checks
        self._log = log

    @route(
        "GET /health",
        (200, HealthReport, "Healthy"),
        (503, HealthReport, "A part is unavailable"),
        summary="Check health",
        operation_id="getHealth",
        tag="health",
        problems=(401, 403),
    )
    @route("HEAD /health")  # load balancers ask so; the gateway sends no body
    def show(
        self,
        deep: Annotated[bool, Query(description="Check every part; requires a token with the scope ops")] = False,  # noqa: FBT002  # a query parameter
        authorization: Annotated[str | None, Header(alias="Authorization", include_in_schema=False)] = None,
        source_ip: Annotated[str, Depends(_source_ip_of)] = "",
    ) -> Response[HealthReport]:
        """Say whether the system is well. The route is open, so the deep question checks the token itself."""
        if not deep:
            return _answer(HealthReport(status="ok"))
        caller = self._authorizer.identify(authorization, source_ip)
        if caller is None:
            raise unauthorized()
        if Scope.OPS not in caller.scopes:
            raise lacking(Scope.OPS)
        parts = {name: self._ask(name, check) for name, check in self._checks.items()}
        well = all(part.status == "ok" for part in parts.values())
        return _answer(HealthReport(status="ok" if well else "unavailable", parts=parts))

    def _ask(self, name: str, check: Check) -> Part:
        try:
            check()
        except SiftlineError as error:
            self._log.warning("part_unavailable", part=name, error_code=error.error_code)
            return Part(status="unavailable", detail=error.detail)
        return Part(status="ok")


def _answer(report: HealthReport) -> Response[HealthReport]:
    return answer(200 if report.status == "ok" else 503, report)
