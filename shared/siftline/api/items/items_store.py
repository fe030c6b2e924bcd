"""The caller's items in PostgreSQL, one or a list. Every statement that takes an item's id also takes its holder's."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any, Self
from uuid import UUID

from psycopg.rows import class_row, scalar_row
from psycopg.types.json import Jsonb
from pydantic import Field, model_validator

from siftline.api.http.paging import Cursor, RankCursor, behind
from siftline.api.http.shapes import Cause, Filters
from siftline.api.items.item_messages import error_of, notice_of, reading_minutes, undated_of
from siftline.api.items.item_models import Item
from siftline.catalog.replaced_topics_store import ASKED_FOR, left_of
from siftline.catalog.usable_rows import usable
from siftline.kit.db import Connection
from siftline.kit.ids import new_id

UNRANKED = -1.0
"""Where what has no score yet stands: behind everything else."""
STAR_EVIDENCE, READING_EVIDENCE = 1.0, 0.2
"""What a star, given or taken back, and a reading count as evidence of what a user cares for."""
# Their profile counts it until it is made anew.
_ADD_EVIDENCE = """
update score_profiles set evidence = evidence + %(evidence)s where user_id = %(user_id)s returning evidence
"""


class ItemRow(Item):
    """One item with its content. Lists leave ``description``, ``text``, ``relevance`` and ``score_reasons`` empty."""

    place_at: datetime
    """Where it stands in lists: by when anybody first held its page, if that does not say when it was published."""
    exact_score: float | None
    """By which lists are sorted: with freshness, in [0, 1]; ``None`` where it is not scored yet."""
    undated_code: str | None
    undated_claim: str | None
    content_tags: list[str]
    notice_code: str | None
    reading_notice_code: str | None
    """What its reading said, where the notice says that it waits for credit."""
    error_code: str | None
    error_detail: str | None
    description: str | None = None
    text: str | None = None
    relevance: float | None = None
    """The score without freshness."""
    score_reasons: list[dict[str, Any]] | None = None
    reading_minutes: int | None = None
    undated: Cause | None = None
    tags: list[str] = Field(default=[])
    score: float | None = None
    notice: Cause | None = None
    error: Cause | None = None

    @model_validator(mode="after")
    def _in_words(self) -> Self:
        self.reading_minutes = reading_minutes(self.word_count, self.lang)
        self.undated = undated_of(self.undated_code, self.undated_claim)
        self.tags = list(dict.fromkeys([*self.own_tags, *self.content_tags]))
        self.score = None if self.exact_score is None else round(self.exact_score, 4)
        # That it waits for credit is told where that is what it waits for.
        self.notice = notice_of(self.reading_notice_code or self.notice_code)
        self.error = error_of(self.error_code, self.error_detail)
        return self


@dataclass(frozen=True, slots=True)
class Freshness:
    """What freshness counts in a score, from when backwards, and in how many seconds it halves."""

    at: datetime
    freshness_weight: float
    half_life_s: float


@dataclass(frozen=True, slots=True)
class ScoreRule:
    """What freshness counts and how fast it goes."""

    freshness_weight: float = 0.15
    half_life_s: float = 259_200.0

    def freshness(self, at: datetime) -> Freshness:
        """Return what scores are read with at a moment."""
        return Freshness(at, self.freshness_weight, self.half_life_s)


FRESHLESS = Freshness(datetime(1970, 1, 1, tzinfo=UTC), 0.0, 1.0)
"""For who does not ask for scores."""


@dataclass(frozen=True, slots=True)
class Held:
    """What there is to know before an item is worked on again."""

    content_id: UUID
    url: str
    has_text: bool
    brought_by: UUID | None
    """The source that brought it, where the user did not save it by hand."""


@dataclass(frozen=True, slots=True)
class StatusRow:
    """How far an item's reading has come."""

    id: UUID
    content_id: UUID
    status: str


@dataclass(frozen=True, slots=True)
class Listed(Filters):
    """Which items to list; ``None`` means any."""

    status: str | None = None
    entity_ids: Sequence[UUID] | None = None


@dataclass(frozen=True, slots=True)
class KnownKey:
    """What an earlier request with this idempotency key asked and made (IETF draft idempotency-key-header)."""

    request_sha256: bytes
    item_id: UUID
    item_ids: Sequence[UUID] | None
    """What a batch made, in its order."""


