"""An account's end in PostgreSQL: each statement takes one batch of what is a user's, in the order of locks.

A job goes before its subject (``siftline.jobs.jobs_store.hold``), the rows of a table one before the other.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from psycopg.rows import class_row, scalar_row

from siftline.jobs.job_model import follower, user
from siftline.jobs.states import known, ordered
from siftline.kit.db import Connection


@dataclass(frozen=True, slots=True)
class AccountRow:
    """A user as an operator sees them."""

    id: UUID
    name: str
    created_at: datetime
    items: int
    sources: int
    tokens: int
    """That are live."""
    oldest_token_at: datetime | None
    newest_token_at: datetime | None
    last_seen_at: datetime | None
    """When a token of theirs last asked for anything, to a minute; forgotten after a day."""
    seen_since: datetime
    """From when on ``last_seen_at`` would be known: a database that is killed forgets it."""
    deleted_at: datetime | None
    """Since when they are being deleted."""


_FIND = "select id from users where lower(name) = lower(%(word)s) or id::text = lower(%(word)s) order by id"
_ACCOUNTS = """
select users.id, users.name, users.created_at,
  (select count(*)::int from items where items.user_id = users.id) as items,
  (select count(*)::int from subscriptions where subscriptions.user_id = users.id) as sources,
  tokens.live as tokens, tokens.oldest as oldest_token_at, tokens.newest as newest_token_at,
  (select to_timestamp(max(minute) * 60) from request_counts where token_id in (
    select id from access_tokens where user_id = users.id union all select id from feed_tokens where user_id = users.id)
  ) as last_seen_at,
  greatest(users.created_at, pg_postmaster_start_time(), now() - interval '1 day') as seen_since,
  user_deletions.asked_at as deleted_at
from users left join user_deletions on user_deletions.user_id = users.id
cross join lateral (
  select count(*)::int as live, min(created_at) as oldest, max(created_at) as newest from access_tokens
  where access_tokens.user_id = users.id and revoked_at is null and (expires_at is null or expires_at > now())
) as tokens
where %(id)s::uuid is null or users.id = %(id)s
order by lower(users.name), users.id
"""

# --- the beginning: nobody comes in by their name or their tokens any more, and nothing is begun for them

_ASK = """
insert into user_deletions (user_id) select id from users where id = %(user_id)s order by id
on conflict (user_id) do nothing
"""
# Names are unique: nobody can have taken one that cannot be guessed.
_FORGET_NAME = """
update users set name = 'deleted ' || gen_random_uuid(), interests = '' where id = %(user_id)s
"""
_FORGET_COUNTS = """
with gone as (
  select token_id from request_counts where token_id in (
    select id from access_tokens where user_id = %(user_id)s
    union all select id from feed_tokens where user_id = %(user_id)s)
  order by token_id for update)
delete from request_counts using gone where request_counts.token_id = gone.token_id
"""
_FORGET_FEED_TOKENS = """
with gone as (select id from feed_tokens where user_id = %(user_id)s order by id for update)
delete from feed_tokens using gone where feed_tokens.id = gone.id
"""
_FORGET_TOKENS = """
with gone as (select id from access_tokens where user_id = %(user_id)s order by id for update)
delete from access_tokens using gone where access_tokens.id = gone.id
"""
_SILENCE = """
with gone as (select id from briefings where user_id = %(user_id)s and enabled order by id for no key update)
update briefings set enabled = false from gone where briefings.id = gone.id
"""
_ASKED = "select user_id from user_deletions order by asked_at, user_id"

# --- jobs about them: each is cancelled before it goes, for that gives credit back

_SUBJECTS = """
select %(user_id)s::uuid
union all select id from briefings where user_id = %(user_id)s
union all select id from mail_addresses where user_id = %(user_id)s
union all select deliveries.id from editions join deliveries on deliveries.edition_id = editions.id
  where editions.user_id = %(user_id)s
