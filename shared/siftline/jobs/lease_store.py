"""The arrows of a worker: each one statement guarded by the job's state and by the lease token of who draws it.

Every arrow also writes its line of the timeline (``job_events``) and what it means for the subject's own status, in the
transaction of the caller.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from uuid import UUID

from psycopg.rows import class_row, kwargs_row
from psycopg.types.json import Jsonb

from siftline.contracts import JobType, Queue
from siftline.jobs import credits_store
from siftline.jobs import subjects_store as subjects
from siftline.jobs.job_model import ClaimedJob
from siftline.jobs.states import known
from siftline.kit.db import Connection
from siftline.kit.errors import SiftlineError
from siftline.kit.ids import new_id


class LeaseLostError(SiftlineError):
    """The job is no longer this worker's: its lease ran out and another holds it, or it was cancelled."""

    code = "lease_lost"


@dataclass(frozen=True, slots=True)
class Ended:
    """A job at its end, with what changed of it while it was in work."""

    id: UUID
    priority: int
    group_key: str
    follow_id: UUID | None
    """The follow-up, where its subject changed meanwhile."""


# A claim need not be on disk when its work begins: were it lost with the server, its token would be unknown and the job
# due again, and the arrow that ends the work, which does wait for the disk, could not be drawn.
_CLAIM_WITH = f"""
with claimed as (
  update jobs set state = 'processing', attempts = attempts + 1, lease_token = %(token)s,
    lease_until = now() + %(lease)s, claimed_at = now(), again = false, again_for = null, waits_for = null,
    updated_at = now()
  where id = %(id)s and job_type = %(job_type)s and {known("jobs")} and attempts < max_attempts
    and ((state = 'pending' and due_at <= now() + %(grace)s) or (state = 'processing' and lease_until < now()))
  returning id, job_type, queue, subject_id, group_key, payload, priority, attempts, max_attempts, lease_token,
    lease_until, deferred_since),
event as (insert into job_events (job_id, event, attempt) select id, 'claimed', attempts from claimed)__subject__
select id, job_type, queue, subject_id, group_key, payload, priority, attempts, max_attempts, lease_token, lease_until,
  deferred_since
from claimed where set_config('synchronous_commit', 'off', true) is not null
"""  # noqa: S608  -- constants of ours
_CLAIM = _CLAIM_WITH.replace("__subject__", "")
_CLAIM_CONTENT = _CLAIM_WITH.replace("__subject__", subjects.CONTENT_CLAIMED)
_CLAIM_SOURCE = _CLAIM_WITH.replace("__subject__", subjects.SOURCE_CLAIMED)

_CLEAR_EARLY = f"""
update jobs set published_at = null, updated_at = now()
where id = %(id)s and state = 'pending' and due_at > now() + %(grace)s and {known("jobs")}
"""  # noqa: S608  -- constants of ours

_RENEW = """
update jobs set lease_until = now() + %(lease)s, updated_at = now()
where id = %(id)s and state = 'processing' and lease_token = %(token)s
returning id
"""

_GIVE_BACK = """
update jobs set lease_until = now(), updated_at = now()
where id = %(id)s and state = 'processing' and lease_token = %(token)s
"""

_END = """
with ended as (
  update jobs set state = %(state)s, finished_at = now(), lease_token = null, lease_until = null,
    error_code = %(error_code)s, error_message = %(error_message)s, result = %(result)s, park_id = %(park_id)s,
    waits_for = null, updated_at = now()
  where id = %(id)s and state = 'processing' and lease_token = %(token)s
  returning *),
follow as (
  insert into jobs (id, job_type, queue, subject_id, group_key, payload, priority, max_attempts)
  select %(follow_id)s, job_type, queue, subject_id, coalesce(again_for, group_key), payload, priority, max_attempts
  from ended where again
  returning id),
event as (
  insert into job_events (job_id, event, attempt, duration_ms, error_code, detail)
  select id, %(state)s, attempts, %(duration_ms)s, %(error_code)s, %(error_message)s from ended
  union all select id, 'enqueued', 0, null, null, null from follow)
select id, priority, group_key, (select id from follow) as follow_id from ended
"""

