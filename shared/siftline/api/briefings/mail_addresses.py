"""Mail addresses for briefings: one's own, asking their owners, and the owners' yes.

Who owns an address says so by ``/v1/mail-addresses/confirm/{token}``, which only they were sent. A GET of it shows the
question and changes nothing: mail scanners follow links.
"""

from uuid import UUID

from aws_lambda_powertools.event_handler import Response
from pydantic import Field

from siftline.api.briefings import caller_mail_addresses_store as store
from siftline.api.briefings.briefing_models import WrittenMailAddress
from siftline.api.briefings.caller_mail_addresses_store import MailAddress
from siftline.api.http.auth import CurrentCaller
from siftline.api.http.hand_out import HandOut
from siftline.api.http.link_pages import page, unknown_link
from siftline.api.http.problems import Fault, conflict, faulty, not_found
from siftline.api.http.routing import BODY_PROBLEMS, NO_CONTENT, Resource, answer, route
from siftline.api.http.shapes import Asked, Page
from siftline.catalog.mail_address_store import ADDRESSES_MAX, ensure
from siftline.contracts import JobType, Priority
from siftline.jobs import jobs_store as jobs
from siftline.jobs.job_model import NewJob
from siftline.kit.db import Database
from siftline.text.mail_address import InvalidMailAddressError, mail_address


class NewMailAddress(Asked):
    """An email address to add; its owner is asked to confirm it."""

    address: WrittenMailAddress = Field(examples=["reader@example.org"])


class MailAddresses(Page):
    """All your email addresses, sorted."""

    items: list[MailAddress]


class MailAddressRoutes(Resource):
    """``/v1/mail-addresses``. The pages behind links from mails are for people: not in the API's description."""

    def __init__(self, database: Database, hand_out: HandOut, *, max_attempts: int) -> None:
        self._database = database
        self._hand_out = hand_out
        self._max_attempts = max_attempts

    @route(
        "GET /v1/mail-addresses",
        (200, MailAddresses, "All your email addresses"),
        summary="List your email addresses",
        operation_id="listMailAddresses",
        tag="briefings",
    )
    def browse(self, caller: CurrentCaller) -> MailAddresses:
        """List the caller's addresses."""
        with self._database.transaction() as connection:
            rows = store.list_addresses(connection, caller.user_id)
        return MailAddresses(items=rows)

    @route(
        "POST /v1/mail-addresses",
        (202, MailAddress, "Its owner will be asked to confirm it, unless that happened recently"),
        summary="Add an email address",
        operation_id="addMailAddress",
        tag="briefings",
        problems=(409, *BODY_PROBLEMS),
    )
    def ask(self, body: NewMailAddress, caller: CurrentCaller) -> Response[MailAddress]:
        """Write an address down and have its owner asked."""
        try:
            address = mail_address(body.address)
        except InvalidMailAddressError as error:
            raise faulty([Fault(code=error.error_code, detail=error.detail, pointer="#/address")]) from error
        with self._database.transaction() as connection:
            address_id = ensure(connection, caller.user_id, address)
            if address_id is None:
                detail = f"You have reached the limit of {ADDRESSES_MAX} email addresses. Delete one first."
                raise conflict("too_many_mail_addresses", detail)
            job = NewJob(JobType.CONFIRM_ADDRESS, address_id, f"user:{caller.user_id}", priority=Priority.SAVED)
            job_ids = jobs.enqueue(connection, [job], max_attempts=self._max_attempts)
            rows = store.list_addresses(connection, caller.user_id)
        self._hand_out(job_ids)
        [row] = [row for row in rows if row.id == address_id]
        return answer(202, row)

    @route(
        "DELETE /v1/mail-addresses/<address_id>",
        NO_CONTENT,
        summary="Delete an email address",
        operation_id="deleteMailAddress",
        tag="briefings",
        problems=(404,),
    )
    def delete(self, address_id: UUID, caller: CurrentCaller) -> Response[None]:
        """Delete an address. That its owner was asked stays known for its day: they are not asked twice by that."""
        with self._database.transaction() as connection:
            # The job before its address, as a worker takes them.
            if address_id in {row.id for row in store.list_addresses(connection, caller.user_id)}:
                jobs.hold(connection, [address_id], JobType.CONFIRM_ADDRESS)
            if not store.delete(connection, caller.user_id, address_id):
                raise not_found("email address")
            jobs.cancel(connection, [address_id])
        return Response(status_code=204)

    @route("GET /v1/mail-addresses/confirm/<token>")
    @route("HEAD /v1/mail-addresses/confirm/<token>")
    def show(self, token: str) -> Response[str]:
        """Ask, with a button."""
        with self._database.transaction() as connection:
            found = store.find(connection, token)
        if found is None:
            return unknown_link()
        if found.confirmed:
            return _confirmed(found.address)
        question = f"The briefings you requested will be sent to {found.address}. Every email has a link to stop it."
        return page("Receive briefings by email?", [question], button="Yes, send them")

    @route("POST /v1/mail-addresses/confirm/<token>")
    def confirm(self, token: str) -> Response[str]:
        """Take the owner's word; once more changes nothing and is answered alike."""
        with self._database.transaction() as connection:
            address = store.confirm(connection, token)
        return unknown_link() if address is None else _confirmed(address)


def _confirmed(address: str) -> Response[str]:
    return page("Thank you", [f"The next briefing will be sent to {address}."])