"""
_WITH_JOBS = f"""
with subjects (id) as ({_SUBJECTS})
select distinct jobs.subject_id from subjects join jobs on jobs.subject_id = subjects.id limit %(limit)s
"""  # noqa: S608  -- a constant of ours
_FORGET_JOBS = f"""
with gone as (
  select id from jobs where subject_id = any(%(subjects)b::uuid[]) and state in ('completed', 'failed', 'cancelled')
  order by {ordered()}, id for update)
delete from jobs using gone where jobs.id = gone.id
"""  # noqa: S608  -- constants of ours

# --- what they follow

_FOLLOWED = """
select source_id from subscriptions where user_id = %(user_id)s order by source_id limit %(limit)s
"""
_HOLD_SOURCES = "select id from sources where id = any(%(ids)b::uuid[]) order by url_key for update"
_UNSUBSCRIBE = """
with gone as (
  select id from subscriptions where user_id = %(user_id)s and source_id = any(%(ids)b::uuid[]) order by id for update)
delete from subscriptions using gone where subscriptions.id = gone.id
"""
_UNFOLLOWED = """
select id from sources where id = any(%(ids)b::uuid[])
  and not exists (select from subscriptions where subscriptions.source_id = sources.id)
"""
_STOP_POLLING = """
with gone as (select id from sources where id = any(%(ids)b::uuid[]) order by url_key for no key update)
update sources set health = 'inactive', fetch_status = 'IDLE', next_fetch_reason = 'it has no followers',
  updated_at = now()
from gone where sources.id = gone.id
"""
_NOTE_SOURCES = """
update user_deletions set source_ids = source_ids || %(ids)b::uuid[] where user_id = %(user_id)s
"""
_NOTED_SOURCES = """
select unnest(source_ids[1:%(limit)s]) from user_deletions where user_id = %(user_id)s
"""
_STRIKE_SOURCES = """
update user_deletions set source_ids = source_ids[%(limit)s + 1:] where user_id = %(user_id)s
"""
_DROP_SOURCES = """
with gone as (
  select id from sources where id = any(%(ids)b::uuid[])
    and not exists (select from subscriptions where subscriptions.source_id = sources.id)
    and not exists (select from items where items.source_id = sources.id)
  order by url_key for update)
delete from sources using gone where sources.id = gone.id returning sources.id
"""

# --- what they hold: whoever saves such a page at this moment holds its row; then it stays

_HELD = "select content_id from items where user_id = %(user_id)s order by content_id limit %(limit)s"
_HOLD_CONTENTS = "select id from contents where id = any(%(ids)b::uuid[]) order by url_key for update"
_LET_GO = """
with gone as (
  select id from items where user_id = %(user_id)s and content_id = any(%(ids)b::uuid[])
  order by user_id, content_id for update)
delete from items using gone where items.id = gone.id
"""
_DROP_CONTENTS = """
with gone as (
  select id from contents where id = any(%(ids)b::uuid[])
    and not exists (select from items where items.content_id = contents.id)
  order by url_key for update)
delete from contents using gone where contents.id = gone.id returning contents.id
"""

# --- what is theirs alone and may be much; the rest goes with the user's row

_BATCH_OF = """
with gone as (
  select {key} from {table} where user_id = %(user_id)s order by {key} limit %(limit)s for update)
delete from {table} using gone where {table}.{key} = gone.{key}
"""
_FORGET_STORIES = _BATCH_OF.format(table="stories", key="id")
_FORGET_CLUSTERS = _BATCH_OF.format(table="clusters", key="id")
_FORGET_RUNS = _BATCH_OF.format(table="cluster_runs", key="id")
_FORGET_EDITIONS = _BATCH_OF.format(table="editions", key="id")
_FORGET_ORDERS = _BATCH_OF.format(table="feed_orders", key="id")
_FORGET_BURIED = """
with gone as (
  select url_key, user_id from item_tombstones where user_id = %(user_id)s
  order by url_key, user_id limit %(limit)s for update)
