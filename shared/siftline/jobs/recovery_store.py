"""Subjects that say somebody is at work on them, but have no live job: which they are, and whom they belong to.

Only ``QUEUED`` and ``FETCHING`` sources and ``PENDING`` and ``PROCESSING`` contents are looked at: a content that is
``NEW`` waits for its owner's credit, not for a worker.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from uuid import UUID

from psycopg.rows import class_row, scalar_row

from siftline.contracts import JobType
from siftline.jobs import jobs_store
from siftline.jobs.followers_store import NEXT_POLL
from siftline.kit.db import Connection, nearest


@dataclass(frozen=True, slots=True)
class StuckContent:
    """A content whose next job is missing."""

    id: UUID
    url: str
    status: str
    unchanged_s: float
    job_type: str
    """``analyze_content`` where its text is stored, ``ingest_content`` else; what ended badly is begun again."""
    saved: bool
    """Whether a person saved it and waits."""
    group_key: str
    """Who saved it first, else the tenant of its last job, or the content itself where it never had one."""


@dataclass(frozen=True, slots=True)
class StuckSource:
    """A source whose poll is missing."""

    id: UUID
    group_key: str
    """In whose turn it is polled."""
    status: str
    unchanged_s: float
    wanted: bool
    """Whether it is polled at all: somebody follows it and nobody switched it off."""


# With a deep backlog many pages are on their way for long and have their job. Only so many of the longest unchanged are
# looked at in one go; those ahead of a stuck one go on, so its turn comes.
_LOOKED_AT = 20_000

_STUCK_CONTENTS = f"""
with oldest as materialized (
  select id from contents where status in ('PENDING', 'PROCESSING') and updated_at < now() - %(unchanged)s
  order by updated_at limit %(looked_at)s)
select contents.id, contents.url, contents.status,
  extract(epoch from now() - {nearest("contents.updated_at")})::float8 as unchanged_s,
  case when last.state in ('failed', 'cancelled') then last.job_type
    when contents.text is null then 'ingest_content' else 'analyze_content' end as job_type,
  saver.user_id is not null as saved,
  coalesce('user:' || saver.user_id, last.group_key, 'subject:' || contents.id) as group_key
from oldest join contents using (id) left join lateral (
  select job_type, state, group_key from jobs
  where jobs.subject_id = contents.id and jobs.job_type in ('ingest_content', 'analyze_content')
  order by jobs.created_at desc limit 1) last on true
left join lateral (
  select user_id from items where items.content_id = contents.id and items.saved
  order by items.created_at, items.id limit 1) saver on true
where contents.status in ('PENDING', 'PROCESSING') and contents.updated_at < now() - %(unchanged)s
  and not exists (select from jobs where jobs.subject_id = contents.id
    and jobs.job_type in ('ingest_content', 'analyze_content') and jobs.state in ('pending', 'processing'))
order by contents.updated_at limit %(limit)s for update of contents skip locked
"""  # noqa: S608  -- made of constants only

_STUCK_SOURCES = f"""
select sources.id, {NEXT_POLL} as group_key, sources.fetch_status as status,
  extract(epoch from now() - {nearest("sources.updated_at")})::float8 as unchanged_s,
  sources.health <> 'inactive'
    and exists (select from subscriptions where subscriptions.source_id = sources.id) as wanted
from sources
where sources.fetch_status in ('QUEUED', 'FETCHING') and sources.updated_at < now() - %(unchanged)s
  and not exists (select from jobs where jobs.subject_id = sources.id
    and jobs.job_type = 'fetch_source' and jobs.state in ('pending', 'processing'))
order by sources.updated_at limit %(limit)s for update of sources skip locked
"""  # noqa: S608  -- a constant of ours

# Whose job waits already is left out, and so is who read little: that waits for more, or for the next day.
_UNSCORED_USERS = """
select users.id from users
where (
  exists (select from items join contents on contents.id = items.content_id
    where items.user_id = users.id and items.score_wanted <> items.score_made
      and contents.status in ('READY', 'FAILED'))
  or exists (select from score_profiles where score_profiles.user_id = users.id and score_profiles.evidence > 0
    and score_profiles.made_at < now() - interval '1 day')
  or exists (select from score_profiles join embedding_versions on embedding_versions.state = 'active'
    where score_profiles.user_id = users.id and score_profiles.model_version <> embedding_versions.model_version))
and not exists (select from jobs where jobs.job_type = 'score_user' and jobs.subject_id = users.id
  and jobs.state in ('pending', 'processing'))
and not exists (select from user_deletions where user_deletions.user_id = users.id)
order by users.id limit %(limit)s
"""

_IDLE = """
with unwanted as (select id from sources where id = any(%(ids)b::uuid[]) order by url_key for no key update)
update sources set fetch_status = 'IDLE', updated_at = now() from unwanted where sources.id = unwanted.id
"""

# The line that the new job's enqueueing wrote in this very transaction says why it came to be.
_EXPLAIN = """
update job_events set event = 'recovered', detail = new.detail
from jobs join unnest(%(subjects)b::uuid[], %(details)b::text[]) as new (subject_id, detail) using (subject_id)
where jobs.id = any(%(ids)b::uuid[]) and job_events.job_id = jobs.id
  and job_events.event = 'enqueued' and job_events.at >= now()
"""


def stuck_contents(connection: Connection, *, unchanged_s: float, limit: int) -> list[StuckContent]:
    """Lock and return contents on their way without a job, longest unchanged first; skips what another holds."""
    values = {"unchanged": timedelta(seconds=unchanged_s), "limit": limit, "looked_at": _LOOKED_AT}
    with connection.cursor(row_factory=class_row(StuckContent)) as cursor:
        return cursor.execute(_STUCK_CONTENTS, values).fetchall()


def stuck_sources(connection: Connection, *, unchanged_s: float, limit: int) -> list[StuckSource]:
    """Lock and return sources being polled without a job, longest unchanged first; skips what another holds.

    What got a poll in the moment before it was locked is told by a second look.
    """
    values = {"unchanged": timedelta(seconds=unchanged_s), "limit": limit}
    with connection.cursor(row_factory=class_row(StuckSource)) as cursor:
        stuck = cursor.execute(_STUCK_SOURCES, values).fetchall()
    polled = jobs_store.live(connection, [source.id for source in stuck], JobType.FETCH_SOURCE)
    return [source for source in stuck if source.id not in polled]


def unscored_users(connection: Connection, *, limit: int) -> list[UUID]:
    """Return users without a job that scores, though there is something for it to do."""
    with connection.cursor(row_factory=scalar_row) as cursor:
        return cursor.execute(_UNSCORED_USERS, {"limit": limit}).fetchall()


def idle(connection: Connection, source_ids: Sequence[UUID]) -> None:
    """Note that nothing is under way for sources that nobody wants polled."""
    connection.execute(_IDLE, {"ids": list(source_ids)})


def explain(connection: Connection, job_ids: Sequence[UUID], reasons: Mapping[UUID, str]) -> None:
    """Say in the timeline of jobs enqueued in this transaction that they were recovered; ``reasons`` by subject."""
    values = {"ids": list(job_ids), "subjects": list(reasons), "details": list(reasons.values())}
    connection.execute(_EXPLAIN, values)
