"""The sources resource: following feeds, their health, and looking after them by hand.

A source is shared by all who follow it. What is a subscriber's own (name, topics, wished frequency) only they can
change; what touches everybody (switching it off) only its sole subscriber, or an operator.
"""

from collections.abc import Sequence
from typing import Annotated
from uuid import UUID

from aws_lambda_powertools.event_handler import Response
from aws_lambda_powertools.event_handler.openapi.params import Query

from siftline.api.http.auth import CurrentCaller
from siftline.api.http.callers import Caller, Scope
from siftline.api.http.paging import DEFAULT_LIMIT, Cursor, Limit, Next, decode, page
from siftline.api.http.problems import Fault, conflict, faulty, not_found
from siftline.api.http.routing import BODY_PROBLEMS, NO_CONTENT, answer, route
from siftline.api.items import details_store
from siftline.api.items.details_store import LiveJobRow
from siftline.api.items.item_messages import error_of, waiting_of, why_then
from siftline.api.parts import Routes
from siftline.api.sources import folders_store, following
from siftline.api.sources import sources_store as store
from siftline.api.sources.following import Followed
from siftline.api.sources.source_addresses import address_of
from siftline.api.sources.source_models import (
    ChangeSource,
    Choose,
    Health,
    Source,
    Sources,
    Subscribe,
    Subscribed,
)
from siftline.api.sources.sources_store import SourceRow, Wish
from siftline.contracts import JobType, Priority
from siftline.jobs import followers_store
from siftline.jobs import jobs_store as jobs
from siftline.kit.db import Connection
from siftline.net.urls import typed_origin

# How much of what a source has brought before a new subscriber gets at once.
_BACKFILL = 100
_FOLLOWED = (202, Subscribed, "Followed; it will be fetched"), (200, Subscribed, "You already follow it")


