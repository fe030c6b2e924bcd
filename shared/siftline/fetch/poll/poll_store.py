"""What a poll brings, in PostgreSQL: contents and items. Each is one statement a chunk, its arrays binary."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from itertools import islice
from typing import NamedTuple, TypeVar
from uuid import UUID

import psycopg
from psycopg.rows import scalar_row
from psycopg.types.json import Jsonb

from siftline.fetch.feed.feeds import Entry, recording_row
from siftline.fetch.feed.identity import Edit, Identified
from siftline.jobs.states import ordered
from siftline.kit.db import ConflictError, Connection
from siftline.kit.ids import new_id

CHUNK_ROWS = 5_000
_TRIES = 5
_T = TypeVar("_T")


class NewContent(NamedTuple):
    """A content row to be made for an entry, unless its key is known already."""

    id: UUID
    url_key: str
    url: str
    kind: str
    identified: Identified
    site_name: str | None
    analyse: bool
    """Whether it goes on to ingest; else it is stored as it is."""
    typed_origin: str | None = None
    """The source's, where the address is of that very origin."""
    told_title: str | None = None
    """What the feed calls a page that is not its own to describe: for its followers alone."""
    told_at: datetime | None = None
    """When that page was published, by the feed."""
    told: Mapping[str, str] | None = None
    """What else the feed says of it, which stands in for a page that cannot be read (``told_row``)."""


class Stored(NamedTuple):
    """The content row of a key, made now or before; its fields are the columns that the statements return."""

    url_key: str
    id: UUID
    unread: bool
    """Never ingested: just made, stored as it was at another source's first import, or without success."""
    untold: bool
    """Whether nothing is known of what stands there: by no reading, and by no feed that may say so."""


# Held against deletion until their items stand.
_SUBSCRIBERS = """
select user_id from subscriptions join users on users.id = user_id
where source_id = %(source_id)s order by user_id for key share of users
"""

# Whether those who follow the source have deleted the page, each of them: it would be read for nobody. Who comes later
# is given it all the same, by the feed's ledger.
_DELETED_BY_ALL = """
exists (select from item_tombstones t join subscriptions s on s.user_id = t.user_id
  where t.url_key = new.url_key and s.source_id = %(source_id)s)
and not exists (select from subscriptions s where s.source_id = %(source_id)s
  and not exists (select from item_tombstones t where t.url_key = new.url_key and t.user_id = s.user_id))
"""

# Ordered by key, so that two feeds that bring the same pages wait for each other instead of deadlocking.
_ADD_CONTENTS = f"""
insert into contents (id, url_key, url, kind, status, title, author, site_name, image_url, description, entry_html,
  media, published_at, undated_code, undated_claim, sort_at, typed_origin)
select id, url_key, url, kind, status, title, author, site_name, image_url, description, entry_html, media,
  published_at, undated_code, undated_claim, least(published_at, told_at, now()), typed_origin
from unnest(%(ids)b::uuid[], %(url_keys)b::text[], %(urls)b::text[], %(kinds)b::text[], %(statuses)b::text[],
            %(titles)b::text[], %(authors)b::text[], %(site_names)b::text[], %(image_urls)b::text[],
            %(descriptions)b::text[], %(entry_htmls)b::text[], %(media)b::jsonb[], %(published)b::timestamptz[],
            %(undated_codes)b::text[], %(undated_claims)b::text[], %(told_at)b::timestamptz[], %(typed)s::text[])
  as new (id, url_key, url, kind, status, title, author, site_name, image_url, description, entry_html, media,
    published_at, undated_code, undated_claim, told_at, typed_origin)
where not ({_DELETED_BY_ALL})
order by url_key
on conflict (url_key) do nothing
returning url_key, id, true as unread, false as untold
"""  # noqa: S608  -- constants of ours

# Of contents that may be asked for once more: what is on its way for the first time goes on as it is.
_READINGS = f"""
select id from jobs
where job_type = 'ingest_content' and state in ('pending', 'processing') and subject_id = any(array(
  select id from contents
  where url_key = any(%(url_keys)b::text[]) and (text is not null or status in ('READY', 'FAILED'))
  union all select id from contents
  where id = any(%(ids)b::uuid[]) and (text is not null or status in ('READY', 'FAILED'))))
order by {ordered()}
"""  # noqa: S608  -- constants of ours
_HOLD_READINGS = f"{_READINGS} for no key update"

_FIND_CONTENTS = """
select url_key, id, status in ('READY', 'FAILED') and text is null and topics is null as unread,
  text is null and entry_html is null as untold
from contents
where id = any(array(select id from contents where url_key = any(%(url_keys)b::text[])) || %(ids)b::uuid[])
order by url_key for no key update
"""

_UNWANTED = f"""
select url_key from unnest(%(url_keys)b::text[]) as new (url_key) where {_DELETED_BY_ALL}
"""  # noqa: S608  -- as above

