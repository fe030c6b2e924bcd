"""Reading again what other versions read: planned, begun, watched and ended by operators."""

from datetime import datetime
from typing import Annotated, Literal

from aws_lambda_powertools.event_handler import Response
from aws_lambda_powertools.event_handler.api_gateway import Router
from pydantic import BaseModel, Field, StrictBool, StrictInt, StringConstraints

from siftline.api.http.paging import Time
from siftline.api.http.problems import conflict
from siftline.api.http.routing import BODY_PROBLEMS, NO_CONTENT, new_router, responses
from siftline.api.http.shapes import Asked
from siftline.reprocess.reprocess import NotToldError, Plan, Reprocess, RunningError
from siftline.reprocess.reprocess_store import Order, Run

Kind = Literal["language", "topics", "summary", "tags", "entities"]


class ReprocessAsked(Asked):
    """What is to be read again; without any limit all that a version made which makes nothing any more."""

    kind: Kind | None = Field(default=None, description="Only for values of this kind")
    version: Annotated[str, StringConstraints(min_length=1, max_length=300)] | None = Field(
        default=None,
        description="Only what this version made, the present one too",
        examples=["e5-small-int8-1/topics-2"],
    )
    older_than: Time | None = Field(default=None, description="Only what was made before")
    limit: StrictInt | None = Field(default=None, ge=1, le=10_000_000, description="At most so many contents")
    dry_run: StrictBool = Field(default=False, description="Only count and price it")


class OutdatedView(BaseModel):
    """What one version made."""

    kind: str = Field(examples=["topics"])
    version: str = Field(examples=["e5-small-int8-1/topics-2"])
    contents: int


class PlanView(BaseModel):
    """What is, or would be, read again, and what that costs."""

    dry_run: bool
    contents: int
    by: list[OutdatedView]
    credits: int = Field(description="What users pay for it: nothing")
    usd: float = Field(description="What the language model is likely to cost; 0 without one")
    llm_texts: int = Field(description="Texts that it is likely to be asked about")
    work_s: float = Field(description="How long one worker reads, in seconds")
    measured: bool = Field(description="Whether money and time follow from what was measured here")


class RunView(BaseModel):
    """A run, in contents."""

    state: Literal["running", "completed", "cancelled"]
    kind: str | None
    version: str | None
    older_than: datetime | None
    limit: int | None
    planned: int = Field(description="When it began")
    enqueued: int = Field(description="Sent to be read so far")
    live: int = Field(description="Of these on their way now")
    failed: int = Field(description="Of these not read")
    done: int
    waits_for: str | None = Field(description="`budget`: today's money is spent; it goes on tomorrow (UTC)")
    started_at: datetime
    finished_at: datetime | None


class RunsView(BaseModel):
    """The run that is going, or else the last one."""

    run: RunView | None


class ReprocessRoutes:
    """``/v1/ops/reprocess``."""

    def __init__(self, reprocess: Reprocess) -> None:
        self._reprocess = reprocess

    def router(self) -> Router:
        """Return the routes."""
        router, place, tags = new_router(), "/v1/ops/reprocess", ["operations"]
        router.post(
            place,
            summary="Reprocess outdated readings",
            operation_id="startReprocess",
            responses=responses((200, PlanView, "What is, or would be, read again"), problems=(*BODY_PROBLEMS, 409)),
            tags=tags,
        )(self.start)
        router.get(
            place,
            summary="Get the progress of reprocessing",
            operation_id="getReprocess",
            responses=responses((200, RunsView, "The run")),
            tags=tags,
        )(self.show)
        router.delete(
            place,
            summary="Cancel reprocessing",
            operation_id="cancelReprocess",
            responses=responses(NO_CONTENT, problems=(409,)),
            tags=tags,
        )(self.cancel)
        return router

    def start(self, body: ReprocessAsked) -> PlanView:
        """Begin a run, or plan it."""
        order = Order(body.kind, body.version, body.older_than, body.limit)
        try:
            plan = self._reprocess.plan(order) if body.dry_run else self._reprocess.start(order)
        except (NotToldError, RunningError) as error:
            raise conflict(error.error_code, error.detail) from error
        return _plan(plan, dry_run=body.dry_run)

    def show(self) -> RunsView:
        """Show the run."""
        run = self._reprocess.run()
        return RunsView(run=None if run is None else _run(run))

    def cancel(self) -> Response[None]:
        """End the run."""
        if not self._reprocess.cancel():
            raise conflict("no_run", "No run is going.")
        return Response(status_code=204)


def _plan(plan: Plan, *, dry_run: bool) -> PlanView:
    by = [OutdatedView(kind=one.kind, version=one.model_version, contents=one.contents) for one in plan.by]
    return PlanView(
        dry_run=dry_run,
        contents=plan.contents,
        by=by,
        credits=0,
        usd=plan.usd,
        llm_texts=plan.llm_texts,
        work_s=plan.work_s,
        measured=plan.measured,
    )


def _run(run: Run) -> RunView:
    return RunView(
        state=run.state,
        kind=run.kind,
        version=run.model_version,
        older_than=run.older_than,
        limit=run.at_most,
        planned=run.planned,
        enqueued=run.enqueued,
        live=run.live,
        failed=run.failed,
        done=run.enqueued - run.live - run.failed,
        waits_for=run.waits_for,
        started_at=run.started_at,
        finished_at=run.finished_at,
    )
