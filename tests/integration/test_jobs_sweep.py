"""The sweep on a real PostgreSQL: what was lost or stuck goes on, whoever else sweeps, whichever step fails."""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

import psycopg
import pytest

from siftline.contracts import JobType, Queue
from siftline.jobs import lease_store, outbox_store
from siftline.jobs.publish import Publisher
from siftline.jobs.queues import Envelope
from siftline.jobs.sweep import Recovery, Sweep, TickIncompleteError
from siftline.kit.db import Database
from siftline.kit.ids import new_id
from siftline.settings.functions import JobSettings
from tests.factories import make_content, make_item, make_job, make_source, make_user
from tests.fakes import FakeClock, FakeSender

OLD = "now() - interval '1 h'"


class House:
    """A sweep with its parts at hand, and the rows it works on."""

    def __init__(self, database: Database, sender: FakeSender | None = None) -> None:
        self.database = database
        self.sender = sender or FakeSender()
        self.settings = JobSettings()
        self.sweep = Sweep(database, Publisher(database, self.sender, self.settings), self.settings)

    def rows(self, query: str, *values: Any) -> list[Any]:
        with self.database.transaction() as connection:
            return connection.execute(query, values).fetchall()

    def run(self, statement: str, *values: Any) -> None:
        with self.database.transaction() as connection:
            connection.execute(statement, values)

    def old_content(self, status: str, **columns: Any) -> UUID:
        """Make a content that has not changed for an hour, without a job."""
        with self.database.transaction() as connection:
            content_id = make_content(connection, status=status, **columns)
            connection.execute(f"update contents set updated_at = {OLD} where id = %s", (content_id,))
        return content_id

    def old_source(self, status: str, *, followed: bool = True, **columns: Any) -> UUID:
        """Make a source that has not changed for an hour, without a job."""
        with self.database.transaction() as connection:
            source_id = make_source(connection, fetch_status=status, **columns)
            if followed:
                connection.execute(
                    "insert into subscriptions (id, user_id, source_id) values (%s, %s, %s)",
                    (new_id(), make_user(connection), source_id),
                )
            connection.execute(f"update sources set updated_at = {OLD} where id = %s", (source_id,))
        return source_id

    def running(self, jobs: int, *, attempts: int = 1) -> None:
        """Make jobs whose worker was lost long ago."""
        self.run(
            "with fresh as (insert into contents (id, url, url_key, status)"
            " select id, id::text, id::text, 'PROCESSING' from (select gen_random_uuid() as id"
            " from generate_series(1, %s)) as made returning id)"
            " insert into jobs (id, job_type, queue, subject_id, group_key, state, attempts, lease_token, lease_until)"
            " select gen_random_uuid(), 'analyze_content', 'analysis', id, 'user:a', 'processing', %s,"
            " gen_random_uuid(), now() - interval '90 days' from fresh",
            jobs,
            attempts,
        )

    def queued(self, subject_id: UUID) -> tuple[str, str, str]:
        """Return the subject's one live job: type, state and queue."""
        ((job_type, state, queue),) = self.rows(
            "select job_type, state, queue from jobs where subject_id = %s and state in ('pending', 'processing')",
            subject_id,
        )
        return job_type, state, queue


@pytest.fixture
def house(database: Database) -> House:
    return House(database)


def test_one_sweep_brings_back_thousands_of_jobs_that_ran_for_months(house: House) -> None:
    """Q03: nothing runs for months although there is a rescuer."""
    house.running(5_000)
    swept = house.sweep.run()
    assert (swept.recovered, swept.failed) == (5_000, 0)
    assert house.rows("select count(*) from jobs where state = 'processing'") == [(0,)]
    assert house.rows("select status, count(*) from contents group by status") == [("PENDING", 5_000)]


def test_a_job_lost_on_its_last_attempt_fails_its_page_with_the_reason_is_counted_and_parked(
    house: House, capsys: pytest.CaptureFixture[str]
) -> None:
    """Q21: the sweep that ends a job tells its page, as a worker would have."""
    house.running(2, attempts=4)
    swept = house.sweep.run()
    assert (swept.recovered, swept.failed) == (0, 2)
    (figures,) = [line for line in capsys.readouterr().out.splitlines() if '"status":"exhausted"' in line]
    assert '"Jobs":[2.0]' in figures
    assert house.rows("select distinct status, error_code from contents") == [("FAILED", "worker_lost")]
    house.run("update jobs set finished_at = now() - interval '5 min'")
    assert house.sweep.run().parked == 2
    assert {attributes["error_code"] for attributes in house.sender.parked_attributes(Queue.ANALYSIS)} == {
        "worker_lost"
    }


