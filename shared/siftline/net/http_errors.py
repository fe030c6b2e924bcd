"""How an outgoing request fails: leaves of the two families, and what a server's status and Retry-After mean.

Each detail is a sentence for the person whose page or feed it is. What is wrong with a URL itself stands in
``siftline.net.urls``.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from http import HTTPStatus

from siftline.kit.errors import PermanentError, TransientError

RETRY_AFTER_MAX_S = 172_800.0
"""A server that asks for more than two days is asked again after two: no job is put off for longer in one go."""

_PHRASES = {status.value: status.phrase for status in HTTPStatus}
_WORDS = {401: "unauthorized", 403: "forbidden", 404: "not_found", 410: "gone"}


class InvalidHeaderError(PermanentError):
    """A request header would break the request apart, or is ours to set."""

    code = "invalid_header"


class AddressRefusedError(PermanentError):
    """The name leads to an address that outgoing requests may not reach."""

    code = "address_refused"


class TooManyRedirectsError(PermanentError):
    """The chain of redirects is too long, or a loop."""

    code = "too_many_redirects"


class RedirectRefusedError(PermanentError):
    """What was sent would be handed on to another origin."""

    code = "redirect_refused"


class TooLargeError(PermanentError):
    """The decoded body is larger than the cap."""

    code = "too_large"


class UnsupportedMediaTypeError(PermanentError):
    """The content type, ``media_type``, is not one that the caller can read."""

    code = "unsupported_media_type"

    def __init__(self, detail: str, *, media_type: str) -> None:
        super().__init__(detail)
        self.media_type = media_type


class InvalidResponseError(PermanentError):
    """The body cannot be decoded: an encoding that was not asked for, or damaged data."""

    code = "invalid_response"


class CertificateRefusedError(PermanentError):
    """The server's certificate is not valid for the name."""

    code = "tls_failed"


@dataclass(frozen=True, slots=True)
class Refusal:
    """The answer behind an error: what tells a block from a paywall from a server in trouble."""

    status: int
    url: str = ""
    """The address that answered, after redirects."""
    headers: Mapping[str, str] = field(default_factory=dict)
    """By name in any case, as in ``Response``."""
    body_start: bytes = field(default=b"", repr=False)
    """The beginning of the body, decoded, at most 64 KiB and as far as it could be had; of text only."""


class StatusRefusedError(PermanentError):
    """The server answered with a status that will stay; ``answer`` has the rest."""

    code = "http_error"

    def __init__(self, detail: str, *, code: str, answer: Refusal) -> None:
        super().__init__(detail, code=code)
        self.answer = answer

    @property
    def status(self) -> int:
        """The status that was answered."""
        return self.answer.status


class HttpTransientError(TransientError):
    """A request failed in a way that may pass; ``retry_soon`` says whether seconds can be enough."""

    retry_soon = True
    unsent = False
    """Whether no byte of the request can have reached the server: there was no connection yet."""


class TimedOutError(HttpTransientError):
    """The server, the name service or the whole request took too long."""

    code = "timed_out"


class ConnectionFailedError(HttpTransientError):
    """The connection was refused, reset, or ended before the answer was whole."""

    code = "connection_failed"


class NotReachedError(ConnectionFailedError):
    """No connection could be made."""

    unsent = True


class NotReachedInTimeError(TimedOutError):
    """No connection could be made in time."""

    unsent = True


class DnsFailedError(HttpTransientError):
    """The name could not be resolved. ``retry_soon`` is false when the name service said that it does not exist."""

    code = "dns_failed"
    unsent = True

    def __init__(self, detail: str, *, exists_not: bool = False) -> None:
        super().__init__(detail)
        self.retry_soon = not exists_not


class TlsFailedError(HttpTransientError):
    """The TLS handshake broke off."""

    code = "tls_failed"
    unsent = True


class StatusTransientError(HttpTransientError):
    """The server answered 408, 429 or 5xx. ``retry_after_s`` is what it asked for, ``answer`` has the rest."""

    code = "http_error"

    def __init__(self, detail: str, *, code: str, answer: Refusal, retry_after_s: float | None) -> None:
        super().__init__(detail, code=code, retry_after_s=retry_after_s)
        self.answer = answer
        # Not 429: who asks too often does not ask again at once, and whoever keeps the pace has to know of it.
        self.retry_soon = answer.status in {408, 500, 502, 503, 504}

    @property
    def status(self) -> int:
        """The status that was answered."""
        return self.answer.status


def status_error(
    status: int, headers: Mapping[str, str], now: datetime, *, url: str = "", body_start: bytes = b""
) -> StatusRefusedError | StatusTransientError:
    """Return the error that a final status other than 2xx and 304 means, with the answer it stands for."""
    answer = Refusal(status, url, headers, body_start)
    detail = f"The server answered {status} ({_PHRASES.get(status, 'unknown status')})."
    code = _WORDS.get(status, f"http_{status}")
    if status in {408, 429} or status >= 500:
        return StatusTransientError(detail, code=code, answer=answer, retry_after_s=retry_after_s(headers, now))
    return StatusRefusedError(detail, code=code, answer=answer)


def retry_after_s(headers: Mapping[str, str], now: datetime) -> float | None:
    """Return the seconds a Retry-After header asks for (RFC 9110, section 10.2.3), or ``None`` without a readable one.

    The date form counts from the response's own Date header, so that a server whose clock is off is still understood;
    without one it counts from ``now``.
    """
    value = headers.get("retry-after", "").strip()
    if value.isascii() and value.isdigit():
        return min(float(value[:12]), RETRY_AFTER_MAX_S)
    until = http_date(value)
    if until is None:
        return None
    sent_at = http_date(headers.get("date", "")) or now
    return min(max((until - sent_at).total_seconds(), 0.0), RETRY_AFTER_MAX_S)


def http_date(value: str) -> datetime | None:
    """Return the aware time of an HTTP date (RFC 9110, section 5.6.7), or ``None`` when it is none."""
    try:
        parsed = parsedate_to_datetime(value)
    except (ValueError, IndexError, OverflowError):
        return None
    return parsed if parsed.tzinfo else parsed.replace(tzinfo=UTC)