COLUMNS = f"""
select i.id, i.content_id, coalesce(i.url, c.url) as url, c.status,
  coalesce(nullif(c.title, ''), i.told_title) as title, c.author, c.site_name, c.image_url, c.kind, c.lang,
  c.word_count, coalesce(c.published_at, i.told_at) as published_at, c.undated_code, c.undated_claim,
  i.created_at as first_seen_at,
  least(coalesce(c.published_at, i.told_at), i.created_at) as sort_at, c.sort_at as place_at, c.summary,
  case when r.replaces then '[]' else {left_of("c.topics")} end as topics,
  case when r.made_at is not null then r.topics end as own_topics, c.tags as content_tags, i.tags as own_tags, i.note,
  i.source_id, i.saved, i.read_at, i.starred_at, c.notice_code, c.reading_notice_code, c.error_code, c.error_detail,
  i.created_at, greatest(i.updated_at, c.updated_at) as updated_at,
  item_rank(i.score, c.sort_at, %(at)s, %(freshness_weight)s, %(half_life_s)s) as exact_score
"""
_ONE = f"""
{COLUMNS}, c.description, c.text, i.score as relevance, i.score_reasons
from items i join contents c on c.id = i.content_id
left join readings r on r.user_id = i.user_id and r.content_id = i.content_id
where i.id = %(id)s and i.user_id = %(user_id)s
"""

HELD = """
from items i join contents c on c.id = i.content_id
left join readings r on r.user_id = i.user_id and r.content_id = i.content_id
"""
ABOUT = f"r.topics @> %(topic)s or (c.topics @> %(topic)s and r.replaces is not true and not {ASKED_FOR})"
NARROWED = """
i.user_id = %(user_id)s
  and (%(status)s::text is null or c.status = %(status)s)
  and (%(tag)s::text is null or %(tag)s = any(i.tags) or %(tag)s = any(c.tags))
  and (%(source_id)s::uuid is null or i.source_id = %(source_id)s or i.content_id in (
    select e.content_id from source_entries e join subscriptions b on b.source_id = e.source_id
    where e.source_id = %(source_id)s and b.user_id = %(user_id)s and e.content_id is not null))
  and (%(folder_id)s::uuid is null or exists (select from folder_sources f
    where f.folder_id = %(folder_id)s and f.user_id = %(user_id)s and f.source_id = i.source_id) or exists (
      select from source_entries e join folder_sources f on f.source_id = e.source_id
      where e.content_id = i.content_id and f.folder_id = %(folder_id)s and f.user_id = %(user_id)s))
  and (%(entity_ids)s::uuid[] is null or exists (select from content_entities named
    where named.content_id = c.id and named.entity_id = any(%(entity_ids)s)))
  and (%(since)s::timestamptz is null or c.sort_at >= %(since)s)
  and (%(until)s::timestamptz is null or c.sort_at < %(until)s)
  and (%(unread)s::boolean is null or (i.read_at is null) = %(unread)s)
  and (%(starred)s::boolean is null or (i.starred_at is not null) = %(starred)s)
"""
_LISTED = f"{HELD} where {NARROWED} and (%(topic)s::jsonb is null or {ABOUT})"
_NEWEST_FIRST = f"""
{COLUMNS} {_LISTED}
  and (%(after_at)s::timestamptz is null or (c.sort_at, i.id) < (%(after_at)s, %(after_id)s::uuid))
order by c.sort_at desc, i.id desc limit %(limit)s
"""
# What is not scored yet comes last, newest first by its id; lists of a user are short enough to be sorted as they are.
_RANK = "coalesce(item_rank(i.score, c.sort_at, %(at)s, %(freshness_weight)s, %(half_life_s)s), -1)"
_BEST_FIRST = f"""
{COLUMNS} {_LISTED}
  and (%(after_rank)s::float8 is null or ({_RANK}, i.id) < (%(after_rank)s, %(after_id)s::uuid))
order by {_RANK} desc, i.id desc limit %(limit)s
"""

_COUNT_SAVED = "select count(*) from (select from items where user_id = %(user_id)s and saved limit %(limit)s) as held"

_HELD = """
select i.content_id, c.url, c.text is not null as has_text, case when not i.saved then i.source_id end as brought_by
from items i join contents c on c.id = i.content_id
where i.id = %(id)s and i.user_id = %(user_id)s
"""

_STATUSES = """
select i.id, i.content_id, c.status from items i join contents c on c.id = i.content_id
where i.user_id = %(user_id)s and i.id = any(%(ids)b::uuid[])
"""

_CHANGE = """
update items set
  read_at = case when not %(set_read)s then read_at when %(read)s then coalesce(read_at, now()) end,
  starred_at = case when not %(set_starred)s then starred_at when %(starred)s then coalesce(starred_at, now()) end,
  tags = case when %(set_tags)s then %(tags)s::text[] else tags end,
  note = case when %(set_note)s then %(note)s else note end,
  updated_at = now()
where id = %(id)s and user_id = %(user_id)s
returning id
"""