def test_a_poll_lost_on_its_last_attempt_is_an_error_of_its_source_and_comes_again_at_its_pace(house: House) -> None:
    source_id = house.old_source("IDLE")
    job_id = make_job(house.database, job_type=JobType.FETCH_SOURCE, subject_id=source_id)
    with house.database.transaction() as connection:
        lease_store.claim(connection, job_id, JobType.FETCH_SOURCE, lease_s=600, grace_s=1)
    house.run("update jobs set attempts = 4, lease_until = now() - interval '1 s'")
    assert house.sweep.run().failed == 1
    found = house.rows("select fetch_status, last_error_code, next_fetch_at > now() + interval '30 min' from sources")
    assert found == [("ERROR", "worker_lost", True)]


def test_a_sweep_goes_on_beside_another_that_was_cut_off_while_it_held_half_of_the_rows(
    house: House, sessions_url: str
) -> None:
    """Q05: a recovery killed in mid-run, holding its locks, blocks no other."""
    house.running(20)
    with psycopg.connect(sessions_url) as dying:
        pid = dying.info.backend_pid
        dying.execute("select id from jobs order by id limit 10 for update")
        assert house.sweep.run().recovered == 10
        house.run("select pg_terminate_backend(%s, 5000)", pid)
        assert house.sweep.run().recovered == 10
        dying.close()
    assert house.sweep.run().recovered == 0


def test_a_save_while_a_lost_worker_still_holds_the_page_is_worked_on_once_after_the_sweep(house: House) -> None:
    job_id = make_job(house.database)
    with house.database.transaction() as connection:
        job = lease_store.claim(connection, job_id, JobType.ANALYZE_CONTENT, lease_s=600, grace_s=1)
    assert job is not None
    house.run("update jobs set lease_until = now() - interval '1 s'")
    assert make_job(house.database, subject_id=job.subject_id) == job_id
    assert house.sweep.run().recovered == 1
    with house.database.transaction() as connection:
        again = lease_store.claim(connection, job_id, JobType.ANALYZE_CONTENT, lease_s=600, grace_s=1)
        assert again is not None
        assert lease_store.completing(connection, again, {}, 1)().follow_id is None
    assert house.rows("select state, count(*) from jobs group by state") == [("completed", 1)]


@pytest.mark.parametrize("status", ["PENDING", "PROCESSING"])
def test_a_page_on_its_way_without_a_job_is_queued_again_and_its_timeline_says_why(house: House, status: str) -> None:
    content_id = house.old_content(status)
    assert house.sweep.run().stuck == 1
    assert house.queued(content_id) == ("ingest_content", "pending", "content-background")
    assert house.rows("select status from contents") == [("PENDING",)]
    ((event, detail),) = house.rows("select event, detail from job_events")
    assert event == "recovered"
    assert detail == f"It was {status} without a job for 60 minutes; it was requeued."
    assert len(house.sender.sent[Queue.CONTENT_BACKGROUND]) == 1
    assert house.sweep.run().stuck == 0


def test_what_is_queued_again_is_the_step_that_is_missing(house: House) -> None:
    read = house.old_content("PENDING", text="Some words.")
    saved = house.old_content("PENDING")
    begun_again = house.old_content("PENDING", text="Words of before.")
    with house.database.transaction() as connection:
        make_item(connection, make_user(connection), saved)
    make_job(house.database, job_type=JobType.INGEST_CONTENT, subject_id=begun_again, group_key="user:b")
    house.run("update jobs set state = 'cancelled', finished_at = now()")
    assert house.sweep.run().stuck == 3
    assert house.queued(read) == ("analyze_content", "pending", "analysis-background")
    assert house.queued(saved) == ("ingest_content", "pending", "content-processing")
    assert house.queued(begun_again) == ("ingest_content", "pending", "content-background")
    tenants = house.rows("select group_key from jobs where subject_id = %s and state = 'pending'", begun_again)
    assert tenants == [("user:b",)]


def test_a_page_that_waits_for_credit_changed_lately_or_has_a_job_is_left_alone(house: House) -> None:
    house.old_content("NEW", notice_code="no_credit")
    house.old_content("READY")
    with house.database.transaction() as connection:
        make_content(connection, status="PENDING")
    waiting = house.old_content("PENDING")
    make_job(house.database, subject_id=waiting)
    house.run(f"update contents set updated_at = {OLD} where id = %s", waiting)
    assert house.sweep.run().stuck == 0


