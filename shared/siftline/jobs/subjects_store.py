"""What a job's state means for its subject's own status, so that both always agree, whoever drew the arrow.

Success is the room's to write: only it knows what READY or IDLE takes.
"""

from collections.abc import Iterable, Sequence
from uuid import UUID

from siftline.contracts import JobType
from siftline.jobs.job_model import NewJob
from siftline.kit.db import Connection

_CONTENT_JOBS = frozenset({JobType.INGEST_CONTENT, JobType.ANALYZE_CONTENT})
_WITH_STATUS = _CONTENT_JOBS | {JobType.TRANSCRIBE_CONTENT, JobType.FETCH_SOURCE}

# A content may have a job of each kind at once: what is in work has the last word, then what waits, then what ended.
# Counted, as of whether there is one the planner likes to make a table of all such jobs first.
_IN = (
    "(select count(*) > 0 from jobs where jobs.subject_id = contents.id and jobs.job_type in ('ingest_content',"
    " 'analyze_content') and jobs.state = '{}')"
)
_IN_WORK, _WAITS = _IN.format("processing"), _IN.format("pending")
# In the order in which everybody holds several of them, and only those that are changed.
_MINE = "with mine as (select id from {} where id = any(%(ids)b::uuid[]){} order by url_key for no key update)"
# What waited for credit does so no longer, and says again what its reading said.
_NOTICE = """
  notice_code = case when notice_code = 'no_credit' then reading_notice_code else notice_code end,
  reading_notice_code = null"""
_CONTENTS_WAITING = f"""
{_MINE.format("contents", f" and (status <> 'PENDING' or {_IN_WORK})")}
update contents set status = case when {_IN_WORK} then 'PROCESSING' else 'PENDING' end,
  error_code = null, error_detail = null, {_NOTICE}, updated_at = now()
from mine where contents.id = mine.id
"""  # noqa: S608  -- constants of ours
_CONTENTS_ENQUEUED = f"""
{_MINE.format("contents", " and status not in ('PENDING', 'PROCESSING')")}
update contents set status = 'PENDING', error_code = null, error_detail = null, {_NOTICE}, updated_at = now()
from mine where contents.id = mine.id
"""  # noqa: S608  -- constants of ours
# A worker has the job: a part of the very statement that claims it, beside its row in ``claimed``. Each kind of subject
# has its own: to make ready to write a table costs the server more than to write nothing there.
CONTENT_CLAIMED = """,
content as (
  update contents set status = 'PROCESSING', error_code = null, error_detail = null, updated_at = now()
  from claimed where contents.id = claimed.subject_id)
"""
SOURCE_CLAIMED = """,
source as (
  update sources set fetch_status = 'FETCHING', updated_at = now()
  from claimed where sources.id = claimed.subject_id)
"""
_CONTENTS_FAILED = f"""
{_MINE.format("contents", "")}
update contents set status = case when {_IN_WORK} then 'PROCESSING' when {_WAITS} then 'PENDING' else 'FAILED' end,
  error_code = case when not ({_IN_WORK} or {_WAITS}) then %(code)s end,
  error_detail = case when not ({_IN_WORK} or {_WAITS}) then %(detail)s end, updated_at = now()
from mine where contents.id = mine.id
"""  # noqa: S608  -- constants of ours
_CONTENTS_FINISHED = f"""
update contents set status = case when {_IN_WORK} then 'PROCESSING' else 'PENDING' end,
  error_code = null, error_detail = null, updated_at = now()
where id = %(id)s and ({_IN_WORK} or {_WAITS})
"""  # noqa: S608  -- constants of ours
_SOURCES_WAITING = f"""
{_MINE.format("sources", " and fetch_status <> 'QUEUED'")}
update sources set fetch_status = 'QUEUED', updated_at = now()
from mine where sources.id = mine.id
"""  # noqa: S608  -- constants of ours
_SOURCES_ENQUEUED = f"""
{_MINE.format("sources", " and fetch_status not in ('QUEUED', 'FETCHING')")}
update sources set fetch_status = 'QUEUED', updated_at = now()
from mine where sources.id = mine.id
"""  # noqa: S608  -- constants of ours
_SOURCES_FINISHED = """
update sources set fetch_status = 'QUEUED', updated_at = now()
where id = %(id)s and exists (select from jobs where jobs.subject_id = sources.id and jobs.job_type = 'fetch_source'
  and jobs.state = 'pending')
"""
_SOURCES_FAILED = f"""
{_MINE.format("sources", "")}
update sources set fetch_status = 'ERROR', last_error_code = %(code)s, last_error_detail = %(detail)s,
  next_fetch_at = greatest(next_fetch_at, now() + refresh_minutes * interval '1 minute'),
  next_fetch_reason = 'the last poll failed', updated_at = now()
from mine where sources.id = mine.id
"""  # noqa: S608  -- constants of ours


def is_content_job(job_type: JobType) -> bool:
    """Return whether a job type's state is its content's status."""
    return job_type in _CONTENT_JOBS


def has_status(job_type: JobType) -> bool:
    """Return whether the subjects of a job type say how far its jobs are."""
    return job_type in _WITH_STATUS


def enqueued(connection: Connection, jobs: Iterable[NewJob]) -> None:
    """New jobs wait; a subject that is being worked on keeps its status, and one that says so already is not asked."""
    contents, sources = [], []
    for job in jobs:
        if job.subject_waits:
            continue
        if job.job_type in _CONTENT_JOBS:
            contents.append(job.subject_id)
        elif job.job_type is JobType.FETCH_SOURCE:
            sources.append(job.subject_id)
    if contents:
        connection.execute(_CONTENTS_ENQUEUED, {"ids": contents})
    if sources:
        connection.execute(_SOURCES_ENQUEUED, {"ids": sources})


def waiting(connection: Connection, job_type: JobType, ids: Sequence[UUID]) -> None:
    """The job waits for another try or for its follow-up."""
    if job_type in _CONTENT_JOBS:
        connection.execute(_CONTENTS_WAITING, {"ids": list(ids)})
    elif job_type is JobType.FETCH_SOURCE:
        connection.execute(_SOURCES_WAITING, {"ids": list(ids)})


def finished(connection: Connection, job_type: JobType, subject_id: UUID) -> None:
    """The job ended well and its room has written: where another job of the subject lives, that one has the word."""
    # The words of a video are no state of it: their job changes a content's status only by the text that it brings.
    if job_type in _CONTENT_JOBS or job_type is JobType.TRANSCRIBE_CONTENT:
        connection.execute(_CONTENTS_FINISHED, {"id": subject_id})
    elif job_type is JobType.FETCH_SOURCE:
        connection.execute(_SOURCES_FINISHED, {"id": subject_id})


def failed(connection: Connection, job_type: JobType, ids: Sequence[UUID], code: str, detail: str) -> None:
    """The job ended badly; a person reads why."""
    values = {"ids": list(ids), "code": code, "detail": detail}
    if job_type in _CONTENT_JOBS:
        connection.execute(_CONTENTS_FAILED, values)
    elif job_type is JobType.FETCH_SOURCE:
        connection.execute(_SOURCES_FAILED, values)
