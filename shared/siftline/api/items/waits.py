"""What an item or a source waits for now, and until when: in words, from its live job or from what it lacks."""

import re

from siftline.api.http.shapes import Waiting
from siftline.api.items.details_store import LiveJobRow
from siftline.api.items.item_words import notice_of
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
        reason = job.error_message or "Postponed until then."
        return Waiting(code=job.waits_for or "put_off", until=job.due_at, reason=reason)
    if job.published:
        return Waiting(code="handed_out", reason="Queued; the next free worker takes it.")
    reason = f"Waiting its turn; the queue {job.queue} has {job.outstanding} messages outstanding."
    return Waiting(code="in_turn", reason=reason)


def put_off(job: LiveJobRow | None) -> Waiting | None:
    """Return until when and for what an item's reading is put off, though it was asked for; ``None`` if it is not."""
    return waiting_of(job) if job is not None and job.put_off else None


def why_then(job: LiveJobRow, waiting: Waiting) -> str:
    """Return in a phrase why a source, whose live job waits so, is asked next when it is."""
    if job.state == "processing":
        return "being fetched now"
    if not job.put_off:
        return "requested: fetch queued" if job.waits_for == ASKED_FOR else "fetch queued"
    asked = re.fullmatch(r"http_(\d+)", waiting.code)
    if job.deferred and asked:
        return f"the server asked us to wait until then ({asked[1]})"
    if job.deferred or waiting.code in _IN_TURN:
        return waiting.reason
    return f"retry after a failed attempt: {waiting.reason}"


def _held(job: LiveJobRow) -> Waiting:
    if job.lease_expired:
        return Waiting(code="worker_lost", reason="Its worker was lost; the next sweep requeues it.")
    after = "it fails" if job.attempts >= job.max_attempts else "it is retried"
    reason = (
        f"A worker is processing it. If the worker is lost, {after} when the lease expires; long work renews the lease."
    )
    return Waiting(code="in_work", until=job.lease_until, reason=reason)
