"""The words of a video or audio, from where they stand in writing already: the page, its tracks, its feed, YouTube.

The first that has them counts: what the page itself states, the feed's and the page's caption tracks, YouTube's
captions. One bound of time holds for all of it; what it does not allow is left to a job of its own
(``siftline.ingest.media.transcribe_service``).
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from siftline.ingest.media.media import Media, TranscriptState, Words
from siftline.ingest.media.youtube import CAPTIONS_MAX_BYTES, HOME, Video, YouTube
from siftline.ingest.page_child import PageReader
from siftline.ingest.page_model import Track
from siftline.kit.clock import Clock
from siftline.kit.errors import PermanentError, TransientError
from siftline.net.http_model import Http, Requester, StatusRefusedError, StatusTransientError
from siftline.net.pacing import Pacing

_ACCEPT = "text/vtt, application/ttml+xml, application/x-subrip, application/json, text/plain, text/html, */*;q=0.1"
MEDIA_S = 20.0
"""A page's job begins no caption file after this: the page is wanted, and a later job gets its words."""
MEDIA_REQUEST_S = 8.0
"""The longest that fetching one caption file may take."""
_TRACKS_TRIED_MAX = 4
_REFUSALS = frozenset({401, 403, 407, 429, 451})
_SENTENCES = re.compile(r"(?<=[.!?\u3002\uff01\uff1f])\s*(?=\S)")
_FORMS = ("vtt", "srt", "subrip", "ttml", "xml", "json", "html", "plain")
"""Parts of media types, best first: those that say when something is said tell paragraphs apart."""


class Transcripts:
    """Looks for the words of videos and audio. Thread-safe.

    ``media_s`` is for how long tracks are gone through; the last one begun may end later, by what ``http`` allows.
    """

    def __init__(
        self,
        http: Http,
        reader: PageReader,
        youtube: YouTube,
        pace: Pacing,
        *,
        clock: Clock,
        media_s: float = MEDIA_S,
    ) -> None:
        self._pace = pace
        self._http = http
        self._reader = reader
        self._youtube = youtube
        self._media_s = media_s
        self._clock = clock

    def of_tracks(self, media: Media, requester: Requester, *, language: str | None) -> Words:
        """Return the words of the first of the tracks that has any: of the page's, then of the feed's.

        ``language`` is the content's own; each host is asked when its turn comes.
        """
        until_s = self._clock.monotonic() + self._media_s
        outcome = Words(TranscriptState.NONE)
        tried = [(track, TranscriptState.CAPTIONS) for track in ordered(media.tracks, language)]
        tried += [(track, TranscriptState.FEED) for track in ordered(media.feed_tracks, language)]
        for track, state in tried[:_TRACKS_TRIED_MAX]:
            if self._clock.monotonic() >= until_s:
                return Words(None, source=track.url)
            words = self._track(track, state, requester)
            if words.text:
                return words
            outcome = words if words.later else outcome
        return outcome

    def of_youtube(self, id_: str, requester: Requester, *, facts: bool = True) -> tuple[Words, Video]:
        """Return the words of a video, and what else is known of it. Raises ``HostBusyError``."""
        with self._pace.asking(HOME, requester) as admitted:
            video = self._youtube.video(id_, admitted, facts=facts)
        if video.refusal is not None:
            self._pace.told(HOME, video.refusal)
        words = video.words
        if words.state is TranscriptState.YOUTUBE:
            rows = [{"body": one.text, "startTime": one.start_s, "endTime": one.end_s} for one in video.segments]
            words = self._joined(rows, words)
        return words, video

    def of_speech(self, text: str, *, language: str | None, source: str) -> Words:
        """Return what an audio model heard, in one piece, as paragraphs."""
        sentences = [{"body": sentence} for sentence in _SENTENCES.split(text)]
        return self._joined(sentences, Words(TranscriptState.GENERATED, language=language, source=source))

    def of_page(self, text: str, *, language: str | None, source: str) -> Words:
        """Return what a page itself states as the words of its video or audio."""
        found = Words(TranscriptState.PAGE, language=language, source=source)
        return self._read(text.encode(), "text/plain; charset=utf-8", found)

    def _joined(self, segments: Sequence[Mapping[str, object]], found: Words) -> Words:
        return self._read(json.dumps({"segments": segments}).encode(), "application/json", found)

    def _read(self, body: bytes, content_type: str, found: Words) -> Words:
        try:
            read = self._reader.captions(body, content_type)
        except PermanentError:
            return replace(found, state=TranscriptState.NONE)
        if not read.text:
            return replace(found, state=TranscriptState.NONE)
        return replace(found, text=read.text, word_count=read.word_count)

    def _track(self, track: Track, state: TranscriptState, requester: Requester) -> Words:
        try:
            with self._pace.asking(track.url, requester) as admitted:
                answer = self._http.get(track.url, requester=admitted, max_bytes=CAPTIONS_MAX_BYTES, accept=_ACCEPT)
            named = answer.headers.get("content-type", "") or track.media_type or ""
            return self._read(answer.body, named, Words(state, language=track.language, source=track.url))
        except (StatusRefusedError, StatusTransientError) as error:
            if isinstance(error, StatusTransientError):
                self._pace.told(track.url, error)
            if error.status in _REFUSALS:
                retry_after_s = getattr(error, "retry_after_s", None)
                return Words(TranscriptState.BLOCKED, source=track.url, retry_after_s=retry_after_s)
            return Words(None if isinstance(error, TransientError) else TranscriptState.NONE, source=track.url)
        except TransientError as error:
            return Words(None, source=track.url, retry_after_s=error.retry_after_s)
        except PermanentError:
            return Words(TranscriptState.NONE, source=track.url)


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
