"""The words of a video or audio, from where they stand in writing already: the page, its tracks, its feed, YouTube.

The first that has them counts: what the page itself states, the feed's and the page's caption tracks, YouTube's
captions. One bound of time holds for all of it; what it does not allow is left to a job of its own
(``siftline.ingest.transcribing``).
"""

import json
import re
from collections.abc import Collection, Mapping, Sequence
from typing import Protocol

from siftline.ingest.media import TranscriptState, Words
from siftline.ingest.model import EntryText, Track
from siftline.ingest.youtube import Video
from siftline.kit.clock import Clock
from siftline.kit.errors import PermanentError, TransientError
from siftline.kit.http import Response
from siftline.kit.http_errors import StatusRefusedError, StatusTransientError

_ACCEPT = "text/vtt, application/ttml+xml, application/x-subrip, application/json, text/plain, text/html, */*;q=0.1"
_TRACKS_TRIED_MAX = 4
_REFUSALS = frozenset({401, 403, 407, 429, 451})
_SENTENCES = re.compile(r"(?<=[.!?\u3002\uff01\uff1f])\s*(?=\S)")
_FORMS = ("vtt", "srt", "subrip", "ttml", "xml", "json", "html", "plain")
"""Parts of media types, best first: those that say when something is said tell paragraphs apart."""


class Http(Protocol):
    """Fetches a track (``siftline.kit.http.HttpClient``)."""

    def get(self, url: str, *, headers: Mapping[str, str] | None = None, max_bytes: int, accept: str) -> Response:
        """Return the whole answer. Raises ``TransientError`` and ``PermanentError``."""
        ...


class Reader(Protocol):
    """Reads caption files (``siftline.ingest.reader.PageReader``)."""

    def captions(self, body: bytes, content_type: str) -> EntryText:
        """Return the words of a caption file. Raises ``PermanentError`` and ``TransientError``."""
        ...


class VideoSource(Protocol):
    """Knows videos by their id (``siftline.ingest.youtube.YouTube``)."""

    def video(self, id_: str, *, facts: bool = True) -> Video:
        """Return what can be had of a video."""
        ...


class Transcripts:
    """Looks for the words of videos and audio. Thread-safe.

    ``media_s`` is for how long tracks are gone through; the last one begun may end later, by what ``http`` allows.
    """

    def __init__(
        self, http: Http, reader: Reader, youtube: VideoSource, *, max_bytes: int, media_s: float, clock: Clock
    ) -> None:
        self._http = http
        self._reader = reader
        self._youtube = youtube
        self._max_bytes = max_bytes
        self._media_s = media_s
        self._clock = clock

    def of_tracks(self, tracks: Sequence[Track], *, language: str | None, feed: Collection[str] = ()) -> Words:
        """Return the words of the first of these tracks that has any; ``feed`` are the addresses that a feed named."""
        until_s = self._clock.monotonic() + self._media_s
        outcome = Words(TranscriptState.NONE)
        for track in ordered(tracks, language)[:_TRACKS_TRIED_MAX]:
            if self._clock.monotonic() >= until_s:
                return Words(None, source=track.url)
            words = self._track(track, TranscriptState.FEED if track.url in feed else TranscriptState.CAPTIONS)
            if words.text:
                return words
            outcome = words if words.later else outcome
        return outcome

    def of_youtube(self, id_: str, *, facts: bool = True) -> tuple[Words, Video]:
        """Return the words of a video, and what else is known of it."""
        video = self._youtube.video(id_, facts=facts)
        words = video.words
        if words.state is TranscriptState.YOUTUBE:
            rows = [{"body": one.text, "startTime": one.start_s, "endTime": one.end_s} for one in video.segments]
            text = self._joined(rows)
            state = words.state if text else TranscriptState.NONE
            words = Words(state, text, words.language, words.source)
        return words, video

    def of_speech(self, text: str) -> str:
        """Return what an audio model heard, in one piece, as paragraphs."""
        return self._joined([{"body": sentence} for sentence in _SENTENCES.split(text)])

    def _joined(self, segments: list[dict[str, object]]) -> str:
        try:
            return self._reader.captions(json.dumps({"segments": segments}).encode(), "application/json").text
        except PermanentError:
            return ""

    def _track(self, track: Track, state: TranscriptState) -> Words:
        try:
            answer = self._http.get(track.url, max_bytes=self._max_bytes, accept=_ACCEPT)
            named = answer.headers.get("content-type", "") or track.media_type or ""
            words = self._reader.captions(answer.body, named)
        except (StatusRefusedError, StatusTransientError) as error:
            if error.status in _REFUSALS:
                retry_after_s = getattr(error, "retry_after_s", None)
                return Words(TranscriptState.BLOCKED, source=track.url, retry_after_s=retry_after_s)
            return Words(None if isinstance(error, TransientError) else TranscriptState.NONE, source=track.url)
        except TransientError as error:
            return Words(None, source=track.url, retry_after_s=error.retry_after_s)
        except PermanentError:
            return Words(TranscriptState.NONE, source=track.url)
        if not words.text:
            return Words(TranscriptState.NONE, source=track.url)
        return Words(state, words.text, track.language, track.url)


def ordered(tracks: Sequence[Track], language: str | None) -> list[Track]:
    """Return the tracks to try, best first: the content's own language, then as listed; each by the best of its forms.

    What is no language but a listing for machines (``kind=chapters`` and the like) the page reader leaves out.
    """
    wanted = (language or "").lower().partition("-")[0]

    def rank(track: Track) -> tuple[bool, int]:
        spoken = (track.language or "").lower().replace("_", "-").partition("-")[0]
        form = (track.media_type or track.url.rpartition(".")[2]).lower()
        place = next((number for number, part in enumerate(_FORMS) if part in form), len(_FORMS))
        return (bool(wanted) and spoken != wanted, place)

    return sorted(dict.fromkeys(tracks), key=rank)
