"""The editions resource: what was made and frozen, as JSON, as a page and as text.

What was sent has a link of its own (``editions.read_token``), for whoever it was sent to: that one lasts as long as the
edition, so it is shown to no token, nor is the link that stops a briefing. Who reads by a token is given links that
open what the token opens, and end with it: such a link names the edition and the token and is signed with the edition's
own secret; nothing of it is stored.
"""

import base64
import binascii
import hashlib
import hmac
import re
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Annotated, Any
from uuid import UUID

from aws_lambda_powertools.event_handler import Response
from aws_lambda_powertools.event_handler.openapi.params import Header, Query
from pydantic import BaseModel, Field

from siftline.api.briefings import briefings_store as store
from siftline.api.briefings.briefings import Channel
from siftline.api.briefings.mail_addresses import unknown_link
from siftline.api.http.auth import CurrentCaller
from siftline.api.http.callers import Caller
from siftline.api.http.paging import DEFAULT_LIMIT, Cursor, Limit, Next, decode, page
from siftline.api.http.problems import not_found
from siftline.api.http.routing import answer, route
from siftline.api.http.shapes import EXAMPLE_ID, Cause, ListPage
from siftline.api.parts import Routes
from siftline.kit.stored import readable

# The page is ours, and what stands in it was escaped; it can load and run nothing.
_PAGE_POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_FORMS = {"text/html": "html", "text/plain": "plain", "application/json": "document", "*/*": "document"}
_ID_BYTES = 16
_SIGNATURE_BYTES = 16
_LINK = re.compile(r"[A-Za-z0-9_-]{64}")
# As ``brief/templates/edition.html.j2`` and ``edition.txt.j2`` write them.
_STOP_HTML = re.compile(r' · <a [^>]*href="[^"]*/v1/unsubscribe/[^"]*"[^>]*>[^<]*</a>')
_STOP_PLAIN = re.compile(r"^Stop this briefing: \S+/v1/unsubscribe/\S+\n?", re.MULTILINE)


class DeliveryState(BaseModel):
    """Delivery status of an edition."""

    channel: Channel
    destination: str
    state: str = Field(
        description="`pending`, `sent`, `unconfirmed` (attempted twice without an answer: it may have arrived), "
        "`suppressed` or `failed`"
    )
    error: Cause | None
    sent_at: datetime | None


class Edition(BaseModel):
    """An edition as listed."""

    id: UUID = Field(examples=[EXAMPLE_ID])
    briefing_id: UUID
    name: str = Field(description="The briefing's name at the time")
    period: str = Field(
        description="Local day or ISO week, or the time it was requested", examples=["2026-11-28", "2026-W48"]
    )
    made_at: datetime
    window_from: datetime = Field(description="Start of the period it covers (exclusive)")
    window_until: datetime = Field(description="End of the period it covers (inclusive)")
    stories: int
    page_url: str = Field(description="Web page of the edition; anyone with this URL can read it")
    deliveries: list[DeliveryState]


class Editions(ListPage):
    """A page of editions, newest first."""

    items: list[Edition]


class EditionDetail(Edition):
    """An edition with its content, which is the same on every channel and never changes."""

    document: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Link:
    """What a link says; ``token_id`` is an access or a feed token's."""

    edition_id: UUID
    token_id: UUID
    signature: bytes

    def signed_with(self, secret: str) -> bool:
        """Say whether it was made by who knows the edition's secret."""
        return hmac.compare_digest(self.signature, _signature(self.edition_id, self.token_id, secret))