delete from item_tombstones using gone
where item_tombstones.url_key = gone.url_key and item_tombstones.user_id = gone.user_id
"""
_FORGET_KEYS = """
with gone as (
  select user_id, key from idempotency_keys where user_id = %(user_id)s
  order by user_id, key limit %(limit)s for update)
delete from idempotency_keys using gone
where idempotency_keys.user_id = gone.user_id and idempotency_keys.key = gone.key
"""
_OWN = (
    (_FORGET_STORIES, 500),
    (_FORGET_CLUSTERS, 20),
    (_FORGET_RUNS, 100),
    (_FORGET_EDITIONS, 50),
    (_FORGET_ORDERS, 20),
    (_FORGET_BURIED, 2_000),
    (_FORGET_KEYS, 2_000),
)

# --- mail: an address goes wherever it stands, unless it is somebody else's too

_THEIR_MAIL = """
with own (address) as (
  select address from mail_addresses where user_id = %(user_id)s
  union select lower(destination) from briefings where user_id = %(user_id)s and channel = 'email'
  union select lower(destination) from deliveries where user_id = %(user_id)s and channel = 'email'
  union select address from mail_asks where user_id = %(user_id)s)
select address from own
where not exists (select from mail_addresses a where a.address = own.address and a.user_id <> %(user_id)s)
  and not exists (select from briefings b
    where b.channel = 'email' and lower(b.destination) = own.address and b.user_id <> %(user_id)s)
"""
_FORGET_ASKS = """
with gone as (
  select id from mail_asks where user_id = %(user_id)s or address = any(%(addresses)b::text[]) order by id for update)
delete from mail_asks using gone where mail_asks.id = gone.id
"""
_FORGET_SUPPRESSIONS = """
with gone as (
  select address from mail_suppressions where address = any(%(addresses)b::text[]) order by address for update)
delete from mail_suppressions using gone where mail_suppressions.address = gone.address
"""
_FORGET_EVENTS = """
with gone as (
  select id from mail_events where exists (
    select from unnest(%(addresses)b::text[]) as own (address) where strpos(lower(event::text), own.address) > 0)
  order by id for update)
delete from mail_events using gone where mail_events.id = gone.id
"""
_FORGET_ASIDE = f"""
with gone as (
  select job_type, row_id from set_aside where row_id in (
    {_SUBJECTS} union all select id from topic_sets where user_id = %(user_id)s)
  order by job_type, row_id for update)
delete from set_aside using gone where set_aside.job_type = gone.job_type and set_aside.row_id = gone.row_id
"""  # noqa: S608  -- a constant of ours

# --- money: what was given and spent stays in the books, and says no longer whose it was

# What was taken first, for a balance is never below nothing.
_UNNAME_CREDITS = """
with gone as (
  select id, case when state <> 'released' then amount else 0 end as counted from credit_entries
  where user_id = %(user_id)s order by amount, id limit %(limit)s for update),
unnamed as (update credit_entries set user_id = null from gone where credit_entries.id = gone.id)
update users set credits = credits - (select coalesce(sum(counted), 0) from gone) where id = %(user_id)s
  and exists (select from gone)
"""
_UNNAME_SPENDINGS = """
with gone as (select id from spendings where user_id = %(user_id)s order by id limit %(limit)s for no key update)
update spendings set user_id = null from gone where spendings.id = gone.id
"""

# --- work of others that was begun in their turn: it goes on as nobody's

# Nobody here ends the lease of a kind that only a newer release knows: once it has run out, the job waits for that one.
_UNNAME_JOBS = f"""
with gone as (
  select id from jobs
  where (group_key = any(%(keys)s) or again_for = any(%(keys)s))
    and (state <> 'processing' or (lease_until < now() and not {known("jobs")}))
  limit %(limit)s for update skip locked)
