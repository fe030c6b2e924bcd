"""Siftline's job store, asked as the batch loop asks it; the work itself does nothing."""

import os
import sys
import time
from collections.abc import Sequence
from uuid import UUID

from benchmarks.queueing.round import Work
from siftline.contracts import JobType, Priority, queue_of
from siftline.jobs import jobs_store, lease_store, outbox_store, subjects_store
from siftline.jobs.job_model import ClaimedJob, NewJob
from siftline.kit.db import Database, open_database, settled_after
from siftline.settings.functions import JobSettings

TENANTS = 50
BATCH = 10
"""Jobs that a worker is handed at a time."""


def enqueue(url: str, job_type: JobType, batches: Sequence[Sequence[UUID]]) -> None:
    """Make jobs of many tenants, a batch a commit."""
    for batch in batches:
        jobs = [NewJob(job_type, subject, f"user:{place % TENANTS}") for place, subject in enumerate(batch)]
        with open_database(url, 1).transaction() as connection:
            jobs_store.enqueue(connection, jobs)


def work(url: str, job_type: JobType) -> Work:
    """Be handed jobs, claim and complete each, until nothing waits."""
    database, share = open_database(url, 1), JobSettings().job_tenant_share
    queue = queue_of(job_type, Priority.OLDER)
    spans: list[float] = []
    started = time.time()
    while True:
        taken = settled_after(
            database,
            lambda connection: outbox_store.in_turn(connection, queue, counted_to=1_000),
            lambda connection, _: outbox_store.take_turns(connection, queue, limit=BATCH, share=share),
        )
        if not taken:
            return Work(started, time.time(), spans)
        spans += [_one(database, job.id, job_type) for job in taken]


def keep_quiet() -> None:
    """Write a worker's log lines, which are made all the same, to nowhere."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _one(database: Database, job_id: UUID, job_type: JobType) -> float:
    """Claim and complete one job as an attempt that has nothing to write does; return the seconds that it took."""
    begun = time.perf_counter()
    with database.statement() as connection:
        job = lease_store.claim(connection, job_id, job_type, lease_s=600, grace_s=1)
    assert job is not None
    _complete(database, job)
    return time.perf_counter() - begun


def _complete(database: Database, job: ClaimedJob) -> None:
    if not subjects_store.has_status(job.job_type):
        with database.statement() as connection:
            if lease_store.complete_alone(connection, job, result={}, duration_ms=0):
                return
    settled_after(
        database,
        lambda connection: lease_store.completing(connection, job, {}, 0),
        lambda connection, ended: lease_store.finished(connection, job, ended.follow_id),
    )
