"""The identity ledger of a feed in PostgreSQL: what it has brought, and under which key it lists that now."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from uuid import UUID

from psycopg.rows import class_row, scalar_row
from psycopg.types.json import Jsonb

from siftline.fetch.feed.identity import WITHOUT_GUIDS, Edit, Identified, Known, Move
from siftline.fetch.poll.poll_store import NewContent, Stored, chunks
from siftline.kit.db import Connection

# The date is asked for only where it decides: an entry without a link is known by its words and their day. A row that
# moved away still counts at its first address: its content has that one's key.
_LEDGER = """
select entry_key, link, source_entries.content_sha256, exact_sha256, content_id, source_entries.url_key,
  source_entries.first_seen_at, contents.published_at, guid
from source_entries left join contents on source_entries.link is null and contents.id = source_entries.content_id
where source_id = %(source_id)s and (entry_key = any(%(keys)b::text[]) or link = any(%(links)b::text[])
  or source_entries.url_key = any(%(links)b::text[])
  or (link is null and (exact_sha256 = any(%(hashes)b::bytea[])
    or source_entries.content_sha256 = any(%(masked)b::bytea[]))))
"""

# What the feed listed lately (a row is touched once a day), and that has an entry's words, or its title and its time or
# file.
_ALIKE = """
with listed as (select * from source_entries where source_id = %(source_id)s),
lately as (select * from listed where last_seen_at > (select max(last_seen_at) from listed) - interval '2 days')
select entry_key, link, lately.content_sha256, exact_sha256, content_id, lately.url_key, lately.first_seen_at,
  contents.published_at, contents.title, contents.media ->> 'url' as file_url, guid
from lately left join contents on contents.id = content_id
where exact_sha256 = any(%(hashes)b::bytea[]) or (contents.title = any(%(titles)b::text[])
  and (contents.published_at = any(%(dates)b::timestamptz[]) or contents.media ->> 'url' = any(%(files)b::text[])))
"""

_WITHOUT_GUIDS = """
select from source_entries where source_id = %(source_id)s and starts_with(entry_key, %(beginning)s) limit 1
"""

# As the feed has them: what it calls another site's page is not what that calls itself.
_WORDS = """
select entry_key, coalesce(told_title, contents.title), coalesce(told_at, contents.published_at)
from source_entries join contents on contents.id = content_id
where source_id = %(source_id)s and entry_key = any(%(keys)b::text[])
"""

# Who came after the last deletion was never given the entry, and did not delete it. A minute's grace, for whoever came
# in that very moment.
_WANTED = """
select gone.url_key from unnest(%(url_keys)b::text[]) as gone (url_key)
where exists (
  select from subscriptions s where s.source_id = %(source_id)s
    and not exists (select from item_tombstones t where t.url_key = gone.url_key and t.user_id = s.user_id)
    and s.created_at > coalesce(
      (select max(e.gone_at) from source_entries e where e.source_id = s.source_id and e.url_key = gone.url_key),
      (select max(t.deleted_at) from item_tombstones t where t.url_key = gone.url_key), '-infinity')
    - interval '1 minute')
"""

_ADD_ENTRIES = """
insert into source_entries (source_id, entry_key, guid, link, content_sha256, exact_sha256, content_id, url_key,
  told_title, told_at, told)
select %(source_id)s, entry_key, guid, link, content_sha256, exact_sha256, content_id, url_key, told_title, told_at,
  told
from unnest(%(keys)b::text[], %(guids)b::text[], %(links)b::text[], %(hashes)b::bytea[], %(exact)b::bytea[],
            %(content_ids)b::uuid[], %(url_keys)b::text[], %(told_titles)s::text[], %(told_at)b::timestamptz[],
            %(told)b::jsonb[])
  as new (entry_key, guid, link, content_sha256, exact_sha256, content_id, url_key, told_title, told_at, told)
order by entry_key on conflict (source_id, entry_key) do update set content_id = excluded.content_id,
  told_title = excluded.told_title, told_at = excluded.told_at, told = excluded.told
where source_entries.content_id is null
"""

_MOVE_ENTRIES = """
with own as (
  select entry_key from source_entries where source_id = %(source_id)s and entry_key = any(%(old_keys)b::text[])
  order by entry_key for update)
