"""The batch loop on a real PostgreSQL: one committed outcome a record, and what is acknowledged when."""

import json
import threading
from collections.abc import Callable
from typing import Any
from uuid import UUID

import psycopg
import pytest
from psycopg.errors import DeadlockDetected

from siftline.contracts import JobType, Queue
from siftline.jobs import jobs_store, lease_store
from siftline.jobs.breakers_store import try_all
from siftline.jobs.job_model import ClaimedJob, Done, NewJob
from siftline.jobs.sweep import Sweep
from siftline.kit.db import Connection, Database, SingleConnection
from siftline.kit.errors import ConfigurationError, PermanentError, TransientError
from siftline.kit.ids import new_id
from siftline.net.pacing import HostBusyError
from tests.bench import Bench
from tests.factories import FakeContext, make_content, make_job, sqs_event

ANALYZE = JobType.ANALYZE_CONTENT


def succeed(_: ClaimedJob) -> Done:
    return Done(result={"ok": True})


def raising(error: Exception) -> Any:
    def work(_: ClaimedJob) -> Done:
        raise error

    return work


def running(statement: str, *values: object) -> Callable[[Connection], None]:
    def write(connection: Connection) -> None:
        connection.execute(statement, values)

    return write


def new_job(group_key: str) -> NewJob:
    return NewJob(ANALYZE, new_id(), group_key)


def test_a_job_done_is_completed_with_its_writes_and_its_follow_up_is_published(database: Database) -> None:
    def work(job: ClaimedJob) -> Done:
        return Done(
            write=running("update contents set status = 'READY' where id = %s", job.subject_id),
            follow=[NewJob(job_type=JobType.CLUSTER_USER, subject_id=new_id(), group_key="user:a")],
        )

    bench = Bench(database, work)
    assert bench.knock(bench.message(make_job(database))) == []
    assert bench.states() == ["completed", "pending"]
    (sent,) = bench.sender.sent[Queue.CLUSTERING]
    assert json.loads(sent.body)["job_type"] == "cluster_user"
    assert sent.group == "user:a"


def test_a_write_that_fails_undoes_the_completion_too(database: Database) -> None:
    def work(job: ClaimedJob) -> Done:
        return Done(write=running("select 1 / 0"))

    bench = Bench(database, work)
    job_id = make_job(database)
    assert bench.knock(bench.message(job_id)) == []
    assert (bench.column("state", job_id), bench.column("error_code", job_id)) == ("pending", "unexpected_error")


def test_the_same_message_ten_times_is_worked_once(database: Database) -> None:
    bench = Bench(database, succeed)
    job_id = make_job(database)
    assert bench.knock(*[bench.message(job_id)] * 10) == []
    assert len(bench.processor.worked) == 1


def test_one_bad_record_never_makes_its_neighbours_run_again(database: Database) -> None:
    bench = Bench(database, succeed)
    jobs = [make_job(database) for _ in range(3)]
    bodies = [
        bench.message(jobs[0]),
        "{not json",
        bench.message(jobs[1]),
        {"job_type": "dance"},
        bench.message(jobs[2]),
    ]
    assert bench.knock(*bodies) == []
    assert bench.states() == ["completed"] * 3
    causes = [attributes["error_code"] for attributes in bench.sender.parked_attributes(Queue.ANALYSIS)]
    assert causes == ["malformed_message", "malformed_message"]


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ("", "malformed_message"),
        ("[]", "malformed_message"),
        ('{"job_type": "analyze_content"}', "malformed_message"),
        ('{"job_type": "analyze_content", "shared_content_id": "1"}', "malformed_message"),
        ('{"job_type": "cluster_user", "user_id": "0199d2a4-0000-7000-8000-000000000001"}', "unexpected_job_type"),
        (
            '{"job_type": "analyze_content", "shared_content_id": "0199d2a4-0000-7000-8000-000000000001"}',
            "unknown_subject",
        ),
        ("\ud83d", "malformed_message"),
    ],
)
def test_a_malformed_message_is_parked_with_its_cause(database: Database, body: str, code: str) -> None:
    bench = Bench(database, succeed)
    assert bench.knock(body) == []
    (parked,) = bench.sender.parked_attributes(Queue.ANALYSIS)
    assert parked["error_code"] == code
    assert bench.processor.worked == []


