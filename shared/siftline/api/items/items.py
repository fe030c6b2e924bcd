"""The items resource: listing, showing, changing and removing what one holds; its timeline, and processing it again."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Annotated, Any
from uuid import UUID

from aws_lambda_powertools.event_handler import Response
from aws_lambda_powertools.event_handler.openapi.params import Query

from siftline.api.account import me_store
from siftline.api.http.auth import CurrentCaller
from siftline.api.http.paging import DEFAULT_LIMIT, Cursor, Limit, Next, RankCursor, decode, decode_ranked, page
from siftline.api.http.problems import ProblemError, conflict, not_found
from siftline.api.http.routing import BODY_PROBLEMS, NO_CONTENT, answer, route
from siftline.api.http.shapes import (
    ByEntity,
    ByFolder,
    BySince,
    BySource,
    ByStarred,
    ByTag,
    ByTopic,
    ByUnread,
    ByUntil,
    Waiting,
)
from siftline.api.items import details_store, held_entities_store, items_store
from siftline.api.items.details_store import RecordingRow
from siftline.api.items.item_messages import error_of, put_off, waiting_of
from siftline.api.items.item_models import (
    ChangeItem,
    ItemDetail,
    Items,
    Recording,
    Reprocess,
    ReprocessFrom,
    SavedItem,
    Status,
    Step,
    Timeline,
    Transcript,
    TranscriptState,
)
from siftline.api.items.items_store import UNRANKED, Freshness, ItemRow, Listed
from siftline.api.items.scores import learn, reasons_of
from siftline.api.parts import Routes
from siftline.contracts import JobType, Priority
from siftline.jobs import jobs_store as jobs
from siftline.jobs.credits_store import NO_CREDIT
from siftline.jobs.job_model import NewJob
from siftline.kit.db import Connection
from siftline.kit.stored import readable

_READ_BY = (JobType.INGEST_CONTENT, JobType.ANALYZE_CONTENT, JobType.TRANSCRIBE_CONTENT)


class ItemRoutes(Routes):
    """``/v1/items``, but for saving."""

    tag = "items"

    @route("GET /v1/items", (200, Items, "A page of the list"), operation_id="listItems")
    def browse(
        self,
        caller: CurrentCaller,
        *,
        status: Annotated[Status | None, Query(description="Only items with this status")] = None,
        topic: ByTopic = None,
        tag: ByTag = None,
        source_id: BySource = None,
        folder_id: ByFolder = None,
        entity: ByEntity = None,
        since: BySince = None,
        until: ByUntil = None,
        unread: ByUnread = None,
        starred: ByStarred = None,
        sort: Annotated[
            str, Query(pattern="^(recent|score)$", description="`recent`: newest first; `score`: most relevant first")
        ] = "recent",
        limit: Limit = DEFAULT_LIMIT,
        next: Next = None,  # noqa: A002  # the parameter's name in the API
    ) -> Items:
        """List your items."""
        with self._database.transaction() as connection:
            entity_ids = None if entity is None else held_entities_store.ids_of(connection, entity)
            filters = Listed(
                topic, tag, source_id, folder_id, since, until, unread, starred, status, entity_ids=entity_ids
            )
            if sort == "score":
                return self._best(connection, caller.user_id, filters, decode_ranked(next), limit)
            freshness = self._freshness(connection)
            rows = items_store.list_items(connection, caller.user_id, filters, freshness, decode(next), limit + 1)
        shown, following = page(rows, limit, lambda row: Cursor(row.place_at, row.id).encode())
        return Items(items=shown, next=following)

    @route("GET /v1/items/<item_id>", (200, ItemDetail, "The item"), operation_id="getItem", problems=(404,))
    def show(self, item_id: UUID, caller: CurrentCaller) -> ItemDetail:
        """Get an item."""
        with self._database.transaction() as connection:
            return self._detail(connection, caller.user_id, item_id)

    @route(
        "PATCH /v1/items/<item_id>",
        (200, ItemDetail, "The updated item"),
        operation_id="updateItem",
        problems=(*BODY_PROBLEMS, 404),
    )
    def change(self, item_id: UUID, body: ChangeItem, caller: CurrentCaller) -> ItemDetail:
        """Update an item."""
        with self._database.transaction() as connection:
            changes = body.model_dump(include=body.model_fields_set)
            before = items_store.find_item(connection, caller.user_id, item_id)
            if before is None:
                raise not_found("item")
            # What scores are made by before the items that have them, as who scores takes them.
            job_ids = learn(connection, self._outbox, caller.user_id, before, changes)
            if not items_store.change_item(connection, caller.user_id, item_id, changes):
                raise not_found("item")
            shown = self._detail(connection, caller.user_id, item_id)
        self._outbox.publish(job_ids)
        return shown

    @route("DELETE /v1/items/<item_id>", NO_CONTENT, operation_id="deleteItem", problems=(404,))
    def delete(self, item_id: UUID, caller: CurrentCaller) -> Response[None]:
        """Delete an item.

        Its page goes too where nobody else holds it.
        """
        with self._database.transaction() as connection:
            held = items_store.find_held(connection, caller.user_id, item_id)
            if held is None:
                raise not_found("item")
            jobs.hold(connection, [held.content_id], *_READ_BY)
            deleted = items_store.delete_item(connection, caller.user_id, item_id)
            if deleted is None:
                raise not_found("item")
            content_id, gone = deleted
            if gone:
                jobs.cancel(connection, [content_id])
        return Response(status_code=204)

    def _best(
        self, connection: Connection, user_id: UUID, filters: Listed, after: RankCursor | None, limit: int
    ) -> Items:
        """List items by their scores, as they were at the first page: what is shown later begins behind them."""
        freshness = self._parts.score_rule.freshness(after.at) if after else self._freshness(connection)
        rows = items_store.best_items(connection, user_id, filters, freshness, after, limit + 1)

        def place(row: ItemRow) -> str:
            return RankCursor(freshness.at, UNRANKED if row.exact_score is None else row.exact_score, row.id).encode()

        shown, following = page(rows, limit, place)
        return Items(items=shown, next=following)

    def _freshness(self, connection: Connection) -> Freshness:
        """Return what scores are read with now, by the database's clock as all that items are dated with."""
        return self._parts.score_rule.freshness(items_store.now(connection))

    def _detail(self, connection: Connection, user_id: UUID, item_id: UUID) -> ItemDetail:
        freshness = self._freshness(connection)
        row = items_store.find_item(connection, user_id, item_id, freshness)
        if row is None:
            raise not_found("item")
        waiting = waiting_of(details_store.live_job(connection, row.content_id), notice_code=row.notice_code)
        recording = details_store.recording(connection, row.content_id)
        return ItemDetail(
            **dict(row),
            **_wait(waiting),
            reasons=reasons_of(row, freshness),
            duplicates=details_store.duplicates(connection, user_id, row.content_id),
            entities=held_entities_store.named_by(connection, row.content_id),
            derivations=details_store.derivations(connection, row.content_id, since=row.created_at),
            vector=details_store.vector(connection, row.content_id),
            recording=_recording(recording) if recording else None,
        )


