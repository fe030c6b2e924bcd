"""The arrows of docs/jobs.md on a real PostgreSQL."""

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest
from psycopg.rows import dict_row

from siftline.contracts import JobType, Queue
from siftline.jobs import jobs_store, lease_store, outbox_store
from siftline.jobs.job_model import ClaimedJob, NewJob
from siftline.kit.db import Database
from siftline.kit.errors import PermanentError, TransientError
from siftline.kit.ids import new_id
from tests.factories import make_content, make_job, make_source

PERMANENT = PermanentError("The page is gone.", code="gone")
TRANSIENT = TransientError("The server is busy.", code="http_503")


def claim(database: Database, job_id: UUID, job_type: JobType = JobType.ANALYZE_CONTENT) -> ClaimedJob | None:
    with database.transaction() as connection:
        return lease_store.claim(connection, job_id, job_type, lease_s=600, grace_s=1)


def must_claim(database: Database, job_id: UUID, job_type: JobType = JobType.ANALYZE_CONTENT) -> ClaimedJob:
    job = claim(database, job_id, job_type)
    assert job is not None
    return job


def row(database: Database, job_id: UUID) -> dict[str, Any]:
    with database.transaction() as connection, connection.cursor(row_factory=dict_row) as cursor:
        [found] = cursor.execute("select * from jobs where id = %s", (job_id,)).fetchall()
    return found


def status(database: Database, subject_id: UUID) -> tuple[str, str | None]:
    with database.transaction() as connection:
        [found] = connection.execute("select status, error_code from contents where id = %s", (subject_id,)).fetchall()
    return found


def expire_lease(database: Database, job_id: UUID) -> None:
    with database.transaction() as connection:
        connection.execute("update jobs set lease_until = now() - interval '1 s' where id = %s", (job_id,))


def test_enqueue_makes_one_pending_job_and_its_content_pending(database: Database) -> None:
    job_id = make_job(database)
    job = row(database, job_id)
    assert (job["state"], job["attempts"], job["queue"], job["published_at"]) == ("pending", 0, "analysis", None)
    assert status(database, job["subject_id"]) == ("PENDING", None)


def test_a_second_enqueue_of_a_pending_subject_is_the_same_job_and_keeps_the_higher_priority(
    database: Database,
) -> None:
    first = make_job(database, priority=5)
    subject = row(database, first)["subject_id"]
    assert make_job(database, subject_id=subject, priority=20) == first
    assert make_job(database, subject_id=subject, priority=0) == first
    assert row(database, first)["priority"] == 20
    assert row(database, first)["again"] is False


def test_a_due_job_is_claimed_by_exactly_one_and_counts_the_attempt(database: Database) -> None:
    job_id = make_job(database)
    job = must_claim(database, job_id)
    assert job.attempts == 1
    assert claim(database, job_id) is None
    assert status(database, job.subject_id) == ("PROCESSING", None)


def test_a_claim_under_another_job_type_is_refused(database: Database) -> None:
    assert claim(database, make_job(database), JobType.INGEST_CONTENT) is None


def test_a_job_due_later_is_refused_and_will_be_handed_out_again(database: Database) -> None:
    job_id = make_job(database, due_at=datetime.now(UTC) + timedelta(hours=6))
    with database.transaction() as connection:
        connection.execute("update jobs set published_at = now() where id = %s", (job_id,))
    assert claim(database, job_id) is None
    assert row(database, job_id)["published_at"] is None


def test_complete_ends_the_job_and_a_second_finish_is_refused(database: Database) -> None:
    job = must_claim(database, make_job(database))
    with database.transaction() as connection:
        assert lease_store.completing(connection, job, {"words": 3}, 7)().follow_id is None
    assert row(database, job.id)["state"] == "completed"
    with pytest.raises(lease_store.LeaseLostError), database.transaction() as connection:
        lease_store.fail(connection, job, PERMANENT, duration_ms=1, park_id=None)
    assert row(database, job.id)["state"] == "completed"


def test_a_subject_that_changes_in_mid_run_gets_exactly_one_follow_up(database: Database) -> None:
    job = must_claim(database, make_job(database))
    for _ in range(3):
        assert make_job(database, subject_id=job.subject_id) == job.id
    with database.transaction() as connection:
        follow = lease_store.completing(connection, job, {}, 1)().follow_id
    assert follow is not None
    assert (row(database, follow)["state"], row(database, follow)["subject_id"]) == ("pending", job.subject_id)


