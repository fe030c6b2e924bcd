"""An item's walk: its timeline, and sending it on the way again."""

from uuid import UUID

from aws_lambda_powertools.event_handler import Response

from siftline.api.account import me_store
from siftline.api.http.auth import CurrentCaller
from siftline.api.http.hand_out import HandOut
from siftline.api.http.problems import ProblemError, conflict, not_found
from siftline.api.http.routing import BODY_PROBLEMS, Resource, answer, route
from siftline.api.items import details_store, items_store
from siftline.api.items.item_models import Reprocess, ReprocessFrom, SavedItem, Status, Step, Timeline
from siftline.api.items.item_words import error_of
from siftline.api.items.waits import put_off, waiting_of
from siftline.contracts import JobType, Priority
from siftline.jobs import jobs_store as jobs
from siftline.jobs.credits_store import NO_CREDIT
from siftline.jobs.job_model import NewJob
from siftline.kit.db import Database


class WalkRoutes(Resource):
    """``/v1/items/{item_id}/timeline`` and ``/reprocess``."""

    def __init__(self, database: Database, hand_out: HandOut, *, max_attempts: int) -> None:
        self._database = database
        self._hand_out = hand_out
        self._max_attempts = max_attempts

    @route(
        "GET /v1/items/<item_id>/timeline",
        (200, Timeline, "The timeline"),
        summary="Get an item's timeline",
        operation_id="getItemTimeline",
        tag="items",
        problems=(404,),
    )
    def timeline(self, item_id: UUID, caller: CurrentCaller) -> Timeline:
        """Show every step, oldest first, and what is waited for now."""
        with self._database.transaction() as connection:
            row = items_store.find_item(connection, caller.user_id, item_id)
            if row is None:
                raise not_found("item")
            job = details_store.live_job(connection, row.content_id)
            steps = details_store.steps(connection, row.content_id, since=row.created_at)
        return Timeline(
            id=row.id,
            status=row.status,
            waiting=waiting_of(job, notice_code=row.notice_code),
            notice=row.notice,
            undated=row.undated,
            error=row.error,
            steps=[
                Step(
                    at=step.at,
                    job_type=step.job_type,
                    job_id=step.job_id,
                    event=step.event,
                    attempt=step.attempt,
                    duration_ms=step.duration_ms,
                    error=error_of(step.error_code, step.detail),
                    reason=step.detail if step.error_code is None else None,
                    due_at=step.due_at,
                )
                for step in steps
            ],
        )

    @route(
        "POST /v1/items/<item_id>/reprocess",
        (202, SavedItem, "It will be processed again"),
        summary="Reprocess an item",
        operation_id="reprocessItem",
        tag="items",
        problems=(*BODY_PROBLEMS, 402, 404, 409),
        located=True,
    )
    def reprocess(self, item_id: UUID, caller: CurrentCaller, body: Reprocess | None = None) -> Response[SavedItem]:
        """Queue the page for another reading; one that waits is tried now, one under way is followed by another.

        The caller pays for it alone, also where this very text was paid before.
        """
        start = body.start if body is not None else ReprocessFrom.INGEST
        with self._database.transaction() as connection:
            held = items_store.find_held(connection, caller.user_id, item_id)
            if held is None:
                raise not_found("item")
            if start is ReprocessFrom.ANALYZE and not held.has_text:
                raise conflict("no_text", "There is no stored text to analyse yet; start from ingest.")
            if not me_store.has_credit(connection, caller.user_id):
                raise ProblemError(402, NO_CREDIT, "Reprocessing a page costs one credit, and you have none left.")
            job = NewJob(
                job_type=JobType.ANALYZE_CONTENT if start is ReprocessFrom.ANALYZE else JobType.INGEST_CONTENT,
                subject_id=held.content_id,
                group_key=f"user:{caller.user_id}",
                priority=Priority.SAVED,
                payload=_payload(held) if start is ReprocessFrom.INGEST else {},
                asked=True,
            )
            job_ids = jobs.enqueue(connection, [job], max_attempts=self._max_attempts)
            jobs.try_now(connection, [held.content_id], job.job_type)
            later = put_off(details_store.live_job(connection, held.content_id))
            row = items_store.find_item(connection, caller.user_id, item_id)
        self._hand_out(job_ids)
        status = row.status if row is not None else Status.PENDING
        saved = SavedItem(id=item_id, content_id=held.content_id, status=status, waiting=later)
        return answer(202, saved, location=f"/v1/items/{item_id}")


def _payload(held: items_store.Held) -> dict[str, str]:
    """Return what the reading begins with: the address, and whose followers typed it, if the caller did not."""
    return {"url": held.url} | ({"source_id": str(held.brought_by)} if held.brought_by else {})
