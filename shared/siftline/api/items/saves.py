"""Saving pages: one, with an idempotency key, or many, each answered on its own. Nothing is fetched here."""

import hashlib
from collections.abc import Sequence
from typing import Annotated, Any
from uuid import UUID

from aws_lambda_powertools.event_handler import Response
from aws_lambda_powertools.event_handler.openapi.params import Header
from pydantic import ValidationError

from siftline.api.http import callers_store
from siftline.api.http.auth import CurrentCaller
from siftline.api.http.destinations import check_destination
from siftline.api.http.problems import ProblemError, conflict, fault_of
from siftline.api.http.request_checks import RefusedEntry
from siftline.api.http.routing import BODY_PROBLEMS, answer, route
from siftline.api.http.shapes import Cause
from siftline.api.items import details_store, items_store
from siftline.api.items.item_messages import put_off
from siftline.api.items.item_models import BatchAnswer, BatchAnswers, SavedItem, SaveItem, SaveItems, Status
from siftline.api.parts import Routes
from siftline.ingest import saving
from siftline.kit.db import Connection
from siftline.kit.errors import PermanentError

_KeyHeader = Annotated[
    str | None,
    Header(alias="Idempotency-Key", pattern=r"^[\x21-\x7e]{1,255}$", description="Makes retries of this request safe"),
]
_SAVED = (202, SavedItem, "Saved; it will be processed"), (200, SavedItem, "You already have this page")


