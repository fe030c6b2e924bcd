"""The briefings resource: what one wants told when, and an edition now."""

import secrets
from collections.abc import Mapping
from typing import Any
from uuid import UUID

from aws_lambda_powertools.event_handler import Response

from siftline.api.briefings import briefings_store as store
from siftline.api.briefings.briefing_models import (
    Briefing,
    Briefings,
    BriefingStatus,
    ChangeBriefing,
    Delivery,
    EditionRequest,
    Frequency,
    MadeBriefing,
    MailDelivery,
    NewBriefing,
    NoDelivery,
    ShownDelivery,
    Stopped,
    WebhookDelivery,
)
from siftline.api.http.auth import CurrentCaller, lacking
from siftline.api.http.callers import Caller, Scope
from siftline.api.http.destinations import check_webhook
from siftline.api.http.hand_out import HandOut
from siftline.api.http.problems import Fault, conflict, faulty, not_found
from siftline.api.http.routing import BODY_PROBLEMS, NO_CONTENT, Resource, answer, route
from siftline.api.http.shapes import Cause
from siftline.api.items.scores import Scores
from siftline.contracts import JobType, Priority
from siftline.jobs import jobs_store as jobs
from siftline.jobs.job_model import NewJob
from siftline.kit.db import Connection, Database
from siftline.kit.errors import PermanentError
from siftline.kit.ids import new_id
from siftline.kit.zones import zone_names
from siftline.text.mail_address import mail_address

BRIEFINGS_MAX = 50
_STATES = {"pending": BriefingStatus.QUEUED, "processing": BriefingStatus.PROCESSING}


class BriefingRoutes(Resource):
    """``/v1/briefings``."""

    def __init__(
        self, database: Database, hand_out: HandOut, scores: Scores, *, allow_loopback: bool, max_attempts: int
    ) -> None:
        self._database = database
        self._scores = scores
        self._hand_out = hand_out
        self._allow_loopback = allow_loopback
        self._max_attempts = max_attempts

    @route(
        "POST /v1/briefings",
        (201, MadeBriefing, "Created"),
        summary="Create a briefing",
        operation_id="createBriefing",
        tag="briefings",
        problems=(*BODY_PROBLEMS, 409),
        located=True,
    )
    def make(self, body: NewBriefing, caller: CurrentCaller) -> Response[MadeBriefing]:
        """Make a briefing; its first edition is the next one due."""
        _check_scope(body.delivery, caller)
        delivery = self._checked(body.delivery, "#/delivery/destination")
        _check_zone(body.time_zone)
        _check_weekday(body, body.frequency)
        values = {
            "id": new_id(),
            **body.model_dump(exclude={"delivery"}),
            **delivery,
            "unsubscribe_token": secrets.token_urlsafe(32),
        }
        with self._database.transaction() as connection:
            if not store.add_briefing(connection, caller.user_id, values, at_most=BRIEFINGS_MAX):
                raise conflict("too_many_briefings", f"You have reached the limit of {BRIEFINGS_MAX} briefings.")
            job_ids = self._scores.ask(connection, caller.user_id) if body.interests else []
            made = self._find(connection, caller, values["id"])
        self._hand_out(job_ids)
        shown = MadeBriefing(**made.model_dump(), signing_key=delivery["signing_key"])
        return answer(201, shown, location=f"/v1/briefings/{made.id}")

    @route(
        "GET /v1/briefings",
        (200, Briefings, "All your briefings"),
        summary="List your briefings",
        operation_id="listBriefings",
        tag="briefings",
    )
    def browse(self, caller: CurrentCaller) -> Briefings:
        """List the caller's briefings."""
        with self._database.transaction() as connection:
            return Briefings(items=[_shown(row) for row in store.list_briefings(connection, caller.user_id)])

    @route(
        "GET /v1/briefings/<briefing_id>",
        (200, Briefing, "The briefing"),
        summary="Get a briefing",
        operation_id="getBriefing",
        tag="briefings",
        problems=(404,),
    )
    def show(self, briefing_id: UUID, caller: CurrentCaller) -> Briefing:
        """Show one briefing."""
        with self._database.transaction() as connection:
            return self._find(connection, caller, briefing_id)

    @route(
        "PATCH /v1/briefings/<briefing_id>",
        (200, MadeBriefing, "The updated briefing"),
        summary="Update a briefing",
        operation_id="updateBriefing",
        tag="briefings",
        problems=(*BODY_PROBLEMS, 404),
    )
    def change(self, briefing_id: UUID, body: ChangeBriefing, caller: CurrentCaller) -> MadeBriefing:
        """Change a briefing. A new time begins with the next edition due by it."""
        changes: dict[str, Any] = body.model_dump(include=body.model_fields_set - {"delivery"})
        if "time_zone" in changes:
            _check_zone(changes["time_zone"])
        if "delivery" in body.model_fields_set:
            _check_scope(body.delivery, caller)
            changes |= self._checked(body.delivery, "#/delivery/destination")
        with self._database.transaction() as connection:
            before = self._find(connection, caller, briefing_id)
            _check_weekday(body, changes.get("frequency", before.frequency))
            job_ids = self._scores.ask(connection, caller.user_id) if changes.get("interests") else []
            store.change_briefing(connection, caller.user_id, briefing_id, changes)
            changed = self._find(connection, caller, briefing_id)
        self._hand_out(job_ids)
        return MadeBriefing(**changed.model_dump(), signing_key=changes.get("signing_key"))

    @route(
        "DELETE /v1/briefings/<briefing_id>",
        NO_CONTENT,
        summary="Delete a briefing and its editions",
        operation_id="deleteBriefing",
        tag="briefings",
        problems=(404,),
    )
    def delete(self, briefing_id: UUID, caller: CurrentCaller) -> Response[None]:
        """Delete a briefing with its editions; what is under way for it is called off."""
        with self._database.transaction() as connection:
            subjects = [briefing_id, *store.live_deliveries(connection, caller.user_id, briefing_id)]
            self._find(connection, caller, briefing_id)
            jobs.hold(connection, subjects, JobType.RUN_BRIEFING, JobType.DELIVER_BRIEFING)
            if not store.delete_briefing(connection, caller.user_id, briefing_id):
                raise not_found("briefing")
            jobs.cancel(connection, subjects)
        return Response(status_code=204)

    @route(
        "POST /v1/briefings/<briefing_id>/run",
        (202, EditionRequest, "It will be created"),
        summary="Create an edition now",
        operation_id="runBriefing",
        tag="briefings",
        problems=(404, 409),
    )
    def run(self, briefing_id: UUID, caller: CurrentCaller) -> Response[EditionRequest]:
        """Queue an edition of what came in since the last one."""
        job = NewJob(JobType.RUN_BRIEFING, briefing_id, f"user:{caller.user_id}", priority=Priority.SAVED, asked=True)
        with self._database.transaction() as connection:
            if not self._find(connection, caller, briefing_id).enabled:
                raise conflict("briefing_off", "This briefing is disabled. Enable it first.")
            # The job before its briefing, as a worker takes them (``jobs.hold``).
            job_ids = jobs.enqueue(connection, [job], max_attempts=self._max_attempts)
            if not store.ask(connection, caller.user_id, briefing_id):
                raise not_found("briefing")
        self._hand_out(job_ids)
        return answer(202, EditionRequest(job_id=job_ids[0]))

    def _checked(self, delivery: Delivery, pointer: str) -> Mapping[str, Any]:
        """Return the columns of a delivery; a webhook gets a new key each time it is set."""
        destination: str | None = None
        signing_key = None
        try:
            if isinstance(delivery, MailDelivery):
                destination = mail_address(delivery.destination)
            elif isinstance(delivery, WebhookDelivery):
                destination = check_webhook(delivery.destination, allow_loopback=self._allow_loopback)
                signing_key = secrets.token_urlsafe(32)
        except PermanentError as error:
            raise faulty([Fault(code=error.error_code, detail=error.detail, pointer=pointer)]) from error
        return {"channel": delivery.channel, "destination": destination, "signing_key": signing_key}

    @staticmethod
    def _find(connection: Connection, caller: Caller, briefing_id: UUID) -> Briefing:
        row = store.find_briefing(connection, caller.user_id, briefing_id)
        if row is None:
            raise not_found("briefing")
        return _shown(row)


