"""Feeds out: ``/v1/feed.atom`` and ``/v1/editions.atom``, for any feed reader, by a token in the address (RFC 4287).

Feed readers send no ``Authorization`` header, so the routes are open and look at the token themselves. It opens these
feeds and nothing else. A token that is wrong, revoked or for the other feed is answered alike. What a feed holds is
remembered by its digest, so that ``Last-Modified`` is when it changed, and who has it is told so with 304.

The same entries are written as the same bytes. Everything is text and escaped; an edition's page alone is HTML, escaped
once more as RFC 4287, section 3.1.1.2 says. Every link is absolute.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import format_datetime
from typing import Annotated, Any
from uuid import UUID, uuid5

from aws_lambda_powertools.event_handler import Request, Response
from aws_lambda_powertools.event_handler.depends import Depends
from aws_lambda_powertools.event_handler.openapi.params import Query

from siftline.api.briefings.editions import for_reader, link_of
from siftline.api.feed import feed_tokens_store as store
from siftline.api.feed.feed import Shown, first_places
from siftline.api.feed.feed_tokens import address
from siftline.api.feed.feed_tokens_store import EditionRow, FeedHolder, FeedKind
from siftline.api.feed.xml_writing import attributes, escaped
from siftline.api.http.authorize import source_ip_of
from siftline.api.http.callers import is_feed_token, token_sha256
from siftline.api.http.problems import not_found
from siftline.api.http.routing import route
from siftline.api.http.shapes import ByFolder
from siftline.api.items.items_store import Listed
from siftline.api.parts import Routes
from siftline.api.sources import folders_store
from siftline.api.sources.folders_store import Folder
from siftline.kit.lines import line
from siftline.kit.zones import zone
from siftline.net.http_model import http_date

MEDIA_TYPE = "application/atom+xml; charset=utf-8"
NAME = "Siftline"
_TEXT_CHARS = 4_000
_TITLE_CHARS = 500
_ENTRIES_MAX = 50
"""Entries that a feed reader is given at most: it keeps those it was given before."""
_EDITIONS_MAX = 20
_MAX_BYTES = 2_000_000
"""Editions beyond this stand in their feed by their summary alone: a third of what Lambda may answer."""
_MAX_AGE_S = 300
_TITLES = {FeedKind.FEED: "Siftline: your feed", FeedKind.EDITIONS: "Siftline: your briefings"}
Token = Annotated[str | None, Query(description="A feed token from `POST /v1/feed-tokens`")]
_ATOM = (200, "application/atom+xml", "The feed"), (304, None, "Not modified")


@dataclass(frozen=True, slots=True)
class Conditions:
    """What a reader has already (RFC 9110, section 13.1), and who asks."""

    etags: str
    since: str
    source_ip: str = ""
    """Where they ask from."""

    def met(self, etag: str, changed_at: datetime) -> bool:
        """Say whether that is what there is; a date counts only where no tag was sent."""
        if self.etags:
            known = {tag.strip().removeprefix("W/") for tag in self.etags.split(",")}
            return "*" in known or etag.removeprefix("W/") in known
        since = http_date(self.since)
        return since is not None and changed_at <= since


def _conditions_of(request: Request) -> Conditions:
    event: Any = request.resolved_event
    headers = {str(name).lower(): str(value) for name, value in (event.headers or {}).items()}
    etags, since = headers.get("if-none-match", ""), headers.get("if-modified-since", "")
    return Conditions(etags, since, source_ip_of(event.raw_event))


Known = Annotated[Conditions, Depends(_conditions_of)]


@dataclass(frozen=True, slots=True)
class Related:
    """What else tells the story of an entry."""

    url: str
    title: str


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry; ``id`` stays the same for as long as it is the same thing."""

    id: UUID
    title: str
    url: str
    author: str
    updated_at: datetime
    published_at: datetime
    summary: str | None = None
    html: str | None = None
    """What is shown instead of the summary by readers that show HTML."""
    topics: Sequence[str] = ()
    related: Sequence[Related] = ()


@dataclass(frozen=True, slots=True)
class Head:
    """What stands above the entries. ``self_url`` is where the feed is read, ``url`` the place that it belongs to."""

    id: UUID
    title: str
    url: str
    self_url: str