def test_a_malformed_message_that_cannot_be_parked_is_left_to_the_queue(database: Database) -> None:
    bench = Bench(database, succeed)
    bench.sender.refuse = lambda _: True
    assert bench.knock("{", message_ids=["m-1"]) == ["m-1"]


def test_a_plain_message_finds_its_content_and_is_worked_once_however_often_it_comes(database: Database) -> None:
    bench = Bench(database, succeed)
    with database.transaction() as connection:
        content = make_content(connection)
    plain = {"job_type": "analyze_content", "shared_content_id": content}
    assert bench.knock(plain, plain, message_ids=["m-1", "m-1"]) == []
    assert bench.knock(plain, message_ids=["m-1"]) == []
    assert (len(bench.processor.worked), bench.states()) == (1, ["completed"])


def test_a_permanent_error_fails_the_job_at_once_and_no_operator_is_called(database: Database) -> None:
    bench = Bench(database, raising(PermanentError("There is no such page.", code="not_found")))
    job_id = make_job(database)
    assert bench.knock(bench.message(job_id)) == []
    assert (bench.column("state", job_id), bench.column("attempts", job_id)) == ("failed", 1)
    assert bench.sender.dead == {}
    assert bench.processor.failures == ["not_found"]


def test_a_transient_error_is_tried_four_times_and_then_parked_with_its_cause(database: Database) -> None:
    bench = Bench(database, raising(TransientError("It is busy.", code="http_503")))
    job_id = make_job(database)
    waits = []
    for _ in range(4):
        assert bench.knock(bench.message(job_id)) == []
        waits.append([envelope.delay_s for envelope in bench.sender.sent[Queue.ANALYSIS]][-1:])
        with database.transaction() as connection:
            connection.execute("update jobs set due_at = now() where state = 'pending'")
    assert [54 <= waits[0][0] <= 60, 270 <= waits[1][0] <= 300, 810 <= waits[2][0] <= 900] == [True] * 3
    assert (bench.column("state", job_id), bench.column("attempts", job_id)) == ("failed", 4)
    (parked,) = bench.sender.parked_attributes(Queue.ANALYSIS)
    assert parked == {
        "error_code": "http_503",
        "attempts": "4",
        "job_id": str(job_id),
        "park_id": str(bench.column("park_id", job_id)),
    }
    assert bench.column("parked_at", job_id) is not None


def test_a_deferral_uses_no_attempt_and_ends_after_its_longest_age(database: Database) -> None:
    bench = Bench(database, raising(TransientError("Come back.", code="http_429", retry_after_s=7200)))
    job_id = make_job(database)
    bench.knock(bench.message(job_id))
    assert (bench.column("state", job_id), bench.column("attempts", job_id)) == ("pending", 0)
    assert bench.sender.sent[Queue.ANALYSIS] == []
    with database.transaction() as connection:
        connection.execute("update jobs set due_at = now(), deferred_since = now() - interval '3 days', attempts = 3")
    bench.knock(bench.message(job_id))
    assert (bench.column("state", job_id), bench.column("error_code", job_id)) == ("failed", "http_429")


def test_waiting_for_a_turn_uses_no_attempt_no_patience_and_counts_as_no_failure(database: Database) -> None:
    bench = Bench(database, raising(HostBusyError("Others come first.", retry_after_s=90)))
    job_id = make_job(database)
    bench.knock(bench.message(job_id))
    assert (bench.column("attempts", job_id), bench.column("deferred_since", job_id)) == (0, None)
    with database.transaction() as connection:
        connection.execute("update jobs set due_at = now(), deferred_since = now() - interval '3 days', attempts = 3")
    bench.knock(bench.message(job_id))
    assert (bench.column("state", job_id), bench.column("attempts", job_id)) == ("pending", 3)
    with database.transaction() as connection:
        waits = connection.execute(
            "select due_at - now() between interval '80 s' and interval '90 s' from jobs"
        ).fetchone()
    assert waits == (True,)
    assert bench.processor.failures == []


