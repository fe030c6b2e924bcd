"""P6: what the job store takes among a million jobs. ``python -m benchmarks million``

A job store as a year's use leaves it: most jobs finished, some waiting, due, handed out, in work. Each question and
each arrow of the product stands beside the barest SQL that gives the same answer or leaves the same rows: counted when
it is asked for, without turns and shares of tenants, merging, guards or results made into objects. Both in turn, each
in a transaction that is rolled back, so that all rounds meet the same rows; commits are not counted.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any
from uuid import UUID

import psycopg

from benchmarks.database import server
from benchmarks.report import Report, median_ms, ratio, timed
from siftline.api.sources import sources_store
from siftline.contracts import JobType, Queue
from siftline.fetch.poll import health_store
from siftline.jobs import counts_store, lease_store, outbox_store
from siftline.jobs import jobs_store as job_store
from siftline.jobs.job_model import NewJob
from siftline.kit.db import Connection
from siftline.kit.ids import new_id
from siftline.schedule import schedule_store
from siftline.settings.functions import JobSettings, ScheduleSettings

JOBS = 1_000_000
SOURCES = 50_000
FOLLOWED = 2_000
"""Sources that the one user follows, each with ten items; every twentieth source is degraded."""
OLD = 10_000
"""Finished jobs that are past their age."""

ROUNDS = 15
WARM = 12
"""Rounds before them: pages are read, statements are prepared and, after five times each, planned once for all."""
REACH = 1.5
CLEANED = 1_000
WEEK_S = 7 * 86_400
SHARE = JobSettings.model_fields["job_tenant_share"].default
DUE = ScheduleSettings.model_fields["due_sources_per_tick"].default

# Bulk loading: the count of jobs is told once, at the end, and references are known to hold.
_FILL = (
    "set session_replication_role = replica",
    """
    insert into jobs (id, job_type, queue, subject_id, group_key, state, priority, attempts, due_at, published_at,
      publish_count, lease_until, lease_token, created_at, updated_at, finished_at)
    select gen_random_uuid(), kind.job_type, kind.queue, gen_random_uuid(), 'user:' || n %% 500, state,
      case n %% 10 when 0 then 20 when 1 then 10 else 0 end, (state <> 'pending')::int,
      now() + case when state = 'pending' and n %% 8 = 0 then interval '2 h' else -interval '1 h' end,
      case when state <> 'pending' or n %% 8 = 1 then now() - interval '10 s' end, 1,
      case when state = 'processing' then now() + interval '9 min' end,
      case when state = 'processing' then gen_random_uuid() end,
      now() - interval '3 days', now() - interval '3 days',
      case when state in ('completed', 'failed', 'cancelled')
        then now() - case when n <= %(old)s then interval '8 days' else n * interval '0.4 s' end end
    from generate_series(1, %(jobs)s) as n
    cross join lateral (select case when n %% 100 < 88 then 'completed' when n %% 100 < 97 then 'pending'
      when n %% 1000 = 999 then 'processing' when n %% 100 < 99 then 'failed' else 'cancelled' end as state) as s
    cross join lateral (select (array['fetch_source', 'ingest_content', 'analyze_content', 'cluster_user'])[n %% 4 + 1]
      as job_type, (array['fetch', 'content-background', 'analysis', 'clustering'])[n %% 4 + 1] as queue) as kind
    """,
    "insert into job_events (job_id, event, attempt) select id, 'enqueued', 0 from jobs",
    """
    insert into sources (id, kind, url, url_key, health, consecutive_failures, next_fetch_at)
    select gen_random_uuid(), 'rss', 'https://feeds.example/' || n, 'https://feeds.example/' || n,
      case when n %% 20 = 0 then 'degraded' else 'active' end, case when n %% 20 = 0 then 5 else 0 end,
      now() + (n %% 100 - 5) * interval '1 min'
    from generate_series(1, %(sources)s) as n
    """,
    "insert into users (id, name) values (%(user)s, 'reader')",
    """
    insert into subscriptions (id, user_id, source_id)
    select gen_random_uuid(), %(user)s, id from sources order by id limit %(followed)s
    """,
    """
    insert into subscriptions (id, user_id, source_id)
    select gen_random_uuid(), gen_random_uuid(), id from sources
    """,
    """
    insert into items (id, user_id, content_id, source_id)
    select gen_random_uuid(), %(user)s, gen_random_uuid(), source_id
    from subscriptions cross join generate_series(1, 10) where user_id = %(user)s
    """,
    "set session_replication_role = origin",
    """
    insert into job_tallies (job_type, queue, state, jobs)
    select job_type, queue, state, count(*) from jobs group by job_type, queue, state
    on conflict (job_type, queue, state) do update set jobs = excluded.jobs
    """,
    "delete from job_tally_changes",
)

_COUNT = "select job_type, queue, state, count(*) from jobs group by job_type, queue, state"
_TAKE = """
update jobs set published_at = now() where id in (
  select id from jobs where queue = 'analysis' and state = 'pending' and published_at is null and due_at <= now()
  order by priority desc, due_at limit 100 for update skip locked)