def test_retry_uses_the_attempt_and_defer_gives_it_back(database: Database) -> None:
    job_id = make_job(database)
    with database.transaction() as connection:
        job = lease_store.claim(connection, job_id, JobType.ANALYZE_CONTENT, lease_s=600, grace_s=1)
        assert job is not None
        lease_store.retry(connection, job, TRANSIENT, delay_s=60, duration_ms=1)
    waiting = row(database, job_id)
    assert (waiting["state"], waiting["attempts"], waiting["waits_for"]) == ("pending", 1, "http_503")
    assert status(database, waiting["subject_id"]) == ("PENDING", None)
    with database.transaction() as connection:
        connection.execute("update jobs set due_at = now() where id = %s", (job_id,))
    job = must_claim(database, job_id)
    with database.transaction() as connection:
        lease_store.defer(connection, job, TRANSIENT, delay_s=3600, duration_ms=1)
    waiting = row(database, job_id)
    assert (waiting["attempts"], waiting["deferred_since"] is not None) == (1, True)


def test_a_permanent_failure_tells_the_content_why_and_is_not_parked(database: Database) -> None:
    job = must_claim(database, make_job(database))
    with database.transaction() as connection:
        lease_store.fail(connection, job, PERMANENT, duration_ms=1, park_id=None)
    assert status(database, job.subject_id) == ("FAILED", "gone")
    with database.transaction() as connection:
        assert outbox_store.to_park(connection, quiet_s=0, limit=10) == []


def test_a_finished_or_failed_job_never_blocks_a_new_one(database: Database) -> None:
    job = must_claim(database, make_job(database))
    with database.transaction() as connection:
        lease_store.fail(connection, job, PERMANENT, duration_ms=1, park_id=None)
    assert make_job(database, subject_id=job.subject_id) != job.id
    assert status(database, job.subject_id) == ("PENDING", None)


def test_a_lost_lease_is_swept_back_and_the_late_worker_cannot_undo_it(database: Database) -> None:
    job = must_claim(database, make_job(database))
    expire_lease(database, job.id)
    with database.transaction() as connection:
        assert outbox_store.sweep_lost(connection, limit=10) == outbox_store.Swept(retried=1, failed=0)
    assert row(database, job.id)["state"] == "pending"
    with pytest.raises(lease_store.LeaseLostError), database.transaction() as connection:
        lease_store.completing(connection, job, {}, 1)()


def test_the_sweep_never_undoes_a_finish(database: Database) -> None:
    job = must_claim(database, make_job(database))
    expire_lease(database, job.id)
    with database.transaction() as connection:
        lease_store.completing(connection, job, {}, 1)()
    with database.transaction() as connection:
        assert outbox_store.sweep_lost(connection, limit=10) == outbox_store.Swept(retried=0, failed=0)
    assert row(database, job.id)["state"] == "completed"


def test_a_job_that_kills_its_worker_each_time_stops_at_its_maximum(database: Database) -> None:
    job_id = make_job(database)
    for _ in range(4):
        must_claim(database, job_id)
        expire_lease(database, job_id)
        with database.transaction() as connection:
            outbox_store.sweep_lost(connection, limit=10)
    lost = row(database, job_id)
    assert (lost["state"], lost["attempts"], lost["error_code"]) == ("failed", 4, "worker_lost")
    assert status(database, lost["subject_id"]) == ("FAILED", "worker_lost")
    with database.transaction() as connection:
        parked = outbox_store.to_park(connection, quiet_s=0, limit=10)
        assert [job.id for job in parked] == [job_id]
        assert parked[0].park_id is not None
        outbox_store.parked(connection, [parked[0].park_id])
        assert outbox_store.to_park(connection, quiet_s=0, limit=10) == []


def test_cancelling_a_deleted_subject_ends_its_live_jobs(database: Database) -> None:
    job = must_claim(database, make_job(database))
    with database.transaction() as connection:
        assert jobs_store.cancel(connection, [job.subject_id]) == 1
    assert row(database, job.id)["state"] == "cancelled"
    with pytest.raises(lease_store.LeaseLostError), database.transaction() as connection:
        lease_store.completing(connection, job, {}, 1)()


def test_a_parked_job_is_redriven_once_with_fresh_attempts(database: Database) -> None:
    job = must_claim(database, make_job(database))
    park_id = new_id()
    with database.transaction() as connection:
        lease_store.fail(connection, job, TRANSIENT, duration_ms=1, park_id=park_id)
    with database.transaction() as connection:
        assert jobs_store.redrive(connection, job.id, new_id()) is False
        assert jobs_store.redrive(connection, job.id, park_id) is True
        assert jobs_store.redrive(connection, job.id, park_id) is False
    assert (row(database, job.id)["state"], row(database, job.id)["attempts"]) == ("pending", 0)
    assert status(database, job.subject_id) == ("PENDING", None)


