"""Faults inside one function: no connection left, too little time, clocks apart; and what a race must not undo."""

import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import psycopg
import pytest

from siftline.contracts import Queue
from siftline.jobs import jobs_store, lease_store, outbox_store
from siftline.jobs.job_model import ClaimedJob, Done
from siftline.jobs.sweep import Sweep
from siftline.kit.db import Connection, Database, DatabaseUnavailableError, Pool
from siftline.kit.errors import TransientError
from tests.bench import ANALYZE, Bench
from tests.factories import FakeContext, make_content, make_job, sqs_event
from tests.fakes import FakeClock
from tests.faults.audit import restless, violations
from tests.faults.table import Told


def succeed(job: ClaimedJob) -> Done:
    def write(connection: Connection) -> None:
        connection.execute(READY, (job.subject_id,))

    return Done(write)


READY = "update contents set status = 'READY' where id = %s"
DERIVED = """
insert into derivations (content_id, kind, model_id, model_version, input_sha256)
select id, 'language', 'm', '1', '' from contents
"""


def audited(database: Database) -> None:
    """Fail unless all is at rest and every invariant holds."""
    with database.transaction() as connection:
        connection.execute(DERIVED)  # what a real analysis leaves
        assert (restless(connection), violations(connection, {})) == ([], [])


def test_a_hundred_workers_on_ten_connections_lose_no_record(
    database: Database, database_url: str, healing: Told, fault_round: int
) -> None:
    """Fault 13: the pool is used up; who gets no connection in time leaves the record to the queue."""
    pool = Pool(database_url, size=10, wait_s=1.0)
    bench = Bench(database, succeed)
    bench.consumer = bench.make(pool)
    jobs = [make_job(database) for _ in range(100)]
    refused = threading.Event()

    def knock(job_id: UUID) -> None:
        if bench.knock(bench.message(job_id)) != []:
            refused.set()

    with ThreadPoolExecutor(100) as workers:
        with ExitStack() as taken:
            for _ in range(10):
                taken.enter_context(pool.transaction())
            started = time.monotonic()
            answers = workers.map(knock, jobs)
            assert refused.wait(60)
        assert len([*answers]) == 100
        # Also who got none for the end of its work did it in vain, and does it again.
        while left := _come_due(database):
            for job_id in left:
                knock(job_id)
    healing("13 100 workers, 10 connections, all taken until one gives up", time.monotonic() - started)
    pool.close()
    assert {claim.id for claim in bench.processor.worked} == set(jobs)
    assert bench.states() == ["completed"] * 100
    audited(database)


def _come_due(database: Database) -> list[UUID]:
    """Let leases and delays of the jobs that are not at their end run out; return these jobs."""
    with database.transaction() as connection:
        rows = connection.execute(
            "update jobs set due_at = now(), lease_until = lease_until - interval '1 h'"
            " where state in ('pending', 'processing') returning id"
        ).fetchall()
        outbox_store.sweep_lost(connection, limit=100)
    return [job_id for (job_id,) in rows]


@dataclass
class RunningOut(FakeContext):
    """A context whose time goes down with every record that asks."""

    def get_remaining_time_in_millis(self) -> int:
        """Return 2 seconds less than the last time."""
        self.remaining_ms -= 2_000
        return self.remaining_ms


def test_what_ten_records_have_no_time_for_is_put_back_and_handed_out_again(
    database: Database, healing: Told, fault_round: int
) -> None:
    """Fault 33: the time runs out at item 6 of 10; five are done, five were never begun and cost no attempt."""
    bench = Bench(database, succeed)
    jobs = [make_job(database) for _ in range(10)]
    assert bench.publisher.publish(jobs) == 10
    started = time.monotonic()
    assert bench.knock(*map(bench.message, jobs), context=RunningOut(remaining_ms=16_000)) == []
    assert len(bench.processor.worked) == 5
    assert [bench.column("attempts", job) for job in jobs] == [1] * 5 + [0] * 5
    again = [envelope.key for envelope in bench.sender.sent[Queue.ANALYSIS][10:]]
    assert sorted(again) == sorted(map(str, jobs[5:]))
    assert bench.knock(*map(bench.message, map(UUID, again))) == []
    healing("33 time runs out at item 6 of 10", time.monotonic() - started)
    assert bench.states() == ["completed"] * 10
    audited(database)


@pytest.mark.parametrize("apart_s", [-600, 600], ids=["behind", "ahead"])
def test_a_worker_whose_clock_is_ten_minutes_off_follows_the_databases(
    database: Database, healing: Told, apart_s: int, fault_round: int
) -> None:
    """Fault 27: clocks 10 minutes apart. When a job is due, for how long it is held and put off: the database says."""
    answers: list[Any] = [TransientError("Come back.", code="http_429", retry_after_s=60), None]

    def work(job: ClaimedJob) -> Done:
        if error := answers.pop(0):
            raise error
        return succeed(job)

    bench = Bench(database, work)
    bench.consumer = bench.make(database, clock=FakeClock(datetime.now(UTC) + timedelta(seconds=apart_s)))
    job_id = make_job(database, due_at=datetime.now(UTC) + timedelta(seconds=300))
    started = time.monotonic()
    assert bench.knock(bench.message(job_id)) == []
    assert (bench.column("attempts", job_id), bench.processor.worked) == (0, [])
    bench.publisher.publish([job_id])
    (early,) = bench.sender.sent[Queue.ANALYSIS]
    assert 290 < early.delay_s <= 300
    due(database, job_id)
    bench.knock(bench.message(job_id))
    assert 50 < bench.column("extract(epoch from due_at - now())", job_id) <= 60
    assert bench.sender.sent[Queue.ANALYSIS][-1].delay_s in range(50, 61)
    with database.transaction() as connection:
        assert outbox_store.sweep_lost(connection, limit=10).retried == 0
    due(database, job_id)
    assert bench.knock(bench.message(job_id)) == []
    healing("27 a worker's clock 10 minutes off", time.monotonic() - started)
    assert bench.states() == ["completed"]
    audited(database)