update source_entries set entry_key = moved.new_key, guid = moved.guid, exact_sha256 = moved.exact_sha256,
  link = coalesce(moved.link, source_entries.link), last_seen_at = now()
from own join
  unnest(%(old_keys)b::text[], %(new_keys)b::text[], %(guids)b::text[], %(links)b::text[], %(exact)b::bytea[])
  as moved (old_key, new_key, guid, link, exact_sha256) on moved.old_key = own.entry_key
where source_id = %(source_id)s and source_entries.entry_key = own.entry_key
"""

# Once a day is enough to tell what a feed still lists, and spares a write a row at every poll.
_TOUCH_ENTRIES = """
with own as (
  select entry_key, seen.guid, seen.exact_sha256
  from source_entries join unnest(%(keys)b::text[], %(guids)b::text[], %(exact)b::bytea[])
    as seen (entry_key, guid, exact_sha256) using (entry_key)
  where source_id = %(source_id)s
    and (last_seen_at < now() - interval '1 day' or source_entries.guid is distinct from seen.guid
      or source_entries.exact_sha256 is distinct from seen.exact_sha256)
  order by entry_key for no key update of source_entries)
update source_entries set last_seen_at = now(), guid = own.guid, exact_sha256 = own.exact_sha256
from own where source_id = %(source_id)s and source_entries.entry_key = own.entry_key
"""

_EDIT_ENTRIES = """
with own as (
  select entry_key from source_entries where source_id = %(source_id)s and entry_key = any(%(keys)b::text[])
  order by entry_key for no key update)
update source_entries set content_sha256 = edited.content_sha256, told = edited.told
from own join unnest(%(keys)b::text[], %(hashes)b::bytea[], %(told)b::jsonb[])
  as edited (entry_key, content_sha256, told) using (entry_key)
where source_id = %(source_id)s and source_entries.entry_key = own.entry_key
"""


# Which pages of a feed are asked for again, and under which key it lists them.
_ASKED = """
select content_id, entry_key from page_asks join source_entries using (content_id, source_id)
where source_id = %(source_id)s
"""

# A content before what is noted of its page, as whoever reads it does; one that is being read waits for the next poll.
_UNLIST = """
with held as (
  select id from contents where id = any(%(ids)b::uuid[]) order by id for no key update skip locked),
unlisted as (
  delete from page_asks using held where source_id = %(source_id)s and content_id = held.id
  returning content_id, error_detail)
update contents set updated_at = now(),
  error_detail = unlisted.error_detail || ' Its feed no longer lists it, so it is not asked for again.'
from unlisted where contents.id = unlisted.content_id and status = 'FAILED'
"""


def asked(connection: Connection, source_id: UUID) -> dict[UUID, set[str]]:
    """Return the contents of a feed whose pages are asked for again, and the keys of their entries."""
    found: dict[UUID, set[str]] = {}
    for content_id, key in connection.execute(_ASKED, {"source_id": source_id}):
        found.setdefault(content_id, set()).add(key)
    return found


def unlist(connection: Connection, source_id: UUID, content_ids: Sequence[UUID]) -> None:
    """Ask no more for pages that their feed lists no longer; what was never read says so."""
    if content_ids:
        connection.execute(_UNLIST, {"source_id": source_id, "ids": list(content_ids)})


def ledger(connection: Connection, source_id: UUID, poll: Sequence[Identified]) -> list[Known]:
    """Return the rows of a feed's ledger that share a key, a link or (without links) a text with a poll's entries.

    A link is shared with what has it now and with what had it first.
    """
    values = {
        "source_id": source_id,
        "keys": [identified.key for identified in poll],
        "links": list({identified.link for identified in poll if identified.link}),
        "hashes": list({identified.exact_sha256 for identified in poll if not identified.link}),
        "masked": list({identified.content_sha256 for identified in poll if not identified.link}),
    }
    with connection.cursor(row_factory=class_row(Known)) as cursor:
        return cursor.execute(_LEDGER, values).fetchall()


def distrusts_guids(connection: Connection, source_id: UUID) -> bool:
    """Return whether a feed's guids have turned out to be places before."""
    values = {"source_id": source_id, "beginning": WITHOUT_GUIDS}
    return connection.execute(_WITHOUT_GUIDS, values).fetchone() is not None