def test_who_asks_for_longer_than_a_job_may_be_put_off_is_asked_again_in_time(database: Database) -> None:
    bench = Bench(database, raising(TransientError("Come back.", code="http_503", retry_after_s=30 * 86_400)))
    job_id = make_job(database)
    bench.knock(bench.message(job_id))
    with database.transaction() as connection:
        waited = "select round(extract(epoch from due_at - deferred_since)) from jobs"
        [(due_s,)] = connection.execute(waited).fetchall()
        told = connection.execute("select detail, due_at > now() from job_events where event = 'deferred'").fetchone()
        connection.execute("update jobs set due_at = now(), deferred_since = now() - interval '2 days'")
    assert (due_s, told) == (172_800, ("Come back.", True))
    bench.knock(bench.message(job_id))
    assert (bench.column("state", job_id), bench.column("attempts", job_id)) == ("pending", 1)


def test_a_fault_of_the_set_up_defers_the_job_and_burns_no_attempt(database: Database) -> None:
    bench = Bench(database, raising(ConfigurationError("The collection has other dimensions.", code="other_size")))
    job_id = make_job(database)
    assert bench.knock(bench.message(job_id)) == []
    assert (bench.column("state", job_id), bench.column("attempts", job_id)) == ("pending", 0)
    assert bench.column("waits_for", job_id) == "other_size"


def test_an_unknown_fault_counts_as_transient_and_shows_no_inner_text(database: Database) -> None:
    bench = Bench(database, raising(RuntimeError("secret")))
    job_id = make_job(database)
    assert bench.knock(bench.message(job_id)) == []
    assert bench.column("state", job_id) == "pending"
    assert "secret" not in bench.column("error_message", job_id)


def test_with_the_database_away_every_record_is_left_to_the_queue(database: Database) -> None:
    bench = Bench(database, succeed)
    bench.consumer = bench.make(SingleConnection("postgresql://nobody@127.0.0.1:1/none", connect_timeout_s=1))
    assert bench.knock(bench.message(new_id()), message_ids=["m-1"]) == ["m-1"]


def test_a_record_that_comes_up_with_too_little_time_left_is_put_back_not_cut_off(database: Database) -> None:
    bench = Bench(database, succeed)
    job_id = make_job(database)
    assert bench.knock(bench.message(job_id), context=FakeContext(remaining_ms=3_000)) == []
    assert (bench.column("state", job_id), bench.column("attempts", job_id)) == ("pending", 0)
    assert [json.loads(sent.body)["job_id"] for sent in bench.sender.sent[Queue.ANALYSIS]] == [str(job_id)]


def test_a_worker_that_lost_its_lease_writes_nothing(database: Database) -> None:
    bench: Bench

    def work(job: ClaimedJob) -> Done:
        with database.transaction() as connection:
            jobs_store.cancel(connection, [job.subject_id])
        return Done(write=running("update contents set title = 'written'"))

    bench = Bench(database, work)
    assert bench.knock(bench.message(make_job(database))) == []
    assert bench.states() == ["cancelled"]
    with database.transaction() as connection:
        assert connection.execute("select title from contents").fetchone() == (None,)


def test_a_late_knock_on_a_failed_job_revives_nothing_but_its_own_park_id_does_once(database: Database) -> None:
    bench = Bench(database, raising(TransientError("It is busy.")), job_max_attempts=1)
    job_id = make_job(database)
    with database.transaction() as connection:
        connection.execute("update jobs set max_attempts = 1")
    bench.knock(bench.message(job_id))
    (parked,) = bench.sender.dead[Queue.ANALYSIS]
    bench.processor._work = succeed
    bench.knock(bench.message(job_id))
    assert bench.column("state", job_id) == "failed"
    bench.knock(parked.body, parked.body)
    assert bench.column("state", job_id) == "completed"
    assert len(bench.processor.worked) == 2


def test_messages_of_a_queue_it_does_not_know_are_refused_loudly(database: Database) -> None:
    bench = Bench(database, succeed)
    with pytest.raises(ConfigurationError):
        bench.consumer.handle(sqs_event("briefing", "{}"), FakeContext())


def test_the_sweep_hands_out_what_a_crash_left_unpublished_and_parks_what_was_not_parked(database: Database) -> None:
    bench = Bench(database, succeed)
    waiting, dead = make_job(database), make_job(database)
    with database.transaction() as connection:
        job = lease_store.claim(connection, dead, ANALYZE, lease_s=60, grace_s=1)
        assert job is not None
        lease_store.fail(connection, job, TransientError("It is busy."), duration_ms=1, park_id=new_id())
        connection.execute("update jobs set finished_at = now() - interval '1 h' where state = 'failed'")
    sweep = Sweep(database, bench.publisher, bench.settings)
    result = sweep.run()
    assert (result.handed_out, result.parked) == (1, 1)
    assert [json.loads(sent.body)["job_id"] for sent in bench.sender.sent[Queue.ANALYSIS]] == [str(waiting)]
    again = sweep.run()
    assert (again.handed_out, again.parked, again.repeated) == (0, 0, 0)


