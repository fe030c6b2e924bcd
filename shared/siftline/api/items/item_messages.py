"""What the codes of items and sources say, in words: what limits them, and what they wait for."""

import math
import re

from siftline.api.http.shapes import Cause, Waiting
from siftline.api.items.details_store import LiveJobRow
from siftline.jobs.credits_store import NO_CREDIT, NO_CREDIT_DETAIL
from siftline.jobs.jobs_store import ASKED_FOR

_NOTICES = {
    "insufficient_content": "The page has too little meaningful text to summarise or classify. Any topic shown comes"
    " from its source.",
    "without_vector": "The embedding model returned no usable vector for this text. Until it does, search finds it"
    " by words only. We retry automatically.",
    NO_CREDIT: NO_CREDIT_DETAIL,
    "page_unavailable": "The page could not be read; this is what its feed says of it. We retry for some days while"
    " the feed lists it.",
    "title_only": "The feed gives only a title for this entry, and no page of its own.",
    "consent_wall": "The site shows this page only to visitors who accept tracking; this is what is known otherwise.",
    "paywalled": "The rest is available only to the site's subscribers.",
    "blocked_by_site": "The site blocks automated access to this page; this is the text from its feed.",
    "pdf_without_text": "The PDF contains only images of its pages, no text.",
}
_UNDATED = {
    "date_unreadable": "cannot be read",
    "date_ambiguous": "is ambiguous: the order of day and month is unknown",
    "date_implausible": "is not plausible",
}
# The codes of ``siftline.net.pacing`` and ``siftline.jobs.tenants``, which need more than the API has.
_IN_TURN = frozenset({"host_busy", "tenant_busy"})
_WORDS_PER_MINUTE = 230
# Where no spaces part words, characters are counted as such.
_CHARACTERS_PER_MINUTE = {"zh": 500, "ja": 500, "th": 900, "lo": 900, "km": 900, "my": 900}
_ANY_NOTICE = "The page could be read only in part."


def notice_of(code: str | None) -> Cause | None:
    """Return what limits what could be read, in words."""
    return None if code is None else Cause(code=code, detail=_NOTICES.get(code, _ANY_NOTICE))


def undated_of(code: str | None, claim: str | None) -> Cause | None:
    """Return why the date that an item claims is not used, in words."""
    if code is None:
        return None
    why = _UNDATED.get(code, "is not used")
    detail = f"The stated date, \u201c{claim}\u201d, {why}. The time it was first seen is used instead."
    return Cause(code=code, detail=detail)


def error_of(code: str | None, detail: str | None) -> Cause | None:
    """Return why something failed, in words."""
    return None if code is None else Cause(code=code, detail=detail or "No further details.")


def reading_minutes(word_count: int | None, lang: str | None) -> int | None:
    """Return how long a text takes to read, rounded up; where no spaces part words, by its characters."""
    if not word_count:
        return None
    return math.ceil(word_count / _CHARACTERS_PER_MINUTE.get(lang or "", _WORDS_PER_MINUTE))


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
