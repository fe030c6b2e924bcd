"""A text on its way into the database, whoever found it: its duplicates, itself, its signature, its next job."""

from uuid import UUID

from siftline.contracts import JobType
from siftline.ingest import ingest_store
from siftline.ingest.duplicates import duplicates_store
from siftline.ingest.duplicates.duplicates_store import Traits
from siftline.ingest.ingest_store import Found
from siftline.jobs.job_model import ClaimedJob, NewJob
from siftline.kit.db import Connection


def write_text(connection: Connection, content_id: UUID, found: Found, traits: Traits, *, analyse: bool) -> None:
    """Store a text; ``analyse`` says whether its analysis follows, in the same transaction."""
    duplicates_store.link(connection, content_id, traits)
    ingest_store.write(connection, content_id, found, status="PENDING" if analyse else "READY")
    duplicates_store.sign(connection, content_id, traits, analyse=analyse)


def analysis_after(job: ClaimedJob) -> NewJob:
    """Return the job that reads the text which ``job`` brought, for the same tenant."""
    return NewJob(
        job_type=JobType.ANALYZE_CONTENT, subject_id=job.subject_id, group_key=job.group_key, priority=job.priority
    )