returning id, job_type, subject_id, group_key, payload
"""
_CLAIM = """
with claimed as (
  update jobs set state = 'processing', attempts = attempts + 1, lease_until = now() + interval '10 min',
    lease_token = gen_random_uuid() where id = %(id)s and state = 'pending' returning *),
event as (insert into job_events (job_id, event, attempt) select id, 'claimed', attempts from claimed)
select * from claimed
"""
_ENQUEUE = """
with made as (
  insert into jobs (id, job_type, queue, subject_id, group_key)
  values (%(id)s, 'cluster_user', 'clustering', %(id)s, 'g') returning id)
insert into job_events (job_id, event, attempt) select id, 'enqueued', 0 from made
"""
_FAILED = """
update sources set consecutive_failures = consecutive_failures + 1, last_error_code = 'http_500',
  last_error_detail = 'It broke.', last_fetch_at = now(), next_fetch_at = now() + interval '1 h',
  next_fetch_reason = 'after a failed try', updated_at = now() where id = %(id)s
"""
_DEGRADED = """
select sources.*, subscriptions.created_at, (select count(*) from items
  where items.source_id = sources.id and items.user_id = subscriptions.user_id)
from subscriptions join sources on sources.id = subscriptions.source_id
where subscriptions.user_id = %(id)s and sources.health = 'degraded' order by subscriptions.created_at desc limit 50
"""
_CLEAN_UP = """
delete from jobs where id in (select id from jobs where state in ('completed', 'failed', 'cancelled')
  and finished_at < now() - interval '7 days' order by finished_at limit 1000)
"""
_DUE = """
select id, url from sources where health <> 'inactive' and next_fetch_at <= now()
  and not exists (select from jobs where job_type = 'fetch_source' and subject_id = sources.id
    and state in ('pending', 'processing'))
  and exists (select from subscriptions where source_id = sources.id)
order by next_fetch_at limit 100
"""


@dataclass
class Pair:
    """The product's way and the bare one, with what each took in each round."""

    name: str
    within_ms: float
    ours: Callable[[Connection, UUID], object]
    raw: str
    ids: str
    """Asks for ids to work on, a new one each time."""
    seconds: list[float] = field(default_factory=list)
    floor: list[float] = field(default_factory=list)

    def row(self) -> dict[str, Any]:
        """Return the table's row."""
        return {
            "work": self.name,
            "ms": median_ms(self.seconds),
            "within ms": self.within_ms,
            "raw ms": median_ms(self.floor),
            "ratio": ratio(self.seconds, self.floor),
        }


_WAITING = "select id from jobs where state = 'pending' and job_type = 'cluster_user' and due_at <= now() limit 100"
_SOME_SOURCES = "select id from sources limit 100"
_NEW = "select gen_random_uuid() from generate_series(1, 100)"
_USER = "select user_id from items limit 1"