def with_words(connection: Connection, source_id: UUID, known: Sequence[Known], keys: Sequence[str]) -> list[Known]:
    """Return rows of a ledger, those of these keys with the titles and dates that they have."""
    found = connection.execute(_WORDS, {"source_id": source_id, "keys": list(keys)})
    words = {key: (title, published_at) for key, title, published_at in found}
    return [
        replace(row, title=words[row.entry_key][0], published_at=words[row.entry_key][1])
        if row.entry_key in words
        else row
        for row in known
    ]


def alike(connection: Connection, source_id: UUID, entries: Sequence[Identified]) -> list[Known]:
    """Return the rows of what a feed listed lately that entries may be under another guid and address."""
    values = {
        "source_id": source_id,
        "hashes": [one.exact_sha256 for one in entries],
        "titles": list({one.entry.title for one in entries if one.entry.title}),
        "dates": list({one.entry.published_at for one in entries if one.entry.published_at}),
        "files": list({file.url for one in entries for file in one.entry.enclosures}),
    }
    with connection.cursor(row_factory=class_row(Known)) as cursor:
        return cursor.execute(_ALIKE, values).fetchall()


def wanted(connection: Connection, source_id: UUID, url_keys: Sequence[str]) -> set[str]:
    """Return which of these keys, whose contents are gone, a subscriber waits for: one who came after the deletion."""
    with connection.cursor(row_factory=scalar_row) as cursor:
        return set(cursor.execute(_WANTED, {"source_id": source_id, "url_keys": list(url_keys)}).fetchall())


def add_entries(connection: Connection, source_id: UUID, entries: Iterable[tuple[NewContent, Stored | None]]) -> None:
    """Write entries and their contents, if they have any, into the feed's ledger; one that had none is given its."""
    for chunk in chunks(entries):
        found = [content.identified for content, _ in chunk]
        values = {
            "source_id": source_id,
            "keys": [identified.key for identified in found],
            "guids": [identified.entry.guid for identified in found],
            "links": [identified.link for identified in found],
            "hashes": [identified.content_sha256 for identified in found],
            "exact": [identified.exact_sha256 for identified in found],
            "content_ids": [row and row.id for _, row in chunk],
            "url_keys": [content.url_key for content, _ in chunk],
            "told_titles": [content.told_title for content, _ in chunk],
            "told_at": [content.told_at for content, _ in chunk],
            "told": [content.told and Jsonb(content.told) for content, _ in chunk],
        }
        connection.execute(_ADD_ENTRIES, values)


def move_entries(connection: Connection, source_id: UUID, moves: Iterable[Move]) -> None:
    """Note new keys and addresses of entries in the ledger."""
    for chunk in chunks(moves):
        values = {
            "source_id": source_id,
            "old_keys": [move.old_key for move in chunk],
            "new_keys": [move.identified.key for move in chunk],
            "guids": [move.identified.entry.guid for move in chunk],
            "links": [move.identified.link for move in chunk],
            "exact": [move.identified.exact_sha256 for move in chunk],
        }
        connection.execute(_MOVE_ENTRIES, values)


def touch_entries(connection: Connection, source_id: UUID, seen: Iterable[Identified]) -> None:
    """Note that the feed still lists these entries, and their words and guids as they are now."""
    for chunk in chunks(seen):
        values = {
            "source_id": source_id,
            "keys": [identified.key for identified in chunk],
            "guids": [identified.entry.guid for identified in chunk],
            "exact": [identified.exact_sha256 for identified in chunk],
        }
        connection.execute(_TOUCH_ENTRIES, values)


def edit_entries(
    connection: Connection, source_id: UUID, edits: Iterable[tuple[Edit, Mapping[str, str] | None]]
) -> None:
    """Note what edited entries say now, with what each tells of another site's page (``told_row``)."""
    for chunk in chunks(edits):
        values = {
            "source_id": source_id,
            "keys": [edit.identified.key for edit, _ in chunk],
            "hashes": [edit.identified.content_sha256 for edit, _ in chunk],
            "told": [told and Jsonb(told) for _, told in chunk],
        }
        connection.execute(_EDIT_ENTRIES, values)
