"""What a job's arrows read beside many that wait, where the planner's statistics are of a time when none did."""

from collections.abc import Callable, Iterator, Sequence
from uuid import UUID

import pytest
from psycopg.rows import scalar_row

from siftline.contracts import JobType, Queue
from siftline.jobs import credits_store, jobs_store, lease_store, outbox_store, subjects_store
from siftline.kit.db import Connection, Database, Pool
from siftline.kit.ids import new_id
from tests.factories import make_content

FINISHED, WAITING, FAILED, OURS = 3_000, 3_000, 2_000, 5
# A few rows a job, its own and its index entries met on the way: what every job of the table would cost is far more.
READ_MAX = 100

_FILL = """
insert into jobs (id, job_type, queue, subject_id, group_key, state, finished_at, park_id)
select gen_random_uuid(), 'analyze_content', 'analysis', gen_random_uuid(), 'user:a', %(state)s,
  case when %(state)s <> 'pending' then now() end, case when %(state)s = 'failed' then gen_random_uuid() end
from generate_series(1, %(count)s) returning id
"""
_FILL_TENANTS = """
insert into jobs (id, job_type, queue, subject_id, group_key)
select gen_random_uuid(), 'analyze_content', 'analysis', gen_random_uuid(), 'user:' || nr %% %(tenants)s
from generate_series(1, %(count)s) nr
"""
_READ = """
select coalesce(idx_tup_fetch, 0) + coalesce(seq_tup_read, 0) from pg_stat_xact_user_tables where relname = 'jobs'
"""

Arrow = Callable[[Connection, Sequence[UUID], Sequence[UUID]], object]


def _take(connection: Connection, waiting: Sequence[UUID], _: Sequence[UUID]) -> object:
    return outbox_store.take(connection, waiting, share=OURS)


def _take_turns(connection: Connection, *_: Sequence[UUID]) -> object:
    outbox_store.in_turn(connection, Queue.ANALYSIS, counted_to=0)
    return outbox_store.take_turns(connection, Queue.ANALYSIS, limit=OURS, share=OURS)


def _outstanding(connection: Connection, *_: Sequence[UUID]) -> object:
    return outbox_store.in_turn(connection, Queue.ANALYSIS, counted_to=1_000)()


def _waiting(connection: Connection, *_: Sequence[UUID]) -> object:
    return subjects_store.waiting(connection, JobType.ANALYZE_CONTENT, _contents(connection))


def _finished(connection: Connection, *_: Sequence[UUID]) -> object:
    return subjects_store.finished(connection, JobType.ANALYZE_CONTENT, _contents(connection)[0])


def _failed(connection: Connection, *_: Sequence[UUID]) -> object:
    return subjects_store.failed(connection, JobType.ANALYZE_CONTENT, _contents(connection), "gone", "It is gone.")


def _contents(connection: Connection) -> list[UUID]:
    return [make_content(connection, status="PROCESSING") for _ in range(OURS)]


def _not_sent(connection: Connection, waiting: Sequence[UUID], _: Sequence[UUID]) -> object:
    return outbox_store.not_sent(connection, waiting)


def _put_back(connection: Connection, waiting: Sequence[UUID], _: Sequence[UUID]) -> object:
    return jobs_store.put_back(connection, waiting[0])


def _claim(connection: Connection, waiting: Sequence[UUID], _: Sequence[UUID]) -> object:
    return lease_store.claim(connection, waiting[0], JobType.ANALYZE_CONTENT, lease_s=60, grace_s=1)


def _claim_of_a_finished_one(connection: Connection, _: Sequence[UUID], failed: Sequence[UUID]) -> object:
    return lease_store.claim(connection, failed[0], JobType.ANALYZE_CONTENT, lease_s=60, grace_s=1)


def _hold_none(connection: Connection, *_: Sequence[UUID]) -> object:
    return jobs_store.hold(connection, [], JobType.INGEST_CONTENT)


def _hold(connection: Connection, *_: Sequence[UUID]) -> object:
    return jobs_store.hold(connection, [new_id() for _ in range(OURS)], JobType.ANALYZE_CONTENT)


