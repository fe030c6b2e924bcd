"""The items resource: saving pages, listing and changing what one holds."""

import hashlib
from typing import Annotated, Any, Protocol
from uuid import UUID

from aws_lambda_powertools.event_handler import Response
from aws_lambda_powertools.event_handler.api_gateway import Router
from aws_lambda_powertools.event_handler.openapi.params import Header, Query
from pydantic import ValidationError

from siftline.api import details_store, idempotency_store, items_store
from siftline.api.auth import CurrentCaller
from siftline.api.destinations import check_destination
from siftline.api.hand_out import HandOut
from siftline.api.item_models import (
    BatchAnswer,
    BatchAnswers,
    ChangeItem,
    ItemDetail,
    Items,
    SavedItem,
    SaveItem,
    SaveItems,
    Status,
)
from siftline.api.item_views import detail_of, item_of
from siftline.api.paging import DEFAULT_LIMIT, Cursor, Limit, Next, Time, decode, page
from siftline.api.problems import ProblemError, fault_of, not_found
from siftline.api.routing import BODY_PROBLEMS, LOCATION, NO_CONTENT, new_router, responses
from siftline.api.shapes import Cause
from siftline.jobs import store as jobs
from siftline.kit.db import Connection, Database
from siftline.kit.errors import PermanentError

_KEY_PATTERN = r"^[\x21-\x7e]{1,255}$"


class Saved(Protocol):
    """What saving a URL gave (``siftline.ingest.service.SavedItem``)."""

    @property
    def item_id(self) -> UUID: ...  # noqa: D102  # named as what it is
    @property
    def content_id(self) -> UUID: ...  # noqa: D102
    @property
    def status(self) -> str: ...  # noqa: D102
    @property
    def created(self) -> bool: ...  # noqa: D102


class SaveUrl(Protocol):
    """Writes content, item and job in the caller's transaction (``siftline.ingest.service.save_url``)."""

    def __call__(self, connection: Connection, user_id: UUID, url: str, tags: list[str], note: str | None) -> Saved:
        """Save ``url`` for a user."""
        ...


