"""Asks again for the vectors of contents that were read without one: later and later, behind everybody's work.

It is an analysis that costs nobody, and tries once: whatever comes of it, the content is READY again at once.
"""

from uuid import UUID

from siftline.contracts import JobType, Priority
from siftline.jobs import jobs_store
from siftline.jobs.job_model import ClaimedJob, NewJob
from siftline.kit.db import Database
from siftline.models import embedding_store

TENANT = "reprocess"
FIRST_S = 3_600.0
LONGEST_S = 7 * 86_400.0
AT_ONCE = 20
_MARK = "missing_vector"


def asked_for_vector(job: ClaimedJob) -> bool:
    """Return whether an analysis was asked for because a vector is missing."""
    return bool(job.payload.get(_MARK))


def ask_again(database: Database, *, max_attempts: int) -> list[UUID]:
    """Make the jobs for the contents that are due; returns those to hand out."""
    with database.transaction() as connection:
        due = embedding_store.due(connection, first_s=FIRST_S, longest_s=LONGEST_S, limit=AT_ONCE)
        wanted = [
            NewJob(
                JobType.ANALYZE_CONTENT,
                content_id,
                TENANT,
                priority=Priority.AGAIN,
                payload={"free_version": version, _MARK: True},
            )
            for content_id, version in due.items()
        ]
        return jobs_store.enqueue(connection, wanted, max_attempts=max_attempts)
