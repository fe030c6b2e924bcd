"""Counts that are kept as jobs change, and what is told of them."""

import json
import time
from collections.abc import Callable
from typing import Any
from uuid import UUID

import pytest

from siftline.contracts import JobType, Queue
from siftline.jobs import counts_store, jobs_store, lease_store, outbox_store
from siftline.jobs import statistics as jobs_statistics
from siftline.jobs.statistics import Statistics
from siftline.kit.db import Database, SingleConnection
from siftline.kit.errors import TransientError
from tests.factories import make_content, make_job
from tests.fakes import FakeClock

STATES = ("pending", "processing", "completed", "failed", "cancelled")
NAMES = {queue: f"siftline-test-{queue}-queue" for queue in Queue}


def told(database: Database) -> dict[tuple[str, str, str], int]:
    """Return what the kept counts say, by type, queue and state, noughts left out."""
    with database.transaction() as connection:
        rows = counts_store.counts(connection)
    every = {(row.job_type, row.queue, state): getattr(row, state) for row in rows for state in STATES}
    return {key: jobs for key, jobs in every.items() if jobs}


def real(database: Database) -> dict[tuple[str, str, str], int]:
    """Count the rows."""
    with database.transaction() as connection:
        rows = connection.execute("select job_type, queue, state, count(*) from jobs group by 1, 2, 3").fetchall()
    return {(job_type, queue, state): jobs for job_type, queue, state, jobs in rows}


def run(database: Database, statement: str, *values: Any) -> None:
    with database.transaction() as connection:
        connection.execute(statement, values)


def fold(database: Database) -> None:
    with database.transaction() as connection:
        counts_store.fold(connection)


def test_the_counts_are_right_after_every_arrow_and_however_often_they_are_folded(database: Database) -> None:
    ids = [make_job(database) for _ in range(6)]
    ids.append(make_job(database, job_type=JobType.INGEST_CONTENT, queue=Queue.CONTENT_BACKGROUND))
    assert told(database) == real(database)
    fold(database)
    claimed = []
    with database.transaction() as connection:
        for job_id in ids[:4]:
            job = lease_store.claim(connection, job_id, JobType.ANALYZE_CONTENT, lease_s=60, grace_s=1)
            assert job is not None
            claimed.append(job)
    assert told(database) == real(database)
    with database.transaction() as connection:
        lease_store.completing(connection, claimed[0], {}, 1)()
        lease_store.fail(connection, claimed[1], TransientError("away"), duration_ms=1, park_id=None)
        lease_store.retry(connection, claimed[2], TransientError("away"), delay_s=60, duration_ms=1)
        jobs_store.cancel(connection, [claimed[3].subject_id])
    fold(database)
    # A person's save moves the job of a feed to another queue.
    with database.transaction() as connection:
        [(subject_id,)] = connection.execute("select subject_id from jobs where id = %s", (ids[6],)).fetchall()
    make_job(database, job_type=JobType.INGEST_CONTENT, subject_id=subject_id, priority=20)
    assert told(database) == real(database)
    run(database, "update jobs set finished_at = now() - interval '8 days' where finished_at is not null")
    with database.transaction() as connection:
        assert outbox_store.clean_up(connection, age_s=86_400, limit=10) == 3
    assert told(database) == real(database)
    fold(database)
    assert told(database) == real(database)
    assert set(real(database)) == {
        ("analyze_content", "analysis", "pending"),
        ("ingest_content", "content-processing", "pending"),
    }


def test_what_is_rolled_back_was_never_counted(database: Database) -> None:
    make_job(database)
    with database.transaction() as connection, connection.transaction(force_rollback=True):
        connection.execute("update jobs set state = 'cancelled', finished_at = now()")
    assert told(database) == real(database) == {("analyze_content", "analysis", "pending"): 1}


def test_two_that_fold_at_once_count_nothing_twice(database: Database) -> None:
    make_job(database)
    with database.transaction() as first, database.transaction() as second:
        counts_store.fold(first)
        counts_store.fold(second)
    fold(database)
    assert told(database) == real(database)


def test_ages_and_what_is_put_off(database: Database) -> None:
    late, later, running = (make_job(database) for _ in range(3))
    run(database, "update jobs set due_at = now() - interval '90 s' where id = %s", late)
    run(database, "update jobs set due_at = now() + interval '1 h' where id = %s", later)
    with database.transaction() as connection:
        lease_store.claim(connection, running, JobType.ANALYZE_CONTENT, lease_s=60, grace_s=1)
    run(database, "update jobs set claimed_at = now() - interval '45 s' where id = %s", running)
    with database.transaction() as connection:
        (row,) = counts_store.counts(connection)
    assert (row.pending, row.processing, row.delayed) == (2, 1, 1)
    assert 90 <= row.oldest_due_s < 600
    assert 45 <= row.oldest_running_s < 600


def logged(caplog: pytest.LogCaptureFixture, event: str) -> list[Any]:
    return [record for record in caplog.records if record.getMessage() == event]


def figures(text: str) -> dict[tuple[str, ...], dict[str, float]]:
    """Return the metrics by the values of their dimensions."""
    found = {}
    for line in map(json.loads, text.splitlines()):
        if "_aws" in line:
            (about,) = line["_aws"]["CloudWatchMetrics"]
            ((*names,),) = about["Dimensions"]
            key = tuple(line[name] for name in sorted(names))
            found[key] = {metric["Name"]: line[metric["Name"]][0] for metric in about["Metrics"]}
    return found