# The arrow of a job that is done and that nobody asked for meanwhile, where there is nothing else to write.
_END_ALONE = """
with ended as (
  update jobs set state = 'completed', finished_at = now(), lease_token = null, lease_until = null,
    error_code = null, error_message = null, result = %(result)s, waits_for = null, updated_at = now()
  where id = %(id)s and state = 'processing' and lease_token = %(token)s and not again
  returning id, attempts),
event as (
  insert into job_events (job_id, event, attempt, duration_ms)
  select id, 'completed', attempts, %(duration_ms)s from ended)
select id from ended
"""

_AGAIN_LATER = """
with waiting as (
  update jobs set state = 'pending', due_at = now() + %(delay)s, attempts = attempts - %(refund)s,
    waits_for = %(waits_for)s,
    deferred_since = case when %(refund)s = 1 then coalesce(deferred_since, case when not %(in_turn)s then now() end)
      end,
    published_at = null, publish_count = 0, lease_token = null, lease_until = null,
    error_code = %(error_code)s, error_message = %(error_message)s, updated_at = now()
  where id = %(id)s and state = 'processing' and lease_token = %(token)s
    and attempts - %(refund)s < max_attempts
  returning id, attempts, due_at),
event as (
  insert into job_events (job_id, event, attempt, duration_ms, error_code, detail, due_at)
  select id, %(event)s, attempts + %(refund)s, %(duration_ms)s, %(error_code)s, %(error_message)s, due_at
  from waiting)
select id from waiting
"""


def claim(
    connection: Connection, job_id: UUID, job_type: JobType, *, lease_s: float, grace_s: float
) -> ClaimedJob | None:
    """Take a due job, or one whose lease ran out, under a fresh lease; ``None`` when it is not to be had.

    The attempt is counted here, so that a job that kills its worker still stops at its maximum. A knock that came too
    early clears ``published_at``, so that the job is handed out again in time.
    """
    values = {
        "id": job_id,
        "job_type": job_type.value,
        "token": new_id(),
        "lease": timedelta(seconds=lease_s),
        "grace": timedelta(seconds=grace_s),
    }
    with connection.cursor(row_factory=kwargs_row(_claimed)) as cursor:
        job = cursor.execute(_claiming(job_type), values).fetchone()
    if job is None:
        connection.execute(_CLEAR_EARLY, values)
        return None
    return job


def renew(connection: Connection, job: ClaimedJob, *, lease_s: float) -> None:
    """Push the lease's end out for long work. Raises ``LeaseLostError`` when the job is another's by now."""
    values = {"id": job.id, "token": job.lease_token, "lease": timedelta(seconds=lease_s)}
    if connection.execute(_RENEW, values).fetchone() is None:
        raise _lost(job)


def give_back(connection: Connection, job: ClaimedJob) -> None:
    """End the lease of a job whose outcome could not be written: it is claimable at once, as a lost worker's is.

    Where the outcome stands after all, or the job is another's by now, this changes nothing.
    """
    connection.execute(_GIVE_BACK, {"id": job.id, "token": job.lease_token})


def complete_alone(connection: Connection, job: ClaimedJob, *, result: Mapping[str, Any], duration_ms: int) -> bool:
    """End a job well by one statement, where nothing else of it is to be written.

    Returns false where it is another's by now, or its subject changed meanwhile: nothing has happened then, and
    ``completing`` says which. Not for jobs that cost credits or whose subject has a status.
    """
    values = {"id": job.id, "token": job.lease_token, "result": _result(result), "duration_ms": duration_ms}
    return connection.execute(_END_ALONE, values).fetchone() is not None


def completing(
    connection: Connection, job: ClaimedJob, result: Mapping[str, Any], duration_ms: int
) -> Callable[[], Ended]:
    """End a job well, in two steps: send the arrow now; what is returned fetches how it went.

    It raises ``LeaseLostError``. A ``result`` that says ``stale`` was thrown away by its room: it costs no credit.
    """
    return _end(connection, job, "completed", duration_ms=duration_ms, result=result)


def finished(connection: Connection, job: ClaimedJob, again: UUID | None) -> None:
    """Tell the subject of a completed job what of it still lives, the follow-up and other types' jobs.

    Call after the room's own writes and the jobs that follow.
    """
    subjects.finished(connection, job.job_type, job.subject_id)
    if again is not None:
        credits_store.reserve(connection, [again])