def test_turns_go_round_the_tenants_within_a_priority(database: Database) -> None:
    flood = [make_job(database, group_key="user:flood") for _ in range(6)]
    small = [make_job(database, group_key="user:small") for _ in range(2)]
    urgent = make_job(database, group_key="user:late", priority=20)
    with database.transaction() as connection:
        taken = [job.id for job in outbox_store.take_turns(connection, Queue.ANALYSIS, limit=5, share=40)]
    assert set(taken) == {urgent, flood[0], flood[1], *small}
    with database.transaction() as connection:
        assert outbox_store.in_turn(connection, Queue.ANALYSIS, counted_to=100)() == 5
        assert outbox_store.in_turn(connection, Queue.ANALYSIS, counted_to=3)() == 3
        rest = outbox_store.take_turns(connection, Queue.ANALYSIS, limit=100, share=40)
        assert {job.id for job in rest} == set(flood[2:])


def test_a_tenant_has_no_more_handed_out_than_its_share_and_what_is_not_due_does_not_count(database: Database) -> None:
    flood = [make_job(database, group_key="user:flood") for _ in range(6)]
    with database.transaction() as connection:
        assert {job.id for job in outbox_store.take(connection, flood, share=2)} == set(flood[:2])
        assert outbox_store.take_turns(connection, Queue.ANALYSIS, limit=100, share=2) == []
        connection.execute("update jobs set due_at = now() + interval '1 min' where id = %s", (flood[0],))
        (freed,) = outbox_store.take_turns(connection, Queue.ANALYSIS, limit=100, share=2)
    assert freed.id == flood[2]


def test_an_unanswered_message_is_repeated_after_a_quiet_time_that_doubles(database: Database) -> None:
    job_id = make_job(database)
    with database.transaction() as connection:
        outbox_store.take(connection, [job_id], share=40)
        assert outbox_store.take_unanswered(connection, quiet_s=60, limit=10) == []
        connection.execute("update jobs set published_at = now() - interval '61 s', due_at = now() - interval '1 h'")
        assert [job.id for job in outbox_store.take_unanswered(connection, quiet_s=60, limit=10)] == [job_id]
        connection.execute("update jobs set published_at = now() - interval '61 s'")
        assert outbox_store.take_unanswered(connection, quiet_s=60, limit=10) == []
        connection.execute("update jobs set published_at = now() - interval '121 s'")
        assert [job.id for job in outbox_store.take_unanswered(connection, quiet_s=60, limit=10)] == [job_id]


def test_clean_up_deletes_old_finished_jobs_and_never_a_live_or_unparked_one(database: Database) -> None:
    done, live, unparked = (must_claim(database, make_job(database)) for _ in range(3))
    with database.transaction() as connection:
        lease_store.completing(connection, done, {}, 1)()
        lease_store.fail(connection, unparked, TRANSIENT, duration_ms=1, park_id=new_id())
        connection.execute("update jobs set finished_at = now() - interval '8 days' where finished_at is not null")
        assert outbox_store.clean_up(connection, age_s=7 * 86_400, limit=10) == 1
        left = {job_id for (job_id,) in connection.execute("select id from jobs").fetchall()}
    assert left == {live.id, unparked.id}


def test_a_message_without_a_job_is_matched_by_its_message_id_even_after_the_work_is_done(database: Database) -> None:
    with database.transaction() as connection:
        content = make_content(connection)
    wanted = NewJob(job_type=JobType.ANALYZE_CONTENT, subject_id=content, group_key="g")
    with database.transaction() as connection:
        first = jobs_store.adopt(connection, wanted, message_id="m-1")
    job = must_claim(database, first)
    with database.transaction() as connection:
        lease_store.completing(connection, job, {}, 1)()
        assert jobs_store.adopt(connection, wanted, message_id="m-1") == first
        assert jobs_store.adopt(connection, wanted, message_id="m-2") != first


def test_a_source_follows_its_job(database: Database) -> None:
    with database.transaction() as connection:
        source_id = make_source(connection)
    job_id = make_job(database, job_type=JobType.FETCH_SOURCE, subject_id=source_id)
    seen = []
    for step in ("queued", "claimed", "failed"):
        with database.transaction() as connection:
            if step == "claimed":
                job = lease_store.claim(connection, job_id, JobType.FETCH_SOURCE, lease_s=60, grace_s=1)
            if step == "failed":
                assert job is not None
                lease_store.fail(connection, job, PERMANENT, duration_ms=1, park_id=None)
            seen += connection.execute("select fetch_status from sources").fetchall()
    assert seen == [("QUEUED",), ("FETCHING",), ("ERROR",)]


def test_five_hundred_jobs_are_one_statement_and_each_has_its_line_in_the_timeline(database: Database) -> None:
    with database.transaction() as connection:
        subjects = [make_content(connection) for _ in range(500)]
        jobs = [NewJob(job_type=JobType.ANALYZE_CONTENT, subject_id=subject, group_key="g") for subject in subjects]
        ids = jobs_store.enqueue(connection, jobs)
        [(events,)] = connection.execute("select count(*) from job_events where event = 'enqueued'").fetchall()
    assert (len(set(ids)), events) == (500, 500)