class EditionRoutes(Routes):
    """``/v1/editions``, and the pages that mails and feeds link to; every link of ours begins with ``public_url``."""

    tag = "briefings"

    @route("GET /v1/editions", (200, Editions, "A page of the list"), operation_id="listEditions")
    def browse(
        self,
        caller: CurrentCaller,
        *,
        briefing_id: Annotated[UUID | None, Query(description="Only editions of this briefing")] = None,
        limit: Limit = DEFAULT_LIMIT,
        next: Next = None,  # noqa: A002  # the parameter's name in the API
    ) -> Editions:
        """List your editions."""
        with self._database.transaction() as connection:
            rows = store.list_editions(connection, caller.user_id, briefing_id, decode(next), limit + 1)
        shown, following = page(rows, limit, lambda row: Cursor(row.made_at, row.id).encode())
        return Editions(items=[Edition(**self._fields(row, caller)) for row in shown], next=following)

    @route(
        "GET /v1/editions/<edition_id>",
        (200, EditionDetail, "The edition"),
        (200, "text/html", "The edition as a web page"),
        (200, "text/plain", "The edition as plain text"),
        operation_id="getEdition",
        problems=(404,),
    )
    def show(
        self,
        edition_id: UUID,
        caller: CurrentCaller,
        accept: Annotated[str, Header(description="`text/html` for the web page, `text/plain` for plain text")] = "*/*",
    ) -> Response[Any]:
        """Get an edition (JSON, HTML or plain text)."""
        form = preferred(accept)
        with self._database.transaction() as connection:
            row = store.find_edition(connection, caller.user_id, edition_id)
            if row is None:
                raise not_found("edition")
            body = store.rendering(connection, caller.user_id, edition_id, form)
        link = link_of(row.id, caller.token_id, row.read_token)
        if form == "document":
            stored = readable(dict[str, str], body.get("links")) or {}
            links = {name: for_reader(url, row.read_token, link) for name, url in stored.items()}
            return answer(200, EditionDetail(**self._fields(row, caller), document={**body, "links": links}))
        body = for_reader(body, row.read_token, link)
        media_type = "text/html" if form == "html" else "text/plain"
        headers = {"Content-Security-Policy": _PAGE_POLICY, "Vary": "Accept"}
        return Response(200, content_type=f"{media_type}; charset=utf-8", body=body, headers=headers)

    @route("GET /v1/read/<token>")
    @route("HEAD /v1/read/<token>")
    def read(self, token: str) -> Response[str]:
        """Show an edition's page to whoever followed its link."""
        html = self._page(token)
        if html is None:
            return unknown_link()
        headers = {
            "Content-Security-Policy": _PAGE_POLICY,
            "Referrer-Policy": "no-referrer",
            "X-Robots-Tag": "noindex",
        }
        return Response(200, content_type="text/html; charset=utf-8", body=html, headers=headers)

    def _page(self, token: str) -> str | None:
        """Return the page that the end of its address opens: as it was sent, or as a token of its owner's sees it."""
        link = parsed(token)
        with self._database.transaction() as connection:
            if link is None:
                html = store.edition_page(connection, token)
                return None if html is None else for_reader(html, token, token)
            found = store.edition_page_by_token(connection, link.edition_id, link.token_id)
        if found is None or not link.signed_with(found[1]):
            return None
        return for_reader(found[0], found[1], token)

    def _fields(self, row: store.EditionRow, caller: Caller) -> dict[str, Any]:
        link = link_of(row.id, caller.token_id, row.read_token)
        return asdict(row) | {
            "page_url": f"{self._parts.public_url}/v1/read/{link}",
            "deliveries": [_delivery(one) for one in row.deliveries],
        }


def link_of(edition_id: UUID, token_id: UUID, secret: str) -> str:
    """Return the end of a page's address for who reads by this token."""
    whole = edition_id.bytes + token_id.bytes + _signature(edition_id, token_id, secret)
    return base64.urlsafe_b64encode(whole).decode()


def parsed(text: str) -> Link | None:
    """Return what the end of an address says, if it is a token's link."""
    if not _LINK.fullmatch(text):
        return None
    try:
        whole = base64.urlsafe_b64decode(text)
    except binascii.Error:
        return None
    edition_id, token_id = UUID(bytes=whole[:_ID_BYTES]), UUID(bytes=whole[_ID_BYTES : 2 * _ID_BYTES])
    return Link(edition_id, token_id, whole[2 * _ID_BYTES :])


def for_reader(body: str, secret: str, link: str) -> str:
    """Return an edition's page or text with the reader's link in the place of the one that lasts, and none to stop it.

    ``secret`` is the edition's own, the end of the link that lasts.
    """
    return _STOP_PLAIN.sub("", _STOP_HTML.sub("", body)).replace(secret, link)


def _signature(edition_id: UUID, token_id: UUID, secret: str) -> bytes:
    return hmac.digest(secret.encode(), edition_id.bytes + token_id.bytes, hashlib.sha256)[:_SIGNATURE_BYTES]


def preferred(accept: str) -> str:
    """Return the form that an Accept header prefers (RFC 9110, section 12.5.1); JSON where it names none of ours.

    >>> preferred("text/html,application/xhtml+xml,*/*;q=0.8"), preferred("application/json, text/html;q=0.5")
    ('html', 'document')
    """
    wanted = []
    for place, part in enumerate(accept.split(",")):
        name, *parameters = (piece.strip().lower() for piece in part.split(";"))
        quality = next((piece[2:] for piece in parameters if piece.startswith("q=")), "1")
        if name in _FORMS and (weight := _weight(quality)) > 0:
            wanted.append((-weight, place, _FORMS[name]))
    return min(wanted)[2] if wanted else "document"


def _weight(quality: str) -> float:
    try:
        return min(1.0, max(0.0, float(quality)))
    except ValueError:
        return 0.0


def _delivery(one: dict[str, Any]) -> DeliveryState:
    code, detail = one.pop("error_code"), one.pop("error_detail")
    return DeliveryState(**one, error=Cause(code=code, detail=detail or "") if code else None)