def test_what_sqs_did_not_accept_waits_for_the_next_sweep(database: Database) -> None:
    bench = Bench(database, succeed)
    jobs = [make_job(database) for _ in range(10)]
    bench.sender.refuse = lambda envelope: envelope.key == str(jobs[3])
    assert bench.publisher.publish(jobs) == 9
    bench.sender.refuse = lambda _: False
    assert bench.publisher.hand_out(Queue.ANALYSIS) == 1


def test_hand_out_stops_at_the_cap_of_outstanding_messages(database: Database) -> None:
    bench = Bench(database, succeed, job_outstanding_max=5)
    for _ in range(8):
        make_job(database, queue=Queue.ANALYSIS_BACKGROUND)
    assert bench.publisher.hand_out(Queue.ANALYSIS_BACKGROUND) == 5
    assert bench.publisher.hand_out(Queue.ANALYSIS_BACKGROUND) == 0


def test_a_single_save_does_not_wait_behind_another_tenants_ten_thousand(database: Database) -> None:
    bench = Bench(database, succeed)
    with database.transaction() as connection:
        flood = jobs_store.enqueue(connection, [new_job("user:flood") for _ in range(10_000)])
    for start in range(0, len(flood), 500):
        bench.publisher.publish(flood[start : start + 500])
    with database.transaction() as connection:
        (single,) = jobs_store.enqueue(connection, [new_job("user:single")])
    bench.publisher.publish([single])
    claimed: list[str] = []
    while str(single) not in claimed:
        waiting = bench.sender.sent[Queue.ANALYSIS_BACKGROUND]
        batch, waiting[:] = waiting[:5], waiting[5:]
        bench.knock(*[sent.body for sent in batch])
        claimed += [sent.key for sent in batch]
    assert len(claimed) <= 50


def test_a_database_error_inside_the_work_is_a_retry_not_a_crash(database: Database) -> None:
    bench = Bench(database, raising(psycopg.errors.DeadlockDetected("deadlock")))
    job_id = make_job(database)
    assert bench.knock(bench.message(job_id)) == []
    assert bench.column("state", job_id) == "pending"


class ModelGoneError(ConfigurationError):
    code = "model_missing"
    provider = "model"


def test_a_far_side_that_asks_for_a_moment_again_and_again_gets_ever_more(database: Database) -> None:
    bench = Bench(database, raising(TransientError("Busy.", code="busy", retry_after_s=30)))
    job_id = make_job(database)
    bench.knock(bench.message(job_id))
    with database.transaction() as connection:
        connection.execute("update jobs set due_at = now(), deferred_since = now() - interval '1 hour'")
    bench.knock(bench.message(job_id))
    with database.transaction() as connection:
        [(wait_s,)] = connection.execute("select extract(epoch from due_at - now())::float8 from jobs").fetchall()
    assert 890 < wait_s < 910
    assert (bench.column("state", job_id), bench.column("attempts", job_id)) == ("pending", 0)


def broken_until(mended: list[bool]) -> Any:
    def work(_: ClaimedJob) -> Done:
        if not mended:
            raise ModelGoneError("There is no model.")
        return Done()

    return work


def due_now(database: Database, job_id: UUID) -> None:
    with database.transaction() as connection:
        connection.execute("update jobs set due_at = now() where id = %s", (job_id,))


def breaker(database: Database) -> Any:
    with database.transaction() as connection:
        return connection.execute("select provider, openings, open_until > now(), probe_until from breakers").fetchone()