def _check_scope(delivery: Delivery, caller: Caller) -> None:
    """Refuse a token that may not read: what is delivered tells all that the account holds."""
    if not isinstance(delivery, NoDelivery) and Scope.READ not in caller.scopes:
        raise lacking(Scope.READ)


def _check_zone(name: str | None) -> None:
    if name is not None and name not in zone_names():
        detail = "Unknown time zone; use an IANA name such as Europe/Berlin or UTC"
        raise faulty([Fault(code="unknown_time_zone", detail=detail, pointer="#/time_zone")])


def _check_weekday(body: NewBriefing | ChangeBriefing, frequency: str) -> None:
    if "weekday" in body.model_fields_set and frequency == Frequency.DAILY:
        detail = "A daily briefing has no weekday: leave it out, or set the frequency to WEEKLY"
        raise faulty([Fault(code="weekday_of_daily", detail=detail, pointer="#/weekday")])


def _shown(row: store.BriefingRow) -> Briefing:
    status = _STATES.get(row.state or "", BriefingStatus(row.status))
    return Briefing(
        id=row.id,
        name=row.name,
        frequency=row.frequency,
        weekday=row.weekday if row.frequency == "WEEKLY" else None,
        at=f"{row.at:%H:%M}",
        time_zone=row.time_zone,
        own_time_zone=row.own_time_zone,
        interests=row.interests,
        stories_max=row.stories_max,
        on_empty=row.on_empty,
        delivery=ShownDelivery(
            channel=row.channel,
            destination=row.destination,
            stopped=Stopped(code=row.stopped_code) if row.stopped_code else None,
        ),
        enabled=row.enabled,
        status=status,
        error=Cause(code=row.error_code, detail=row.error_detail or "") if row.error_code else None,
        next_due_at=row.next_due_at if row.enabled else None,
        last_edition_id=row.last_edition_id,
        created_at=row.created_at,
        updated_at=row.updated_at,
    )
