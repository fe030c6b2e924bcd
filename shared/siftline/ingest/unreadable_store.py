"""Pages that could not be read though feeds list them, in PostgreSQL: asked for again, ever more rarely, for days.

An article is announced before its server has it, a site refuses for an hour: neither says that the page is none. Who
lists a page is in the feed's ledger; what nobody lists is nobody's to ask for again.

Feeds of other sites tell of such pages too, each for its followers. A page is shared by all who hold it, so no other
site may say what stands there. Where nothing else is known of it, what a feed told becomes a content of that feed's
own, as what it says of a file elsewhere is.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from psycopg.rows import class_row

from siftline.kit.db import Connection
from siftline.kit.errors import SiftlineError
from siftline.net.urls import own_url

AGAIN_S = (60, 300, 1_800, 7_200, 21_600, 86_400, 86_400)
"""Waits before the second ask, the third and so on: four days in all."""

# Of several feeds the one that listed it last.
_MISSED = """
insert into page_asks (content_id, source_id, asks, error_code, error_detail, again_at)
select %(content_id)s, source_id, 1, %(code)s, %(detail)s, now() + (%(waits)s::int[])[1] * interval '1 second'
from source_entries where content_id = %(content_id)s
  and (%(job_id)s::uuid is null or exists (select from jobs where id = %(job_id)s and state = 'failed'))
order by last_seen_at desc limit 1
on conflict (content_id) do update set asks = page_asks.asks + 1, source_id = excluded.source_id,
  error_code = excluded.error_code, error_detail = excluded.error_detail,
  again_at = now() + (%(waits)s::int[])[page_asks.asks + 1] * interval '1 second'
returning again_at is not null
"""
_SAY_SO = """
update contents set error_detail = error_detail || ' It is asked for again, as long as its feed lists it.'
where id = %(content_id)s and status = 'FAILED'
"""
_UNREAD = "select url, url_key from contents where id = %(id)s and status = 'FAILED' and text is null"

# Each is read in the turn of one of its followers, and all of them as evenly as the ids fall.
_MAKE = """
with own as (
  insert into contents (id, url_key, url, kind, status, title, author, description, image_url, entry_html,
    published_at, first_seen_at, sort_at)
  select gen_random_uuid(), 'entry:' || source_id || ':' || entry_key as own_key, %(url)s, 'article', 'PENDING',
    told_title, told ->> 'author', told ->> 'description', told ->> 'image_url', told ->> 'html', told_at,
    page.first_seen_at, least(told_at, page.first_seen_at)
  from source_entries join contents as page on page.id = content_id
  where content_id = %(id)s and (told is not null or told_title is not null)
  order by own_key on conflict (url_key) do nothing
  returning id, url_key),
telling as (
  select source_id, entry_key, own.id, own.url_key
  from source_entries join own on own.url_key = 'entry:' || source_id || ':' || entry_key
  where content_id = %(id)s order by source_id, entry_key for no key update of source_entries)
update source_entries set content_id = telling.id, url_key = telling.url_key, told = null
from telling
where source_entries.source_id = telling.source_id and source_entries.entry_key = telling.entry_key
returning telling.id, telling.url_key, telling.source_id, (
  select user_id from subscriptions where subscriptions.source_id = telling.source_id
  order by md5(user_id::text || telling.id) limit 1) as user_id
"""

# Whoever saved the page and follows a feed that tells of it sees that too; their own feed's word goes before others'.
_GIVE = """
with held as (
  select id, source_id, user_id from items where content_id = %(id)s order by user_id, content_id for update),
given as (
  select held.id, (
    select own.id from unnest(%(ids)b::uuid[], %(source_ids)b::uuid[]) as own (id, source_id)
    where own.source_id = held.source_id or exists (
      select from subscriptions where subscriptions.source_id = own.source_id and subscriptions.user_id = held.user_id)
    order by own.source_id is distinct from held.source_id, own.source_id limit 1) as own_id
  from held)
update items set content_id = given.own_id, updated_at = now()
from given where items.id = given.id and given.own_id is not null
"""

# Who deleted the page is not given it again.
_BURY = """
insert into item_tombstones (url_key, user_id, deleted_at)
select own.url_key, user_id, deleted_at
from item_tombstones as buried cross join unnest(%(url_keys)b::text[]) as own (url_key)
where buried.url_key = %(url_key)s
order by own.url_key, user_id on conflict (url_key, user_id) do nothing
"""

# Whoever gains an item of it at this moment holds its row; then it stays, so look only once the row is ours.
_HOLD_PAGE = "select id from contents where id = %(id)s for update skip locked"
_DROP_UNHELD = """
delete from contents where id = %(id)s and not exists (select from items where items.content_id = contents.id)
"""


def missed(connection: Connection, content_id: UUID, error: SiftlineError, *, failed_job: UUID | None = None) -> None:
    """Note that a page could not be read, and when it is asked for again; of a page that no feed lists nothing.

    ``failed_job`` is the job whose failure this is, where it failed for good: its content says then what comes next.
    """
    values = {
        "content_id": content_id,
        "code": error.error_code,
        "detail": error.detail,
        "waits": list(AGAIN_S),
        "job_id": failed_job,
    }
    row = connection.execute(_MISSED, values).fetchone()
    if failed_job is not None and row is not None and row[0]:
        connection.execute(_SAY_SO, values)


def was_read(connection: Connection, content_id: UUID) -> None:
    """Note that a page was read."""
    connection.execute("delete from page_asks where content_id = %(id)s", {"id": content_id})


@dataclass(frozen=True, slots=True)
class Own:
    """A feed's own content, made of what it told of a page."""

    id: UUID
    url_key: str
    source_id: UUID
    user_id: UUID | None
    """One of those who follow the feed."""


def take_for_their_own(connection: Connection, content_id: UUID) -> Sequence[Own]:
    """Give the followers of each feed that told of a page which failed unread a content of what it told.

    The contents wait to be read: at the page's address, as it may be there by then. A page that nobody holds any more
    goes.
    """
    values = {"id": content_id}
    page = connection.execute(_UNREAD, values).fetchone()
    if page is None:
        return []
    url, url_key = page
    with connection.cursor(row_factory=class_row(Own)) as cursor:
        owns = cursor.execute(_MAKE, {**values, "url": own_url(url, url_key)}).fetchall()
    if not owns:
        return []
    of_feeds = {"ids": [own.id for own in owns], "source_ids": [own.source_id for own in owns]}
    connection.execute(_GIVE, {**values, **of_feeds})
    connection.execute(_BURY, {"url_key": url_key, "url_keys": [own.url_key for own in owns]})
    if connection.execute(_HOLD_PAGE, values).fetchone() is not None:
        connection.execute(_DROP_UNHELD, values)
    return owns
