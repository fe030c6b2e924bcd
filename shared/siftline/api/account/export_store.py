"""All that is a user's in PostgreSQL, section by section: what they made, keep and were told, without any secret."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from psycopg.rows import class_row

from siftline.kit.db import Connection


@dataclass(frozen=True, slots=True)
class Record:
    """One thing of a user's."""

    kind: str
    key: str
    """Its place in its section."""
    data: dict[str, Any]
    chars: int
    """How long it is as JSON."""


# Of each section the rows as they are, so that a column of tomorrow is in it; what opens something is left out.
_OWN = """
select {key}::text as key, to_jsonb(own) - array['user_id'{without}] as data from {table} own
where user_id = %(user_id)s
"""
_PROFILE = """
select id::text as key, to_jsonb(own) as data from users own where id = %(user_id)s
"""
_SOURCES = """
select b.id::text as key, to_jsonb(b) - array['user_id'] || jsonb_build_object('kind', s.kind,
  'url', coalesce(b.url, s.url), 'selector', s.options ->> 'selector', 'feed_url', s.feed_url, 'site_url', s.site_url,
  'title', coalesce(b.title, s.title), 'own_title', b.title,
  'folders', coalesce((select jsonb_agg(f.name order by lower(f.name)) from folder_sources placed
    join folders f on f.id = placed.folder_id
    where placed.user_id = b.user_id and placed.source_id = b.source_id), '[]')) as data
from subscriptions b join sources s on s.id = b.source_id where b.user_id = %(user_id)s
"""
_ITEMS = """
select i.id::text as key, to_jsonb(i) - array['user_id', 'scored_with', 'score_wanted', 'score_made']
  || jsonb_build_object('url', coalesce(i.url, c.url), 'status', c.status,
    'title', coalesce(nullif(c.title, ''), i.told_title), 'author', c.author, 'site_name', c.site_name, 'lang', c.lang,
    'published_at', coalesce(c.published_at, i.told_at), 'description', c.description, 'text', c.text,
    'summary', c.summary, 'topics', c.topics, 'content_tags', c.tags, 'own_topics', r.topics) as data
from items i join contents c on c.id = i.content_id
left join readings r on r.user_id = i.user_id and r.content_id = i.content_id and r.made_at is not null
where i.user_id = %(user_id)s
"""
_EDITIONS = """
select id::text as key, to_jsonb(own) - array['user_id', 'html', 'plain', 'read_token', 'looked_at']
  || jsonb_build_object('document', document - 'links') as data
from editions own where user_id = %(user_id)s
"""
SECTIONS = {
    "profile": _PROFILE,
    "folder": _OWN.format(table="folders", key="id", without=""),
    "source": _SOURCES,
    "topic_set": _OWN.format(table="topic_sets", key="id", without=""),
    "item": _ITEMS,
    "deleted_item": _OWN.format(table="item_tombstones", key="md5(url_key)", without=""),
    "briefing": _OWN.format(table="briefings", key="id", without=", 'signing_key', 'unsubscribe_token'"),
    "edition": _EDITIONS,
    "delivery": _OWN.format(table="deliveries", key="id", without=""),
    "mail_address": _OWN.format(table="mail_addresses", key="id", without=", 'token'"),
    "token": _OWN.format(table="access_tokens", key="id", without=", 'token_sha256'"),
    "feed_token": _OWN.format(table="feed_tokens", key="id", without=", 'token_sha256'"),
    "credit_entry": _OWN.format(table="credit_entries", key="id", without=""),
    "spending": _OWN.format(table="spendings", key="id", without=""),
}
"""The kinds of records in their order, each with its query."""
# As much as is asked for, but no further than the row with which it is as long as it may be; times as the API gives
# them, whose columns are known by their type.
_PAGE = """
with times as materialized (
  select distinct a.attname::text as name from pg_attribute a join pg_class c on c.oid = a.attrelid
  where a.atttypid = 'timestamptz'::regtype and c.relnamespace = 'public'::regnamespace and c.relkind = 'r')
select kind, key, data || coalesce((
  select jsonb_object_agg(name, replace(
    to_char((data ->> name)::timestamptz at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'), '.000000', ''))
  from times where case when data ->> name like '%%+00:00' then isfinite((data ->> name)::timestamptz) end
  ), '{{}}') as data, chars::int
from (
  select %(kind)s as kind, key, data, length(data::text) as chars,
    sum(length(data::text)) over (order by key collate "C") - length(data::text) as before
  from (select key, data from ({section}) as own
    where %(after)s::text is null or key collate "C" > %(after)s order by key collate "C" limit %(limit)s) as some_rows
  ) as measured
where before < %(chars)s order by key collate "C"
"""
_ONE_STATE = "set transaction isolation level repeatable read, read only"


def page(
    connection: Connection, user_id: UUID, kind: str, after: str | None, *, limit: int, chars: int
) -> list[Record]:
    """Return the next records of a kind, at most ``limit``: none begins beyond ``chars``, and one is there always."""
    values = {"user_id": user_id, "kind": kind, "after": after, "limit": limit, "chars": chars}
    with connection.cursor(row_factory=class_row(Record)) as cursor:
        return cursor.execute(_PAGE.format(section=SECTIONS[kind]), values).fetchall()


def everything(connection: Connection, user_id: UUID, *, limit: int, chars: int) -> Iterator[Record]:
    """Yield all records of a user as they are at one moment; the transaction must not have begun yet."""
    connection.execute(_ONE_STATE)
    for kind in SECTIONS:
        after: str | None = None
        while rows := page(connection, user_id, kind, after, limit=limit, chars=chars):
            yield from rows
            after = rows[-1].key
