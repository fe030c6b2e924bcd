"""Ingest's SQL: contents by their key, what a reading found, and saved items."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

import psycopg
from psycopg.rows import class_row
from psycopg.types.json import Jsonb

from siftline.jobs.states import ordered
from siftline.kit.db import ConflictError, Connection
from siftline.kit.ids import new_id

OWN_TAGS_MAX = 50
"""Of one item; as many as the API takes at once."""


@dataclass(frozen=True, slots=True)
class StoredContent:
    """A content as its ingest job finds it."""

    id: UUID
    url: str
    url_key: str
    typed_origin: str | None
    """The origin of this machine that is open to the job at hand (``siftline.net.urls``)."""
    kind: str
    """``note``: an entry without a page of its own; its address is its feed's, or that of a page that others share."""
    entry_html: str | None
    """What a feed brought of it."""
    content_sha256: bytes | None
    """Of the text stored so far."""
    analysed: bool
    title: str | None
    lang: str | None
    media: Mapping[str, Any] | None
    """What a feed, or a reading before, found of a video or audio (``siftline.ingest.media.media``)."""
    description: str | None = None
    titled_by_feed: bool = False
    """Whether its title is what a feed calls it, which may say so."""
    asks: int = 0
    """How often its page was asked for in vain."""


@dataclass(frozen=True, slots=True)
class AnalysedText:
    """The text that a content's derived values were made from: its signature's hashes and its length."""

    hashes: Sequence[int]
    word_count: int


@dataclass(frozen=True, slots=True)
class StoredReading:
    """What a reading found, as it is stored. ``url_keys`` are the other names that the page gives itself."""

    text: str
    content_sha256: bytes
    word_count: int
    kind: str
    title: str | None
    author: str | None
    site_name: str | None
    image_url: str | None
    description: str | None
    lang: str | None
    published_at: datetime | None
    undated_code: str | None
    undated_claim: str | None
    http_status: int | None
    notice_code: str | None
    url_keys: Sequence[str]


@dataclass(frozen=True, slots=True)
class HeldContent:
    """A content under a key, made now or known before. ``unread``: its text was never taken, and nobody is at it."""

    url_key: str
    id: UUID
    status: str
    unread: bool


@dataclass(frozen=True, slots=True)
class PageAddress:
    """A page's address as somebody gave it, in all forms that saving it takes."""

    own: str
    """As they spell it, in the form in which it can be fetched."""
    key: str
    """Under which the page is known."""
    shared: str
    """As all may see it."""
    typed_origin: str | None
    """Of this machine, if it is one that they typed."""


@dataclass(frozen=True, slots=True)
class Mark:
    """What a user makes of a page that they save: their own spelling of its address, their tags, their note."""

    url: str
    tags: Sequence[str] = ()
    note: str | None = None


@dataclass(frozen=True, slots=True)
class HeldItem:
    """A user's item on a content."""

    content_id: UUID
    id: UUID
    created: bool


# What a feed asks for reaches no more than its own followers typed, whoever else typed the page.
TYPED_ORIGIN = """
case when %(source_id)s::uuid is null then typed_origin
  else (select sources.typed_origin from sources where sources.id = %(source_id)s::uuid) end as typed_origin
"""
_LOAD = f"""
select id, url, url_key, {TYPED_ORIGIN}, kind, entry_html, content_sha256, topics is not null as analysed, title, lang,
  media, description, title is not null and (url_key like 'entry:%%' or exists (
    select from source_entries where content_id = contents.id and told_title is null)) as titled_by_feed,
  coalesce((select asks from page_asks where content_id = contents.id), 0) as asks
from contents where id = %(id)s
"""  # noqa: S608  -- constants of ours

_KEEP = """
update contents set status = %(status)s, error_code = null, error_detail = null, updated_at = now() where id = %(id)s
"""

# Only where the analysis that it was sent to has been: it may have failed.
_ANALYSED_TEXT = """
select analysed as hashes, analysed_words as word_count from content_signatures
where content_id = %(id)s and version = %(version)s and analysed is not null
  and exists (select from derivations where content_id = %(id)s and made_at >= analysed_at)
"""