def test_a_fault_of_the_set_up_opens_its_breaker_and_no_other_job_is_tried_on_it(
    database: Database, capsys: pytest.CaptureFixture[str]
) -> None:
    bench = Bench(database, broken_until([]), providers=frozenset({"model"}))
    first, second = make_job(database), make_job(database)
    assert bench.knock(bench.message(first), bench.message(second)) == []
    assert len(bench.processor.worked) == 1
    assert breaker(database) == ("model", 1, True, None)
    assert [bench.column("attempts", job) for job in (first, second)] == [0, 0]
    assert bench.column("waits_for", second) == "breaker_open"
    assert bench.column("error_code", first) == "model_missing"
    messages = [bench.column("error_message", job) for job in (first, second)]
    assert messages[0].startswith("A required service (model) is misconfigured")
    assert messages[1].startswith("A required service (model) is unavailable (model_missing)")
    told = [json.loads(line) for line in capsys.readouterr().out.splitlines() if "BreakersOpened" in line]
    assert [(line["queue"], line["service"], line["stage"], line["provider"]) for line in told] == [
        ("siftline-local-analysis-queue", "siftline", "local", "model")
    ]


def test_one_job_alone_probes_a_breaker_whose_time_is_up_and_its_success_closes_it(database: Database) -> None:
    mended: list[bool] = []
    bench = Bench(database, broken_until(mended), providers=frozenset({"model"}))
    first, second = make_job(database), make_job(database)
    bench.knock(bench.message(first))
    with database.transaction() as connection:
        connection.execute("update breakers set open_until = now(), probe_until = now() + interval '1 minute'")
    due_now(database, first)
    bench.knock(bench.message(first))
    assert len(bench.processor.worked) == 1, "another probes already"
    with database.transaction() as connection:
        connection.execute("update breakers set probe_until = now()")
    mended.append(True)
    due_now(database, first)
    bench.knock(bench.message(first), bench.message(second))
    assert bench.states() == ["completed", "completed"]
    assert breaker(database) is None


def test_a_breaker_that_opens_again_stays_open_for_twice_as_long(database: Database) -> None:
    bench = Bench(database, broken_until([]), providers=frozenset({"model"}))
    job = make_job(database)
    bench.knock(bench.message(job))
    with database.transaction() as connection:
        connection.execute("update breakers set open_until = now()")
    due_now(database, job)
    bench.knock(bench.message(job))
    with database.transaction() as connection:
        [(left_s,)] = connection.execute("select extract(epoch from open_until - now()) from breakers").fetchall()
    assert breaker(database)[1] == 2
    assert 590 < left_s <= 600


def test_after_a_restart_a_breaker_is_tried_at_once_and_what_waited_goes_on(database: Database) -> None:
    mended: list[bool] = []
    bench = Bench(database, broken_until(mended), providers=frozenset({"model"}))
    first, second = make_job(database), make_job(database)
    bench.knock(bench.message(first), bench.message(second))
    with database.transaction() as connection:  # as after a day: 16 times the first wait, and a probe that never ended
        connection.execute(
            "update breakers set openings = 9, open_until = now() + interval '80 minutes',"
            " probe_until = now() + interval '1 minute'"
        )
        connection.execute("update jobs set due_at = now() + interval '80 minutes'")
        try_all(connection)
    bench.knock(bench.message(first), bench.message(second))
    assert len(bench.processor.worked) == 2
    assert breaker(database) == ("model", 2, True, None), "it is open again, for as long as the second time"
    mended.append(True)
    with database.transaction() as connection:
        try_all(connection)
    bench.knock(bench.message(second), bench.message(first))
    assert bench.states() == ["completed", "completed"]
    assert breaker(database) is None


def test_a_probe_that_fails_for_another_reason_leaves_the_right_to_probe_to_the_next(database: Database) -> None:
    errors: list[Exception] = [ModelGoneError("There is no model."), PermanentError("Gone.", code="content_gone")]

    def work(_: ClaimedJob) -> Done:
        if errors:
            raise errors.pop(0)
        return Done()

    bench = Bench(database, work, providers=frozenset({"model"}))
    jobs = [make_job(database) for _ in range(3)]
    bench.knock(bench.message(jobs[0]))
    with database.transaction() as connection:
        connection.execute("update breakers set open_until = now()")
    bench.knock(bench.message(jobs[1]))
    assert breaker(database) == ("model", 1, False, None)
    bench.knock(bench.message(jobs[2]))
    assert bench.states() == ["pending", "failed", "completed"]
    assert breaker(database) is None


class VectorsAwayError(TransientError):
    code = "vectors_unavailable"
    provider = "vectors"


