"""What a poll brings, in PostgreSQL: contents, ledger and items. Each is one statement a chunk, its arrays binary."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TypeVar
from uuid import UUID

from psycopg.rows import class_row, scalar_row

from siftline.fetch.identity import Edit, Identified, Known, Move
from siftline.kit.db import Connection
from siftline.kit.ids import new_id

CHUNK_ROWS = 5_000
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class NewContent:
    """A content row to be made for an entry, unless its key is known already."""

    id: UUID
    url_key: str
    url: str
    kind: str
    identified: Identified
    site_name: str | None
    analyse: bool
    """Whether it goes on to ingest; else it is stored as it is."""


@dataclass(frozen=True, slots=True)
class Stored:
    """The content row of a key, made now or before."""

    url_key: str
    id: UUID
    unread: bool
    """Never ingested: just made, or stored as it was at another source's first import."""


_LEDGER = """
select entry_key, link, content_sha256, content_id from source_entries
where source_id = %(source_id)s and (entry_key = any(%(keys)b::text[]) or link = any(%(links)b::text[]))
"""

_SUBSCRIBERS = "select user_id from subscriptions where source_id = %(source_id)s order by user_id"

# Ordered by key, so that two feeds that bring the same pages wait for each other instead of deadlocking.
_ADD_CONTENTS = """
insert into contents (id, url_key, url, kind, status, title, author, site_name, image_url, description, entry_html,
  published_at, sort_at)
select id, url_key, url, kind, status, title, author, site_name, image_url, description, entry_html, published_at,
  least(published_at, now())
from unnest(%(ids)b::uuid[], %(url_keys)b::text[], %(urls)b::text[], %(kinds)b::text[], %(statuses)b::text[],
            %(titles)b::text[], %(authors)b::text[], %(site_names)b::text[], %(image_urls)b::text[],
            %(descriptions)b::text[], %(entry_htmls)b::text[], %(published)b::timestamptz[])
  as new (id, url_key, url, kind, status, title, author, site_name, image_url, description, entry_html, published_at)
order by url_key
on conflict (url_key) do nothing
returning url_key, id, true as unread
"""

# Held against deletion until the items stand.
_FIND_CONTENTS = """
select url_key, id, status = 'READY' and text is null and topics is null as unread
from contents where url_key = any(%(url_keys)b::text[]) order by url_key for key share
"""

_ADD_ENTRIES = """
insert into source_entries (source_id, entry_key, guid, link, content_sha256, content_id)
select %(source_id)s, entry_key, guid, link, content_sha256, content_id
from unnest(%(keys)b::text[], %(guids)b::text[], %(links)b::text[], %(hashes)b::bytea[], %(content_ids)b::uuid[])
  as new (entry_key, guid, link, content_sha256, content_id)
on conflict (source_id, entry_key) do nothing
"""

_ADD_ITEMS = """
insert into items (id, user_id, content_id, source_id)
select id, user_id, content_id, %(source_id)s
from unnest(%(ids)b::uuid[], %(user_ids)b::uuid[], %(content_ids)b::uuid[]) as new (id, user_id, content_id)
order by user_id, content_id
on conflict (user_id, content_id) do nothing
"""

_MOVE_ENTRIES = """
update source_entries set entry_key = moved.new_key, guid = moved.guid, last_seen_at = now()
from unnest(%(old_keys)b::text[], %(new_keys)b::text[], %(guids)b::text[]) as moved (old_key, new_key, guid)
where source_id = %(source_id)s and entry_key = moved.old_key
"""

# Once a day is enough to tell what a feed still lists, and spares a write a row at every poll.
_TOUCH_ENTRIES = """
update source_entries set last_seen_at = now()
where source_id = %(source_id)s and entry_key = any(%(keys)b::text[]) and last_seen_at < now() - interval '1 day'
"""

_EDIT_ENTRIES = """
update source_entries set content_sha256 = edited.content_sha256
from unnest(%(keys)b::text[], %(hashes)b::bytea[]) as edited (entry_key, content_sha256)
where source_id = %(source_id)s and source_entries.entry_key = edited.entry_key
"""

_EDIT_CONTENTS = """
update contents set title = coalesce(nullif(edited.title, ''), contents.title), entry_html = edited.entry_html,
  description = edited.description, image_url = coalesce(edited.image_url, contents.image_url), updated_at = now()
from unnest(%(ids)b::uuid[], %(titles)b::text[], %(entry_htmls)b::text[], %(descriptions)b::text[],
            %(image_urls)b::text[]) as edited (id, title, entry_html, description, image_url)
where contents.id = edited.id
returning contents.id, contents.text is not null
"""


def ledger(connection: Connection, source_id: UUID, poll: Sequence[Identified]) -> list[Known]:
    """Return the rows of a feed's ledger that share a key or a link with a poll's entries."""
    values = {
        "source_id": source_id,
        "keys": [identified.key for identified in poll],
        "links": list({identified.link for identified in poll if identified.link}),
    }
    with connection.cursor(row_factory=class_row(Known)) as cursor:
        return cursor.execute(_LEDGER, values).fetchall()