# Whoever saves this page at this moment holds its row; then it stays, so look only once the row is ours.
_LOCK_CONTENT = """
select c.id from contents c join items i on i.content_id = c.id
where i.id = %(id)s and i.user_id = %(user_id)s for update of c
"""
# The user's own word, where a feed brought the page: no feed gives it to them again.
_BURY = """
insert into item_tombstones (url_key, user_id)
select c.url_key, i.user_id from items i join contents c on c.id = i.content_id
where i.id = %(id)s and i.user_id = %(user_id)s
  and exists (select from source_entries e where e.content_id = c.id)
on conflict (url_key, user_id) do update set deleted_at = now()
"""
_DELETE = "delete from items where id = %(id)s and user_id = %(user_id)s returning content_id"
_DELETE_UNHELD = """
delete from contents where id = %(content_id)s and not exists (select from items where content_id = %(content_id)s)
returning id
"""

# From each source's own entries to their contents, one by one: by their order all contents would be walked for a
# source that brought few. Held against deletion until the items stand.
_NEWEST_CONTENTS = """
with newest as materialized (
  select followed.source_id, of_source.id
  from unnest(%(source_ids)b::uuid[]) as followed (source_id) cross join lateral (
    select c.id
    from (select distinct e.content_id from source_entries e
        where e.source_id = followed.source_id and e.content_id is not null) as listed
      cross join lateral (select id, url_key, sort_at from contents where id = listed.content_id offset 0) c
    where not exists (select from item_tombstones t where t.url_key = c.url_key and t.user_id = %(user_id)s)
    order by c.sort_at desc, c.id desc limit %(limit)s) of_source)
select newest.source_id, c.id from newest join contents c on c.id = newest.id order by c.url_key for key share of c
"""

_GIVE_ITEMS = """
insert into items (id, user_id, content_id, source_id, told_title, told_at)
select new.id, %(user_id)s, new.content_id, new.source_id, told.told_title, told.told_at
from unnest(%(ids)b::uuid[], %(content_ids)b::uuid[], %(source_ids)b::uuid[]) as new (id, content_id, source_id)
left join lateral (select e.told_title, e.told_at from source_entries e
  where e.content_id = new.content_id and e.source_id = new.source_id order by e.first_seen_at limit 1) told on true
order by new.content_id on conflict (user_id, content_id) do nothing
returning source_id
"""

_UNPUBLISHED = """
select id from jobs where subject_id = any(%(subjects)b::uuid[]) and state = 'pending' and published_at is null
"""

_FIND_KEY = """
select request_sha256, item_id, item_ids from idempotency_keys where user_id = %(user_id)s and key = %(key)s
"""
_KEEP_KEY = """
insert into idempotency_keys (user_id, key, request_sha256, item_id, item_ids)
values (%(user_id)s, %(key)s, %(sha256)b, %(item_id)s, %(item_ids)b::uuid[])
on conflict (user_id, key) do update set item_id = excluded.item_id, item_ids = excluded.item_ids
where idempotency_keys.request_sha256 = excluded.request_sha256
returning item_id
"""


def find_item(connection: Connection, user_id: UUID, item_id: UUID, freshness: Freshness = FRESHLESS) -> ItemRow | None:
    """Return one item with its text, or ``None`` if this user holds none of this id."""
    rows = usable(connection, ItemRow, _ONE, {"id": item_id, "user_id": user_id, **asdict(freshness)})
    return rows[0] if rows else None


def list_items(
    connection: Connection, user_id: UUID, filters: Listed, freshness: Freshness, after: Cursor | None, limit: int
) -> list[ItemRow]:
    """Return a user's items, newest first, at most ``limit``, beginning behind ``after``."""
    return _listed(connection, _NEWEST_FIRST, user_id, filters, freshness, behind(after) | {"limit": limit})


def best_items(
    connection: Connection, user_id: UUID, filters: Listed, freshness: Freshness, after: RankCursor | None, limit: int
) -> list[ItemRow]:
    """Return a user's items by their scores as of ``freshness.at``, best first, beginning behind ``after``."""
    values = {"after_rank": after.rank if after else None, "after_id": after.id if after else None}
    return _listed(connection, _BEST_FIRST, user_id, filters, freshness, values | {"limit": limit})


def narrowing(user_id: UUID, filters: Listed) -> dict[str, Any]:
    """Return the values of ``NARROWED`` and ``ABOUT``."""
    topic = None if filters.topic is None else Jsonb([{"topic": filters.topic}])
    return asdict(filters) | {"user_id": user_id, "topic": topic}


def _listed(
    connection: Connection,
    statement: str,
    user_id: UUID,
    filters: Listed,
    freshness: Freshness,
    place: Mapping[str, Any],
) -> list[ItemRow]:
    return usable(connection, ItemRow, statement, {**narrowing(user_id, filters), **asdict(freshness), **place})