def test_a_report_is_a_line_and_metrics_of_each_queue_under_its_real_name(
    database: Database, capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    make_job(database)
    make_job(database, job_type=JobType.CLUSTER_USER)
    capsys.readouterr()
    Statistics(database, NAMES, FakeClock()).report()
    stats = {line.job_type: line for line in logged(caplog, "queue_stats")}
    assert set(stats) == {"analyze_content", "cluster_user"}
    assert (stats["analyze_content"].queue, stats["analyze_content"].pending) == ("analysis", 1)
    found = figures("".join(line + "\n" for line in capsys.readouterr().out.splitlines() if '"_aws"' in line))
    assert found["siftline-test-analysis-queue", "siftline", "local"]["JobsPending"] == 1
    assert set(found["analyze_content", "siftline-test-analysis-queue", "siftline", "local"]) == {
        "JobsPending",
        "JobsProcessing",
        "OldestDueAge",
        "OldestRunningAge",
    }


def test_a_queue_is_unattended_while_jobs_are_due_and_none_is_in_work(
    database: Database, capsys: pytest.CaptureFixture[str]
) -> None:
    def unattended_s(tell: Callable[[], object]) -> float:
        capsys.readouterr()
        tell()
        out = "".join(line + "\n" for line in capsys.readouterr().out.splitlines() if '"_aws"' in line)
        return figures(out)["siftline-test-analysis-queue", "siftline", "local"]["UnattendedAge"]

    statistics = Statistics(database, NAMES, FakeClock())
    due, running, left_behind = make_job(database), make_job(database), make_job(database)
    run(database, "update jobs set due_at = now() - interval '90 s' where id = %s", due)
    # GIVEN what a newer release left is due for ever
    run(database, "update jobs set job_type = 'future', due_at = '-infinity' where id = %s", left_behind)

    assert 90 <= unattended_s(statistics.report) < 600
    assert unattended_s(lambda: statistics.after_batch(Queue.ANALYSIS)) == 0
    with database.transaction() as connection:
        lease_store.claim(connection, running, JobType.ANALYZE_CONTENT, lease_s=60, grace_s=1)
    assert unattended_s(statistics.report) == 0


def test_a_process_tells_a_queue_once_in_a_while_however_many_batches_it_works_off(
    database: Database, caplog: pytest.LogCaptureFixture
) -> None:
    make_job(database)
    clock = FakeClock()
    statistics = Statistics(database, NAMES, clock)
    for _ in range(5):
        statistics.after_batch(Queue.ANALYSIS)
    statistics.after_batch(Queue.FETCH)
    assert len(logged(caplog, "queue_stats")) == 1
    clock.move(60)
    statistics.after_batch(Queue.ANALYSIS)
    assert len(logged(caplog, "queue_stats")) == 2


def test_a_backlog_is_warned_of_with_the_name_of_its_queue(
    database: Database, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    for _ in range(3):
        make_job(database)
    monkeypatch.setattr(jobs_statistics, "BACKLOG_HIGH", 3)
    Statistics(database, NAMES, FakeClock()).report()
    assert not logged(caplog, "Enrichment queue backlog high")
    monkeypatch.setattr(jobs_statistics, "BACKLOG_HIGH", 2)
    Statistics(database, NAMES, FakeClock()).report()
    (warning,) = logged(caplog, "Enrichment queue backlog high")
    assert (warning.levelname, warning.queue, warning.pending) == ("WARNING", "analysis", 3)


def test_a_batch_is_not_undone_by_a_database_that_is_away(caplog: pytest.LogCaptureFixture) -> None:
    away = SingleConnection("postgresql://127.0.0.1:1/none", connect_timeout_s=2)
    Statistics(away, NAMES, FakeClock()).after_batch(Queue.ANALYSIS)
    assert logged(caplog, "statistics_failed")


def test_the_share_of_duplicates_of_the_last_day_is_told_by_kind(
    database: Database, capsys: pytest.CaptureFixture[str]
) -> None:
    day_old = UUID(int=(int(time.time() * 1000) - 90_000_000) << 80)
    with database.transaction() as connection:
        original = make_content(connection, content_sha256=b"a")
        for kind in ("exact", "exact", "near", "url"):
            make_content(connection, content_sha256=b"a", duplicate_of=original, duplicate_kind=kind)
        for _ in range(3):
            make_content(connection, content_sha256=b"b")
        make_content(connection)  # not read yet
        make_content(connection, id=day_old, content_sha256=b"a", duplicate_of=original, duplicate_kind="exact")
        found = counts_store.duplicates(connection)
    assert (found, found.ratio) == (counts_store.DuplicateCount(contents=8, exact=2, near=1, url=1), 0.5)
    Statistics(database, NAMES, FakeClock()).report()
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines() if '"Duplicates"' in line]
    assert {line["kind"]: line["Duplicates"] for line in lines} == {"exact": [25.0], "near": [12.5], "url": [12.5]}
    assert {line["queue"] for line in lines} == {NAMES[Queue.CONTENT_PROCESSING]}
