"""The recording that a feed's entry is about: its file and transcripts, in the form of ``contents.media``."""

from typing import Any

from siftline.fetch.feed.feeds import Enclosure, Entry
from siftline.net.recordings import said_kind

_TRANSCRIPTS_MAX = 20


def recording_kind(entry: Entry) -> str | None:
    """Return ``audio`` or ``video`` for an entry that brings such a file, else ``None``."""
    found = _recording(entry)
    return None if found is None else _kind(found, entry)


def recording_url(entry: Entry) -> str | None:
    """Return where the file is."""
    found = _recording(entry)
    return None if found is None else found.url


def recording_row(entry: Entry) -> dict[str, Any] | None:
    """Return what the feed says of the file, or ``None`` when the entry brings none."""
    found = _recording(entry)
    if found is None:
        return None
    transcripts = [
        {"url": one.url, "media_type": one.media_type, "language": one.language, "label": None}
        for one in entry.transcripts[:_TRANSCRIPTS_MAX]
    ]
    return {
        "url": found.url,
        "media_type": found.media_type,
        "duration_s": entry.duration_s or found.duration_s,
        "feed_tracks": transcripts,
    }


def _recording(entry: Entry) -> Enclosure | None:
    return next((one for one in entry.enclosures if _kind(one, entry) is not None), None)


def _kind(enclosure: Enclosure, entry: Entry) -> str | None:
    return said_kind(enclosure.url, enclosure.media_type, runs=bool(enclosure.duration_s or entry.duration_s))