def fail(
    connection: Connection, job: ClaimedJob, error: SiftlineError, *, duration_ms: int, park_id: UUID | None
) -> UUID | None:
    """End a job badly; with a ``park_id`` it still has to be parked on the dead-letter queue.

    Returns the follow-up's id when its subject changed meanwhile. Raises ``LeaseLostError``.
    """
    ended = _end(connection, job, "failed", duration_ms=duration_ms, error=error, park_id=park_id)()
    if ended.follow_id is None:
        subjects.failed(connection, job.job_type, [job.subject_id], error.error_code, error.detail)
    else:
        subjects.waiting(connection, job.job_type, [job.subject_id])
        credits_store.reserve(connection, [ended.follow_id])
    return ended.follow_id


def retry(connection: Connection, job: ClaimedJob, error: SiftlineError, *, delay_s: float, duration_ms: int) -> None:
    """Put a job off with its attempt used. Raises ``LeaseLostError``."""
    _again_later(connection, job, error, delay_s=delay_s, duration_ms=duration_ms, event="retry", refund=0)


def defer(
    connection: Connection,
    job: ClaimedJob,
    error: SiftlineError,
    *,
    delay_s: float,
    duration_ms: int,
    in_turn: bool = False,
) -> None:
    """Put a job off to a known time and give its attempt back. Raises ``LeaseLostError``.

    ``in_turn``: it waits for its turn, which is not counted as being put off.
    """
    _again_later(
        connection, job, error, delay_s=delay_s, duration_ms=duration_ms, event="deferred", refund=1, in_turn=in_turn
    )


def _claiming(job_type: JobType) -> str:
    if subjects.is_content_job(job_type):
        return _CLAIM_CONTENT
    return _CLAIM_SOURCE if job_type is JobType.FETCH_SOURCE else _CLAIM


def _claimed(**columns: Any) -> ClaimedJob:
    columns["job_type"] = JobType(columns["job_type"])
    columns["queue"] = Queue(columns["queue"])
    return ClaimedJob(**columns)


def _end(
    connection: Connection,
    job: ClaimedJob,
    state: str,
    *,
    duration_ms: int,
    result: Mapping[str, Any] | None = None,
    error: SiftlineError | None = None,
    park_id: UUID | None = None,
) -> Callable[[], Ended]:
    cursor = connection.cursor(row_factory=class_row(Ended)).execute(
        _END,
        {
            "id": job.id,
            "token": job.lease_token,
            "state": state,
            "error_code": error.error_code if error else None,
            "error_message": error.detail if error else None,
            "result": _result(result),
            "park_id": park_id,
            "follow_id": new_id(),
            "duration_ms": duration_ms,
        },
    )

    def ended() -> Ended:
        row = cursor.fetchone()
        if row is None:
            raise _lost(job)
        if job.job_type is JobType.ANALYZE_CONTENT and state == "completed" and not (result or {}).get("stale"):
            credits_store.settle(connection, job.id)
        elif job.job_type is JobType.ANALYZE_CONTENT:
            credits_store.release(connection, [job.id])
        return row

    return ended


def _result(result: Mapping[str, Any] | None) -> Jsonb | None:
    return Jsonb(dict(result)) if result else None


def _again_later(
    connection: Connection,
    job: ClaimedJob,
    error: SiftlineError,
    *,
    delay_s: float,
    duration_ms: int,
    event: str,
    refund: int,
    in_turn: bool = False,
) -> None:
    row = connection.execute(
        _AGAIN_LATER,
        {
            "id": job.id,
            "token": job.lease_token,
            "delay": timedelta(seconds=delay_s),
            "refund": refund,
            "event": event,
            "in_turn": in_turn,
            "waits_for": error.error_code,
            "error_code": error.error_code,
            "error_message": error.detail,
            "duration_ms": duration_ms,
        },
    ).fetchone()
    if row is None:
        raise _lost(job)
    subjects.waiting(connection, job.job_type, [job.subject_id])


def _lost(job: ClaimedJob) -> LeaseLostError:
    return LeaseLostError(f"The {job.job_type} job {job.id} is no longer held by this worker.")