# A deletion binds who made it, and nobody else.
_ADD_ITEMS = """
insert into items (id, user_id, content_id, source_id, told_title, told_at)
select distinct on (user_id, content_id) id, user_id, content_id, %(source_id)s, told_title, told_at
from unnest(%(ids)b::uuid[], %(user_ids)b::uuid[], %(content_ids)b::uuid[], %(url_keys)b::text[],
            %(told_titles)s::text[], %(told_at)b::timestamptz[])
  as new (id, user_id, content_id, url_key, told_title, told_at)
where not exists (select from item_tombstones t where t.url_key = new.url_key and t.user_id = new.user_id)
order by user_id, content_id
on conflict (user_id, content_id) do update set
  told_title = coalesce(items.told_title, excluded.told_title), told_at = coalesce(items.told_at, excluded.told_at)
where (items.told_title is null and excluded.told_title is not null)
  or (items.told_at is null and excluded.told_at is not null)
"""

# In one order for all feeds that list the same pages.
_HOLD_CONTENTS = "select from contents where id = any(%(ids)b::uuid[]) order by url_key for no key update"

# Its key stays: it is the page that it was, and what was deleted under that stays deleted. What was read stays as it
# was read; only a page that nobody read yet, and that no one else holds, is asked for at the new address: a feed must
# not put its own page where others find theirs.
_RELINK_CONTENTS = """
with held as (select id from contents where id = any(%(ids)b::uuid[]) order by url_key for no key update)
update contents set url = moved.url, updated_at = now()
from held join unnest(%(ids)b::uuid[], %(urls)b::text[]) as moved (id, url) using (id)
where contents.id = held.id and contents.text is null and not exists (
  select from items i where i.content_id = contents.id and i.source_id is distinct from %(source_id)s)
"""
_RELINK_ITEMS = """
with held as (
  select items.id, moved.url from items
  join unnest(%(ids)b::uuid[], %(urls)b::text[]) as moved (id, url) on items.content_id = moved.id
  where items.source_id = %(source_id)s order by items.user_id, items.content_id for no key update of items)
update items set url = held.url from held where items.id = held.id
"""

_EDIT_CONTENTS = """
update contents set title = coalesce(nullif(edited.title, ''), contents.title), entry_html = edited.entry_html,
  description = edited.description, image_url = coalesce(edited.image_url, contents.image_url),
  media = case when edited.media is null then contents.media else coalesce(contents.media, '{}') || edited.media end,
  updated_at = now()
from unnest(%(ids)b::uuid[], %(titles)b::text[], %(entry_htmls)b::text[], %(descriptions)b::text[],
            %(image_urls)b::text[], %(media)b::jsonb[]) as edited (id, title, entry_html, description, image_url, media)
where contents.id = edited.id
returning contents.id, contents.text is not null
"""

# Of a page that was there before its feed: what the page did not state.
_FILL_CONTENTS = """
update contents set author = coalesce(contents.author, told.author),
  published_at = coalesce(contents.published_at, told.published_at),
  undated_code = case when told.published_at is null then contents.undated_code end,
  undated_claim = case when told.published_at is null then contents.undated_claim end,
  sort_at = least(contents.sort_at, coalesce(contents.published_at, told.published_at)), updated_at = now()
from unnest(%(ids)b::uuid[], %(authors)b::text[], %(published)b::timestamptz[]) as told (id, author, published_at)
where contents.id = told.id and ((contents.author is null and told.author is not null)
  or (contents.published_at is null and told.published_at is not null))
"""


def add_contents(
    connection: Connection, source_id: UUID, contents: Sequence[NewContent], changed: Collection[UUID] = ()
) -> dict[str, Stored]:
    """Make the content rows whose key is new; return the row of every key, new or not, held until the commit.

    Those that were there, and those that are ``changed`` besides, are held behind the jobs that read them
    (``siftline.jobs.jobs_store.hold``), so that all may be enqueued later. What changes in between, as a job that comes
    into being, is seen: then they are let go of, to begin anew. Of a page that all who follow the source have deleted
    nothing is made, and no row returned unless others hold it. Raises ``ConflictError`` where that does not end.
    """
    stored: dict[str, Stored] = {}
    for _ in range(_TRIES):
        for chunk in chunks(_left(contents, stored)):
            _keep(stored, connection.execute(_ADD_CONTENTS, {"source_id": source_id, **_content_values(chunk)}))
        there = [content.url_key for content in _left(contents, stored)]
        if not there and not changed:
            return stored
        values = {"source_id": source_id, "url_keys": there, "ids": list(changed)}
        with connection.transaction() as savepoint:
            readings = set(connection.execute(_HOLD_READINGS, values).fetchall())
            found: dict[str, Stored] = {}
            _keep(found, connection.execute(_FIND_CONTENTS, values))
            # What stood in the way a moment ago and was not found was deleted meanwhile, unless nobody wants it.
            if gone := set(there) - found.keys():
                gone -= {url_key for (url_key,) in connection.execute(_UNWANTED, values)}
            if gone or not readings.issuperset(connection.execute(_READINGS, values).fetchall()):
                raise psycopg.Rollback(savepoint)
            return stored | {url_key: found[url_key] for url_key in there if url_key in found}
    raise ConflictError("Other jobs kept changing the same pages.")