class ItemRoutes:
    """``/v1/items``."""

    def __init__(self, database: Database, save_url: SaveUrl, hand_out: HandOut, *, allow_loopback: bool) -> None:
        self._database = database
        self._save_url = save_url
        self._hand_out = hand_out
        self._allow_loopback = allow_loopback

    def router(self) -> Router:
        """Return the routes."""
        router = new_router()
        one = "/v1/items/<item_id>"
        saved = (202, SavedItem, "Saved; it will be read"), (200, SavedItem, "You hold this page already")
        router.post(
            "/v1/items",
            summary="Save a URL",
            responses=responses(*saved, problems=BODY_PROBLEMS, headers={200: LOCATION, 202: LOCATION}),
            tags=["items"],
        )(self.save)
        router.post(
            "/v1/items/batch",
            summary="Save up to 500 URLs, each answered on its own",
            responses=responses((200, BatchAnswers, "One answer an entry"), problems=BODY_PROBLEMS),
            tags=["items"],
        )(self.save_batch)
        router.get(
            "/v1/items",
            summary="List what you hold, newest first",
            responses=responses((200, Items, "A page of the list")),
            tags=["items"],
        )(self.browse)
        router.get(
            one,
            summary="Show one item with all that is known of it",
            responses=responses((200, ItemDetail, "The item"), problems=(404,)),
            tags=["items"],
        )(self.show)
        router.patch(
            one,
            summary="Mark as read or starred, set tags and note",
            responses=responses((200, ItemDetail, "The item as it is now"), problems=(*BODY_PROBLEMS, 404)),
            tags=["items"],
        )(self.change)
        router.delete(
            one,
            summary="Remove an item; the page goes too when nobody else holds it",
            responses=responses(NO_CONTENT, problems=(404,)),
            tags=["items"],
        )(self.delete)
        return router

    def save(
        self,
        body: SaveItem,
        caller: CurrentCaller,
        idempotency_key: Annotated[
            str | None,
            Header(alias="Idempotency-Key", pattern=_KEY_PATTERN, description="Makes a repeated request harmless"),
        ] = None,
    ) -> Response[SavedItem]:
        """Save a page: nothing is fetched here."""
        url = check_destination(body.url, allow_loopback=self._allow_loopback)
        digest = hashlib.sha256(body.model_dump_json().encode()).digest()
        with self._database.transaction() as connection:
            saved, created = self._replayed(connection, caller.user_id, idempotency_key, digest), False
            if saved is None:
                fresh = self._save_url(connection, caller.user_id, url, body.tags, body.note)
                saved, created = _shown(fresh), fresh.created
                if idempotency_key is not None and not idempotency_store.keep(
                    connection, caller.user_id, idempotency_key, digest, saved.id
                ):
                    raise _reused()
            waiting = items_store.unpublished_jobs(connection, [saved.content_id])
        self._hand_out(waiting)
        return Response(
            status_code=202 if created else 200,
            content_type="application/json",
            body=saved,
            headers={"Location": f"/v1/items/{saved.id}"},
        )

    def save_batch(self, body: SaveItems, caller: CurrentCaller) -> BatchAnswers:
        """Save many pages; each in its own transaction, so that one cannot undo another."""
        answers = [self._save_entry(caller.user_id, entry) for entry in body.items]
        saved = [answer.item.content_id for answer in answers if answer.item is not None]
        with self._database.transaction() as connection:
            waiting = items_store.unpublished_jobs(connection, saved)
        self._hand_out(waiting)
        return BatchAnswers(items=answers)

    def browse(
        self,
        caller: CurrentCaller,
        *,
        status: Annotated[Status | None, Query(description="How far reading has come")] = None,
        topic: Annotated[str | None, Query(max_length=200, description="A topic's label")] = None,
        tag: Annotated[str | None, Query(max_length=64, description="A tag, yours or found by reading")] = None,
        source_id: Annotated[UUID | None, Query(description="The source that brought it")] = None,
        since: Annotated[Time | None, Query(description="Not older than this (`sort_at`)")] = None,
        until: Annotated[Time | None, Query(description="Older than this (`sort_at`)")] = None,
        unread: Annotated[bool | None, Query(description="Only unread ones, or only read ones")] = None,
        starred: Annotated[bool | None, Query(description="Only starred ones, or only others")] = None,
        sort: Annotated[  # noqa: ARG002  # one order so far; it is checked, so that others may join
            str, Query(pattern="^recent$", description="`recent`: newest first")
        ] = "recent",
        limit: Limit = DEFAULT_LIMIT,
        next: Next = None,  # noqa: A002  # the parameter's name in the API
    ) -> Items:
        """List items."""
        filters = items_store.Filters(status, topic, tag, source_id, since, until, unread, starred)
        with self._database.transaction() as connection:
            rows = items_store.list_items(connection, caller.user_id, filters, decode(next), limit + 1)
        shown, following = page(rows, limit, lambda row: Cursor(row.sort_at, row.id))
        return Items(items=[item_of(row) for row in shown], next=following)

    def show(self, item_id: UUID, caller: CurrentCaller) -> ItemDetail:
        """Show one item."""
        with self._database.transaction() as connection:
            return self._detail(connection, caller.user_id, item_id)

    def change(self, item_id: UUID, body: ChangeItem, caller: CurrentCaller) -> ItemDetail:
        """Change what is personal about an item."""
        with self._database.transaction() as connection:
            changes = body.model_dump(include=body.model_fields_set)
            if not items_store.change_item(connection, caller.user_id, item_id, changes):
                raise not_found("item")
            return self._detail(connection, caller.user_id, item_id)

    def delete(self, item_id: UUID, caller: CurrentCaller) -> Response[None]:
        """Remove an item from the caller, and its page where nobody else holds it."""
        with self._database.transaction() as connection:
            deleted = items_store.delete_item(connection, caller.user_id, item_id)
            if deleted is None:
                raise not_found("item")
            content_id, gone = deleted
            if gone:
                jobs.cancel(connection, [content_id])
        return Response(status_code=204)

    def _replayed(self, connection: Connection, user_id: UUID, key: str | None, digest: bytes) -> SavedItem | None:
        """Return the item that this key made before, if it is still held."""
        known = None if key is None else idempotency_store.find(connection, user_id, key)
        if known is None:
            return None
        if known.request_sha256 != digest:
            raise _reused()
        row = items_store.find_item(connection, user_id, known.item_id)
        return None if row is None else SavedItem(id=row.id, content_id=row.content_id, status=Status(row.status))

    def _save_entry(self, user_id: UUID, raw: Any) -> BatchAnswer:
        try:
            entry = SaveItem.model_validate(raw)
            url = check_destination(entry.url, allow_loopback=self._allow_loopback)
            with self._database.transaction() as connection:
                saved = self._save_url(connection, user_id, url, entry.tags, entry.note)
        except ValidationError as error:
            fault = fault_of({**error.errors()[0], "loc": ("body", *error.errors()[0]["loc"])})
            detail = f"{fault.pointer}: {fault.detail}"
            return BatchAnswer(status_code=422, error=Cause(code="invalid_request", detail=detail))
        except PermanentError as error:
            return BatchAnswer(status_code=422, error=Cause(code=error.error_code, detail=error.detail))
        return BatchAnswer(status_code=202 if saved.created else 200, item=_shown(saved))

    def _detail(self, connection: Connection, user_id: UUID, item_id: UUID) -> ItemDetail:
        row = items_store.find_item(connection, user_id, item_id)
        if row is None:
            raise not_found("item")
        return detail_of(
            row,
            waiting=details_store.waiting(connection, row.content_id),
            duplicates=details_store.duplicates(connection, user_id, row.content_id),
            derivations=details_store.derivations(connection, row.content_id),
            vector=details_store.vector(connection, row.content_id),
        )


def _shown(saved: Saved) -> SavedItem:
    return SavedItem(id=saved.item_id, content_id=saved.content_id, status=Status(saved.status))


def _reused() -> ProblemError:
    detail = "This Idempotency-Key was used for another request. Use a new key for a new request."
    return ProblemError(422, "idempotency_key_reused", detail)
