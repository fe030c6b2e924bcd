"""Which contents are one text or one page, in PostgreSQL: found by address, by hash, by MinHash bands.

What belongs together is a group: the oldest is its original, every other row points to that one (``duplicate_of``),
never to a row that points on. A group is everything that is linked by what it has in common, so its original does not
depend on the order in which the texts came. Who leaves a group by deletion or failure is followed by the next oldest (a
trigger, ``infra/migrations/0001_schema.sql``); a text that changed leaves first and is looked up anew.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from psycopg.rows import class_row

from siftline.ingest.duplicates import SIGNATURE_VERSION, Traits
from siftline.kit.db import Connection

CANDIDATES_MAX = 500
"""So many texts of like signature are compared with one at most; who has more is boilerplate through and through."""
_URL_LIKENESS_MIN = 0.5
"""What calls itself another page has this much of that page's text: on some sites every article calls itself one."""
_ROUNDS_MAX = 5


@dataclass(frozen=True, slots=True)
class _Match:
    id: UUID
    root: UUID
    kind: str


@dataclass(frozen=True, slots=True)
class _Standing:
    duplicate_of: UUID | None
    content_sha256: bytes | None
    in_place: bool


# Whoever stores something alike waits here, so that the second of two sees the first. In one order: no deadlock.
_HOLD = """
select pg_advisory_xact_lock(key) from (
  select distinct key from (
    select unnest(%(locks)b::int8[]) as key
    union all select hashtextextended(name, 14) from unnest(%(url_keys)b::text[]) as name
    union all select hashtextextended(url_key, 14) from contents where id = %(id)s) as keys
  order by key) as ordered
"""
# Groups are joined by one at a time: what was found to be an original then is one until the commit.
_HOLD_GROUPS = "select pg_advisory_xact_lock(hashtextextended('content_duplicates', 14))"

# Of the same text the oldest is enough: all of them are in one group. A text as short as a notice ("Subscribe to read
# on") is the same only under the same title.
_LIKENESS = "(select avg((theirs = ours)::int) from unnest(alike.hashes, %(hashes)b::int2[]) as pair (theirs, ours))"
_MATCHES = f"""
with mine as (
  select id, url_key, case when entry_html is not null then coalesce(title, %(title)s)
    else coalesce(%(title)s, title) end as title
  from contents where id = %(id)s),
alike as (
  select content_id, hashes from contents_alike(%(bands)b::int4[], %(version)s::int2, %(limit)s::int4)
  where content_id <> %(id)s),
found as (
  (select other.id, 'exact' as kind, 1 as place from contents as other cross join mine
  where other.content_sha256 = %(content_sha256)b and other.id <> mine.id and other.status <> 'FAILED'
    and (%(word_count)s >= 100 or other.title is not distinct from mine.title)
  order by other.first_seen_at, other.id limit 1)
  union all
  select content_id, 'near', 2 from alike where {_LIKENESS} >= %(likeness_min)s
  union all
  select other.id, 'url', 3 from contents as other left join content_signatures as alike on alike.content_id = other.id
    and alike.version = %(version)s and cardinality(%(hashes)b::int2[]) > 0
  where other.url_key = any(%(url_keys)b::text[]) and other.id <> %(id)s
    and (alike.content_id is null or {_LIKENESS} >= %(url_likeness_min)s))
select contents.id, coalesce(contents.duplicate_of, contents.id) as root, found.kind
from found join contents on contents.id = found.id and contents.status <> 'FAILED'
order by found.place, contents.first_seen_at, contents.id
"""  # noqa: S608  -- a constant of ours

_LEAVE = """
with heir as (
  select id from contents where duplicate_of = %(id)s order by status = 'FAILED', first_seen_at, id limit 1),
twins as (
  select id from contents where duplicate_of = %(id)s or (id = %(id)s and duplicate_of is not null)
  order by url_key for no key update)
update contents set
  duplicate_of = case when contents.duplicate_of = %(id)s then nullif(heir.id, contents.id) end,
  duplicate_kind = case when contents.duplicate_of = %(id)s and contents.id <> heir.id then contents.duplicate_kind end
from twins left join heir on true
where contents.id = twins.id
"""

# In the order in which everybody holds several contents.
_HOLD_ROWS = """
select id, coalesce(duplicate_of, id) as root, '' as kind from contents where id = any(%(ids)b::uuid[])
order by url_key for no key update
"""