def _keep(stored: dict[str, Stored], rows: Iterable[tuple[str, UUID, bool, bool]]) -> None:
    stored.update((row.url_key, row) for row in map(Stored._make, rows))


def _left(contents: Sequence[NewContent], stored: Mapping[str, Stored]) -> list[NewContent]:
    return [content for content in contents if content.url_key not in stored]


def give_items(connection: Connection, source_id: UUID, brought: Sequence[tuple[NewContent, Stored]]) -> None:
    """Give every subscriber an item of every content: who holds one keeps it, who deleted one is given none.

    The contents are held by the caller's transaction (``add_contents``).
    """
    with connection.cursor(row_factory=scalar_row) as cursor:
        user_ids: list[UUID] = cursor.execute(_SUBSCRIBERS, {"source_id": source_id}).fetchall()
    for chunk in chunks((user_id, *one) for user_id in user_ids for one in brought):
        values = {
            "source_id": source_id,
            "ids": [new_id() for _ in chunk],
            "user_ids": [user_id for user_id, _, _ in chunk],
            "content_ids": [row.id for _, _, row in chunk],
            "url_keys": [row.url_key for _, _, row in chunk],
            "told_titles": [content.told_title for _, content, _ in chunk],
            "told_at": [content.told_at for _, content, _ in chunk],
        }
        connection.execute(_ADD_ITEMS, values)


def relink_contents(connection: Connection, source_id: UUID, urls: Mapping[UUID, str]) -> None:
    """Give the items of a source the addresses at which their pages are now, and to contents that nobody read yet."""
    if urls:
        values = {"source_id": source_id, "ids": list(urls), "urls": list(urls.values())}
        connection.execute(_HOLD_CONTENTS, values)
        connection.execute(_RELINK_CONTENTS, values)
        connection.execute(_RELINK_ITEMS, values)


def edit_contents(connection: Connection, edits: Iterable[Edit]) -> list[UUID]:
    """Store what edited entries say now; returns the contents to be ingested again, for their text was taken before."""
    again: list[UUID] = []
    for chunk in chunks(edit for edit in edits if edit.content_id):
        connection.execute(_HOLD_CONTENTS, {"ids": [edit.content_id for edit in chunk]})
        entries = [edit.identified.entry for edit in chunk]
        values = {
            "ids": [edit.content_id for edit in chunk],
            "titles": [entry.title for entry in entries],
            "entry_htmls": [entry.html or None for entry in entries],
            "descriptions": [entry.description or None for entry in entries],
            "image_urls": [entry.image_url for entry in entries],
            "media": list(map(_media, entries)),
        }
        again += [content_id for content_id, read in connection.execute(_EDIT_CONTENTS, values) if read]
    return again


def fill_contents(connection: Connection, told: Iterable[tuple[UUID, Entry]]) -> None:
    """Give pages that state no date or no author those of their feed's entries.

    The contents are held by the caller's transaction (``add_contents``).
    """
    for chunk in chunks(told):
        values = {
            "ids": [content_id for content_id, _ in chunk],
            "authors": [entry.author for _, entry in chunk],
            "published": [entry.published_at for _, entry in chunk],
        }
        connection.execute(_FILL_CONTENTS, values)


def told_row(entry: Entry) -> dict[str, str] | None:
    """Return what a feed says of a page that is not its own to describe; ``None`` where that is no text."""
    if not entry.html:
        return None
    parts = {"html": entry.html, "description": entry.description, "author": entry.author, "image_url": entry.image_url}
    return {name: part for name, part in parts.items() if part}


def chunks(rows: Iterable[_T]) -> Iterator[list[_T]]:
    """Yield rows as one statement takes them."""
    rest = iter(rows)
    while chunk := list(islice(rest, CHUNK_ROWS)):
        yield chunk


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
        "media": list(map(_media, entries)),
        "published": [entry.published_at for entry in entries],
        "undated_codes": [entry.undated_code for entry in entries],
        "undated_claims": [entry.undated_claim for entry in entries],
        "told_at": [content.told_at for content in contents],
        "typed": [content.typed_origin for content in contents],
    }


def _media(entry: Entry) -> Jsonb | None:
    row = recording_row(entry)
    return None if row is None else Jsonb(row)
