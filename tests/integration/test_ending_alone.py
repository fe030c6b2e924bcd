"""A job that leaves nothing else to write is ended by one statement, which never loses what was asked for meanwhile."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any
from uuid import UUID

import pytest

from siftline.contracts import JobType, Queue
from siftline.jobs import jobs_store
from siftline.jobs.consume import BatchConsumer
from siftline.jobs.job_model import ClaimedJob, Done, NewJob
from siftline.jobs.publish import Publisher
from siftline.kit.clock import SystemClock
from siftline.kit.db import Database
from siftline.kit.ids import new_id
from siftline.settings.functions import JobSettings
from tests.factories import FakeContext, make_job, sqs_event
from tests.fakes import FakeProcessor, FakeSender

CLUSTER = JobType.CLUSTER_USER


class Desk:
    """A consumer of the clustering queue."""

    def __init__(self, database: Database, work: Callable[[ClaimedJob], Done]) -> None:
        self.database = database
        self.sender = FakeSender()
        self.processor = FakeProcessor(work, job_type=CLUSTER)
        self.consumer = BatchConsumer(
            queues={"siftline-local-clustering-queue": Queue.CLUSTERING},
            database=database,
            publisher=Publisher(database, self.sender, JobSettings()),
            sender=self.sender,
            processors=[self.processor],
            subjects={},
            settings=JobSettings(),
            clock=SystemClock(),
        )

    def knock(self, job_id: UUID) -> list[Any]:
        message = {"job_type": "cluster_user", "job_id": job_id, "user_id": new_id()}
        return list(self.consumer.handle(sqs_event("clustering", message), FakeContext())["batchItemFailures"])

    def rows(self, query: str) -> list[Any]:
        with self.database.transaction() as connection:
            return connection.execute(query).fetchall()


@pytest.mark.parametrize("written", [False, True], ids=["alone", "with_a_write"])
def test_a_done_job_leaves_its_result_and_one_line(database: Database, written: bool) -> None:
    done = Done(result={"clusters": 3})
    if written:
        done = replace(done, write=lambda connection: connection.execute("select 1").close())
    desk = Desk(database, lambda _: done)
    job_id = make_job(database, job_type=CLUSTER, subject_id=new_id())
    assert desk.knock(job_id) == []
    assert desk.rows(
        "select state, attempts, result, lease_token, lease_until, error_code, finished_at is not null from jobs"
    ) == [("completed", 1, {"clusters": 3}, None, None, None, True)]
    assert desk.rows("select event, attempt from job_events order by id") == [
        ("enqueued", 0), ("claimed", 1), ("completed", 1),
    ]  # fmt: skip


def test_what_was_asked_for_meanwhile_is_done_once_more(database: Database) -> None:
    subject_id = new_id()

    def ask_again(_: ClaimedJob) -> Done:
        with database.transaction() as connection:
            jobs_store.enqueue(connection, [NewJob(CLUSTER, subject_id, "user:b")])
        return Done()

    desk = Desk(database, ask_again)
    job_id = make_job(database, job_type=CLUSTER, subject_id=subject_id)
    assert desk.knock(job_id) == []
    assert desk.rows("select state, group_key, published_at is not null from jobs order by created_at") == [
        ("completed", "user:a", False), ("pending", "user:b", True),
    ]  # fmt: skip
    assert len(desk.sender.sent[Queue.CLUSTERING]) == 1


def test_a_lease_that_another_has_by_now_is_not_ended(database: Database) -> None:
    def lose(_: ClaimedJob) -> Done:
        with database.transaction() as connection:
            connection.execute("update jobs set lease_token = gen_random_uuid()")
        return Done()

    desk = Desk(database, lose)
    job_id = make_job(database, job_type=CLUSTER, subject_id=new_id())
    assert desk.knock(job_id) == []
    assert desk.rows("select state from jobs") == [("processing",)]
    assert desk.rows("select count(*) from job_events where event = 'completed'") == [(0,)]