update jobs set
  group_key = case when group_key = any(%(keys)s)
    then case job_type when 'fetch_source' then 'source:' else 'subject:' end || subject_id else group_key end,
  again_for = case when again_for <> all(%(keys)s) then again_for end, payload = payload - 'url'
from gone where jobs.id = gone.id
"""  # noqa: S608  -- a constant of ours
_NAMED_JOBS = """
select exists (select from jobs where group_key = any(%(keys)s) or again_for = any(%(keys)s))
  or exists (select from jobs where subject_id = %(user_id)s)
"""

# --- the end

_LOCK = "select id from users where id = %(user_id)s for update"
_LEFT = """
select exists (select from items where user_id = %(user_id)s)
  or exists (select from subscriptions where user_id = %(user_id)s)
  or exists (select from credit_entries where user_id = %(user_id)s)
  or exists (select from spendings where user_id = %(user_id)s)
  or exists (select from mail_asks where user_id = %(user_id)s)
  or exists (select from user_deletions where user_id = %(user_id)s and source_ids <> '{}')
"""
_DROP_USER = "delete from users where id = %(user_id)s"


def find(connection: Connection, word: str) -> list[UUID]:
    """Return the user of this name, whatever its case, or of this id; several where a name is another's id."""
    with connection.cursor(row_factory=scalar_row) as cursor:
        return cursor.execute(_FIND, {"word": word}).fetchall()


def accounts(connection: Connection, user_id: UUID | None = None) -> list[AccountRow]:
    """Return all users by name, or one."""
    with connection.cursor(row_factory=class_row(AccountRow)) as cursor:
        return cursor.execute(_ACCOUNTS, {"id": user_id}).fetchall()


def with_jobs(connection: Connection, user_id: UUID, *, limit: int) -> list[UUID]:
    """Return what is a user's and has jobs: the user, briefings, deliveries, mail addresses."""
    with connection.cursor(row_factory=scalar_row) as cursor:
        return cursor.execute(_WITH_JOBS, {"user_id": user_id, "limit": limit}).fetchall()


def ask(connection: Connection, user_id: UUID) -> bool:
    """Let a user be deleted from now on: their tokens and their name are gone. Says whether there is such a user."""
    values = {"user_id": user_id}
    if connection.execute(_LOCK, values).fetchone() is None:
        return False
    for statement in (_ASK, _FORGET_NAME, _FORGET_COUNTS, _FORGET_FEED_TOKENS, _FORGET_TOKENS, _SILENCE):
        connection.execute(statement, values)
    return True


def asked(connection: Connection) -> list[UUID]:
    """Return who is being deleted, who asked first before the others."""
    with connection.cursor(row_factory=scalar_row) as cursor:
        return cursor.execute(_ASKED).fetchall()


def forget_jobs(connection: Connection, subjects: Sequence[UUID]) -> int:
    """Delete the jobs of subjects that ended, with what they told; returns how many."""
    return connection.execute(_FORGET_JOBS, {"subjects": list(subjects)}).rowcount


def followed(connection: Connection, user_id: UUID, *, limit: int) -> list[UUID]:
    """Return some of the sources that a user follows."""
    with connection.cursor(row_factory=scalar_row) as cursor:
        return cursor.execute(_FOLLOWED, {"user_id": user_id, "limit": limit}).fetchall()


def unfollow(connection: Connection, user_id: UUID, source_ids: Sequence[UUID]) -> list[UUID]:
    """Let a user follow these no longer; returns, and notes, those that nobody follows now and that are not polled."""
    values = {"user_id": user_id, "ids": list(source_ids)}
    connection.execute(_HOLD_SOURCES, values)
    connection.execute(_UNSUBSCRIBE, values)
    with connection.cursor(row_factory=scalar_row) as cursor:
        lone = cursor.execute(_UNFOLLOWED, values).fetchall()
    values["ids"] = lone
    connection.execute(_STOP_POLLING, values)
    connection.execute(_NOTE_SOURCES, values)
    return lone