@pytest.mark.parametrize("status", ["QUEUED", "FETCHING"])
def test_a_source_being_polled_without_a_job_is_queued_again(house: House, status: str) -> None:
    source_id = house.old_source(status)
    assert house.sweep.run().stuck == 1
    assert house.queued(source_id) == ("fetch_source", "pending", "fetch")
    assert house.rows("select fetch_status from sources") == [("QUEUED",)]
    [(follower,)] = house.rows("select user_id from subscriptions")
    assert house.sender.sent[Queue.FETCH][0].group == f"user:{follower}"


def test_a_stuck_source_that_nobody_wants_polled_is_idle_again(house: House) -> None:
    house.old_source("QUEUED", followed=False)
    house.old_source("FETCHING", health="inactive")
    assert house.sweep.run().stuck == 2
    assert house.rows("select distinct fetch_status from sources") == [("IDLE",)]
    assert house.rows("select id from jobs") == []


def test_two_sweeps_recover_a_stuck_page_once(house: House, database_url: str) -> None:
    content_id = house.old_content("PENDING")
    with psycopg.connect(database_url) as other:
        other.execute("select id from contents where id = %s for update", (content_id,))
        assert house.sweep.run().stuck == 0
    assert house.sweep.run().stuck == 1


class RefusingSender(FakeSender):
    """A sender whose queues of one name break."""

    def send(self, queue: Queue, envelopes: Sequence[Envelope]) -> set[str]:
        """Break for fetches."""
        if queue is Queue.FETCH:
            raise RuntimeError("a fault of ours")
        return super().send(queue, envelopes)


def test_a_step_that_fails_keeps_no_other_from_running_and_the_sweep_fails_at_its_end(
    database: Database, capsys: pytest.CaptureFixture[str]
) -> None:
    house = House(database, RefusingSender())
    house.old_source("QUEUED")
    house.running(1)
    analysis = make_job(database)
    with pytest.raises(TickIncompleteError, match="recover_sources"):
        house.sweep.run()
    assert house.rows("select state, count(*) from jobs where job_type = 'analyze_content' group by state") == [
        ("pending", 2)
    ]
    assert str(analysis) in {envelope.key for envelope in house.sender.sent[Queue.ANALYSIS]}
    assert '"StepFailures":[1.0]' in capsys.readouterr().out


def test_a_sweep_that_is_out_of_time_leaves_the_rest_to_the_next(database: Database) -> None:
    house = House(database)
    house.running(3)
    publisher = Publisher(database, house.sender, house.settings)
    swept = Sweep(database, publisher, house.settings, clock=FakeClock(), work_s=0).run()
    assert (swept.recovered, swept.handed_out) == (0, 0)
    assert house.sweep.run().recovered == 3


def test_clean_up_never_takes_a_live_job_and_a_failed_one_only_once_its_page_says_why(house: House) -> None:
    said, unsaid, ready = house.old_content("PENDING"), house.old_content("PENDING"), house.old_content("READY")
    for subject in (said, unsaid, ready):
        make_job(house.database, subject_id=subject)
    house.run("update jobs set state = 'failed', finished_at = now() - interval '30 days'")
    house.run("update contents set status = 'FAILED', error_code = 'gone' where id = %s", said)
    house.run("update contents set status = 'READY' where id = %s", ready)
    live = make_job(house.database)
    house.run("update jobs set created_at = now() - interval '30 days'")
    with house.database.transaction() as connection:
        assert outbox_store.clean_up(connection, age_s=7 * 86_400, limit=10) == 2
    left = {subject for (subject,) in house.rows("select subject_id from jobs where id <> %s", live)}
    assert left == {unsaid}
    assert house.rows("select count(*) from jobs where id = %s", live) == [(1,)]


@pytest.mark.parametrize(("lease_s", "recovered"), [(3_500, 1), (3_700, 0)])
def test_nothing_counts_as_stuck_before_a_lease_can_have_run_out(house: House, lease_s: int, recovered: int) -> None:
    house.old_content("PENDING")
    house.old_source("QUEUED")
    recovery = Recovery(
        house.database, Publisher(house.database, house.sender, house.settings), JobSettings(job_lease_s=lease_s)
    )
    assert (recovery.contents(limit=10), recovery.sources(limit=10)) == (recovered, recovered)
