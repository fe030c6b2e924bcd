"""Brings subjects back on their way that say somebody is at work on them, while no job is.

Nothing in the house leaves one like that: a subject's status and its job change in one transaction. But a row may be
deleted by hand, a backup restored, a fault of ours written; such a subject would wait for ever, and in the dark.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from uuid import UUID

from siftline.contracts import JobType, Priority
from siftline.jobs import jobs_store, recovery_store
from siftline.jobs import subjects_store as subjects
from siftline.jobs.job_model import NewJob, user
from siftline.jobs.publish import Publisher
from siftline.kit.db import Connection, Database, settled
from siftline.kit.log import logger
from siftline.settings.functions import JobSettings

_log = logger("jobs")
STUCK_S = 600
"""What says for so long, without a job, that somebody is at work on it is queued again."""
# So many ids of one batch stand in the log; the timeline of each says the same.
_IDS_TOLD = 10


@dataclass(frozen=True, slots=True)
class Recovered:
    """A subject that was stuck, with the job that takes it on; ``None`` where nobody wants it worked on."""

    subject_id: UUID
    reason: str
    job: NewJob | None


class Recovery:
    """Finds stuck subjects of each kind and enqueues their job again."""

    def __init__(self, database: Database, publisher: Publisher, settings: JobSettings) -> None:
        self._database = database
        self._publisher = publisher
        self._settings = settings
        # Work may take as long as a lease.
        self._stuck_s = max(STUCK_S, settings.job_lease_s)

    def contents(self, *, limit: int) -> int:
        """Recover contents that are ``PENDING`` or ``PROCESSING`` without a job; returns how many."""
        unchanged_s = self._stuck_s

        def find(connection: Connection) -> list[Recovered]:
            found = recovery_store.stuck_contents(connection, unchanged_s=unchanged_s, limit=limit)
            return [_content(stuck) for stuck in found]

        return self._recover("item", find)

    def sources(self, *, limit: int) -> int:
        """Recover sources that are ``QUEUED`` or ``FETCHING`` without a job; those nobody follows become ``IDLE``."""
        unchanged_s = self._stuck_s

        def find(connection: Connection) -> list[Recovered]:
            found = recovery_store.stuck_sources(connection, unchanged_s=unchanged_s, limit=limit)
            recovery_store.idle(connection, [stuck.id for stuck in found if not stuck.wanted])
            return [_source(stuck) for stuck in found]

        return self._recover("source", find)

    def scores(self, *, limit: int) -> int:
        """Have items scored that nobody asked to have scored; returns for how many users.

        Who makes an item READY without its analysis, or gives one to a user, need not know of scores.
        """
        with self._database.transaction() as connection:
            users = recovery_store.unscored_users(connection, limit=limit)
            jobs = [NewJob(JobType.SCORE_USER, user_id, user(user_id)) for user_id in users]
            ids = jobs_store.enqueue(connection, jobs, max_attempts=self._settings.job_max_attempts)
        self._publisher.publish(ids)
        return len(users)

    def _recover(self, kind: str, find: Callable[[Connection], Sequence[Recovered]]) -> int:
        def recover(connection: Connection) -> tuple[Sequence[Recovered], list[UUID]]:
            found = find(connection)
            return found, self._enqueue(connection, [one for one in found if one.job is not None])

        found, ids = settled(self._database, recover)
        if found:
            told = [str(one.subject_id) for one in found[:_IDS_TOLD]]
            _log.warning("stuck_recovered", kind=kind, subjects=len(found), reason=found[0].reason, ids=told)
        self._publisher.publish(ids)
        return len(found)

    def _enqueue(self, connection: Connection, found: Sequence[Recovered]) -> list[UUID]:
        """Enqueue the jobs in the transaction that holds their subjects, and let each timeline say why."""
        jobs = [one.job for one in found if one.job is not None]
        # First: a subject that was being worked on waits again, whatever enqueueing then makes of it.
        for job_type in {job.job_type for job in jobs}:
            subjects.waiting(connection, job_type, [job.subject_id for job in jobs if job.job_type is job_type])
        ids = jobs_store.enqueue(connection, jobs, max_attempts=self._settings.job_max_attempts)
        recovery_store.explain(connection, ids, {one.subject_id: one.reason for one in found})
        return ids


def _content(stuck: recovery_store.StuckContent) -> Recovered:
    job_type = JobType(stuck.job_type)
    job = NewJob(
        job_type=job_type,
        subject_id=stuck.id,
        group_key=stuck.group_key,
        priority=Priority.SAVED if stuck.saved else Priority.OLDER,
        payload={"url": stuck.url} if job_type is JobType.INGEST_CONTENT else {},
    )
    return Recovered(stuck.id, _reason(stuck.status, stuck.unchanged_s), job)


def _source(stuck: recovery_store.StuckSource) -> Recovered:
    reason = _reason(stuck.status, stuck.unchanged_s)
    if not stuck.wanted:
        return Recovered(stuck.id, reason, None)
    job = NewJob(
        job_type=JobType.FETCH_SOURCE,
        subject_id=stuck.id,
        group_key=stuck.group_key,
        priority=Priority.UNDER_24_HOURS,
    )
    return Recovered(stuck.id, reason, job)


def _reason(status: str, unchanged_s: float) -> str:
    return f"It was {status} without a job for {round(unchanged_s / 60)} minutes; it was requeued."