class AtomRoutes(Routes):
    """``/v1/feed.atom`` and ``/v1/editions.atom``; every link of ours begins with ``public_url``."""

    tag = "feed"

    @route("GET /v1/feed.atom", *_ATOM, operation_id="getFeedAtom", problems=(404,), compress=True)
    @route("HEAD /v1/feed.atom")
    def feed(self, known: Known, token: Token = None, folder_id: ByFolder = None) -> Response[str | None]:
        """Read your ranked feed in a feed reader (Atom).

        The first places of what is unread, all of it or what a folder brings.
        """
        holder = self._holder(token, FeedKind.FEED, known.source_ip, folder_id)
        folder = None
        if folder_id is not None:
            with self._database.transaction() as connection:
                folder = folders_store.find_folder(connection, holder.user_id, folder_id)
            if folder is None:
                raise not_found("feed")
        listed = Listed(unread=True, folder_id=folder_id)
        stretch = first_places(self._database, self._parts.score_rule, holder.user_id, listed, _ENTRIES_MAX, keep=False)
        entries = [_story(shown) for shown in stretch.shown]
        return self._answer(holder, FeedKind.FEED, str(token), entries, known, folder)

    @route("GET /v1/editions.atom", *_ATOM, operation_id="getEditionsAtom", problems=(404,), compress=True)
    @route("HEAD /v1/editions.atom")
    def editions(self, known: Known, token: Token = None) -> Response[str | None]:
        """Read your editions in a feed reader (Atom).

        The newest ones, as they were frozen.
        """
        holder = self._holder(token, FeedKind.EDITIONS, known.source_ip)
        with self._database.transaction() as connection:
            rows = store.editions(connection, holder.user_id, _EDITIONS_MAX)
        entries = [self._edition(row, holder) for row in rows]
        return self._answer(holder, FeedKind.EDITIONS, str(token), entries, known)

    def _holder(self, token: str | None, kind: FeedKind, source_ip: str, folder_id: UUID | None = None) -> FeedHolder:
        holder = None
        if token is not None and is_feed_token(token):
            with self._database.transaction() as connection:
                holder = store.find(connection, token_sha256(token), kind.value, _state(kind, folder_id))
        if holder is None:
            self._parts.wrong_tokens.note(source_ip)
            raise not_found("feed")
        self._parts.limit.take(holder.token_id)
        return holder

    def _answer(
        self,
        holder: FeedHolder,
        kind: FeedKind,
        token: str,
        entries: Sequence[Entry],
        known: Conditions,
        folder: Folder | None = None,
    ) -> Response[str | None]:
        state = _state(kind, folder.id if folder else None)
        place = address(self._parts.public_url, kind, token)
        written = entries_xml(entries, max_bytes=_MAX_BYTES)
        head = Head(
            id=uuid5(holder.user_id, state),
            title=f"Siftline: {folder.name}" if folder else _TITLES[kind],
            url=f"{self._parts.public_url}/",
            self_url=f"{place}&folder_id={folder.id}" if folder else place,
        )
        digest = hashlib.sha256(f"{head}\n{written}".encode()).digest()
        changed_at = holder.changed_at
        if changed_at is None or holder.digest != digest:
            with self._database.transaction() as connection:
                changed_at = store.note(connection, holder.token_id, state, digest)
            if changed_at is None:
                raise not_found("feed")
        etag = f'W/"{digest.hex()[:32]}"'
        headers = {
            "ETag": etag,
            "Last-Modified": format_datetime(changed_at.astimezone(UTC), usegmt=True),
            "Cache-Control": f"private, max-age={_MAX_AGE_S}",
            "Vary": "Accept-Encoding",
            "X-Robots-Tag": "noindex",
        }
        if known.met(etag, changed_at):
            return Response(status_code=304, headers=headers)
        return Response(200, content_type=MEDIA_TYPE, body=document(head, written, changed_at), headers=headers)

    def _edition(self, row: EditionRow, holder: FeedHolder) -> Entry:
        link = link_of(row.id, holder.token_id, row.read_token)
        return Entry(
            id=row.id,
            title=f"{row.name}: {_when(row)}",
            url=f"{self._parts.public_url}/v1/read/{link}",
            author="Siftline",
            updated_at=row.made_at,
            published_at=row.made_at,
            summary=f"{_stories(row.stories)}{': ' if row.lead_titles else ''}{'; '.join(row.lead_titles)}",
            html=_body(for_reader(row.html, row.read_token, link)),
        )


