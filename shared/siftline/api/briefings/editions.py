"""The editions resource: what was made and frozen, as JSON, as a page and as text."""

from typing import Annotated, Any
from uuid import UUID

from aws_lambda_powertools.event_handler import Response
from aws_lambda_powertools.event_handler.openapi.params import Header, Query

from siftline.api.briefings import briefings_store as store
from siftline.api.briefings.briefing_models import DeliveryState, Edition, EditionDetail, Editions
from siftline.api.briefings.edition_links import for_reader, link_of, parsed
from siftline.api.http.auth import CurrentCaller
from siftline.api.http.callers import Caller
from siftline.api.http.link_pages import unknown_link
from siftline.api.http.paging import DEFAULT_LIMIT, Cursor, Limit, Next, decode, page
from siftline.api.http.problems import not_found
from siftline.api.http.routing import Resource, answer, route
from siftline.api.http.shapes import Cause
from siftline.kit.db import Database

# The page is ours, and what stands in it was escaped; it can load and run nothing.
_PAGE_POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_FORMS = {"text/html": "html", "text/plain": "plain", "application/json": "document", "*/*": "document"}


class EditionRoutes(Resource):
    """``/v1/editions``, and the pages that mails and feeds link to; every link of ours begins with ``public_url``."""

    def __init__(self, database: Database, public_url: str) -> None:
        self._database = database
        self._public_url = public_url

    @route(
        "GET /v1/editions",
        (200, Editions, "A page of the list"),
        summary="List your editions",
        operation_id="listEditions",
        tag="briefings",
    )
    def browse(
        self,
        caller: CurrentCaller,
        *,
        briefing_id: Annotated[UUID | None, Query(description="Only editions of this briefing")] = None,
        limit: Limit = DEFAULT_LIMIT,
        next: Next = None,  # noqa: A002  # the parameter's name in the API
    ) -> Editions:
        """List editions."""
        with self._database.transaction() as connection:
            rows = store.list_editions(connection, caller.user_id, briefing_id, decode(next), limit + 1)
        shown, following = page(rows, limit, lambda row: Cursor(row.made_at, row.id).encode())
        return Editions(items=[Edition(**self._fields(row, caller)) for row in shown], next=following)

    @route(
        "GET /v1/editions/<edition_id>",
        (200, EditionDetail, "The edition"),
        (200, "text/html", "The edition as a web page"),
        (200, "text/plain", "The edition as plain text"),
        summary="Get an edition (JSON, HTML or plain text)",
        operation_id="getEdition",
        tag="briefings",
        problems=(404,),
    )
    def show(
        self,
        edition_id: UUID,
        caller: CurrentCaller,
        accept: Annotated[str, Header(description="`text/html` for the web page, `text/plain` for plain text")] = "*/*",
    ) -> Response[Any]:
        """Show one edition in the form that is asked for."""
        form = preferred(accept)
        with self._database.transaction() as connection:
            row = store.find_edition(connection, caller.user_id, edition_id)
            if row is None:
                raise not_found("edition")
            body = store.rendering(connection, caller.user_id, edition_id, form)
        link = link_of(row.id, caller.token_id, row.read_token)
        if form == "document":
            links = {name: for_reader(url, row.read_token, link) for name, url in body.get("links", {}).items()}
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
        return {
            "id": row.id,
            "briefing_id": row.briefing_id,
            "name": row.name,
            "period": row.period,
            "made_at": row.made_at,
            "window_from": row.window_from,
            "window_until": row.window_until,
            "stories": row.stories,
            "page_url": f"{self._public_url}/v1/read/{link_of(row.id, caller.token_id, row.read_token)}",
            "deliveries": [_delivery(one) for one in row.deliveries],
        }


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
