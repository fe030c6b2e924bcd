"""The items resource: listing, showing, changing and removing what one holds."""

from collections.abc import Mapping
from typing import Annotated, Any
from uuid import UUID

from aws_lambda_powertools.event_handler import Response
from aws_lambda_powertools.event_handler.openapi.params import Query

from siftline.api.entities import held_entities_store
from siftline.api.http.auth import CurrentCaller
from siftline.api.http.paging import DEFAULT_LIMIT, Cursor, Limit, Next, RankCursor, decode, decode_ranked, page
from siftline.api.http.problems import not_found
from siftline.api.http.routing import BODY_PROBLEMS, NO_CONTENT, Resource, route
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
from siftline.api.items import details_store, items_store, listing_store
from siftline.api.items.details_store import RecordingRow
from siftline.api.items.item_models import ChangeItem, ItemDetail, Items, Recording, Status, Transcript, TranscriptState
from siftline.api.items.items_store import ItemRow
from siftline.api.items.listing_store import UNRANKED, Listed
from siftline.api.items.scores import Scores, reasons_of
from siftline.api.items.waits import waiting_of
from siftline.contracts import JobType
from siftline.jobs import jobs_store as jobs
from siftline.kit.db import Connection, Database
from siftline.kit.stored import readable

_READ_BY = (JobType.INGEST_CONTENT, JobType.ANALYZE_CONTENT, JobType.TRANSCRIBE_CONTENT)


class ItemRoutes(Resource):
    """``/v1/items``, but for saving."""

    def __init__(self, database: Database, scores: Scores) -> None:
        self._database = database
        self._scores = scores

    @route(
        "GET /v1/items",
        (200, Items, "A page of the list"),
        summary="List your items",
        operation_id="listItems",
        tag="items",
    )
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
        """List items."""
        with self._database.transaction() as connection:
            entity_ids = None if entity is None else held_entities_store.ids_of(connection, entity)
            filters = Listed(
                topic, tag, source_id, folder_id, since, until, unread, starred, status, entity_ids=entity_ids
            )
            if sort == "score":
                return self._best(connection, caller.user_id, filters, decode_ranked(next), limit)
            freshness = self._scores.freshness(connection)
            rows = listing_store.list_items(connection, caller.user_id, filters, freshness, decode(next), limit + 1)
        shown, following = page(rows, limit, lambda row: Cursor(row.place_at, row.id).encode())
        return Items(items=shown, next=following)

    @route(
        "GET /v1/items/<item_id>",
        (200, ItemDetail, "The item"),
        summary="Get an item",
        operation_id="getItem",
        tag="items",
        problems=(404,),
    )
    def show(self, item_id: UUID, caller: CurrentCaller) -> ItemDetail:
        """Show one item."""
        with self._database.transaction() as connection:
            return self._detail(connection, caller.user_id, item_id)

    @route(
        "PATCH /v1/items/<item_id>",
        (200, ItemDetail, "The updated item"),
        summary="Update an item",
        operation_id="updateItem",
        tag="items",
        problems=(*BODY_PROBLEMS, 404),
    )
    def change(self, item_id: UUID, body: ChangeItem, caller: CurrentCaller) -> ItemDetail:
        """Change what is personal about an item."""
        with self._database.transaction() as connection:
            changes = body.model_dump(include=body.model_fields_set)
            before = items_store.find_item(connection, caller.user_id, item_id)
            if before is None:
                raise not_found("item")
            # What scores are made by before the items that have them, as who scores takes them.
            scoring = self._scores.learn(connection, caller.user_id, before, changes)
            if not items_store.change_item(connection, caller.user_id, item_id, changes):
                raise not_found("item")
            shown = self._detail(connection, caller.user_id, item_id)
        self._scores.hand_out(scoring)
        return shown

    @route(
        "DELETE /v1/items/<item_id>",
        NO_CONTENT,
        summary="Delete an item",
        operation_id="deleteItem",
        tag="items",
        problems=(404,),
    )
    def delete(self, item_id: UUID, caller: CurrentCaller) -> Response[None]:
        """Remove an item from the caller, and its page where nobody else holds it."""
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
        freshness = self._scores.rule.freshness(after.at) if after else self._scores.freshness(connection)
        rows = listing_store.best_items(connection, user_id, filters, freshness, after, limit + 1)

        def place(row: ItemRow) -> str:
            return RankCursor(freshness.at, UNRANKED if row.exact_score is None else row.exact_score, row.id).encode()

        shown, following = page(rows, limit, place)
        return Items(items=shown, next=following)

    def _detail(self, connection: Connection, user_id: UUID, item_id: UUID) -> ItemDetail:
        freshness = self._scores.freshness(connection)
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
