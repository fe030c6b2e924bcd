"""Fetches the sound of a video or audio, as an audio model takes it."""

from dataclasses import dataclass, field
from urllib.parse import urlsplit

from siftline.ingest.media.media import Media, TranscriptState
from siftline.ingest.media.transcription import MEDIA_TYPES
from siftline.kit.errors import PermanentError
from siftline.net.http_model import Http, Requester, StatusTransientError, TooLargeError
from siftline.net.pacing import Pacing

_ACCEPT = "audio/*, video/mp4;q=0.5, */*;q=0.1"
_ENDINGS = {"mp3", "mp4", "mpeg", "mpga", "m4a", "wav", "ogg", "oga", "flac", "webm"}


@dataclass(frozen=True, slots=True)
class Audio:
    """A file's bytes and the ending that tells what they are."""

    body: bytes = field(repr=False)
    ending: str


class AudioFiles:
    """Fetches files of at most ``max_bytes``."""

    def __init__(self, http: Http, pace: Pacing, *, max_bytes: int) -> None:
        self._http = http
        self._pace = pace
        self._max_bytes = max_bytes

    def fetch(self, media: Media, requester: Requester) -> Audio | TranscriptState:
        """Return the file, or the state that says why it cannot be had. Raises ``TransientError``."""
        if media.url is None:
            return TranscriptState.NONE
        try:
            with self._pace.asking(media.url, requester) as admitted:
                answer = self._http.get(media.url, requester=admitted, max_bytes=self._max_bytes, accept=_ACCEPT)
        except StatusTransientError as error:
            self._pace.told(media.url, error)
            raise
        except TooLargeError:
            return TranscriptState.TOO_LONG
        except PermanentError:
            return TranscriptState.NONE
        ending = _ending(answer.content_type, media, answer.url)
        return TranscriptState.NONE if ending is None else Audio(answer.body, ending)


def _ending(content_type: str, media: Media, url: str) -> str | None:
    """Return what the server, the feed or the address says of a file; ``None`` when no model takes it."""
    if content_type.startswith("text/"):
        return None
    stated = (media.media_type or "").lower()
    last = urlsplit(url).path.rpartition(".")[2].lower()
    return MEDIA_TYPES.get(content_type) or MEDIA_TYPES.get(stated) or (last if last in _ENDINGS else None)