def _wait(waiting: Waiting | None) -> dict[str, Any]:
    """Return what an item waits for, without what is behind its reading: the timeline tells that."""
    if waiting is not None and waiting.code == "in_work":
        return {"waiting_until": None, "waiting_reason": "It is being processed now."}
    return {"waiting_until": waiting and waiting.until, "waiting_reason": waiting and waiting.reason}


def _recording(row: RecordingRow) -> Recording | None:
    if not isinstance(row.media, Mapping):
        return None
    told = row.media.get
    transcript = Transcript(
        state=readable(TranscriptState, told("transcript_state")),
        source=readable(str, told("transcript_source")),
        language=readable(str, told("transcript_language")),
        next_try_at=row.next_try_at,
    )
    return Recording(
        url=readable(str, told("url")),
        media_type=readable(str, told("media_type")),
        duration_s=readable(float, told("duration_s")),
        transcript=transcript,
    )


class ProcessingRoutes(Routes):
    """``/v1/items/{item_id}/timeline`` and ``/reprocess``."""

    tag = "items"

    @route(
        "GET /v1/items/<item_id>/timeline",
        (200, Timeline, "The timeline"),
        operation_id="getItemTimeline",
        problems=(404,),
    )
    def timeline(self, item_id: UUID, caller: CurrentCaller) -> Timeline:
        """Get an item's timeline."""
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
                Step.model_validate(
                    asdict(step)
                    | {
                        "error": error_of(step.error_code, step.detail),
                        "reason": step.detail if step.error_code is None else None,
                    }
                )
                for step in steps
            ],
        )

    @route(
        "POST /v1/items/<item_id>/reprocess",
        (202, SavedItem, "It will be processed again"),
        operation_id="reprocessItem",
        problems=(*BODY_PROBLEMS, 402, 404, 409),
        located=True,
    )
    def reprocess(self, item_id: UUID, caller: CurrentCaller, body: Reprocess | None = None) -> Response[SavedItem]:
        """Reprocess an item.

        One that waits is tried now, one under way is followed by another. The caller pays for it alone, also where this
        very text was paid before.
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
            job_ids = self._outbox.enqueue(connection, job)
            jobs.try_now(connection, [held.content_id], job.job_type)
            later = put_off(details_store.live_job(connection, held.content_id))
            row = items_store.find_item(connection, caller.user_id, item_id)
        self._outbox.publish(job_ids)
        status = row.status if row is not None else Status.PENDING
        saved = SavedItem(id=item_id, content_id=held.content_id, status=status, waiting=later)
        return answer(202, saved, location=f"/v1/items/{item_id}")


def _payload(held: items_store.Held) -> dict[str, str]:
    """Return what the reading begins with: the address, and whose followers typed it, if the caller did not."""
    return {"url": held.url} | ({"source_id": str(held.brought_by)} if held.brought_by else {})