def _cancel_none(connection: Connection, *_: Sequence[UUID]) -> object:
    return jobs_store.cancel(connection, [])


def _cancel(connection: Connection, *_: Sequence[UUID]) -> object:
    return jobs_store.cancel(connection, [new_id()])


def _redrive(connection: Connection, _: Sequence[UUID], failed: Sequence[UUID]) -> object:
    parks = connection.execute("select id, park_id from jobs where id = any(%s)", [list(failed)]).fetchall()
    return jobs_store.redrive_all(connection, parks)


def _reserve(connection: Connection, waiting: Sequence[UUID], _: Sequence[UUID]) -> object:
    return credits_store.reserve(connection, waiting)


def _park(connection: Connection, _: Sequence[UUID], failed: Sequence[UUID]) -> object:
    return outbox_store.to_park_one(connection, failed[0])


@pytest.fixture(scope="module")
def database(make_database: Callable[..., str]) -> Iterator[Database]:
    """A database whose table of jobs is analysed by these tests alone.

    A server that does so while thousands are being written finds their indexes full of pages but empty of jobs, and
    until its next ANALYZE, a minute later, takes it for cheap to read them whole.
    """
    pool = Pool(make_database(), size=2)
    with pool.transaction() as connection:
        connection.execute("alter table jobs set (autovacuum_enabled = off)")
    yield pool
    pool.close()


def _fill(database: Database) -> tuple[list[UUID], list[UUID]]:
    """Return a few of many jobs that wait, and of many that failed: ``ANALYZE`` knows of neither."""
    with database.transaction() as connection, connection.cursor(row_factory=scalar_row) as cursor:
        cursor.execute("truncate jobs cascade")  # no dead row of another test is read too
        cursor.execute(_FILL, {"state": "completed", "count": FINISHED})
        cursor.execute("analyze jobs")
    with database.transaction() as connection, connection.cursor(row_factory=scalar_row) as cursor:
        waiting = cursor.execute(_FILL, {"state": "pending", "count": WAITING}).fetchall()
        failed = cursor.execute(_FILL, {"state": "failed", "count": FAILED}).fetchall()
    return waiting[:OURS], failed[:OURS]


@pytest.mark.parametrize(
    "arrow",
    [
        _take, _take_turns, _outstanding, _waiting, _finished, _failed, _not_sent, _put_back, _claim,
        _claim_of_a_finished_one, _hold_none, _hold, _cancel_none, _cancel, _redrive, _reserve, _park,
    ],
)  # fmt: skip
@pytest.mark.parametrize("plans", ["force_custom_plan", "force_generic_plan"])
def test_an_arrow_reads_its_own_jobs_only(database: Database, arrow: Arrow, plans: str) -> None:
    waiting, failed = _fill(database)
    with database.transaction() as connection:
        connection.execute("select set_config('plan_cache_mode', %s, true)", [plans])
        [(before,)] = connection.execute(_READ).fetchall()  # what this session read and has not told the server yet
        arrow(connection, waiting, failed)
        [(after,)] = connection.execute(_READ).fetchall()
    assert after - before <= READ_MAX


def test_a_hand_out_of_a_table_that_nobody_analysed_reads_a_few_jobs_of_each_tenant(database: Database) -> None:
    tenants, limit = 50, 10
    with database.transaction() as connection:
        connection.execute("truncate jobs cascade")
        connection.execute("delete from pg_statistic where starelid = 'jobs'::regclass")
        connection.execute(_FILL_TENANTS, {"tenants": tenants, "count": WAITING})
    with database.transaction() as connection:
        [(before,)] = connection.execute(_READ).fetchall()
        outbox_store.in_turn(connection, Queue.ANALYSIS, counted_to=0)
        taken = outbox_store.take_turns(connection, Queue.ANALYSIS, limit=limit, share=limit)
        [(after,)] = connection.execute(_READ).fetchall()
    assert len(taken) == limit
    assert after - before <= tenants * (limit + 2) + READ_MAX