# A text that is not analysed anew keeps what its analysis said of it, where there is nothing to say of its page.
# The word of a feed of the page's own site goes before the page's; without one the page's newest word counts.
_WRITE = """
with old as (
  select id, version, title, text, content_sha256,
    text is not null and content_sha256 is distinct from %(content_sha256)b as changed,
    entry_html is not null as from_feed
  from contents where id = %(id)s),
revision as (
  insert into content_revisions (content_id, version, title, text, content_sha256)
  select id, version, title, text, content_sha256 from old where changed
  on conflict (content_id, version) do nothing)
update contents set
  status = %(status)s, error_code = null, error_detail = null,
  notice_code = coalesce(%(notice_code)s,
    case when %(status)s = 'READY' and contents.notice_code in ('insufficient_content', 'without_vector')
      then contents.notice_code end),
  reading_notice_code = null,
  version = contents.version + old.changed::int,
  text = %(text)s, content_sha256 = %(content_sha256)b, word_count = %(word_count)s,
  kind = case when contents.kind = 'note' then contents.kind
    when old.from_feed and contents.kind not in ('article', 'unsupported') then contents.kind
    else %(kind)s end,
  title = case when old.from_feed then coalesce(contents.title, %(title)s) else coalesce(%(title)s, contents.title) end,
  author = case when old.from_feed then coalesce(contents.author, %(author)s)
    else coalesce(%(author)s, contents.author) end,
  site_name = coalesce(%(site_name)s, contents.site_name),
  image_url = coalesce(%(image_url)s, contents.image_url),
  description = case when old.from_feed then coalesce(contents.description, %(description)s)
    else coalesce(%(description)s, contents.description) end,
  lang = coalesce(contents.lang, %(lang)s),
  published_at = case when old.from_feed then coalesce(contents.published_at, %(published_at)s)
    else coalesce(%(published_at)s, contents.published_at) end,
  undated_code = case when coalesce(%(published_at)s, contents.published_at) is null
    then coalesce(%(undated_code)s, contents.undated_code) end,
  undated_claim = case when coalesce(%(published_at)s, contents.published_at) is null
    then case when %(undated_code)s::text is null then contents.undated_claim else %(undated_claim)s end end,
  sort_at = least(contents.first_seen_at, case when old.from_feed then coalesce(contents.published_at, %(published_at)s)
    else coalesce(%(published_at)s, contents.published_at) end, case when
      coalesce(contents.published_at, %(published_at)s) is null then contents.sort_at end),
  http_status = %(http_status)s, updated_at = now()
from old where contents.id = old.id
"""

_HELD = """
url_key, id, status,
status in ('NEW', 'FAILED') or (status in ('READY', 'PENDING') and text is null and topics is null) as unread
"""
# Ordered by key, as everybody who makes several contents at once does: they wait for each other and do not deadlock.
_MAKE_CONTENTS = f"""
insert into contents (id, url_key, url, typed_origin)
select id, url_key, url, typed_origin
from unnest(%(ids)b::uuid[], %(url_keys)b::text[], %(urls)b::text[], %(typed)s::text[])
  as new (id, url_key, url, typed_origin)
order by url_key
on conflict (url_key) do nothing returning {_HELD}
"""  # noqa: S608 - made of constants only
_HOLD_CONTENTS = f"""
select {_HELD} from contents where url_key = any(%(url_keys)b::text[]) order by url_key for no key update
"""  # noqa: S608 - made of constants only
# What who saves a page adds to it: that it can be asked with https, and what they typed of this machine. A page that
# nobody read yet is asked for as they spell it: a feed may have moved it meanwhile. When a feed of another site says
# that it was published counts no more, now that somebody holds it who may not follow that feed.
_LEARN = """
with held as (select id from contents where url_key = any(%(url_keys)b::text[]) order by url_key for no key update)
update contents set typed_origin = coalesce(contents.typed_origin, new.typed_origin),
  url = case
    when contents.text is null and split_part(contents.url, '://', 2) <> split_part(new.url, '://', 2) then new.url
    when contents.url like 'http://%%' and new.url like 'https://%%' and contents.typed_origin is null then new.url
    else contents.url end,
  sort_at = case when published_at is null then first_seen_at else sort_at end
from held, unnest(%(url_keys)b::text[], %(urls)b::text[], %(typed)s::text[]) as new (url_key, url, typed_origin)
where contents.id = held.id and contents.url_key = new.url_key and (
  (contents.typed_origin is null
    and (new.typed_origin is not null or (contents.url like 'http://%%' and new.url like 'https://%%')))
  or (contents.text is null and split_part(contents.url, '://', 2) <> split_part(new.url, '://', 2))
  or (published_at is null and sort_at < first_seen_at))
"""
_READINGS = f"""
select jobs.id from jobs join contents on contents.id = jobs.subject_id
where contents.url_key = any(%(url_keys)b::text[])
  and jobs.job_type in ('analyze_content', 'ingest_content', 'transcribe_content')
  and jobs.state in ('pending', 'processing')
order by {ordered()}
"""  # noqa: S608 - made of constants only
_HOLD_READINGS = f"{_READINGS} for no key update of jobs"
_HOLD_TRIES = 10

_HOLD_ITEMS = """
insert into items (id, user_id, content_id, url, saved, tags, note)
select id, %(user_id)s, content_id, url, true, array(select jsonb_array_elements_text(new.tags)), note
from unnest(%(ids)b::uuid[], %(content_ids)b::uuid[], %(urls)b::text[], %(tags)b::jsonb[], %(notes)b::text[])
  as new (id, content_id, url, tags, note)
order by content_id
on conflict (user_id, content_id) do update set
  saved = true, url = coalesce(items.url, excluded.url), note = coalesce(excluded.note, items.note), updated_at = now(),
  tags = array(select tag from (
      select tag, place
      from unnest(items.tags || array(select tag from unnest(excluded.tags) as tag where tag <> all(items.tags)))
        with ordinality as own (tag, place)
      order by tag = any(excluded.tags) desc, place desc limit %(tags_max)s) as kept
    order by place)
returning content_id, id, xmax = 0 as created
"""


