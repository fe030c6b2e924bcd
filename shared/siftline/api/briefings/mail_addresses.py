"""Mail addresses for briefings, and the pages behind links in mails: small, for people, not in the API's description.

Who owns an address says so by ``/v1/mail-addresses/confirm/{token}``, which only they were sent. A briefing is ended by
``/v1/unsubscribe/{token}``, with one click (RFC 8058) or by a button. A GET of either changes nothing: mail scanners
follow links.
"""

from collections.abc import Sequence
from html import escape
from typing import Annotated
from uuid import UUID

from aws_lambda_powertools.event_handler import Response
from pydantic import Field, StringConstraints

from siftline.api.briefings import briefings_store as store
from siftline.api.briefings.briefings_store import MailAddress
from siftline.api.http.auth import CurrentCaller
from siftline.api.http.problems import Fault, conflict, faulty, not_found
from siftline.api.http.routing import BODY_PROBLEMS, NO_CONTENT, answer, route
from siftline.api.http.shapes import Asked, ListPage
from siftline.api.parts import Routes
from siftline.catalog.mail_address_store import ADDRESSES_MAX, ensure
from siftline.contracts import JobType, Priority
from siftline.jobs import jobs_store as jobs
from siftline.jobs.job_model import NewJob
from siftline.text.mail_address import InvalidMailAddressError, mail_address

_POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<title>{title}</title>
<style>
:root {{ color-scheme: light dark; }}
body {{ margin: 0; padding: 2rem 1.25rem; font: 1.0625rem/1.55 system-ui, sans-serif; color: CanvasText;
  background: Canvas; }}
main {{ max-width: 34rem; margin: 0 auto; overflow-wrap: anywhere; }}
h1 {{ font-size: 1.5rem; line-height: 1.25; }}
button {{ font: inherit; padding: .65rem 1.25rem; border: 2px solid #0b57a4; border-radius: .375rem;
  background: #0b57a4; color: #fff; cursor: pointer; }}
button:focus-visible {{ outline: 3px solid CanvasText; outline-offset: 2px; }}
</style>
</head>
<body>
<main>
<h1>{title}</h1>
{rest}
</main>
</body>
</html>
"""
WrittenMailAddress = Annotated[str, StringConstraints(max_length=254)]
"""Judged by ``siftline.text.mail_address`` as it was given."""


class NewMailAddress(Asked):
    """An email address to add; its owner is asked to confirm it."""

    address: WrittenMailAddress = Field(examples=["reader@example.org"])


class MailAddresses(ListPage):
    """All your email addresses, sorted."""

    items: list[MailAddress]


class MailAddressRoutes(Routes):
    """``/v1/mail-addresses``, and the page by which an owner says yes."""

    tag = "briefings"

    @route(
        "GET /v1/mail-addresses",
        (200, MailAddresses, "All your email addresses"),
        operation_id="listMailAddresses",
    )
    def browse(self, caller: CurrentCaller) -> MailAddresses:
        """List your email addresses."""
        with self._database.transaction() as connection:
            rows = store.list_addresses(connection, caller.user_id)
        return MailAddresses(items=rows)

    @route(
        "POST /v1/mail-addresses",
        (202, MailAddress, "Its owner will be asked to confirm it, unless that happened recently"),
        operation_id="addMailAddress",
        problems=(409, *BODY_PROBLEMS),
    )
    def ask(self, body: NewMailAddress, caller: CurrentCaller) -> Response[MailAddress]:
        """Add an email address."""
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
            job_ids = self._outbox.enqueue(connection, job)
            rows = store.list_addresses(connection, caller.user_id)
        self._outbox.publish(job_ids)
        [row] = [row for row in rows if row.id == address_id]
        return answer(202, row)

    @route(
        "DELETE /v1/mail-addresses/<address_id>",
        NO_CONTENT,
        operation_id="deleteMailAddress",
        problems=(404,),
    )
    def delete(self, address_id: UUID, caller: CurrentCaller) -> Response[None]:
        """Delete an email address.

        That its owner was asked stays known for its day: they are not asked twice by that.
        """
        with self._database.transaction() as connection:
            # The job before its address, as a worker takes them.
            if address_id in {row.id for row in store.list_addresses(connection, caller.user_id)}:
                jobs.hold(connection, [address_id], JobType.CONFIRM_ADDRESS)
            if not store.delete_address(connection, caller.user_id, address_id):
                raise not_found("email address")
            jobs.cancel(connection, [address_id])
        return Response(status_code=204)

    @route("GET /v1/mail-addresses/confirm/<token>")
    @route("HEAD /v1/mail-addresses/confirm/<token>")
    def show(self, token: str) -> Response[str]:
        """Ask, with a button."""
        with self._database.transaction() as connection:
            found = store.find_asked_address(connection, token)
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
            address = store.confirm_address(connection, token)
        return unknown_link() if address is None else _confirmed(address)


def _confirmed(address: str) -> Response[str]:
    return page("Thank you", [f"The next briefing will be sent to {address}."])


class UnsubscribeRoutes(Routes):
    """``/v1/unsubscribe/{token}``, for people and mail programs."""

    @route("GET /v1/unsubscribe/<token>")
    @route("HEAD /v1/unsubscribe/<token>")
    def show(self, token: str) -> Response[str]:
        """Show what would be stopped, and the button that does it."""
        with self._database.transaction() as connection:
            found = store.find_subscribed(connection, token)
        if found is None:
            return unknown_link()
        if found.stopped_code is not None:
            return _stopped(found.name)
        return page(
            "Stop this briefing?",
            [f"“{found.name}” will no longer be sent to you. You can still read its editions in your account."],
            button="Stop",
        )

    @route("POST /v1/unsubscribe/<token>")
    def stop(self, token: str) -> Response[str]:
        """Stop a briefing's delivery; once more changes nothing and is answered alike."""
        with self._database.transaction() as connection:
            name = store.stop_by_link(connection, token)
        return unknown_link() if name is None else _stopped(name)


def _stopped(name: str) -> Response[str]:
    return page("Briefing stopped", [f"“{name}” is no longer sent to you."])


def page(title: str, paragraphs: Sequence[str], *, button: str | None = None, status: int = 200) -> Response[str]:
    """Return a page; its ``button`` posts to the page's own address. All is text: nothing in it is taken for HTML."""
    rest = [f"<p>{escape(paragraph)}</p>" for paragraph in paragraphs]
    if button is not None:
        rest.append(
            '<form method="post"><input type="hidden" name="List-Unsubscribe" value="One-Click">'
            f'<button type="submit">{escape(button)}</button></form>'
        )
    return Response(
        status_code=status,
        content_type="text/html; charset=utf-8",
        body=_PAGE.format(title=escape(title), rest="\n".join(rest)),
        # The address of the page is the secret: it goes to nobody else.
        headers={"Content-Security-Policy": _POLICY, "Referrer-Policy": "no-referrer"},
    )


def unknown_link() -> Response[str]:
    """Return the page for a token that nobody has, any more or ever."""
    return page("This link does not work", ["It is incomplete or no longer valid."], status=404)