def _pairs() -> list[Pair]:
    return [
        Pair("depth of every queue", 100, lambda on, _: counts_store.counts(on), _COUNT, _NEW),
        Pair("100 due jobs", 500, _take, _TAKE, _NEW),
        Pair("claim one", 20, _claim, _CLAIM, _WAITING),
        Pair("enqueue one", 10, _enqueue, _ENQUEUE, _NEW),
        Pair("source health", 10, _health, _FAILED, _SOME_SOURCES),
        Pair("a user's degraded sources", 50, _degraded, _DEGRADED, _USER),
        Pair(f"clean up {CLEANED:,}", 100, _clean_up, _CLEAN_UP, _NEW),
        Pair("schedule: 100 due sources", 50, lambda on, _: schedule_store.due_sources(on, limit=DUE), _DUE, _NEW),
    ]


def _take(connection: Connection, _: UUID) -> object:
    return outbox_store.take_turns(connection, Queue.ANALYSIS, limit=100, share=SHARE)


def _claim(connection: Connection, job_id: UUID) -> object:
    return lease_store.claim(connection, job_id, JobType.CLUSTER_USER, lease_s=600, grace_s=1)


def _enqueue(connection: Connection, subject_id: UUID) -> object:
    return job_store.enqueue(connection, [NewJob(JobType.CLUSTER_USER, subject_id, "g")])


def _health(connection: Connection, source_id: UUID) -> None:
    job_id = new_id()  # no job's: it counts no failure more, and writes all the same
    health_store.failed(
        connection, source_id, job_id=job_id, code="http_500", detail="It broke.", at=None, wait_s=0, degraded_at=5
    )


def _degraded(connection: Connection, user_id: UUID) -> object:
    return sources_store.list_sources(connection, user_id, limit=50, health="degraded")


def _clean_up(connection: Connection, _: UUID) -> object:
    return outbox_store.clean_up(connection, age_s=WEEK_S, limit=CLEANED)


def main() -> None:
    report = Report("million")
    report.open(f"{JOBS:,} jobs, {SOURCES:,} sources, {ROUNDS} rounds")
    with server(report) as postgres, psycopg.connect(postgres.database("million"), autocommit=True) as connection:
        filled_s, _ = timed(partial(_fill, connection))
        report.tell({"filled in s": round(filled_s)})
        pairs = _pairs()
        for pair in pairs:
            _measure(connection, pair)
    report.table(
        f"one call, medians; reach: within, and at most {REACH} x the bare SQL", [pair.row() for pair in pairs]
    )
    report.keep()


def _fill(connection: Connection) -> None:
    """Fill an empty database, on a connection that commits by itself, and tell the planner."""
    values = {"jobs": JOBS, "sources": SOURCES, "followed": FOLLOWED, "old": OLD, "user": new_id()}
    for statement in _FILL:
        connection.execute(statement, values)
    connection.execute("vacuum analyze")


def _measure(connection: Connection, pair: Pair) -> None:
    ids = [row[0] for row in connection.execute(pair.ids).fetchall()]
    for number in range(ROUNDS + WARM):
        on = ids[number % len(ids)]
        ours_s = _undone(connection, partial(pair.ours, connection, on))
        raw_s = _undone(connection, partial(_bare, connection, pair.raw, on))
        if number >= WARM:
            pair.seconds.append(ours_s)
            pair.floor.append(raw_s)


def _bare(connection: Connection, statement: str, on: UUID) -> object:
    cursor = connection.execute(statement, {"id": on})
    return cursor.fetchall() if cursor.description else None


def _undone(connection: Connection, work: Callable[[], object]) -> float:
    # Past psycopg's back: at a rollback it sees, it forgets what it has prepared, and each call would be planned anew.
    connection.pgconn.exec_(b"begin")
    try:
        return timed(work)[0]
    finally:
        connection.pgconn.exec_(b"rollback")
