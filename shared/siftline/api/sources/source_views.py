"""Rows of sources as the API shows them."""

from dataclasses import asdict

from siftline.api.items.details_store import LiveJobRow
from siftline.api.items.item_views import error_of
from siftline.api.items.waits import waiting_of, why_then
from siftline.api.sources.source_models import Health, Source
from siftline.api.sources.sources_store import SourceRow


def source_of(row: SourceRow, poll: LiveJobRow | None) -> Source:
    """Return a source with what its live fetch job waits for, which decides when it is asked next.

    One that is switched off is not asked at all, and its reason says why.
    """
    waiting = waiting_of(poll)
    shown = asdict(row) | {
        "last_error": error_of(row.last_error_code, row.last_error_detail),
        "waiting_until": waiting.until if waiting else None,
        "waiting_reason": waiting.reason if waiting else None,
    }
    if row.health == Health.INACTIVE:
        shown["next_fetch_at"] = None
    elif poll is not None and waiting is not None:
        shown |= {"next_fetch_at": poll.next_at, "next_fetch_reason": why_then(poll, waiting)}
    return Source.model_validate(shown)
