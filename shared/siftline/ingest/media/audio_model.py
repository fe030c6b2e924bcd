"""Speech into words: the sound of a video or audio, and the model that hears it, behind OpenAI's API or one alike.

The ``openai`` package makes the call, through ``siftline.models.openai_client``.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from siftline.kit.clock import Clock
from siftline.kit.errors import ConfigurationError, PermanentError, SiftlineError
from siftline.models.openai_client import WRONG_SET_UP, CallFailedError, ModelUnavailableError, OpenAiOpener
from siftline.net.http_model import retry_after_s

if TYPE_CHECKING:
    from openai import OpenAIError
from dataclasses import field
from urllib.parse import urlsplit

from siftline.ingest.media.media import Media, TranscriptState
from siftline.net.http_model import Http, Requester, StatusTransientError, TooLargeError
from siftline.net.pacing import Pacing

PROVIDER = "transcription"
_SECONDS_MAX = 1_000_000.0
_UNREADABLE = "The audio model's answer could not be read."
MEDIA_TYPES: Mapping[str, str] = {
    "audio/mpeg": "mp3",
    "audio/mp3": "mp3",
    "audio/mpga": "mp3",
    "audio/mp4": "m4a",
    "audio/m4a": "m4a",
    "audio/x-m4a": "m4a",
    "audio/wav": "wav",
    "audio/x-wav": "wav",
    "audio/wave": "wav",
    "audio/ogg": "ogg",
    "audio/opus": "ogg",
    "application/ogg": "ogg",
    "audio/flac": "flac",
    "audio/x-flac": "flac",
    "audio/webm": "webm",
    "video/webm": "webm",
    "video/mp4": "mp4",
    "video/mpeg": "mpeg",
}
"""What the API takes, and the ending by which it tells."""

_ACCEPT = "audio/*, video/mp4;q=0.5, */*;q=0.1"
_ENDINGS = {"mp3", "mp4", "mpeg", "mpga", "m4a", "wav", "ogg", "oga", "flac", "webm"}


class TranscriptionRefusedError(CallFailedError, PermanentError):
    """The audio model does not take this file."""

    code = "transcription_refused"


class TranscriptionMisconfiguredError(CallFailedError, ConfigurationError):
    """The key is refused, the model is unknown there, or the account has no money left."""

    code = "transcription_misconfigured"
    provider = PROVIDER


class TranscriptionUnavailableError(ModelUnavailableError):
    """The audio model does not answer now. ``billed`` tells whether the call may have been paid for all the same."""

    code = "transcription_unavailable"
    provider = PROVIDER


@dataclass(frozen=True, slots=True)
class Heard:
    """What the audio model heard. ``seconds`` is what it counted, if it says."""

    text: str
    seconds: float | None


class AudioModel:
    """Calls the audio model. Thread-safe. ``api_key`` is asked for with the first file."""

    def __init__(
        self, *, model: str, base_url: str, api_key: Callable[[], str], timeout_s: float, clock: Clock
    ) -> None:
        self.model = model
        self._opener = OpenAiOpener(base_url=base_url, api_key=api_key, timeout_s=timeout_s)
        self._clock = clock

    def hear(self, audio: bytes, *, ending: str, language: str | None) -> Heard:
        """Return the words of a file. ``ending`` is one of ``MEDIA_TYPES``' values, ``language`` ISO 639-1.

        Raises the error classes of this module.
        """
        from openai import OpenAIError, omit  # noqa: PLC0415 - as in OpenAiOpener

        try:
            answer = self._opener.client().audio.transcriptions.create(
                file=(f"audio.{ending}", audio),
                model=self.model,
                language=language or omit,
                response_format="json",
            )
        except OpenAIError as error:
            raise self._meaning(error) from error
        except (ValueError, RecursionError) as error:  # the body is no JSON, or nested without end
            raise TranscriptionUnavailableError(_UNREADABLE, billed=True) from error
        return _heard(answer)

    def close(self) -> None:
        """Close the connections."""
        self._opener.close()

    def _meaning(self, error: "OpenAIError") -> SiftlineError:
        """Return what an error of the library means for the job."""
        from openai import APIConnectionError, APIStatusError  # noqa: PLC0415 - loaded already

        if isinstance(error, APIConnectionError):
            return TranscriptionUnavailableError("The audio model did not answer in time.", billed=True)
        if not isinstance(error, APIStatusError):
            return TranscriptionUnavailableError(_UNREADABLE, billed=True)
        status = error.status_code
        if status in {401, 403, 404} or error.code in WRONG_SET_UP or error.param == "model":
            detail = f"The audio model {self.model} rejected the request with {status} ({error.code or 'no code'})."
            return TranscriptionMisconfiguredError(detail)
        if status in {408, 409, 429} or status >= 500:
            wait_s = retry_after_s(error.response.headers, self._clock.now())
            return TranscriptionUnavailableError(
                f"The audio model answered {status}.", billed=False, retry_after_s=wait_s
            )
        return TranscriptionRefusedError(f"The audio model does not accept this file (status {status}).")


def _heard(answer: object) -> Heard:
    """Read an answer as it came: the library builds it without a look at what is in it."""
    text, usage = getattr(answer, "text", None), getattr(answer, "usage", None)
    if not isinstance(text, str):
        raise TranscriptionUnavailableError(_UNREADABLE, billed=True)
    seconds = getattr(usage, "seconds", None) if getattr(usage, "type", None) == "duration" else None
    known = isinstance(seconds, int | float) and not isinstance(seconds, bool) and 0 <= seconds < _SECONDS_MAX
    return Heard(text.replace("\0", "").encode("utf-8", "replace").decode(), seconds if known else None)


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