def load(connection: Connection, content_id: UUID, *, source_id: str | None = None) -> StoredContent | None:
    """Return a content, or ``None`` when it was deleted; with the source whose job asks for it, if one's does."""
    with connection.cursor(row_factory=class_row(StoredContent)) as cursor:
        return cursor.execute(_LOAD, {"id": content_id, "source_id": source_id}).fetchone()


def analysed_text(connection: Connection, content_id: UUID, *, version: int) -> AnalysedText | None:
    """Return the text that was analysed last; ``None`` where none was, or its signature is of another version."""
    with connection.cursor(row_factory=class_row(AnalysedText)) as cursor:
        return cursor.execute(_ANALYSED_TEXT, {"id": content_id, "version": version}).fetchone()


def write(connection: Connection, content_id: UUID, found: StoredReading, *, status: str) -> None:
    """Store what a reading found; the text it replaces becomes a revision."""
    connection.execute(_WRITE, {**asdict(found), "id": content_id, "status": status})


def keep(connection: Connection, content_id: UUID, *, status: str) -> None:
    """Let the text stand that was stored before."""
    connection.execute(_KEEP, {"id": content_id, "status": status})


def write_http_status(connection: Connection, content_id: UUID, http_status: int) -> None:
    """Keep what the page's server answered last."""
    connection.execute(
        "update contents set http_status = %(http_status)s where id = %(id)s",
        {"id": content_id, "http_status": http_status},
    )


def write_unsupported(connection: Connection, content_id: UUID) -> None:
    """Keep that the address holds nothing that is read, unless it held something before."""
    connection.execute(
        "update contents set kind = 'unsupported' where id = %(id)s and kind = 'article' and text is null",
        {"id": content_id},
    )


def exists(connection: Connection, content_id: UUID) -> bool:
    """Return whether there is such a content."""
    return connection.execute("select from contents where id = %(id)s", {"id": content_id}).fetchone() is not None


def hold_contents(
    connection: Connection, ids: Sequence[UUID], addresses: Mapping[str, PageAddress]
) -> dict[str, HeldContent]:
    """Return the content under each key of ``addresses``, made with an id of ``ids`` when there is none.

    Its row is held until the transaction ends, and before it the jobs that read it (``siftline.jobs.jobs_store.hold``).
    What changes in between, as a job that comes into being or a content that goes, is seen before the contents are
    kept: then they are let go of, to begin anew. Raises ``ConflictError`` where that does not end.
    """
    values = {
        "ids": list(ids),
        "url_keys": list(addresses),
        "urls": [address.shared for address in addresses.values()],
        "typed": [address.typed_origin for address in addresses.values()],
    }
    for _ in range(_HOLD_TRIES):
        with connection.transaction() as savepoint:
            contents = _held(connection, _MAKE_CONTENTS, values)
            if len(contents) == len(addresses):
                return contents
            there = {"url_keys": [key for key in addresses if key not in contents]}
            readings = set(connection.execute(_HOLD_READINGS, there).fetchall())
            contents |= _held(connection, _HOLD_CONTENTS, there)
            as_before = readings.issuperset(connection.execute(_READINGS, there).fetchall())
            if as_before and len(contents) == len(addresses):
                connection.execute(_LEARN, values)
                return contents
            raise psycopg.Rollback(savepoint)
    raise ConflictError("Other jobs kept changing the same pages.")


def _held(connection: Connection, statement: str, values: Mapping[str, Any]) -> dict[str, HeldContent]:
    with connection.cursor(row_factory=class_row(HeldContent)) as cursor:
        return {row.url_key: row for row in cursor.execute(statement, values)}


def hold_items(connection: Connection, user_id: UUID, marks: Mapping[UUID, Mark]) -> dict[UUID, HeldItem]:
    """Return the user's item on each content of ``marks``, made when there is none.

    The tags that are given for it are added, a note replaces the old one; the first spelling of the address stays. Of
    more than ``OWN_TAGS_MAX`` tags the ones that were given first go.
    """
    values = {
        "user_id": user_id,
        "ids": [new_id() for _ in marks],
        "content_ids": list(marks),
        "urls": [mark.url for mark in marks.values()],
        "tags": [Jsonb(list(dict.fromkeys(mark.tags))[-OWN_TAGS_MAX:]) for mark in marks.values()],
        "tags_max": OWN_TAGS_MAX,
        "notes": [mark.note for mark in marks.values()],
    }
    with connection.cursor(row_factory=class_row(HeldItem)) as cursor:
        return {row.content_id: row for row in cursor.execute(_HOLD_ITEMS, values)}