class SourceRoutes(Routes):
    """``/v1/sources``."""

    tag = "sources"

    @route(
        "POST /v1/sources",
        *_FOLLOWED,
        operation_id="followSource",
        problems=(*BODY_PROBLEMS, 409),
        located=True,
    )
    def subscribe(self, body: Subscribe, caller: CurrentCaller) -> Response[Subscribed]:
        """Follow a source.

        What it has brought before for others is there at once. A source that you already follow is added to the folders
        of `folder_ids`, and nothing else about it changes: use PATCH to change it.
        """
        _check_limits(body.refresh_min_minutes, body.refresh_max_minutes)
        settings = self._parts.settings
        at_most, allow_loopback = settings.sources_per_user, settings.http_allow_loopback
        wish = Wish(
            address_of(body.url, kind=body.kind, selector=body.selector, allow_loopback=allow_loopback),
            **body.model_dump(exclude={"url", "kind", "selector", "folder_ids"}),
        )
        with self._database.transaction() as connection:
            if following.beyond(connection, caller.user_id, [wish.address.key], at_most=at_most):
                detail = f"You have reached the limit of {at_most} sources. Unfollow one first."
                raise conflict("too_many_sources", detail)
            followed, job_ids = self._follow(connection, caller, wish)
            if body.folder_ids:
                _put(connection, caller, followed.source_id, body.folder_ids, alone=False)
            row = self._find(connection, caller, followed.source_id)
        self._outbox.publish(job_ids)
        return _followed(followed, row)

    @route("GET /v1/sources", (200, Sources, "A page of the list"), operation_id="listSources")
    def browse(
        self,
        caller: CurrentCaller,
        *,
        health: Annotated[Health | None, Query(description="Only sources with this health")] = None,
        folder_id: Annotated[UUID | None, Query(description="Only sources in this folder")] = None,
        limit: Limit = DEFAULT_LIMIT,
        next: Next = None,  # noqa: A002  # the parameter's name in the API
    ) -> Sources:
        """List your sources."""
        with self._database.transaction() as connection:
            rows = store.list_sources(
                connection, caller.user_id, after=decode(next), limit=limit + 1, health=health, folder_id=folder_id
            )
            polls = details_store.live_polls(connection, [row.id for row in rows])
        shown, behind = page(rows, limit, lambda row: Cursor(row.subscribed_at, row.subscription_id).encode())
        return Sources(items=[source_of(row, polls.get(row.id)) for row in shown], next=behind)

    @route(
        "GET /v1/sources/<source_id>",
        (200, Source, "The updated source"),
        operation_id="getSource",
        problems=(404,),
    )
    def show(self, source_id: UUID, caller: CurrentCaller) -> Source:
        """Get a source."""
        with self._database.transaction() as connection:
            return self._find(connection, caller, source_id)

    @route(
        "PATCH /v1/sources/<source_id>",
        (200, Source, "The updated source"),
        operation_id="updateSource",
        problems=(*BODY_PROBLEMS, 404),
    )
    def change(self, source_id: UUID, body: ChangeSource, caller: CurrentCaller) -> Source:
        """Update a source."""
        with self._database.transaction() as connection:
            self._take(connection, caller, source_id)
            changes = body.model_dump(include=body.model_fields_set - {"folder_ids"})
            store.change_subscription(connection, caller.user_id, source_id, changes)
            followers_store.settle_refresh(connection, [source_id])
            if "folder_ids" in body.model_fields_set:
                _put(connection, caller, source_id, body.folder_ids)
            changed = self._find(connection, caller, source_id)
            _check_limits(changed.own_refresh_min_minutes, changed.own_refresh_max_minutes)
        return changed

    @route("DELETE /v1/sources/<source_id>", NO_CONTENT, operation_id="unfollowSource", problems=(404,))
    def unsubscribe(self, source_id: UUID, caller: CurrentCaller) -> Response[None]:
        """Unfollow a source.

        A source that nobody follows is kept, but not polled.
        """
        with self._database.transaction() as connection:
            taken = self._take(connection, caller, source_id)
            following.leave(connection, caller.user_id, taken)
        return Response(status_code=204)

    @route(
        "POST /v1/sources/<source_id>/choose",
        *_FOLLOWED,
        operation_id="chooseFeed",
        problems=(*BODY_PROBLEMS, 404),
        located=True,
    )
    def choose(self, source_id: UUID, body: Choose, caller: CurrentCaller) -> Response[Subscribed]:
        """Choose one of the feeds found.

        It is followed in the place of the site whose page names it, with all wishes for that.
        """
        with self._database.transaction() as connection:
            site = self._find(connection, caller, source_id)
            if body.url not in [candidate.url for candidate in site.candidates]:
                detail = "This is not one of the source's candidates."
                raise faulty([Fault(code="not_a_candidate", detail=detail, pointer="#/url")], "not_a_candidate")
            # The page named it: on this machine it may stay at the very origin that was typed.
            own = store.typed_origin(connection, source_id)
            stays = own is not None and typed_origin(body.url) == own
            address = address_of(body.url, kind=None, allow_loopback=stays and self._parts.settings.http_allow_loopback)
            both = [store.key_of(connection, source_id), address.key]  # of several, in the order of their keys
            jobs.take(
                connection,
                lambda: store.ids_of(connection, both),
                lambda: store.take_sources(connection, both),
                JobType.FETCH_SOURCE,
            )
            wish = store.wish_of(connection, caller.user_id, source_id, address)
            followed, job_ids = self._follow(connection, caller, wish)
            if followed.source_id != source_id:
                following.leave(connection, caller.user_id, self._take(connection, caller, source_id))
            if followed.fresh:
                folder_ids = [folder.id for folder in site.folders]
                folders_store.put_source(connection, caller.user_id, followed.source_id, folder_ids)
            row = self._find(connection, caller, followed.source_id)
        self._outbox.publish(job_ids)
        return _followed(followed, row)

    @route(
        "POST /v1/sources/<source_id>/refresh",
        (202, Source, "It will be fetched now, or at the time explained by `next_fetch_reason`"),
        operation_id="refreshSource",
        problems=(404, 409),
    )
    def refresh(self, source_id: UUID, caller: CurrentCaller) -> Response[Source]:
        """Fetch a source now."""
        with self._database.transaction() as connection:
            if self._take(connection, caller, source_id).health == Health.INACTIVE:
                raise conflict("source_inactive", "This source is deactivated. Reset its health to poll it again.")
            job_ids = self._fetch(connection, caller, source_id)
            source = self._find(connection, caller, source_id)
        self._outbox.publish(job_ids)
        return answer(202, source)

    @route(
        "POST /v1/sources/<source_id>/reset-health",
        (200, Source, "The updated source"),
        operation_id="resetSourceHealth",
        problems=(404,),
    )
    def reset_health(self, source_id: UUID, caller: CurrentCaller) -> Source:
        """Reset a source's health."""
        with self._database.transaction() as connection:
            self._take(connection, caller, source_id)
            job_ids = self._fetch(connection, caller, source_id)
            store.revive(connection, [source_id], reason="its health was reset")
            source = self._find(connection, caller, source_id)
        self._outbox.publish(job_ids)
        return source

    @route(
        "POST /v1/sources/<source_id>/deactivate",
        (200, Source, "The updated source"),
        operation_id="deactivateSource",
        problems=(404, 409),
    )
    def deactivate(self, source_id: UUID, caller: CurrentCaller) -> Source:
        """Deactivate a source."""
        with self._database.transaction() as connection:
            taken = self._take(connection, caller, source_id)
            if taken.subscribers > 1 and Scope.OPS not in caller.scopes:
                detail = "Other users follow this source too, so it cannot be deactivated. Unfollow it instead."
                raise conflict("source_shared", detail)
            store.deactivate(connection, source_id, reason="deactivated by a user")
            jobs.cancel(connection, [source_id])
            return self._find(connection, caller, source_id)

    def _follow(self, connection: Connection, caller: Caller, wish: Wish) -> tuple[Followed, list[UUID]]:
        [followed], job_ids = following.follow(
            connection, self._outbox, caller.user_id, [wish], backfill=_BACKFILL, priority=Priority.SAVED
        )
        return followed, job_ids

    def _fetch(self, connection: Connection, caller: Caller, source_id: UUID) -> list[UUID]:
        """Enqueue a poll of a source that was taken, due now where a retry waited."""
        job_ids = following.fetch(connection, self._outbox, [source_id], caller.user_id, priority=Priority.SAVED)
        jobs.try_now(connection, [source_id], JobType.FETCH_SOURCE)
        return job_ids

    @staticmethod
    def _take(connection: Connection, caller: Caller, source_id: UUID) -> store.Taken:
        taken = jobs.take(
            connection,
            lambda: [source_id],
            lambda: store.take_source(connection, source_id, caller.user_id),
            JobType.FETCH_SOURCE,
        )
        if taken is None:
            raise not_found("source")
        return taken

    @staticmethod
    def _find(connection: Connection, caller: Caller, source_id: UUID) -> Source:
        rows = store.list_sources(connection, caller.user_id, limit=1, source_id=source_id)
        if not rows:
            raise not_found("source")
        return source_of(rows[0], details_store.live_polls(connection, [source_id]).get(source_id))


