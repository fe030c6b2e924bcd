"""Addresses of audio and video files themselves: known by what their server or their name says; not downloaded."""

from urllib.parse import unquote, urlsplit

from siftline.ingest.readings import Page
from siftline.kit.lines import line
from siftline.net.recordings import KINDS, named_kind

_TITLE_MAX_CHARS = 300
_UNNAMED = frozenset({"application/octet-stream", "binary/octet-stream", "application/ogg", "application/mp4"})
"""What servers call a file whose name says more."""


def is_named(url: str) -> bool:
    """Whether an address is named like an audio or video file; what is no address is not."""
    return named_kind(url) is not None


def played(media_type: str, url: str) -> str | None:
    """Return ``audio`` or ``video`` for a file of such a type, or of such a name where its type says nothing."""
    kind = media_type.partition("/")[0]
    if kind in KINDS:
        return kind
    return named_kind(url) if media_type in _UNNAMED else None


def file_page(url: str, kind: str, *, title: str | None = None) -> Page:
    """Return what is known of a file by its address: named as it is known already, or else as the file is."""
    name = unquote(urlsplit(url).path.rpartition("/")[2])
    return Page(kind=kind, title=title or line(name, _TITLE_MAX_CHARS) or None, text="", word_count=0, media_url=url)