def _state(kind: FeedKind, folder_id: UUID | None) -> str:
    return kind.value if folder_id is None else f"{kind.value}:{folder_id}"


def _story(shown: Shown) -> Entry:
    """Return a place as an entry. Its oldest item names it, so that it stays one entry whichever item leads."""
    row = shown.lead
    return Entry(
        id=shown.oldest_id,
        title=row.title or row.url,
        url=row.url,
        author=row.author or row.site,
        updated_at=shown.newest_at,
        published_at=row.sort_at,
        summary=row.summary,
        topics=[topic.topic for topic in (row.topics if row.topics is not None else row.granular_topics) or []],
        related=[Related(one.url, f"{one.site}: {one.title or one.url}") for one in shown.folded],
    )


def _when(row: EditionRow) -> str:
    """Return an edition's day or week, or for one that was asked for when that was, by the clock of its briefing."""
    if not row.asked:
        return row.period
    at = row.due_at.astimezone(zone(row.time_zone))
    return f"{at:%A}, {at.day} {at:%B} {at.year}, {at:%H:%M}"


def _stories(count: int) -> str:
    return "1 story" if count == 1 else f"{count} stories"


def _body(html: str) -> str:
    """Return what stands in a page's body: a feed's HTML is part of the reader's own page."""
    _, mark, rest = html.partition("<body")
    inner = rest.partition(">")[2].rpartition("</body>")[0]
    return inner if mark and inner else html


def entries_xml(entries: Sequence[Entry], *, max_bytes: int) -> str:
    """Return entries in their order. Those whose HTML would make it more than ``max_bytes`` go without."""
    written, left = [], max_bytes
    for entry in entries:
        xml = _entry(entry, entry.html)
        if entry.html is not None and len(xml.encode()) > left:
            xml = _entry(entry, None)
        left -= len(xml.encode())
        written.append(xml)
    return "".join(written)


def document(head: Head, entries: str, updated_at: datetime) -> str:
    """Return the feed around its written entries."""
    return (
        '<?xml version="1.0" encoding="utf-8"?>\n'
        '<feed xmlns="http://www.w3.org/2005/Atom">\n'
        f"<id>urn:uuid:{head.id}</id>\n"
        f'<title type="text">{_line(head.title, _TITLE_CHARS)}</title>\n'
        f"<updated>{_time(updated_at)}</updated>\n"
        f"<author><name>{NAME}</name></author>\n"
        f"<generator>{NAME}</generator>\n"
        f"<link{attributes({'rel': 'self', 'type': 'application/atom+xml', 'href': head.self_url})}/>\n"
        f"<link{attributes({'rel': 'alternate', 'href': head.url})}/>\n"
        f"{entries}</feed>\n"
    )


def _entry(entry: Entry, html: str | None) -> str:
    parts = [
        f"<id>urn:uuid:{entry.id}</id>",
        f'<title type="text">{_line(entry.title, _TITLE_CHARS)}</title>',
        f"<link{attributes({'rel': 'alternate', 'href': entry.url})}/>",
        f"<updated>{_time(entry.updated_at)}</updated>",
        f"<published>{_time(entry.published_at)}</published>",
        f"<author><name>{_line(entry.author, _TITLE_CHARS)}</name></author>",
        *(f"<category{attributes({'term': topic})}/>" for topic in entry.topics),
        *(f"<link{attributes(_related(one))}/>" for one in entry.related),
    ]
    if entry.summary:
        parts.append(f'<summary type="text">{escaped(entry.summary[:_TEXT_CHARS])}</summary>')
    if html is not None:
        parts.append(f'<content type="html">{escaped(html)}</content>')
    return "<entry>\n" + "".join(f"{part}\n" for part in parts) + "</entry>\n"


def _related(one: Related) -> dict[str, str | None]:
    return {"rel": "related", "href": one.url, "title": line(one.title, _TITLE_CHARS)}


def _line(text: str, most: int) -> str:
    return escaped(line(text, most))


def _time(moment: datetime) -> str:
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