def source_of(row: SourceRow, poll: LiveJobRow | None) -> Source:
    """Return a source with what its live fetch job waits for, which decides when it is asked next.

    One that is switched off is not asked at all, and its reason says why.
    """
    waiting = waiting_of(poll)
    row.last_error = error_of(row.last_error_code, row.last_error_detail)
    if waiting is not None:
        row.waiting_until, row.waiting_reason = waiting.until, waiting.reason
    if row.health is Health.INACTIVE:
        row.next_fetch_at = None
    elif poll is not None and waiting is not None:
        row.next_fetch_at, row.next_fetch_reason = poll.next_at, why_then(poll, waiting)
    return row


def _check_limits(least: int | None, most: int | None) -> None:
    """Refuse limits of which the lower is above the upper."""
    if least is not None and most is not None and least > most:
        detail = f"refresh_min_minutes ({least}) must not be greater than refresh_max_minutes ({most})"
        raise faulty([Fault(code="limits_crossed", detail=detail, pointer="#/refresh_min_minutes")])


def _put(
    connection: Connection, caller: Caller, source_id: UUID, folder_ids: Sequence[UUID], *, alone: bool = True
) -> None:
    own = folders_store.put_source(connection, caller.user_id, source_id, folder_ids, alone=alone)
    detail = "You have no such folder"
    faults = [
        Fault(code="unknown_folder", detail=detail, pointer=f"#/folder_ids/{place}")
        for place, folder_id in enumerate(folder_ids)
        if folder_id not in own
    ]
    if faults:
        raise faulty(faults)


def _followed(followed: Followed, row: Source) -> Response[Subscribed]:
    subscribed = Subscribed(id=row.id, status=row.status, health=row.health, items=followed.items)
    return answer(202 if followed.fresh else 200, subscribed, location=f"/v1/sources/{row.id}")
