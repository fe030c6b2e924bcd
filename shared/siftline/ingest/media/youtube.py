"""A YouTube video: what it says of itself, and its captions, by youtube-transcript-api through the safe HTTP client.

Three ways in which there are no words are never mistaken for each other: YouTube refuses to be asked (``blocked``: it
does so for addresses of clouds, after too many requests, behind a consent page), there are none (``none``), the video
itself is not for us (``private``). The library's error classes say which.
"""

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, quote, urlsplit

from siftline.ingest.media.media import TranscriptState, Words
from siftline.kit.errors import PermanentError, SiftlineError, TransientError
from siftline.net.http_model import Http, Requester, Response, StatusTransientError

if TYPE_CHECKING:
    from youtube_transcript_api import Transcript

    from siftline.ingest.media.youtube_session import SafeAdapter

HOME = "https://www.youtube.com/"
WATCH = "https://www.youtube.com/watch?v={}"
_OEMBED = "https://www.youtube.com/oembed?format=json&url={}"
_HOSTS = frozenset({"youtube.com", "www.youtube.com", "m.youtube.com", "music.youtube.com", "www.youtube-nocookie.com"})
_ID = re.compile(r"[A-Za-z0-9_-]{11}")
_FOLDERS = frozenset({"shorts", "live", "embed", "v"})
_OEMBED_MAX_BYTES = 65_536
CAPTIONS_MAX_BYTES = 5_000_000
"""A larger caption file, or answer of YouTube's, is not read: hours of speech have less."""


@dataclass(frozen=True, slots=True)
class Segment:
    """A caption as it is shown; seconds."""

    text: str
    start_s: float
    end_s: float


@dataclass(frozen=True, slots=True)
class Video:
    """What could be had of a video. ``words.text`` is empty: its words are in ``segments``, not yet joined."""

    words: Words
    segments: tuple[Segment, ...] = ()
    title: str | None = None
    channel: str | None = None
    description: str | None = None
    image_url: str | None = None
    duration_s: float | None = None
    page: Response | None = None
    """Its page, if YouTube gave it out."""
    refusal: StatusTransientError | None = None
    """The answer by which YouTube asked to be left alone for a while."""


def video_id(url: str) -> str | None:
    """Return the id of the YouTube video at ``url``, or ``None`` when there is no video of YouTube's."""
    try:
        parts = urlsplit(url)
        host = (parts.hostname or "").lower()
    except ValueError:
        return None
    path = [part for part in parts.path.split("/") if part]
    found = ""
    if host in {"youtu.be", "www.youtu.be"} and path:
        found = path[0]
    elif host in _HOSTS and len(path) == 2 and path[0] in _FOLDERS:
        found = path[1]
    elif host in _HOSTS and path == ["watch"]:
        found = parse_qs(parts.query).get("v", [""])[0]
    return found if _ID.fullmatch(found) else None


