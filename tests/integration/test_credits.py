"""Credits on a real PostgreSQL: reserved, settled, given back, each once, whatever becomes of the job."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import psycopg
import pytest

from siftline.contracts import JobType
from siftline.jobs import credits_store, jobs_store, lease_store, outbox_store
from siftline.jobs.job_model import ClaimedJob, NewJob
from siftline.jobs.sweep import resume_waiting
from siftline.kit.db import Database, DatabaseUnavailableError, SingleConnection
from siftline.kit.errors import PermanentError, TransientError
from siftline.kit.ids import new_id
from tests.credits import credit_violations
from tests.factories import make_content, make_item, make_source, make_user

ANALYZE = JobType.ANALYZE_CONTENT
GONE = PermanentError("The page is gone.", code="gone")
BUSY = TransientError("The server is busy.", code="http_503")


class Purse:
    """Users with credit, what they hold, and the jobs about it."""

    def __init__(self, database: Database) -> None:
        self.database = database

    def user(self, balance: int | None) -> UUID:
        with self.database.transaction() as connection:
            user_id = make_user(connection)
            if balance is not None:
                credits_store.grant(connection, user_id, balance)
        return user_id

    def content(self, *holders: UUID, **columns: Any) -> UUID:
        with self.database.transaction() as connection:
            content_id = make_content(connection, **({"text": "words"} | columns))
            for holder in holders:
                make_item(connection, holder, content_id)
        return content_id

    def enqueue(
        self, content_id: UUID, *, asker: UUID | None = None, asked: bool = False, turn: UUID | None = None
    ) -> UUID:
        """Ask for a reading: for ``asker``, or for a feed, in the turn of a follower or of none."""
        group = f"user:{asker}" if asker else f"follower:{turn}" if turn else "host:news.example"
        with self.database.transaction() as connection:
            [job_id] = jobs_store.enqueue(connection, [NewJob(ANALYZE, content_id, group, asked=asked)])
        return job_id

    def claim(self, job_id: UUID) -> ClaimedJob:
        with self.database.transaction() as connection:
            job = lease_store.claim(connection, job_id, ANALYZE, lease_s=600, grace_s=1)
        assert job is not None
        return job

    def complete(self, job_id: UUID, **result: Any) -> UUID | None:
        """Do the job as the batch loop does; returns the follow-up."""
        job = self.claim(job_id)
        return self.finish(job, **result)

    def finish(self, job: ClaimedJob, **result: Any) -> UUID | None:
        with self.database.transaction() as connection:
            again = lease_store.completing(connection, job, result, 1)().follow_id
            if not result.get("stale"):
                connection.execute(
                    "update contents set status = 'READY', notice_code = null, topics = '[]' where id = %s",
                    (job.subject_id,),
                )
            lease_store.finished(connection, job, again)
        return again

    def fail(self, job_id: UUID, park_id: UUID | None = None) -> None:
        job = self.claim(job_id)
        with self.database.transaction() as connection:
            lease_store.fail(connection, job, GONE, duration_ms=1, park_id=park_id)

    def edit(self, content_id: UUID) -> None:
        self.sql("update contents set version = version + 1 where id = %s", content_id)

    def resume(self) -> int:
        return resume_waiting(self.database, limit=100, max_attempts=4)

    def grant(self, user_id: UUID, amount: int | None) -> int | None:
        with self.database.transaction() as connection:
            return credits_store.grant(connection, user_id, amount)

    def credits(self, user_id: UUID) -> int | None:
        [(balance,)] = self.sql("select credits from users where id = %s", user_id)
        return None if balance is None else int(balance)

    def status(self, content_id: UUID) -> tuple[str, str | None]:
        return self.sql("select status, notice_code from contents where id = %s", content_id)[0]

    def state(self, job_id: UUID) -> str:
        [(state,)] = self.sql("select state from jobs where id = %s", job_id)
        return str(state)

    def entries(self, content_id: UUID) -> list[tuple[Any, ...]]:
        """Return kind, version, amount, state and payer of each analysis of a content, oldest first."""
        return self.sql(
            "select kind, content_version, amount, state, user_id from credit_entries"
            " where content_id = %s order by created_at, id",
            content_id,
        )

    def sql(self, statement: str, *values: Any) -> list[tuple[Any, ...]]:
        with self.database.transaction() as connection:
            cursor = connection.execute(statement, values)
            return cursor.fetchall() if cursor.description else []


@pytest.fixture
def purse(database: Database) -> Iterator[Purse]:
    """A purse whose books are audited after the test."""
    yield Purse(database)
    with database.transaction() as connection:
        assert credit_violations(connection) == []


def test_an_analysis_is_reserved_with_its_job_and_settled_with_its_end(purse: Purse) -> None:
    user = purse.user(3)
    content = purse.content(user)
    job = purse.enqueue(content)
    assert (purse.credits(user), purse.entries(content)) == (2, [("analysis", 1, -1, "reserved", user)])
    purse.complete(job)
    assert (purse.credits(user), purse.entries(content)) == (2, [("analysis", 1, -1, "settled", user)])


def test_a_user_who_is_not_metered_pays_nothing_and_every_job_has_its_line(purse: Purse) -> None:
    user = purse.user(None)
    contents = [purse.content(user) for _ in range(3)]
    for content in contents:
        purse.complete(purse.enqueue(content))
    assert purse.credits(user) is None
    assert [purse.entries(content) for content in contents] == [[("analysis", 1, 0, "settled", user)]] * 3


def test_what_nobody_holds_costs_nobody(purse: Purse) -> None:
    content = purse.content()
    purse.complete(purse.enqueue(content))
    assert purse.entries(content) == [("analysis", 1, 0, "settled", None)]


def test_jobs_of_other_kinds_cost_nothing(purse: Purse) -> None:
    user = purse.user(0)
    content = purse.content(user)
    with purse.database.transaction() as connection:
        jobs_store.enqueue(connection, [NewJob(JobType.INGEST_CONTENT, content, f"user:{user}")])
    assert (purse.status(content), purse.entries(content)) == (("PENDING", None), [])


def test_without_credit_the_content_is_new_and_says_why_and_no_job_lives(purse: Purse) -> None:
    user = purse.user(0)
    content = purse.content(user)
    job = purse.enqueue(content)
    assert purse.status(content) == ("NEW", "no_credit")
    assert purse.sql("select state, error_code from jobs where id = %s", job) == [("cancelled", "no_credit")]
    [(event, code, detail)] = purse.sql(
        "select event, error_code, detail from job_events where job_id = %s order by id desc limit 1", job
    )
    assert (event, code) == ("cancelled", "no_credit")
    assert "credit" in detail
    assert purse.entries(content) == []


def test_twenty_at_once_with_seven_credits_are_seven_paid_and_thirteen_waiting(purse: Purse) -> None:
    user = purse.user(7)
    contents = [purse.content(user) for _ in range(20)]

    def walk(content: UUID) -> None:
        job = purse.enqueue(content, asker=user)
        if purse.state(job) == "pending":
            purse.complete(job)

    with ThreadPoolExecutor(10) as threads:
        list(threads.map(walk, contents))
    assert purse.credits(user) == 0
    assert purse.sql("select state, count(*) from credit_entries where kind = 'analysis' group by state") == [
        ("settled", 7)
    ]
    statuses = [purse.status(content) for content in contents]
    assert statuses.count(("READY", None)) == 7
    assert statuses.count(("NEW", "no_credit")) == 13


def test_two_users_at_the_end_of_their_credit_pay_for_each_other_but_never_below_zero(purse: Purse) -> None:
    ada, bob = purse.user(5), purse.user(5)
    contents = [purse.content(ada, bob) for _ in range(20)]
    with ThreadPoolExecutor(10) as threads:
        list(threads.map(purse.enqueue, contents))
    assert (purse.credits(ada), purse.credits(bob)) == (0, 0)
    assert [purse.status(content)[0] for content in contents].count("PENDING") == 10


def test_what_is_undone_before_its_commit_leaves_no_trace(purse: Purse, database_url: str) -> None:
    user = purse.user(1)
    content = purse.content(user)
    victim = SingleConnection(database_url)

    def killed() -> None:
        with victim.transaction() as connection:
            jobs_store.enqueue(connection, [NewJob(ANALYZE, content, f"user:{user}")])
            [(backend,)] = connection.execute("select pg_backend_pid()").fetchall()
            with psycopg.connect(database_url, autocommit=True) as killer:
                killer.execute("select pg_terminate_backend(%s, 10000)", (backend,))

    with pytest.raises(DatabaseUnavailableError):
        killed()
    victim.close()
    assert (purse.credits(user), purse.entries(content)) == (1, [])


def test_a_finish_that_comes_twice_settles_once(purse: Purse) -> None:
    user = purse.user(2)
    content = purse.content(user)
    job = purse.claim(purse.enqueue(content))
    purse.finish(job)
    with pytest.raises(lease_store.LeaseLostError):
        purse.finish(job)
    assert (purse.credits(user), purse.entries(content)) == (1, [("analysis", 1, -1, "settled", user)])


def test_a_second_message_about_the_same_work_reserves_nothing_more(purse: Purse) -> None:
    user = purse.user(5)
    content = purse.content(user)
    assert len({purse.enqueue(content) for _ in range(5)}) == 1
    with purse.database.transaction() as connection:
        plain = NewJob(ANALYZE, content, f"subject:{content}")
        adopted = {jobs_store.adopt(connection, plain, message_id="m-1") for _ in range(3)}
    assert len(adopted) == 1
    assert purse.credits(user) == 4


def test_a_plain_message_without_credit_is_known_when_it_comes_again(purse: Purse) -> None:
    content = purse.content(purse.user(0))
    with purse.database.transaction() as connection:
        plain = NewJob(ANALYZE, content, f"subject:{content}")
        assert len({jobs_store.adopt(connection, plain, message_id="m-1") for _ in range(3)}) == 1
    assert purse.status(content) == ("NEW", "no_credit")


def test_retry_deferral_and_a_lost_worker_keep_the_one_reservation(purse: Purse) -> None:
    user = purse.user(2)
    content = purse.content(user)
    job_id = purse.enqueue(content)
    for arrow in (lease_store.retry, lease_store.defer):
        job = purse.claim(job_id)
        with purse.database.transaction() as connection:
            arrow(connection, job, BUSY, delay_s=0, duration_ms=1)
    lost(purse, purse.claim(job_id))
    assert (purse.credits(user), purse.entries(content)) == (1, [("analysis", 1, -1, "reserved", user)])
    purse.complete(job_id)
    assert (purse.credits(user), purse.entries(content)) == (1, [("analysis", 1, -1, "settled", user)])


def test_a_failed_job_gives_its_credit_back(purse: Purse) -> None:
    user = purse.user(1)
    content = purse.content(user)
    purse.fail(purse.enqueue(content))
    assert (purse.credits(user), purse.entries(content)) == (1, [("analysis", 1, -1, "released", user)])


def test_a_job_lost_on_its_last_attempt_gives_its_credit_back(purse: Purse) -> None:
    user = purse.user(1)
    content = purse.content(user)
    job_id = purse.enqueue(content)
    purse.sql("update jobs set max_attempts = 1 where id = %s", job_id)
    lost(purse, purse.claim(job_id))
    assert purse.state(job_id) == "failed"
    assert (purse.credits(user), purse.entries(content)) == (1, [("analysis", 1, -1, "released", user)])


def test_the_follow_up_of_a_job_lost_on_its_last_attempt_is_reserved(purse: Purse) -> None:
    user = purse.user(1)
    content = purse.content(user)
    job_id = purse.enqueue(content)
    job = purse.claim(job_id)
    purse.sql("update jobs set max_attempts = 1 where id = %s", job_id)
    assert purse.enqueue(content) == job_id
    lost(purse, job)
    assert [entry[3] for entry in purse.entries(content)] == ["released", "reserved"]
    assert purse.credits(user) == 0


def test_a_cancelled_job_gives_its_credit_back_once(purse: Purse) -> None:
    user = purse.user(1)
    content = purse.content(user)
    purse.enqueue(content)
    for _ in range(2):
        with purse.database.transaction() as connection:
            jobs_store.cancel(connection, [content])
    assert (purse.credits(user), purse.entries(content)) == (1, [("analysis", 1, -1, "released", user)])


def test_a_sweep_gives_many_users_their_credit_back(purse: Purse) -> None:
    users = [purse.user(2) for _ in range(5)]
    for _ in range(2):
        for user in users:
            job = purse.enqueue(purse.content(user))
            purse.claim(job)
    purse.sql("update jobs set max_attempts = 1, lease_until = now() - interval '1 s'")
    with ThreadPoolExecutor(4) as threads:
        list(threads.map(lambda _: sweep(purse, limit=3), range(4)))
    assert [purse.credits(user) for user in users] == [2] * 5


def test_a_redriven_job_reserves_again_in_its_own_line(purse: Purse) -> None:
    user, park_id = purse.user(1), new_id()
    content = purse.content(user)
    job_id = purse.enqueue(content)
    purse.fail(job_id, park_id)
    for _ in range(2):
        with purse.database.transaction() as connection:
            jobs_store.redrive(connection, job_id, park_id)
    assert (purse.credits(user), purse.entries(content)) == (0, [("analysis", 1, -1, "reserved", user)])
    purse.complete(job_id)
    assert (purse.credits(user), purse.entries(content)) == (0, [("analysis", 1, -1, "settled", user)])


def test_a_redrive_that_nobody_can_pay_for_waits_for_credit(purse: Purse) -> None:
    user, park_id = purse.user(1), new_id()
    content = purse.content(user)
    job_id = purse.enqueue(content)
    purse.fail(job_id, park_id)
    purse.grant(user, -1)
    with purse.database.transaction() as connection:
        jobs_store.redrive(connection, job_id, park_id)
    assert (purse.state(job_id), purse.status(content)) == ("cancelled", ("NEW", "no_credit"))
    purse.grant(user, 1)
    assert purse.resume() == 1
    assert purse.status(content) == ("PENDING", None)


def test_a_text_that_changes_in_mid_run_is_paid_once_and_the_thrown_away_reading_not_at_all(purse: Purse) -> None:
    user = purse.user(5)
    content = purse.content(user)
    job = purse.claim(purse.enqueue(content))
    purse.edit(content)
    assert purse.enqueue(content) == job.id
    follow = purse.finish(job, stale=True)
    assert follow is not None
    purse.complete(follow)
    assert purse.entries(content) == [
        ("analysis", 1, -1, "released", user),
        ("analysis", 2, -1, "settled", user),
    ]
    assert purse.credits(user) == 4


def test_a_follow_up_on_the_same_text_costs_nothing(purse: Purse) -> None:
    user = purse.user(1)
    content = purse.content(user)
    job = purse.claim(purse.enqueue(content))
    purse.enqueue(content)
    follow = purse.finish(job)
    assert follow is not None
    purse.complete(follow)
    assert purse.entries(content) == [("analysis", 1, -1, "settled", user), ("repeat", 1, 0, "settled", user)]


def test_a_follow_up_that_nobody_can_pay_for_waits_for_credit(purse: Purse) -> None:
    user = purse.user(None)
    content = purse.content(user)
    job = purse.claim(purse.enqueue(content))
    purse.grant(user, 0)
    purse.edit(content)
    purse.enqueue(content)
    purse.finish(job, stale=True)
    assert purse.status(content) == ("NEW", "no_credit")


def test_a_text_that_changes_before_the_work_is_paid_as_what_was_analysed(purse: Purse) -> None:
    user = purse.user(5)
    content = purse.content(user)
    job = purse.enqueue(content)
    purse.edit(content)
    assert purse.enqueue(content) == job
    purse.complete(job)
    assert purse.entries(content) == [("analysis", 2, -1, "settled", user)]
    assert purse.credits(user) == 4


def test_a_free_repeat_whose_text_changes_while_it_waits_is_paid_by_who_brought_the_text(purse: Purse) -> None:
    user, editor = purse.user(2), purse.user(2)
    content = purse.content(user, editor)
    purse.complete(purse.enqueue(content, asker=user))
    job = purse.enqueue(content, asker=user)
    purse.edit(content)
    assert purse.enqueue(content, asker=editor) == job
    assert (purse.credits(user), purse.credits(editor)) == (1, 1)
    purse.complete(job)
    assert purse.entries(content)[1] == ("analysis", 2, -1, "settled", editor)


def test_a_free_repeat_whose_new_text_nobody_can_pay_for_waits_for_credit(purse: Purse) -> None:
    user = purse.user(1)
    content = purse.content(user)
    purse.complete(purse.enqueue(content))
    purse.enqueue(content)
    purse.edit(content)
    purse.enqueue(content)
    assert purse.status(content) == ("READY", "no_credit")
    assert [entry[3] for entry in purse.entries(content)] == ["settled", "released"]


def test_what_two_hold_is_paid_once_by_who_saved_it_first(purse: Purse) -> None:
    late, early = purse.user(5), purse.user(5)
    content = purse.content(late, early)
    purse.sql("update items set created_at = now() - interval '1 day' where user_id = %s", early)
    purse.complete(purse.enqueue(content))
    assert (purse.credits(early), purse.credits(late)) == (4, 5)


def test_who_the_work_is_for_pays_before_others_who_hold_it(purse: Purse) -> None:
    first, asker = purse.user(5), purse.user(5)
    content = purse.content(first, asker)
    purse.enqueue(content, asker=asker)
    assert (purse.credits(first), purse.credits(asker)) == (5, 4)


def test_who_has_no_credit_leaves_the_bill_to_the_next_holder(purse: Purse) -> None:
    poor, rich = purse.user(0), purse.user(5)
    content = purse.content(poor, rich)
    purse.enqueue(content, asker=poor)
    assert (purse.credits(poor), purse.credits(rich)) == (0, 4)


def test_what_was_analysed_before_is_read_again_at_nobody_elses_cost(purse: Purse) -> None:
    owner, other = purse.user(5), purse.user(0)
    content = purse.content(owner, other)
    purse.complete(purse.enqueue(content, asker=owner))
    purse.edit(content)
    purse.enqueue(content, asker=other)
    assert (purse.credits(owner), purse.status(content)) == (4, ("READY", "no_credit"))


def ended_well(purse: Purse, job: ClaimedJob) -> None:
    purse.finish(job, stale=True)


def ended_badly(purse: Purse, job: ClaimedJob) -> None:
    with purse.database.transaction() as connection:
        lease_store.fail(connection, job, GONE, duration_ms=1, park_id=None)


def ended_lost(purse: Purse, job: ClaimedJob) -> None:
    purse.sql("update jobs set max_attempts = attempts where id = %s", job.id)
    lost(purse, job)


@pytest.mark.parametrize("ended", [ended_well, ended_badly, ended_lost])
@pytest.mark.parametrize("balance", [1, 0])
def test_who_asks_while_another_ones_job_runs_pays_for_the_follow_up_or_nobody_does(
    purse: Purse, ended: Callable[[Purse, ClaimedJob], None], balance: int
) -> None:
    owner, editor, third = purse.user(5), purse.user(balance), purse.user(5)
    content = purse.content(owner, editor, third)
    purse.complete(purse.enqueue(content, asker=owner))
    job = purse.claim(purse.enqueue(content, asker=owner, asked=True))
    purse.edit(content)
    for asker in (editor, third):
        assert purse.enqueue(content, asker=asker) == job.id
    ended(purse, job)
    assert [purse.credits(user) for user in (owner, editor, third)] == [4, 0, 5]
    assert purse.status(content) == (("PENDING", None) if balance else ("READY", "no_credit"))


def test_who_asked_before_a_lost_job_was_taken_up_again_has_no_later_follow_up(purse: Purse) -> None:
    owner, early, late = purse.user(5), purse.user(5), purse.user(5)
    content = purse.content(owner, early, late)
    job = purse.claim(purse.enqueue(content, asker=owner))
    purse.enqueue(content, asker=early)
    lost(purse, job)
    job = purse.claim(job.id)
    purse.edit(content)
    purse.enqueue(content, asker=late)
    purse.finish(job, stale=True)
    assert [purse.credits(user) for user in (owner, early, late)] == [5, 5, 4]


def test_what_waits_to_be_read_again_goes_on_at_the_cost_of_who_asked_last_alone(purse: Purse) -> None:
    owner, first, last = purse.user(5), purse.user(0), purse.user(0)
    content = purse.content(owner, first, last)
    purse.complete(purse.enqueue(content, asker=owner))
    purse.edit(content)
    for asker in (first, last):
        purse.enqueue(content, asker=asker)
    purse.grant(first, 1)
    purse.sql("update jobs set finished_at = finished_at - interval '8 days'")
    with purse.database.transaction() as connection:
        outbox_store.clean_up(connection, age_s=7 * 86_400, limit=100)
    assert purse.resume() == 0
    assert purse.status(content) == ("READY", "no_credit")
    purse.grant(last, 1)
    assert purse.resume() == 1
    assert [purse.credits(user) for user in (owner, first, last)] == [4, 1, 0]
    assert purse.status(content) == ("PENDING", None)


def subscribed(purse: Purse, **days: UUID) -> UUID:
    """Make a source and subscribe these users to it, named by since how many days (``d9``)."""
    with purse.database.transaction() as connection:
        source_id = make_source(connection)
    for since, user in days.items():
        purse.sql(
            "insert into subscriptions (id, user_id, source_id, created_at) values (%s, %s, %s, %s)",
            *(new_id(), user, source_id, datetime.now(UTC) - timedelta(days=int(since[1:]))),
        )
    return source_id


def brought(purse: Purse, source_id: UUID, content: UUID, *users: UUID) -> None:
    """Say that these users have a content from a source instead of by hand."""
    purse.sql(
        "update items set saved = false, source_id = %s where content_id = %s and user_id = any(%s)",
        *(source_id, content, list(users)),
    )


@pytest.mark.parametrize("in_turn", [False, True])
def test_what_a_feed_has_read_again_is_paid_by_who_follows_it_longest_first_or_by_nobody(
    purse: Purse, in_turn: bool
) -> None:
    young, old, saver = purse.user(1), purse.user(1), purse.user(5)
    turn = young if in_turn else None
    source_id = subscribed(purse, d1=young, d9=old)
    content = purse.content(saver, young, old)
    brought(purse, source_id, content, young, old)
    purse.complete(purse.enqueue(content, turn=turn))
    for _ in range(2):
        purse.edit(content)
        purse.complete(purse.enqueue(content, turn=turn))
    assert [entry[4] for entry in purse.entries(content)] == [saver, old, young]
    purse.edit(content)
    purse.enqueue(content, turn=turn)
    assert (purse.status(content), purse.resume()) == (("READY", "no_credit"), 0)
    purse.grant(young, 1)
    assert purse.resume() == 1
    assert [purse.credits(user) for user in (saver, old, young)] == [4, 0, 0]


@pytest.mark.parametrize("in_turn", [False, True])
def test_what_a_feed_brought_is_paid_by_its_oldest_subscriber_and_savers_go_first(purse: Purse, in_turn: bool) -> None:
    young, old, saver = purse.user(1), purse.user(1), purse.user(1)
    payers = []
    source_id = subscribed(purse, d1=young, d9=old)
    for _ in range(3):
        content = purse.content(young, old, saver)
        brought(purse, source_id, content, young, old)
        purse.enqueue(content, turn=young if in_turn else None)
        payers.append(purse.entries(content)[0][4])
    assert payers == [saver, old, young]


def test_a_version_asked_for_again_costs_again_and_the_asker_alone(purse: Purse) -> None:
    owner, asker = purse.user(5), purse.user(2)
    content = purse.content(owner, asker)
    purse.complete(purse.enqueue(content, asker=owner))
    for _ in range(2):
        purse.complete(purse.enqueue(content, asker=asker, asked=True))
    assert (purse.credits(owner), purse.credits(asker)) == (4, 0)
    assert [entry[0] for entry in purse.entries(content)] == ["analysis", "reprocess", "reprocess"]


def test_granted_credit_sends_on_what_waits_oldest_first_as_far_as_it_reaches(purse: Purse) -> None:
    user, other = purse.user(0), purse.user(0)
    contents = [purse.content(user, first_seen_at=datetime(2026, 1, day, tzinfo=UTC)) for day in (3, 1, 2)]
    theirs = purse.content(other)
    for content in (*contents, theirs):
        purse.enqueue(content)
    assert purse.resume() == 0
    assert purse.grant(user, 2) == 2
    assert purse.resume() == 2
    assert [purse.status(content)[0] for content in (*contents, theirs)] == ["NEW", "PENDING", "PENDING", "NEW"]
    assert purse.grant(user, None) is None
    assert purse.resume() == 1
    assert purse.status(contents[0]) == ("PENDING", None)


def test_many_resume_at_once_and_each_content_goes_on_once(purse: Purse) -> None:
    user = purse.user(0)
    contents = [purse.content(user) for _ in range(12)]
    for content in contents:
        purse.enqueue(content)
    purse.grant(user, 8)
    with ThreadPoolExecutor(4) as threads:
        resumed = list(threads.map(lambda _: purse.resume(), range(4)))
    assert sum(resumed) >= 8
    assert purse.credits(user) == 0
    assert [purse.status(content)[0] for content in contents].count("PENDING") == 8


def test_whoever_comes_to_hold_it_with_credit_sends_it_on(purse: Purse) -> None:
    content = purse.content(purse.user(0))
    purse.enqueue(content)
    rich = purse.user(1)
    with purse.database.transaction() as connection:
        make_item(connection, rich, content)
    assert purse.resume() == 1
    assert purse.credits(rich) == 0


def test_the_ledger_adds_up_through_time_without_metering(purse: Purse) -> None:
    user = purse.user(3)
    before = purse.enqueue(purse.content(user))
    purse.grant(user, None)
    meanwhile = purse.enqueue(purse.content(user))
    purse.fail(before)
    assert purse.grant(user, 10) == 10
    purse.fail(meanwhile)
    assert purse.credits(user) == 10
    assert purse.grant(user, -4) == 6
    assert purse.grant(user, -100) == 0


def test_a_grant_to_nobody_is_refused(purse: Purse) -> None:
    with pytest.raises(credits_store.UnknownUserError):
        purse.grant(new_id(), 1)


def test_a_user_deleted_in_mid_work_leaves_the_books_in_order(purse: Purse) -> None:
    user = purse.user(2)
    content = purse.content(user)
    done, doing = purse.enqueue(content), purse.enqueue(purse.content(user))
    purse.complete(done)
    purse.sql("delete from users where id = %s", user)
    purse.fail(doing)
    assert purse.entries(content) == [("analysis", 1, -1, "settled", None)]


def test_no_balance_goes_below_zero_whoever_writes_it(purse: Purse) -> None:
    user = purse.user(0)
    with pytest.raises(psycopg.errors.CheckViolation):
        purse.sql("update users set credits = credits - 1 where id = %s", user)


def lost(purse: Purse, job: ClaimedJob) -> None:
    purse.sql("update jobs set lease_until = now() - interval '1 s' where id = %s", job.id)
    sweep(purse, limit=10)


def sweep(purse: Purse, *, limit: int) -> None:
    with purse.database.transaction() as connection:
        outbox_store.sweep_lost(connection, limit=limit)
