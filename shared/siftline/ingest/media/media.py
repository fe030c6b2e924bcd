"""What is known of a video or audio: its file, its caption tracks, and how its words were got.

Files themselves are known by what their server or their name says; they are not downloaded.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from typing import Any
from urllib.parse import unquote, urlsplit

from siftline.ingest.page_model import MAX_TEXT_CHARS, Page, Track
from siftline.kit.errors import SiftlineError
from siftline.kit.lines import line
from siftline.net.recordings import KINDS, named_kind
from siftline.net.urls import validate_url

RETRY_S = 3_600.0
"""Who refused a transcript is asked again after this, then ever later: who blocks an address does so for hours."""
_TRACKS_MAX = 50
_TITLE_MAX_CHARS = 300
_UNNAMED = frozenset({"application/octet-stream", "binary/octet-stream", "application/ogg", "application/mp4"})
"""What servers call a file whose name says more."""


class TranscriptState(StrEnum):
    """How the words of a video or audio were got, or why not."""

    PAGE = "page"
    """The page states them itself."""
    CAPTIONS = "captions"
    """From a caption track that the page names."""
    YOUTUBE = "youtube"
    """From YouTube's captions."""
    FEED = "feed"
    """From a transcript that the feed names (podcast:transcript)."""
    GENERATED = "generated"
    """By the audio model."""
    BLOCKED = "blocked"
    """The provider refused to be asked: whether there are any is not known. Tried again later."""
    NONE = "none"
    """There are none."""
    PRIVATE = "private"
    """The video itself is private, removed, or not for everybody."""
    TOO_LONG = "too_long"
    """The file is larger or longer than may be sent to the audio model."""
    OVER_BUDGET = "over_budget"
    """To generate them would cost more than may be spent in a day."""


GOT = frozenset(map(TranscriptState, ("page", "captions", "youtube", "feed", "generated")))


@dataclass(frozen=True, slots=True)
class Words:
    """What looking for a transcript came to. ``state`` is ``None`` while nobody could say: it is looked for again."""

    state: TranscriptState | None
    text: str = ""
    """Paragraphs, where the state is one of ``GOT``."""
    word_count: int = 0
    language: str | None = None
    source: str | None = None
    """The track's address, the video's, or the model's name."""
    retry_after_s: float | None = None
    """For how long the provider asked to be left alone."""

    @property
    def later(self) -> bool:
        """Whether it is worth asking again."""
        return self.state in {None, TranscriptState.BLOCKED}


@dataclass(frozen=True, slots=True)
class Media:
    """A content's ``media`` column."""

    url: str | None = None
    media_type: str | None = None
    duration_s: float | None = None
    """As stated; nobody has measured it."""
    feed_tracks: tuple[Track, ...] = ()
    """What the feed names (podcast:transcript)."""
    tracks: tuple[Track, ...] = ()
    """What the page names."""
    state: str | None = None
    source: str | None = None
    language: str | None = None

    @classmethod
    def of(cls, row: Mapping[str, Any] | None) -> "Media | None":
        """Return what the column says; what in it cannot be used is left out."""
        if not row:
            return None
        duration = row.get("duration_s")
        return cls(
            url=_address(row.get("url")),
            media_type=_text(row.get("media_type")),
            duration_s=float(duration) if isinstance(duration, int | float) and duration > 0 else None,
            feed_tracks=_tracks(row.get("feed_tracks")),
            tracks=_tracks(row.get("tracks")),
            state=_text(row.get("transcript_state")),
            source=_text(row.get("transcript_source")),
            language=_text(row.get("transcript_language")),
        )

    def row(self) -> dict[str, Any]:
        """Return the column's object."""
        return {
            "url": self.url,
            "media_type": self.media_type,
            "duration_s": self.duration_s,
            "feed_tracks": list(map(asdict, self.feed_tracks)),
            "tracks": list(map(asdict, self.tracks)),
            "transcript_state": self.state,
            "transcript_source": self.source,
            "transcript_language": self.language,
        }

    def told(self, words: Words) -> "Media":
        """Return this with how its words were got."""
        return replace(self, state=words.state, source=words.source, language=words.language)


def text_with_words(notes: str, notes_words: int, words: Words) -> tuple[str, int]:
    """Return a text and its number of words: what is said about a video or audio, then what is said in it.

    What is longer than a text may be is cut at its end.
    """
    text = "\n\n".join(part for part in (notes, words.text) if part)[:MAX_TEXT_CHARS].rstrip()
    return text, notes_words + words.word_count


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


def _tracks(rows: Any) -> tuple[Track, ...]:
    found = map(_track, rows[:_TRACKS_MAX] if isinstance(rows, list) else [])
    return tuple(track for track in found if track is not None)


def _track(row: Any) -> Track | None:
    url = _address(row.get("url")) if isinstance(row, Mapping) else None
    if url is None:
        return None
    return Track(url, _text(row.get("media_type")), _text(row.get("language")), _text(row.get("label")))


def _address(value: Any) -> str | None:
    try:
        return validate_url(value) if isinstance(value, str) else None
    except SiftlineError:
        return None


def _text(value: Any) -> str | None:
    return value[:1_000] if isinstance(value, str) and value else None