class YouTube:
    """Asks YouTube for videos. Thread-safe."""

    def __init__(self, http: Http) -> None:
        self._http = http

    def video(self, id_: str, requester: Requester, *, facts: bool = True) -> Video:
        """Return what can be had of a video; with ``facts`` its title and channel are asked for where captions fail.

        Never raises for what YouTube or the network does: ``words.state`` says what came of it.
        """
        # Loaded with the first video, as the library itself: few contents are one.
        from siftline.ingest.media.youtube_session import SafeAdapter  # noqa: PLC0415 - as said

        adapter = SafeAdapter(self._http, requester, max_bytes=CAPTIONS_MAX_BYTES)
        try:
            words, segments = self._captions(id_, adapter)
        except TransientError as error:
            words, segments = Words(None, source=WATCH.format(id_), retry_after_s=error.retry_after_s), ()
        except PermanentError:
            words, segments = Words(TranscriptState.BLOCKED, source=WATCH.format(id_)), ()
        told = adapter.facts.get("videoDetails")
        details = told if isinstance(told, dict) else {}
        if facts and not details.get("title"):
            details = {**details, **self._oembed(id_, requester)}
        return Video(
            words,
            segments,
            title=_text(details, "title"),
            channel=_text(details, "author", "author_name"),
            description=_text(details, "shortDescription"),
            image_url=_text(details, "thumbnail_url") or _thumbnail(details),
            duration_s=_number(details, "lengthSeconds"),
            page=adapter.page,
            refusal=adapter.refusal,
        )

    def _captions(self, id_: str, adapter: "SafeAdapter") -> tuple[Words, tuple[Segment, ...]]:
        from youtube_transcript_api import YouTubeTranscriptApi, YouTubeTranscriptApiException  # noqa: PLC0415 - above

        from siftline.ingest.media.youtube_session import safe_session  # noqa: PLC0415 - as above

        session = safe_session(adapter)
        try:
            track = chosen(YouTubeTranscriptApi(http_client=session).list(id_))
            shown = track.fetch() if track is not None else None
        except YouTubeTranscriptApiException as error:
            state = _state(error, adapter.status)
            asked_s = adapter.refusal.retry_after_s if adapter.refusal is not None else None
            return Words(state, source=WATCH.format(id_), retry_after_s=asked_s), ()
        except (ValueError, KeyError, TypeError, AttributeError, SyntaxError, OSError):
            # What YouTube answered is not what the library knows: nobody can say whether there are captions.
            return Words(TranscriptState.BLOCKED, source=WATCH.format(id_)), ()
        if track is None or shown is None:
            return Words(TranscriptState.NONE, source=WATCH.format(id_)), ()
        segments = tuple(Segment(one.text, one.start, one.start + one.duration) for one in shown)
        return Words(TranscriptState.YOUTUBE, language=track.language_code, source=WATCH.format(id_)), segments

    def _oembed(self, id_: str, requester: Requester) -> dict[str, Any]:
        try:
            url = _OEMBED.format(quote(WATCH.format(id_), safe=""))
            answer = self._http.get(url, requester=requester, max_bytes=_OEMBED_MAX_BYTES)
            told = json.loads(answer.body)
        except (SiftlineError, ValueError):
            return {}
        return told if isinstance(told, dict) else {}


def chosen(tracks: "Iterable[Transcript]") -> "Transcript | None":
    """Return the track to read: in the language that is spoken, written by a person before heard by a machine.

    The language spoken is the one that YouTube's own recognition heard; without one it is the first written track.
    """
    found = list(tracks)
    heard = next((one for one in found if one.is_generated), None)
    written = [one for one in found if not one.is_generated]
    spoken = heard.language_code.partition("-")[0] if heard else None
    same = [one for one in written if one.language_code.partition("-")[0] == spoken]
    return next(iter([*same, *([heard] if heard else []), *written]), None)


def _state(error: Exception, status: int | None) -> TranscriptState | None:
    """Return what an error of the library means; ``None`` for a fault of YouTube's that passes."""
    import youtube_transcript_api as library  # noqa: PLC0415  -- loaded already

    if isinstance(error, library.TranscriptsDisabled | library.NoTranscriptFound):
        return TranscriptState.NONE
    if isinstance(error, library.VideoUnplayable) and "not a bot" in (error.reason or "").lower():
        return TranscriptState.BLOCKED  # the library knows the sentence with one kind of apostrophe only
    if isinstance(
        error, library.VideoUnavailable | library.VideoUnplayable | library.AgeRestricted | library.InvalidVideoId
    ):
        return TranscriptState.PRIVATE
    if isinstance(error, library.YouTubeRequestFailed) and status is not None:
        if status in {404, 410}:
            return TranscriptState.PRIVATE
        return None if status >= 500 or status == 408 else TranscriptState.BLOCKED
    # RequestBlocked, IpBlocked, PoTokenRequired, a consent page that would not go away, data that is no player's.
    return TranscriptState.BLOCKED


def _text(details: dict[str, Any], *names: str) -> str | None:
    found = (details[name] for name in names if isinstance(details.get(name), str))
    return next((value.strip() for value in found if value.strip()), None)


def _number(details: dict[str, Any], name: str) -> float | None:
    value = str(details.get(name, ""))
    return float(value) if value.isascii() and value.isdigit() and len(value) < 9 else None


def _thumbnail(details: dict[str, Any]) -> str | None:
    try:
        return str(details["thumbnail"]["thumbnails"][-1]["url"])
    except (KeyError, IndexError, TypeError):
        return None
