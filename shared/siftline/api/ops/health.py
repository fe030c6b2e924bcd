"""Is the system well? Open for the shallow answer; the deep one asks every part and needs the scope ``ops``.

A worker beside the API is asked only where an operator named its address (``WORKER_HEALTH_URL``).
"""

import http.client
import json
from collections.abc import Callable
from http import HTTPStatus
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

from aws_lambda_powertools.event_handler import Request, Response
from aws_lambda_powertools.event_handler.depends import Depends
from aws_lambda_powertools.event_handler.openapi.params import Header, Query
from pydantic import BaseModel, Field

from siftline.api.http.auth import lacking, unauthorized
from siftline.api.http.authorize import Authorizer, source_ip_of
from siftline.api.http.callers import Scope
from siftline.api.http.routing import answer, route
from siftline.api.parts import Parts, Routes
from siftline.contracts import Queue
from siftline.kit.errors import SiftlineError, TransientError

_WAIT_S = 2.0
_MAX_BYTES = 200_000


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


class HealthRoutes(Routes):
    """``/health``."""

    tag = "health"

    def __init__(self, parts: Parts) -> None:
        super().__init__(parts)
        self._authorizer = Authorizer(parts.database, parts.wrong_tokens)

    @route(
        "GET /health",
        (200, HealthReport, "Healthy"),
        (503, HealthReport, "A part is unavailable"),
        operation_id="getHealth",
        problems=(401, 403),
    )
    @route("HEAD /health")  # load balancers ask so; the gateway sends no body
    def show(
        self,
        deep: Annotated[bool, Query(description="Check every part; requires a token with the scope ops")] = False,  # noqa: FBT002  # a query parameter
        authorization: Annotated[str | None, Header(alias="Authorization", include_in_schema=False)] = None,
        source_ip: Annotated[str, Depends(_source_ip_of)] = "",
    ) -> Response[HealthReport]:
        """Check health.

        The route is open, so the deep question checks the token itself.
        """
        if not deep:
            return _answer(HealthReport(status="ok"))
        caller = self._authorizer.identify(authorization, source_ip)
        if caller is None:
            raise unauthorized()
        if Scope.OPS not in caller.scopes:
            raise lacking(Scope.OPS)
        asked: dict[str, Callable[[], object]] = {
            "database": self._check_database,
            "queues": self._check_queues,
            "vectors": self._parts.check_vectors,
        }
        if self._parts.settings.worker_health_url:
            asked["worker"] = self._check_worker
        parts = {name: self._ask(name, check) for name, check in asked.items()}
        well = all(part.status == "ok" for part in parts.values())
        return _answer(HealthReport(status="ok" if well else "unavailable", parts=parts))

    def _ask(self, name: str, check: Callable[[], object]) -> Part:
        try:
            check()
        except SiftlineError as error:
            self._parts.log.warning("part_unavailable", part=name, error_code=error.error_code)
            return Part(status="unavailable", detail=error.detail)
        return Part(status="ok")

    def _check_database(self) -> None:
        with self._database.transaction() as connection:
            connection.execute("select")

    def _check_queues(self) -> None:
        """Look at every queue: one that is missing is no other's fault to show."""
        for queue in Queue:
            self._parts.queues.depth(queue)

    def _check_worker(self) -> None:
        settings = self._parts.settings
        check_worker(settings.worker_health_url, settings.worker_health_token.get_secret_value())


def _answer(report: HealthReport) -> Response[HealthReport]:
    return answer(200 if report.status == "ok" else 503, report)


class WorkerAwayError(TransientError):
    """The worker does not answer, or cannot start a function that work waits for."""

    code = "worker_unavailable"


def check_worker(url: str, token: str = "") -> None:
    """Raise ``WorkerAwayError`` where the worker at ``url`` does not answer, or cannot start one of its functions."""
    if found := unbuildable(url, token):
        raise WorkerAwayError(" ".join(f"{name} cannot be started: {reason}." for name, reason in found.items()))


def unbuildable(url: str, token: str = "") -> dict[str, str]:
    """Return the functions that the worker at ``url`` cannot start, with the reasons. Raises ``WorkerAwayError``.

    ``token`` is the worker's ``WORKER_HEALTH_TOKEN``.
    """
    parts = urlsplit(url)
    kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
    connection = kind(parts.hostname or "", parts.port, timeout=_WAIT_S)
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    try:
        connection.request("GET", f"{parts.path.rstrip('/')}/health", headers=headers)
        response = connection.getresponse()
        if response.status == HTTPStatus.FORBIDDEN:
            raise WorkerAwayError("The worker rejected the request: its WORKER_HEALTH_TOKEN is different.")
        state = json.loads(response.read(_MAX_BYTES))
        found = state.get("unbuildable", {})
        return {str(name): str(reason) for name, reason in found.items()}
    except (OSError, http.client.HTTPException, ValueError, AttributeError) as error:
        raise WorkerAwayError("The worker does not answer.") from error
    finally:
        connection.close()
