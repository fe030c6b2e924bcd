"""The sources resource: following feeds, their health, and looking after them by hand.

A source is shared by all who follow it. What is a subscriber's own (name, topics, wished frequency) only they can
change; what touches everybody (switching it off) only its sole subscriber, or an operator.
"""

from dataclasses import asdict
from typing import Annotated
from urllib.parse import urlsplit
from uuid import UUID

from aws_lambda_powertools.event_handler import Response
from aws_lambda_powertools.event_handler.api_gateway import Router
from aws_lambda_powertools.event_handler.openapi.params import Query

from siftline.api import items_store
from siftline.api import sources_store as store
from siftline.api.auth import CurrentCaller
from siftline.api.callers import Caller, Scope
from siftline.api.destinations import check_destination
from siftline.api.hand_out import HandOut
from siftline.api.item_views import error_of
from siftline.api.paging import DEFAULT_LIMIT, Cursor, Limit, Next, decode, page
from siftline.api.problems import conflict, not_found
from siftline.api.routing import BODY_PROBLEMS, LOCATION, NO_CONTENT, answer, new_router, responses
from siftline.api.source_models import (
    REFRESH_MINUTES,
    ChangeSource,
    FetchStatus,
    Health,
    Source,
    Sources,
    Subscribe,
    Subscribed,
)
from siftline.contracts import JobType, Priority
from siftline.jobs import store as jobs
from siftline.jobs.model import NewJob
from siftline.kit.db import Connection, Database
from siftline.kit.urls import canonical_url

# How much of what a source has brought before a new subscriber gets at once.
_BACKFILL = 100


