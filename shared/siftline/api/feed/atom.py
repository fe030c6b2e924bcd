"""Atom (RFC 4287) as feed readers read it. Pure: the same bytes for the same entries.

Everything is text and escaped; an edition's page alone is HTML, escaped once more as RFC 4287, section 3.1.1.2 says.
Every link is absolute.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from uuid import UUID

from siftline.api.feed.xml_writing import attributes, escaped
from siftline.kit.lines import line

MEDIA_TYPE = "application/atom+xml; charset=utf-8"
NAME = "Siftline"
_TEXT_CHARS = 4_000
_TITLE_CHARS = 500


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