def add_contents(connection: Connection, contents: Sequence[NewContent]) -> dict[str, Stored]:
    """Make the content rows whose key is new; return the row of every key, new or not, held until the commit."""
    stored: dict[str, Stored] = {}
    with connection.cursor(row_factory=class_row(Stored)) as cursor:
        for chunk in _chunks(contents):
            stored.update((row.url_key, row) for row in cursor.execute(_ADD_CONTENTS, _content_values(chunk)))
            missing = [content.url_key for content in chunk if content.url_key not in stored]
            if missing:
                found = cursor.execute(_FIND_CONTENTS, {"url_keys": missing})
                stored.update((row.url_key, row) for row in found)
    return stored


def add_entries(connection: Connection, source_id: UUID, entries: Iterable[tuple[Identified, UUID | None]]) -> None:
    """Write entries and their contents into the feed's ledger."""
    for chunk in _chunks(entries):
        values = {
            "source_id": source_id,
            "keys": [identified.key for identified, _ in chunk],
            "guids": [identified.entry.guid for identified, _ in chunk],
            "links": [identified.link for identified, _ in chunk],
            "hashes": [identified.content_sha256 for identified, _ in chunk],
            "content_ids": [content_id for _, content_id in chunk],
        }
        connection.execute(_ADD_ENTRIES, values)


def give_items(connection: Connection, source_id: UUID, content_ids: Sequence[UUID]) -> None:
    """Give every subscriber an item of every content; who holds one already keeps it as it is."""
    with connection.cursor(row_factory=scalar_row) as cursor:
        user_ids: list[UUID] = cursor.execute(_SUBSCRIBERS, {"source_id": source_id}).fetchall()
    pairs = ((user_id, content_id) for user_id in user_ids for content_id in content_ids)
    for chunk in _chunks(pairs):
        values = {
            "source_id": source_id,
            "ids": [new_id() for _ in chunk],
            "user_ids": [user_id for user_id, _ in chunk],
            "content_ids": [content_id for _, content_id in chunk],
        }
        connection.execute(_ADD_ITEMS, values)


def move_entries(connection: Connection, source_id: UUID, moves: Iterable[Move]) -> None:
    """Rename entries in the ledger whose feed gave them new guids."""
    for chunk in _chunks(moves):
        values = {
            "source_id": source_id,
            "old_keys": [move.old_key for move in chunk],
            "new_keys": [move.identified.key for move in chunk],
            "guids": [move.identified.entry.guid for move in chunk],
        }
        connection.execute(_MOVE_ENTRIES, values)


def touch_entries(connection: Connection, source_id: UUID, seen: Iterable[Identified]) -> None:
    """Note that the feed still lists these entries."""
    for chunk in _chunks(seen):
        connection.execute(_TOUCH_ENTRIES, {"source_id": source_id, "keys": [identified.key for identified in chunk]})


def edit_entries(connection: Connection, source_id: UUID, edits: Iterable[Edit]) -> list[UUID]:
    """Store what edited entries say now; returns the contents to be ingested again, for their text was taken before."""
    again: list[UUID] = []
    for chunk in _chunks(edits):
        values = {
            "source_id": source_id,
            "keys": [edit.identified.key for edit in chunk],
            "hashes": [edit.identified.content_sha256 for edit in chunk],
        }
        connection.execute(_EDIT_ENTRIES, values)
        held = [(edit.identified.entry, edit.content_id) for edit in chunk if edit.content_id]
        values = {
            "ids": [content_id for _, content_id in held],
            "titles": [entry.title for entry, _ in held],
            "entry_htmls": [entry.html or None for entry, _ in held],
            "descriptions": [entry.description or None for entry, _ in held],
            "image_urls": [entry.image_url for entry, _ in held],
        }
        again += [content_id for content_id, read in connection.execute(_EDIT_CONTENTS, values) if read]
    return again


def _content_values(contents: Sequence[NewContent]) -> dict[str, object]:
    entries = [content.identified.entry for content in contents]
    return {
        "ids": [content.id for content in contents],
        "url_keys": [content.url_key for content in contents],
        "urls": [content.url for content in contents],
        "kinds": [content.kind for content in contents],
        # What goes on to ingest waits from its first moment: its job is enqueued in this very transaction, and to set
        # the status only then would write every row and its index entries twice.
        "statuses": ["PENDING" if content.analyse else "READY" for content in contents],
        "titles": [entry.title or None for entry in entries],
        "authors": [entry.author for entry in entries],
        "site_names": [content.site_name for content in contents],
        "image_urls": [entry.image_url for entry in entries],
        "descriptions": [entry.description or None for entry in entries],
        "entry_htmls": [entry.html or None for entry in entries],
        "published": [entry.published_at for entry in entries],
    }


def _chunks(rows: Iterable[_T]) -> Iterator[list[_T]]:
    rest = iter(rows)
    while chunk := list(islice(rest, CHUNK_ROWS)):
        yield chunk