def noted_sources(connection: Connection, user_id: UUID, *, limit: int) -> list[UUID]:
    """Return the first of the sources that ``unfollow`` noted."""
    with connection.cursor(row_factory=scalar_row) as cursor:
        return cursor.execute(_NOTED_SOURCES, {"user_id": user_id, "limit": limit}).fetchall()


def drop_sources(connection: Connection, user_id: UUID, source_ids: Sequence[UUID]) -> list[UUID]:
    """Delete those of the first noted sources that nobody follows or holds anything of, and strike all of them."""
    values = {"user_id": user_id, "ids": list(source_ids), "limit": len(source_ids)}
    with connection.cursor(row_factory=scalar_row) as cursor:
        gone = cursor.execute(_DROP_SOURCES, values).fetchall()
    connection.execute(_STRIKE_SOURCES, values)
    return gone


def held(connection: Connection, user_id: UUID, *, limit: int) -> list[UUID]:
    """Return some of the contents that a user holds."""
    with connection.cursor(row_factory=scalar_row) as cursor:
        return cursor.execute(_HELD, {"user_id": user_id, "limit": limit}).fetchall()


def let_go(connection: Connection, user_id: UUID, content_ids: Sequence[UUID]) -> list[UUID]:
    """Take these contents from a user; returns those that are gone, as nobody else holds them."""
    values = {"user_id": user_id, "ids": list(content_ids)}
    connection.execute(_HOLD_CONTENTS, values)
    connection.execute(_LET_GO, values)
    with connection.cursor(row_factory=scalar_row) as cursor:
        return cursor.execute(_DROP_CONTENTS, values).fetchall()


def forget_own(connection: Connection, user_id: UUID) -> int:
    """Delete a batch of what is a user's alone; returns how much."""
    return sum(connection.execute(sql, {"user_id": user_id, "limit": limit}).rowcount for sql, limit in _OWN)


def forget_mail(connection: Connection, user_id: UUID) -> None:
    """Delete a user's mail addresses wherever they stand outside their own rows, and what was set aside of theirs."""
    with connection.cursor(row_factory=scalar_row) as cursor:
        values = {"user_id": user_id, "addresses": cursor.execute(_THEIR_MAIL, {"user_id": user_id}).fetchall()}
    for statement in (_FORGET_ASKS, _FORGET_SUPPRESSIONS, _FORGET_EVENTS, _FORGET_ASIDE):
        connection.execute(statement, values)


def unname_money(connection: Connection, user_id: UUID, *, limit: int) -> int:
    """Let a batch of the ledger's and of the spendings' lines be nobody's; returns whether there was one."""
    values = {"user_id": user_id, "limit": limit}
    return sum(connection.execute(sql, values).rowcount for sql in (_UNNAME_CREDITS, _UNNAME_SPENDINGS))


def unname_jobs(connection: Connection, user_id: UUID, *, limit: int) -> int:
    """Let a batch of jobs be in nobody's turn that were in a user's, but for those in work; returns how many."""
    return connection.execute(_UNNAME_JOBS, {"keys": _keys(user_id), "limit": limit}).rowcount


def is_named(connection: Connection, user_id: UUID) -> bool:
    """Say whether a job is still in a user's turn, or about them."""
    row = connection.execute(_NAMED_JOBS, {"keys": _keys(user_id), "user_id": user_id}).fetchone()
    return bool(row and row[0])


def drop_user(connection: Connection, user_id: UUID) -> bool:
    """Delete a user's row with what little hangs on it, unless there is more again; says whether it is gone."""
    values = {"user_id": user_id}
    connection.execute(_LOCK, values)
    row = connection.execute(_LEFT, values).fetchone()
    if row and row[0]:
        return False
    connection.execute(_DROP_USER, values)
    return True


def _keys(user_id: UUID) -> list[str]:
    return [user(user_id), follower(user_id)]
