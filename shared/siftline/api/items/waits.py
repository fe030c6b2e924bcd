"""What an item or a source waits for now, and until when: in words, from its live job or from what it lacks."""

import re

from siftline.api.http.shapes import Waiting
from siftline.api.items.details_store import LiveJobRow
from siftline.api.items.item_views import notice_of
from siftline.jobs.credits_store import NO_CREDIT
from siftline.jobs.jobs_store import ASKED_FOR

# The codes of ``siftline.net.pacing`` and ``siftline.jobs.tenants``, which need more than the API has.
_IN_TURN = frozenset({"host_busy", "tenant_busy"})


def waiting_of(job: LiveJobRow | None, *, notice_code: str | None = None) -> Waiting | None:
    """Return what an item with this live job, or this notice and no job, waits for; ``None`` if for nothing."""
    if job is None:
        notice = notice_of(notice_code) if notice_code == NO_CREDIT else None
        return Waiting(code=notice.code, reason=notice.detail) if notice else None
    if job.state == "processing":
        return _held(job)
    if job.put_off:
        reason = job.error_message or "It is put off until then."
        return Waiting(code=job.waits_for or "put_off", until=job.due_at, reason=reason)
    if job.published:
        return Waiting(code="handed_out", reason="Its message is on the queue; it is taken by the next free worker.")
    reason = f"It is handed out in its turn; {job.outstanding} messages of the queue {job.queue} are out now."
    return Waiting(code="in_turn", reason=reason)


def put_off(job: LiveJobRow | None) -> Waiting | None:
    """Return until when and for what an item's reading is put off, though it was asked for; ``None`` if it is not."""
    return waiting_of(job) if job is not None and job.put_off else None


def why_then(job: LiveJobRow, waiting: Waiting) -> str:
    """Return in a phrase why a source, whose live job waits so, is asked next when it is."""
    if job.state == "processing":
        return "it is being fetched"
    if not job.put_off:
        return "asked for: its fetch is queued" if job.waits_for == ASKED_FOR else "its fetch is queued"
    asked = re.fullmatch(r"http_(\d+)", waiting.code)
    if job.deferred and asked:
        return f"the server asked to wait until then ({asked[1]})"
    if job.deferred or waiting.code in _IN_TURN:
        return waiting.reason
    return f"tried again after a failed try: {waiting.reason}"


def _held(job: LiveJobRow) -> Waiting:
    if job.lease_expired:
        return Waiting(code="worker_lost", reason="The worker that had it was lost; the next sweep takes it up.")
    after = "it fails" if job.attempts >= job.max_attempts else "it is tried again"
    reason = f"A worker has it. Should that be lost, {after} when its lease ends; long work renews it."
    return Waiting(code="in_work", until=job.lease_until, reason=reason)