class SourceRoutes:
    """``/v1/sources``."""

    def __init__(self, database: Database, hand_out: HandOut, *, allow_loopback: bool, max_attempts: int) -> None:
        self._database = database
        self._hand_out = hand_out
        self._allow_loopback = allow_loopback
        self._max_attempts = max_attempts

    def router(self) -> Router:
        """Return the routes."""
        router = new_router()
        tags, one = ["sources"], "/v1/sources/<source_id>"
        followed = (202, Subscribed, "Followed; it will be fetched"), (200, Subscribed, "You follow it already")
        router.post(
            "/v1/sources",
            summary="Follow a feed",
            responses=responses(*followed, problems=BODY_PROBLEMS, headers={200: LOCATION, 202: LOCATION}),
            tags=tags,
        )(self.subscribe)
        router.get(
            "/v1/sources",
            summary="List what you follow, newest first",
            responses=responses((200, Sources, "A page of the list")),
            tags=tags,
        )(self.browse)
        shown, there = (200, Source, "The source as it is now"), {404}
        router.get(one, summary="Show a source and its health", responses=responses(shown, problems=(404,)), tags=tags)(
            self.show
        )
        router.patch(
            one,
            summary="Change your name, topics or frequency",
            responses=responses(shown, problems=(*BODY_PROBLEMS, *there)),
            tags=tags,
        )(self.change)
        router.delete(
            one,
            summary="Follow a source no longer; what it brought stays yours",
            responses=responses(NO_CONTENT, problems=(404,)),
            tags=tags,
        )(self.unsubscribe)
        router.post(
            f"{one}/refresh",
            summary="Fetch now",
            responses=responses((202, Source, "It will be fetched"), problems=(404, 409)),
            tags=tags,
        )(self.refresh)
        router.post(
            f"{one}/reset-health",
            summary="Forget failures and poll again, now",
            responses=responses(shown, problems=(404,)),
            tags=tags,
        )(self.reset_health)
        router.post(
            f"{one}/deactivate",
            summary="Poll no more, until its health is reset",
            responses=responses(shown, problems=(404, 409)),
            tags=tags,
        )(self.deactivate)
        return router

    def subscribe(self, body: Subscribe, caller: CurrentCaller) -> Response[Subscribed]:
        """Follow a feed; what it has brought before for others is there at once."""
        url = check_destination(body.url, allow_loopback=self._allow_loopback)
        with self._database.transaction() as connection:
            source_id = store.put_source(
                connection,
                kind=body.kind.value,
                url=url,
                url_key=canonical_url(url),
                first_import=body.first_import,
                minutes=body.refresh_minutes or REFRESH_MINUTES,
            )
            fresh = store.subscribe(
                connection,
                caller.user_id,
                source_id,
                title=body.title,
                topics=body.topics,
                refresh_minutes=body.refresh_minutes,
                refresh_min_minutes=body.refresh_min_minutes,
                refresh_max_minutes=body.refresh_max_minutes,
            )
            given, job_ids = self._begin(connection, caller, source_id) if fresh else (0, [])
            row = self._find(connection, caller, source_id)
        self._hand_out(job_ids)
        subscribed = Subscribed(id=row.id, status=row.status, health=row.health, items=given)
        return answer(202 if fresh else 200, subscribed, location=f"/v1/sources/{row.id}")

    def browse(
        self,
        caller: CurrentCaller,
        *,
        health: Annotated[Health | None, Query(description="Only sources of this health")] = None,
        limit: Limit = DEFAULT_LIMIT,
        next: Next = None,  # noqa: A002  # the parameter's name in the API
    ) -> Sources:
        """List what the caller follows."""
        with self._database.transaction() as connection:
            rows = store.list_sources(connection, caller.user_id, after=decode(next), limit=limit + 1, health=health)
        shown, following = page(rows, limit, lambda row: Cursor(row.subscribed_at, row.subscription_id))
        return Sources(sources=[_view(row) for row in shown], next=following)

    def show(self, source_id: UUID, caller: CurrentCaller) -> Source:
        """Show one source."""
        with self._database.transaction() as connection:
            return self._find(connection, caller, source_id)

    def change(self, source_id: UUID, body: ChangeSource, caller: CurrentCaller) -> Source:
        """Change what is the caller's own."""
        with self._database.transaction() as connection:
            self._take(connection, caller, source_id)
            changes = body.model_dump(include=body.model_fields_set)
            store.change_subscription(connection, caller.user_id, source_id, changes)
            store.settle_refresh(connection, source_id, default_minutes=REFRESH_MINUTES)
            return self._find(connection, caller, source_id)

    def unsubscribe(self, source_id: UUID, caller: CurrentCaller) -> Response[None]:
        """Follow it no longer; a source that nobody follows is kept, but not polled."""
        with self._database.transaction() as connection:
            taken = self._take(connection, caller, source_id)
            store.unsubscribe(connection, caller.user_id, source_id)
            if taken.subscribers == 1:
                store.deactivate(connection, source_id, reason="nobody follows it")
                jobs.cancel(connection, [source_id])
            else:
                store.settle_refresh(connection, source_id, default_minutes=REFRESH_MINUTES)
        return Response(status_code=204)

    def refresh(self, source_id: UUID, caller: CurrentCaller) -> Response[Source]:
        """Queue a fetch."""
        with self._database.transaction() as connection:
            taken = self._take(connection, caller, source_id)
            if taken.health == Health.INACTIVE:
                raise conflict("source_inactive", "This source is switched off; reset its health to poll it again.")
            job_ids = self._fetch(connection, taken)
            source = self._find(connection, caller, source_id)
        self._hand_out(job_ids)
        return answer(202, source)

    def reset_health(self, source_id: UUID, caller: CurrentCaller) -> Source:
        """Forget failures and queue a fetch."""
        with self._database.transaction() as connection:
            taken = self._take(connection, caller, source_id)
            store.revive(connection, source_id, reason="health was reset by hand")
            job_ids = self._fetch(connection, taken)
            source = self._find(connection, caller, source_id)
        self._hand_out(job_ids)
        return source

    def deactivate(self, source_id: UUID, caller: CurrentCaller) -> Source:
        """Poll it no more."""
        with self._database.transaction() as connection:
            taken = self._take(connection, caller, source_id)
            if taken.subscribers > 1 and Scope.OPS not in caller.scopes:
                detail = "Others follow this source too, so it cannot be switched off; unsubscribe instead."
                raise conflict("source_shared", detail)
            store.deactivate(connection, source_id, reason="switched off by hand")
            jobs.cancel(connection, [source_id])
            return self._find(connection, caller, source_id)

    def _begin(self, connection: Connection, caller: Caller, source_id: UUID) -> tuple[int, list[UUID]]:
        """Give a new subscriber what is there, and fetch unless that happens by itself."""
        taken = store.take_source(connection, source_id)
        if taken is None:  # nobody deletes sources
            raise not_found("source")
        given = items_store.give_newest(connection, caller.user_id, source_id, limit=_BACKFILL)
        store.settle_refresh(connection, source_id, default_minutes=REFRESH_MINUTES)
        missing = store.ask_whole(connection, source_id, caller.user_id)
        if taken.health == Health.INACTIVE:
            store.revive(connection, source_id, reason="followed again")
        elif missing:
            return given, self._fetch(connection, taken)
        elif taken.imported or taken.status == FetchStatus.FETCHING:
            return given, []
        return given, self._fetch(connection, taken)

    def _fetch(self, connection: Connection, source: store.Taken) -> list[UUID]:
        job = NewJob(
            job_type=JobType.FETCH_SOURCE,
            subject_id=source.id,
            group_key=f"host:{urlsplit(source.url).hostname}",
            priority=Priority.SAVED,
        )
        return jobs.enqueue(connection, [job], max_attempts=self._max_attempts)

    @staticmethod
    def _take(connection: Connection, caller: Caller, source_id: UUID) -> store.Taken:
        taken = store.take_source(connection, source_id, caller.user_id)
        if taken is None:
            raise not_found("source")
        return taken

    @staticmethod
    def _find(connection: Connection, caller: Caller, source_id: UUID) -> Source:
        rows = store.list_sources(connection, caller.user_id, limit=1, source_id=source_id)
        if not rows:
            raise not_found("source")
        return _view(rows[0])


def _view(row: store.SourceRow) -> Source:
    return Source.model_validate(asdict(row) | {"last_error": error_of(row.last_error_code, row.last_error_detail)})