def test_a_part_of_our_own_that_stays_away_uses_up_no_attempts(database: Database) -> None:
    bench = Bench(database, raising(VectorsAwayError("Nobody answers.")), providers=frozenset({"vectors"}))
    job_id = make_job(database)
    bench.knock(bench.message(job_id))
    assert (bench.column("attempts", job_id), breaker(database)) == (1, None), "it may be a moment only"
    for _ in range(10):
        with database.transaction() as connection:
            connection.execute("update breakers set open_until = now()")
            connection.execute("update jobs set due_at = now() where id = %s", (job_id,))
        bench.knock(bench.message(job_id))
    assert (bench.column("state", job_id), bench.column("attempts", job_id)) == ("pending", 1)
    assert breaker(database)[:2] == ("vectors", 10)


def test_what_waited_for_a_breaker_goes_on_as_soon_as_it_closes(database: Database) -> None:
    mended: list[bool] = []
    bench = Bench(database, broken_until(mended), providers=frozenset({"model"}))
    first, second = make_job(database), make_job(database)
    bench.knock(bench.message(first), bench.message(second))
    mended.append(True)
    with database.transaction() as connection:
        connection.execute("update breakers set open_until = now()")
    due_now(database, first)
    bench.knock(bench.message(first))
    with database.transaction() as connection:
        assert connection.execute("select due_at <= now() from jobs where id = %s", (second,)).fetchone() == (True,)


def test_a_probe_whose_job_was_cancelled_meanwhile_gives_its_right_back(database: Database) -> None:
    def work(job: ClaimedJob) -> Done:
        with database.transaction() as connection:
            jobs_store.cancel(connection, [job.subject_id])
        return Done()

    bench = Bench(database, work, providers=frozenset({"model"}))
    with database.transaction() as connection:
        connection.execute(
            "insert into breakers (provider, error_code, error_detail, open_until) values ('model', 'gone', '', now())"
        )
    bench.knock(bench.message(make_job(database)))
    assert breaker(database) == ("model", 1, False, None)


def test_a_breaker_of_something_else_holds_nobody_up(database: Database) -> None:
    bench = Bench(database, succeed, providers=frozenset({"vectors"}))
    with database.transaction() as connection:
        connection.execute(
            "insert into breakers (provider, error_code, error_detail, open_until)"
            " values ('model', 'model_missing', 'There is no model.', now() + interval '1 hour')"
        )
    bench.knock(bench.message(make_job(database)))
    assert bench.states() == ["completed"]


def test_long_work_keeps_its_lease(database: Database) -> None:
    def work(job: ClaimedJob) -> Done:
        renewed = threading.Event()
        for _ in range(600):
            with database.transaction() as connection:
                found = connection.execute("select lease_until from jobs where id = %s", (job.id,)).fetchone()
            if found and found[0] > job.lease_until:
                return Done()
            renewed.wait(0.1)
        raise AssertionError("never renewed")

    bench = Bench(database, work, job_lease_s=6)  # no busy machine lets it run out
    job_id = make_job(database)
    bench.knock(bench.message(job_id))
    assert bench.column("state", job_id) == "completed"


def test_a_transaction_undone_by_a_deadlock_is_run_again_at_once(database: Database) -> None:
    tries: list[int] = []

    def write(connection: Any) -> None:
        tries.append(1)
        if len(tries) == 1:
            raise DeadlockDetected

    bench = Bench(database, lambda _: Done(write=write))
    job_id = make_job(database)
    bench.knock(bench.message(job_id))
    assert (bench.column("state", job_id), bench.column("attempts", job_id)) == ("completed", 1)
    assert len(bench.processor.worked) == 1


def test_a_message_that_a_fault_of_our_own_keeps_stopping_is_parked_in_the_end(database: Database) -> None:
    def faulty(_: Any, __: Any) -> UUID | None:
        raise ZeroDivisionError

    bench = Bench(database, succeed)
    bench.consumer = bench.make(database, {ANALYZE: faulty})
    event = sqs_event("analysis", {"job_type": "analyze_content", "shared_content_id": new_id()})
    assert len(bench.consumer.handle(event, FakeContext())["batchItemFailures"]) == 1
    event["Records"][0]["attributes"]["ApproximateReceiveCount"] = "5"
    assert bench.consumer.handle(event, FakeContext())["batchItemFailures"] == []
    (parked,) = bench.sender.dead[Queue.ANALYSIS]
    assert parked.attributes is not None
    assert parked.attributes["error_code"] == "unexpected_error"