def due(database: Database, job_id: UUID) -> None:
    """Let the time come at which a job is due."""
    with database.transaction() as connection:
        connection.execute("update jobs set due_at = now() where id = %s", (job_id,))


@pytest.mark.parametrize("first", ["worker", "recovery"])
def test_a_recovery_that_meets_a_finish_never_overwrites_it(database: Database, database_url: str, first: str) -> None:
    """Q01: recovery and worker end the same job at the same time; one of them wins and the other sees that."""
    job_id = make_job(database)
    with database.transaction() as connection:
        job = lease_store.claim(connection, job_id, ANALYZE, lease_s=60, grace_s=1)
        connection.execute("update jobs set lease_until = now() - interval '1 s'")
    assert job is not None

    def complete(connection: Connection) -> bool:
        try:
            lease_store.completing(connection, job, {}, 1)()
        except lease_store.LeaseLostError:
            return False
        connection.execute(READY, (job.subject_id,))
        return True

    def recover(connection: Connection) -> bool:
        return outbox_store.sweep_lost(connection, limit=10).retried == 1

    acts: list[Callable[[Connection], bool]] = [complete, recover] if first == "worker" else [recover, complete]
    with ThreadPoolExecutor(1) as other, psycopg.connect(database_url) as one:
        assert acts[0](one)
        second = other.submit(in_a_transaction, database, acts[1])
        time.sleep(0.3)  # by now the second has met the first's row: it waits for it, or passes it by
        one.commit()
        assert second.result(60) is False
    with database.transaction() as connection:
        connection.execute(DERIVED)
        [(state,)] = connection.execute("select state from jobs").fetchall()
        assert violations(connection, {}) == []
    assert state == ("completed" if first == "worker" else "pending")


def in_a_transaction(database: Database, act: Callable[[Connection], bool]) -> bool:
    with database.transaction() as connection:
        return act(connection)


def test_a_job_due_in_six_hours_is_sent_when_it_is_due_and_runs_once(database: Database) -> None:
    """Q11: the due time is PostgreSQL's; a queue never holds a message for longer than it can delay one."""
    bench = Bench(database, succeed)
    job_id = make_job(database, due_at=datetime.now(UTC) + timedelta(hours=6))
    sweep = Sweep(database, bench.publisher, bench.settings)
    assert (bench.publisher.publish([job_id]), sweep.run().handed_out) == (0, 0)
    due(database, job_id)
    assert (sweep.run().handed_out, sweep.run().handed_out) == (1, 0)
    (sent,) = bench.sender.sent[Queue.ANALYSIS]
    assert bench.knock(sent.body, sent.body) == []
    assert len(bench.processor.worked) == 1


def test_a_partial_failure_names_the_failed_records_in_lambdas_own_spelling(database: Database) -> None:
    """Q15: two of five fail; the answer's JSON has exactly Lambda's keys and those two ids."""
    bench = Bench(database, succeed)
    away: set[UUID] = set()

    def known(connection: Connection, message: Any) -> UUID | None:
        if message.subject_id in away:
            raise DatabaseUnavailableError("The database could not be reached.")
        return bench.known(connection, message.subject_id)

    with database.transaction() as connection:
        contents = [make_content(connection) for _ in range(5)]
    away.update((contents[1], contents[4]))
    consumer = bench.make(database, {ANALYZE: known})
    bodies = [{"job_type": "analyze_content", "shared_content_id": content} for content in contents]
    answer = consumer.handle(sqs_event("analysis", *bodies, message_ids=list("abcde")), FakeContext())
    assert answer == {"batchItemFailures": [{"itemIdentifier": "b"}, {"itemIdentifier": "e"}]}
    assert bench.states() == ["completed"] * 3


def test_a_lost_job_does_not_block_its_subject(database: Database) -> None:
    """Q09: the worker of a unique job was killed; a new request is one more run, not a refusal."""
    bench = Bench(database, succeed)
    job_id = make_job(database)
    with database.transaction() as connection:
        assert lease_store.claim(connection, job_id, ANALYZE, lease_s=60, grace_s=1) is not None
        connection.execute("update jobs set lease_until = now() - interval '1 s'")
        [(subject,)] = connection.execute("select subject_id from jobs").fetchall()
    assert make_job(database, subject_id=subject) == job_id
    assert Sweep(database, bench.publisher, bench.settings).run().recovered == 1
    for body in [envelope.body for envelope in bench.sender.sent[Queue.ANALYSIS]]:
        bench.knock(body)
    assert set(bench.states()) == {"completed"}
    audited(database)


def test_a_redrive_counts_once_however_many_ask_at_once(database: Database) -> None:
    """Fault 35: redriven by ten at once."""
    job_id, park_id = make_job(database), UUID(int=7)
    with database.transaction() as connection:
        job = lease_store.claim(connection, job_id, ANALYZE, lease_s=60, grace_s=1)
        assert job is not None
        lease_store.fail(connection, job, TransientError("Busy.", code="busy"), duration_ms=1, park_id=park_id)

    def redrive(_: int) -> bool:
        return in_a_transaction(database, lambda connection: jobs_store.redrive(connection, job_id, park_id))

    with ThreadPoolExecutor(10) as askers:
        assert sum(askers.map(redrive, range(10))) == 1