def find_held(connection: Connection, user_id: UUID, item_id: UUID) -> Held | None:
    """Return what is behind an item, or ``None`` if this user holds none of this id."""
    with connection.cursor(row_factory=class_row(Held)) as cursor:
        return cursor.execute(_HELD, {"id": item_id, "user_id": user_id}).fetchone()


def statuses(connection: Connection, user_id: UUID, item_ids: Sequence[UUID]) -> dict[UUID, StatusRow]:
    """Return how far reading has come, of those of these items that this user holds."""
    with connection.cursor(row_factory=class_row(StatusRow)) as cursor:
        return {row.id: row for row in cursor.execute(_STATUSES, {"user_id": user_id, "ids": list(item_ids)})}


def change_item(connection: Connection, user_id: UUID, item_id: UUID, changes: Mapping[str, Any]) -> bool:
    """Change what is personal about an item; only the fields named in ``changes``. Says whether it was there."""
    values: dict[str, Any] = {"id": item_id, "user_id": user_id}
    for name, otherwise in (("read", False), ("starred", False), ("tags", []), ("note", None)):
        values[f"set_{name}"] = name in changes
        values[name] = changes.get(name, otherwise)
    return connection.execute(_CHANGE, values).fetchone() is not None


def delete_item(connection: Connection, user_id: UUID, item_id: UUID) -> tuple[UUID, bool] | None:
    """Take an item from a user; return its content and whether that went too because nobody else holds it.

    No feed gives it to this user again; to others, later ones too, it does.
    """
    values = {"id": item_id, "user_id": user_id}
    connection.execute(_LOCK_CONTENT, values)
    connection.execute(_BURY, values)
    with connection.cursor(row_factory=scalar_row) as cursor:
        content_id: UUID | None = cursor.execute(_DELETE, values).fetchone()
    if content_id is None:
        return None
    gone = connection.execute(_DELETE_UNHELD, {"content_id": content_id}).fetchone() is not None
    return content_id, gone


def give_newest(connection: Connection, user_id: UUID, source_ids: Sequence[UUID], *, limit: int) -> dict[UUID, int]:
    """Give a user items for the newest contents that each source has brought; returns how many are new to them.

    What they deleted once does not come back.
    """
    values = {"source_ids": list(source_ids), "user_id": user_id, "limit": limit}
    newest = connection.execute(_NEWEST_CONTENTS, values).fetchall()
    given = connection.execute(
        _GIVE_ITEMS,
        {
            "user_id": user_id,
            "source_ids": [source_id for source_id, _ in newest],
            "ids": [new_id() for _ in newest],
            "content_ids": [content_id for _, content_id in newest],
        },
    )
    return Counter(source_id for (source_id,) in given)


def count_saved(connection: Connection, user_id: UUID, *, limit: int) -> int:
    """Return how many pages a user has saved by hand, counted up to ``limit``."""
    [(count,)] = connection.execute(_COUNT_SAVED, {"user_id": user_id, "limit": limit}).fetchall()
    return int(count)


def unpublished_jobs(connection: Connection, content_ids: Sequence[UUID]) -> list[UUID]:
    """Return the contents' jobs that still have to be handed out."""
    with connection.cursor(row_factory=scalar_row) as cursor:
        return cursor.execute(_UNPUBLISHED, {"subjects": list(content_ids)}).fetchall()


def now(connection: Connection) -> datetime:
    """Return the time at which this transaction began."""
    with connection.cursor(row_factory=scalar_row) as cursor:
        [moment] = cursor.execute("select now()").fetchall()
    return moment  # type: ignore[no-any-return]  # a column of any type


def add_evidence(connection: Connection, user_id: UUID, evidence: float) -> float | None:
    """Count something that a user did; returns what has come together, ``None`` where they have no profile yet."""
    row = connection.execute(_ADD_EVIDENCE, {"user_id": user_id, "evidence": evidence}).fetchone()
    return None if row is None else float(row[0])


def find_key(connection: Connection, user_id: UUID, key: str) -> KnownKey | None:
    """Return what this user's key stands for."""
    with connection.cursor(row_factory=class_row(KnownKey)) as cursor:
        return cursor.execute(_FIND_KEY, {"user_id": user_id, "key": key}).fetchone()


def keep_key(
    connection: Connection, user_id: UUID, key: str, sha256: bytes, items: Sequence[UUID], *, batch: bool = False
) -> bool:
    """Remember what a key stands for, one item or a batch's; false if it stands for another request by now."""
    values = {
        "user_id": user_id,
        "key": key,
        "sha256": sha256,
        "item_id": items[0],
        "item_ids": list(items) if batch else None,
    }
    return connection.execute(_KEEP_KEY, values).fetchone() is not None