_JOIN = """
with original as (
  select id from contents where id = any(%(ids)b::uuid[]) order by first_seen_at, id limit 1),
twins as (
  select id from contents where id = any(%(ids)b::uuid[]) or duplicate_of = any(%(ids)b::uuid[])
  order by url_key for no key update)
update contents set duplicate_of = nullif(original.id, contents.id),
  duplicate_kind = case when contents.id <> original.id then
    case when contents.id = %(id)s then %(kind)s else coalesce(contents.duplicate_kind, %(kind)s) end end
from original, twins
where contents.id = twins.id
  and (contents.duplicate_of is distinct from nullif(original.id, contents.id)
    or (contents.id = %(id)s and contents.id <> original.id and contents.duplicate_kind is distinct from %(kind)s))
"""

# One that failed and is read again may be older than who took its place.
_STANDS = """
select mine.duplicate_of, mine.content_sha256,
  coalesce((original.first_seen_at, original.id) < (mine.first_seen_at, mine.id), true) as in_place
from contents as mine left join contents as original on original.id = mine.duplicate_of where mine.id = %(id)s
"""

_SIGN = """
insert into content_signatures as kept (content_id, version, hashes, bands, analysed, analysed_words, analysed_at)
select id, %(version)s, %(hashes)b::int2[], %(bands)b::int4[], case when %(analyse)s then %(hashes)b::int2[] end,
  case when %(analyse)s then %(word_count)s::int4 end, case when %(analyse)s then now() end
from contents where id = %(id)s
on conflict (content_id) do update set version = excluded.version, hashes = excluded.hashes, bands = excluded.bands,
  analysed = case when %(analyse)s then excluded.hashes when kept.version = excluded.version then kept.analysed end,
  analysed_words = coalesce(excluded.analysed_words, kept.analysed_words),
  analysed_at = coalesce(excluded.analysed_at, kept.analysed_at)
"""
_UNSIGN = "delete from content_signatures where content_id = %(id)s"


def link(connection: Connection, content_id: UUID, traits: Traits) -> UUID | None:
    """Link a content with what it has in common with others, in the transaction that then stores its text.

    Returns the original of its group, ``None`` where that is itself or where there is no group.
    """
    signature = traits.signature
    values = {
        "id": content_id,
        "locks": [int.from_bytes(traits.content_sha256[:8], signed=True), *(signature.bands if signature else ())],
        "url_keys": list(traits.url_keys),
        "content_sha256": traits.content_sha256,
        "word_count": traits.word_count,
        "title": traits.title,
        "bands": list(signature.bands if signature else ()),
        "hashes": list(signature.hashes if signature else ()),
        "version": SIGNATURE_VERSION,
        "likeness_min": traits.likeness_min,
        "url_likeness_min": _URL_LIKENESS_MIN,
        "limit": CANDIDATES_MAX,
    }
    connection.execute(_HOLD, values)
    standing = _standing(connection, values)
    changed = standing.content_sha256 not in (None, traits.content_sha256)
    own = standing.duplicate_of or content_id
    if not changed and standing.in_place and all(match.root == own for match in _matches(connection, values)):
        return standing.duplicate_of
    connection.execute(_HOLD_GROUPS)
    if changed:
        connection.execute(_LEAVE, values)
    for _ in range(_ROUNDS_MAX):
        if _joined(connection, values):
            break
    return _standing(connection, values).duplicate_of


def _joined(connection: Connection, values: Mapping[str, Any]) -> bool:
    """Join the groups of all that matches; false where one of their originals went meanwhile."""
    found = _matches(connection, values)
    if not found:
        return True
    own = _standing(connection, values).duplicate_of or values["id"]
    ids = list({values["id"], own, *(match.root for match in found)})
    with connection.cursor(row_factory=class_row(_Match)) as cursor:
        held = cursor.execute(_HOLD_ROWS, {"ids": ids}).fetchall()
    if len(held) < len(ids) or any(row.root != row.id for row in held if row.id != values["id"]):
        return False
    connection.execute(_JOIN, {"id": values["id"], "ids": ids, "kind": found[0].kind})
    return True


def _standing(connection: Connection, values: Mapping[str, Any]) -> _Standing:
    with connection.cursor(row_factory=class_row(_Standing)) as cursor:
        return cursor.execute(_STANDS, values).fetchone() or _Standing(None, None, in_place=True)


def sign(connection: Connection, content_id: UUID, traits: Traits, *, analyse: bool) -> None:
    """Keep a content's signature; with ``analyse``, as that of the text that goes to its analysis too."""
    values = {"id": content_id, "version": SIGNATURE_VERSION, "analyse": analyse, "word_count": traits.word_count}
    if traits.signature is None:
        connection.execute(_UNSIGN, values)
        return
    kept = {"hashes": list(traits.signature.hashes), "bands": list(traits.signature.bands)}
    connection.execute(_SIGN, {**values, **kept})


def _matches(connection: Connection, values: Mapping[str, Any]) -> list[_Match]:
    with connection.cursor(row_factory=class_row(_Match)) as cursor:
        return cursor.execute(_MATCHES, values).fetchall()
