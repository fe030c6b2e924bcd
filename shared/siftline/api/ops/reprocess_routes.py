"""Reading again what other versions read: planned, begun, watched and ended by operators."""

from dataclasses import asdict
from datetime import datetime
from typing import Annotated, Literal

from aws_lambda_powertools.event_handler import Response
from pydantic import BaseModel, Field, StrictBool, StrictInt, StringConstraints

from siftline.api.http.paging import Time
from siftline.api.http.problems import conflict
from siftline.api.http.routing import BODY_PROBLEMS, NO_CONTENT, route
from siftline.api.http.shapes import Asked
from siftline.api.parts import Parts, Routes
from siftline.reprocess.reprocess import NotToldError, Plan, Reprocess, RunningError
from siftline.reprocess.reprocess_store import Order, Run

Kind = Literal["language", "topics", "summary", "tags", "entities"]


class ReprocessAsked(Asked):
    """What to reprocess; without filters, everything produced by versions no longer in use."""

    kind: Kind | None = Field(default=None, description="Only for values of this kind")
    version: Annotated[str, StringConstraints(min_length=1, max_length=300)] | None = Field(
        default=None,
        description="Only values produced by this version, even if it is the current one",
        examples=["e5-small-int8-1/topics-2"],
    )
    older_than: Time | None = Field(default=None, description="Only values produced before this time")
    limit: StrictInt | None = Field(default=None, ge=1, le=10_000_000, description="Maximum number of contents")
    dry_run: StrictBool = Field(default=False, description="Only estimate amount and cost")


class OutdatedView(BaseModel):
    """Number of values produced by one version."""

    kind: str = Field(examples=["topics"])
    version: str = Field(examples=["e5-small-int8-1/topics-2"])
    contents: int


class PlanView(BaseModel):
    """What will (dry run: would) be reprocessed, and what that costs."""

    dry_run: bool
    contents: int
    by: list[OutdatedView]
    credits: int = Field(description="Cost to users: always 0")
    usd: float = Field(description="Estimated cost of the language model; 0 without one")
    llm_texts: int = Field(description="Estimated number of texts for the language model")
    work_s: float = Field(description="Estimated time for one worker, in seconds")
    measured: bool = Field(description="Whether cost and time are estimated from measurements on this system")


class RunView(BaseModel):
    """A reprocessing run, counted in contents."""

    state: Literal["running", "completed", "cancelled"]
    kind: str | None
    version: str | None
    older_than: datetime | None
    limit: int | None
    planned: int = Field(description="Number of contents at the start")
    enqueued: int = Field(description="Queued so far")
    live: int = Field(description="Of these, in progress")
    failed: int = Field(description="Of these, failed")
    done: int
    waits_for: str | None = Field(description="`budget`: today's budget is spent; it continues tomorrow (UTC)")
    started_at: datetime
    finished_at: datetime | None


class RunsView(BaseModel):
    """The current run, or the last one."""

    run: RunView | None


class ReprocessRoutes(Routes):
    """``/v1/ops/reprocess``."""

    tag = "operations"

    def __init__(self, parts: Parts) -> None:
        super().__init__(parts)
        self._reprocess = Reprocess(parts.database, max_attempts=parts.settings.job_max_attempts)

    @route(
        "POST /v1/ops/reprocess",
        (200, PlanView, "The run, or the plan in a dry run"),
        operation_id="startReprocess",
        problems=(*BODY_PROBLEMS, 409),
    )
    def start(self, body: ReprocessAsked) -> PlanView:
        """Reprocess outdated analyses."""
        order = Order(body.kind, body.version, body.older_than, body.limit)
        try:
            plan = self._reprocess.plan(order) if body.dry_run else self._reprocess.start(order)
        except (NotToldError, RunningError) as error:
            raise conflict(error.error_code, error.detail) from error
        return _plan(plan, dry_run=body.dry_run)

    @route("GET /v1/ops/reprocess", (200, RunsView, "The current or last run"), operation_id="getReprocess")
    def show(self) -> RunsView:
        """Get the progress of reprocessing."""
        run = self._reprocess.run()
        return RunsView(run=None if run is None else _run(run))

    @route("DELETE /v1/ops/reprocess", NO_CONTENT, operation_id="cancelReprocess", problems=(409,))
    def cancel(self) -> Response[None]:
        """Cancel reprocessing."""
        if not self._reprocess.cancel():
            raise conflict("no_run", "No run is in progress.")
        return Response(status_code=204)


def _plan(plan: Plan, *, dry_run: bool) -> PlanView:
    by = [OutdatedView(kind=one.kind, version=one.model_version, contents=one.contents) for one in plan.by]
    return PlanView.model_validate(asdict(plan) | {"dry_run": dry_run, "by": by, "credits": 0})


def _run(run: Run) -> RunView:
    return RunView.model_validate(
        asdict(run) | {"version": run.model_version, "limit": run.at_most, "done": run.enqueued - run.live - run.failed}
    )
