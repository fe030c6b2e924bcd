"""What waits for credit goes on once there is some."""

from functools import partial

from siftline.contracts import JobType, Priority
from siftline.jobs import credits_store, jobs_store
from siftline.jobs.credits_store import Payable
from siftline.jobs.job_model import NewJob
from siftline.jobs.set_aside import checked, tell
from siftline.kit.db import Connection, Database, settled

RESUME = "resume"
"""Under this name contents are set aside that could not go on."""


def resume_waiting(database: Database, *, limit: int, max_attempts: int) -> int:
    """Make the analysis jobs of contents that waited for credit, oldest first, as far as credit reaches.

    Each stands in a transaction of its own, and many may resume at once. Returns how many contents went on; the sweep
    hands their jobs out.
    """
    with database.transaction() as connection:
        found = credits_store.payable(connection, limit=limit)
    went_on = []

    def resume(waiting: Payable) -> None:
        went_on.append(settled(database, partial(_resume, waiting=waiting, max_attempts=max_attempts)))

    good, aside = checked(found, resume, row_id=lambda waiting: waiting.content_id, kind="content")
    if found:
        with database.transaction() as connection:
            tell(connection, RESUME, aside, [waiting.content_id for waiting in good])
    return sum(went_on)


def _resume(connection: Connection, waiting: Payable, max_attempts: int) -> bool:
    if not credits_store.take_waiting(connection, waiting.content_id):
        return False
    job = NewJob(
        job_type=JobType.ANALYZE_CONTENT,
        subject_id=waiting.content_id,
        group_key=f"user:{waiting.user_id}",
        priority=Priority.SAVED if waiting.saved else Priority.OLDER,
    )
    jobs_store.enqueue(connection, [job], max_attempts=max_attempts)
    return True
