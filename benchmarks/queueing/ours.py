"""Siftline's job store, and the same through its batch loop and an SQS endpoint; the work itself does nothing."""

import os
import sys
import time
from collections.abc import Sequence
from functools import cache
from uuid import UUID

from benchmarks.queueing.line import BATCH, Line
from benchmarks.queueing.round import Work
from infra.local.queues import sqs_client
from siftline.contracts import JobType, Priority, queue_of
from siftline.jobs import jobs_store, lease_store, outbox_store, subjects_store
from siftline.jobs.job_model import ClaimedJob, NewJob
from siftline.kit.db import Database, open_database, settled_after
from siftline.settings.functions import JobSettings

TENANTS = 50


def enqueue(url: str, job_type: JobType, batches: Sequence[Sequence[UUID]]) -> None:
    """Make jobs of many tenants, a batch a commit."""
    for batch in batches:
        _make(open_database(url, 1), job_type, batch)


def work(url: str, job_type: JobType) -> Work:
    """Be handed jobs, claim and complete each, until nothing waits: what the batch loop asks of the store."""
    database, share = open_database(url, 1), JobSettings().job_tenant_share
    spans: list[float] = []
    started = time.time()
    while True:
        taken = settled_after(
            database,
            lambda connection: outbox_store.in_turn(connection, queue_of(job_type, Priority.OLDER), counted_to=1_000),
            lambda connection, _: outbox_store.take_turns(
                connection, queue_of(job_type, Priority.OLDER), limit=BATCH, share=share
            ),
        )
        if not taken:
            return Work(started, time.time(), spans)
        spans += [one(database, job.id, job_type) for job in taken]


def keep_quiet() -> None:
    """Write a worker's log lines, which are made all the same, to nowhere."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def one(database: Database, job_id: UUID, job_type: JobType) -> float:
    """Claim and complete one job as an attempt that has nothing to write does; return the seconds that it took."""
    begun = time.perf_counter()
    with database.statement() as connection:
        job = lease_store.claim(connection, job_id, job_type, lease_s=600, grace_s=1)
    assert job is not None
    complete(database, job)
    return time.perf_counter() - begun


def complete(database: Database, job: ClaimedJob) -> None:
    """End a job well."""
    if not subjects_store.has_status(job.job_type):
        with database.statement() as connection:
            if lease_store.complete_alone(connection, job, result={}, duration_ms=0):
                return
    settled_after(
        database,
        lambda connection: lease_store.completing(connection, job, {}, 0),
        lambda connection, ended: lease_store.finished(connection, job, ended.follow_id),
    )


def _make(database: Database, job_type: JobType, batch: Sequence[UUID]) -> list[UUID]:
    jobs = [NewJob(job_type, subject, f"user:{place % TENANTS}") for place, subject in enumerate(batch)]
    with database.transaction() as connection:
        return jobs_store.enqueue(connection, jobs)


@cache
def _line(url: str, endpoint: str, queue_url: str, job_type: JobType) -> Line:
    return Line(open_database(url, 1), sqs_client(endpoint), queue_url, queue_of(job_type, Priority.OLDER), job_type)


def enqueue_by_sqs(
    url: str, endpoint: str, queue_url: str, job_type: JobType, batches: Sequence[Sequence[UUID]]
) -> None:
    """Make jobs, a batch a commit, and publish each batch after it."""
    line = _line(url, endpoint, queue_url, job_type)
    for batch in batches:
        line.publisher.publish(_make(open_database(url, 1), job_type, batch))


def work_by_sqs(url: str, endpoint: str, queue_url: str, job_type: JobType) -> Work:
    """Receive, handle and delete batches until none comes."""
    line = _line(url, endpoint, queue_url, job_type)
    started = ended = time.time()
    line.claimed.clear()
    while line.work_batch():
        ended = time.time()
    return Work(started, ended, [0.0] * len(line.claimed))