class SaveRoutes(Routes):
    """``POST /v1/items`` and ``POST /v1/items/batch``."""

    tag = "items"

    @route("POST /v1/items", *_SAVED, operation_id="saveItem", problems=(*BODY_PROBLEMS, 409), located=True)
    def save(self, body: SaveItem, caller: CurrentCaller, idempotency_key: _KeyHeader = None) -> Response[SavedItem]:
        """Save a page.

        Nothing is fetched here.
        """
        page = self._page(body)
        digest = hashlib.sha256(body.model_dump_json().encode()).digest()
        with self._database.transaction() as connection:
            saved, created = self._replayed(connection, caller.user_id, idempotency_key, digest), False
            if saved is None:
                callers_store.hold(connection, caller.user_id, "saved_items")
                [fresh] = saving.save_urls(connection, caller.user_id, [page])
                saved, created = _shown(fresh), fresh.created
                if created and self._room(connection, caller.user_id) < 0:
                    raise conflict("too_many_items", self._full())
                if idempotency_key is not None and not items_store.keep_key(
                    connection, caller.user_id, idempotency_key, digest, [saved.id]
                ):
                    raise _reused()
            waiting = items_store.unpublished_jobs(connection, [saved.content_id])
            saved.waiting = put_off(details_store.live_job(connection, saved.content_id))
        self._outbox.publish(waiting)
        return answer(202 if created else 200, saved, location=f"/v1/items/{saved.id}")

    @route(
        "POST /v1/items/batch",
        (200, BatchAnswers, "One result per entry"),
        operation_id="saveItems",
        problems=BODY_PROBLEMS,
    )
    def save_batch(self, body: SaveItems, caller: CurrentCaller, idempotency_key: _KeyHeader = None) -> BatchAnswers:
        """Save up to 500 pages.

        All in one transaction: what is wrong with one is found before and costs the others nothing. A repeated request
        with the same key saves again only what was deleted since.
        """
        checked = [self._checked(entry) for entry in body.items]
        pages = [page for page in checked if isinstance(page, saving.Page)]
        # By their repr: a page's class and fields keep their names, or keys used before a release are refused after it.
        digest = hashlib.sha256(b"batch\0" + repr(checked).encode("utf-8", "surrogatepass")).digest()
        with self._database.transaction() as connection:
            known = self._batch_before(connection, caller.user_id, idempotency_key, digest, len(pages))
            lacking = [page for page, before in zip(pages, known, strict=True) if before is None]
            lacking, beyond = self._within_room(connection, caller.user_id, lacking)
            full = BatchAnswer(status_code=409, error=Cause(code="too_many_items", detail=self._full()))
            fresh = iter([*map(_accepted, saving.save_urls(connection, caller.user_id, lacking)), *[full] * beyond])
            answers = [
                next(fresh) if before is None else BatchAnswer(status_code=200, item=_held(before)) for before in known
            ]
            saved = [one.item for one in answers if one.item]
            if idempotency_key is not None and saved and not beyond:
                ids = [one.id for one in saved]
                if not items_store.keep_key(connection, caller.user_id, idempotency_key, digest, ids, batch=True):
                    raise _reused()
            waiting = items_store.unpublished_jobs(connection, [one.content_id for one in saved])
            live = details_store.live_jobs(connection, [one.content_id for one in saved])
            for one in saved:
                one.waiting = put_off(live.get(one.content_id))
        self._outbox.publish(waiting)
        rest = iter(answers)
        return BatchAnswers(items=[one if isinstance(one, BatchAnswer) else next(rest) for one in checked])

    def _room(self, connection: Connection, user_id: UUID) -> int:
        at_most = self._parts.settings.saved_items_per_user
        return at_most - items_store.count_saved(connection, user_id, limit=at_most + 1)

    def _within_room(
        self, connection: Connection, user_id: UUID, pages: Sequence[saving.Page]
    ) -> tuple[list[saving.Page], int]:
        """Return the first of these pages, as many as the user may still save, and how many others there are."""
        callers_store.hold(connection, user_id, "saved_items")
        room = max(self._room(connection, user_id), 0)
        return list(pages[:room]), len(pages[room:])

    def _full(self) -> str:
        return (
            f"You have reached the limit of {self._parts.settings.saved_items_per_user} saved pages. Delete some first."
        )

    def _batch_before(
        self, connection: Connection, user_id: UUID, key: str | None, digest: bytes, count: int
    ) -> Sequence[items_store.StatusRow | None]:
        """Return what a batch under this key made before, where it is still held, in the order of its entries."""
        known = _known(connection, user_id, key, digest)
        if known is None:
            return [None] * count
        if known.item_ids is None:
            raise _reused()
        held = items_store.statuses(connection, user_id, known.item_ids)
        return [held.get(item_id) for item_id in known.item_ids]

    def _replayed(self, connection: Connection, user_id: UUID, key: str | None, digest: bytes) -> SavedItem | None:
        """Return the item that this key made before, if it is still held."""
        known = _known(connection, user_id, key, digest)
        if known is None:
            return None
        row = items_store.statuses(connection, user_id, [known.item_id]).get(known.item_id)
        return None if row is None else _held(row)

    def _page(self, entry: SaveItem) -> saving.Page:
        url = check_destination(entry.url, allow_loopback=self._parts.settings.http_allow_loopback)
        return saving.page_of(url, entry.tags, entry.note)

    def _checked(self, raw: Any) -> saving.Page | BatchAnswer:
        """Return a page that can be saved, or the answer to an entry that is none."""
        if isinstance(raw, RefusedEntry):
            cause = Cause(code=raw.code, detail=f"{raw.pointer}: {raw.detail}")
            return BatchAnswer(status_code=422, error=cause)
        try:
            entry = SaveItem.model_validate(raw)
            return self._page(entry)
        except ValidationError as error:
            first = error.errors(include_input=False)[0]
            fault = fault_of({**first, "loc": ("body", *first["loc"])}, SaveItem)
            detail = f"{fault.pointer}: {fault.detail}"
            return BatchAnswer(status_code=422, error=Cause(code="invalid_request", detail=detail))
        except PermanentError as error:
            return BatchAnswer(status_code=422, error=Cause(code=error.error_code, detail=error.detail))


def _known(connection: Connection, user_id: UUID, key: str | None, digest: bytes) -> items_store.KnownKey | None:
    """Return what this key made before. Raises 422 where it was for another request."""
    known = None if key is None else items_store.find_key(connection, user_id, key)
    if known is not None and known.request_sha256 != digest:
        raise _reused()
    return known


def _held(row: items_store.StatusRow) -> SavedItem:
    return SavedItem(id=row.id, content_id=row.content_id, status=Status(row.status))


def _accepted(saved: saving.SavedUrl) -> BatchAnswer:
    return BatchAnswer(status_code=202 if saved.created else 200, item=_shown(saved))


def _shown(saved: saving.SavedUrl) -> SavedItem:
    return SavedItem(id=saved.item_id, content_id=saved.content_id, status=Status(saved.status))


def _reused() -> ProblemError:
    detail = "This Idempotency-Key was already used for a different request. Use a new key."
    return ProblemError(422, "idempotency_key_reused", detail)
