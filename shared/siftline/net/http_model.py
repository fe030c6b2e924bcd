"""What goes in and out of the one HTTP client (``siftline.net.http``), and how a request fails.

Its limits, who asks, a request, an answer; errors are leaves of the two families, and each detail is a sentence for the
person whose page or feed it is. What is wrong with a URL itself stands in ``siftline.net.urls``.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from typing import Protocol
from uuid import UUID

from siftline.kit.errors import PermanentError, TransientError
from siftline.kit.ids import new_id
from siftline.net.urls import origin_of

RETRY_AFTER_MAX_S = 172_800.0
"""A server that asks for more than two days is asked again after two: no job is put off for longer in one go."""

_PHRASES = {status.value: status.phrase for status in HTTPStatus}
_WORDS = {401: "unauthorized", 403: "forbidden", 404: "not_found", 410: "gone"}

CONNECT_S = 10.0
"""Longer than a handshake with the far side of the world takes."""
REDIRECTS_MAX = 5
"""Honest sites need two or three: to https, to www, to a language."""
ADDRESSES_MAX = 4
"""Addresses of one name that are tried one after the other: two of each family."""
RawHeaders = list[tuple[bytes, bytes]]
_PERSONAL = frozenset({b"authorization", b"cookie"})
_OF_THE_BODY = frozenset({b"content-length", b"content-type"})


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
        self.status = answer.status


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
        self.status = answer.status
        # Not 429: who asks too often does not ask again at once, and whoever keeps the pace has to know of it.
        self.retry_soon = answer.status in {408, 500, 502, 503, 504}


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


@dataclass(frozen=True, slots=True)
class HttpLimits:
    """How long, how far and how often; times in seconds. What a setting governs is set by ``HttpClient.of``."""

    total_s: float = 30.0
    connect_s: float = CONNECT_S
    read_s: float = 10.0
    retries: int = 3
    retry_base_s: float = 1.0
    retry_cap_s: float = 30.0
    redirects: int = REDIRECTS_MAX
    addresses: int = ADDRESSES_MAX


class RateLimiter(Protocol):
    """Gives turns of whatever host a request goes to next (``siftline.net.pacing``)."""

    def onward(self, url: str) -> None:
        """Return when ``url``, where a redirect leads, may be asked. Raises ``NotTriedError``."""
        ...

    def again(self, url: str) -> bool:
        """Return whether ``url`` has a turn now, to be asked once more."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Requester:
    """On whose behalf a host is asked. It is handed along from the job to the client, and never kept."""

    id: UUID = field(default_factory=new_id)
    """Whose turn it is when they come back: a source, a content; a new one for who does not come back."""
    queue: str = "any"
    """Work of each queue has slots of its own at a host, so none takes another's; a host's pace is one for all."""
    first: bool = False
    """Whether a person waits for it: it then stands first in the host's line."""
    typed_origin: str | None = None
    """The origin of this machine that a person typed (``siftline.net.urls``)."""
    rate_limiter: RateLimiter | None = None
    """Where a pace is kept (``siftline.net.pacing``): gives the turns of redirects and repeats."""

    def typed(self, url: str) -> bool:
        """Return whether a person typed this address's origin."""
        return self.typed_origin is not None and self.typed_origin == origin_of(url)


@dataclass(frozen=True, slots=True)
class Outgoing:
    """What is sent, redirect after redirect, for whom, and what may come back."""

    method: str
    requester: Requester
    headers: RawHeaders
    max_bytes: int
    media_types: Collection[str] | None
    body: bytes | None = None


def redirected(request: Outgoing, status: int, *, same_origin: bool) -> Outgoing:
    """Return what is asked of the next address: nothing personal of another origin."""
    if request.body is not None and status not in {307, 308}:
        headers = [(name, value) for name, value in request.headers if name not in _OF_THE_BODY]
        request = replace(request, method="GET", headers=headers, body=None)
    if same_origin:
        return request
    if request.body is not None:
        raise RedirectRefusedError(
            "The server redirected the request to another server, so the data was not sent there."
        )
    return replace(request, headers=[(name, value) for name, value in request.headers if name not in _PERSONAL])


@dataclass(frozen=True, slots=True)
class Response:
    """A whole answer: 2xx, or 304 to a conditional request."""

    status: int
    url: str
    """The address that answered, after redirects."""
    requested_url: str
    headers: Mapping[str, str]
    """By name in any case; values as sent, read as Latin-1, so that a validator can be echoed byte for byte."""
    body: bytes = field(repr=False)
    """Decoded (gzip, deflate); its character set is not touched."""
    redirects: tuple[tuple[int, str], ...] = ()
    """Each hop's status and the address it pointed to; the last one's is ``url``."""

    @property
    def content_type(self) -> str:
        """The media type in lower case without parameters, ``""`` when the server named none."""
        return media_type(self.headers)


class Http(Protocol):
    """The client (``siftline.net.http.HttpClient``) as the rooms have it: nothing is asked without a requester."""

    def get(
        self,
        url: str,
        *,
        requester: Requester,
        headers: Mapping[str, str] | None = None,
        max_bytes: int,
        accept: str = "*/*",
        media_types: Collection[str] | None = None,
    ) -> Response:
        """Return the whole answer. Raises ``TransientError`` and ``PermanentError``."""
        ...

    def post(
        self,
        url: str,
        *,
        body: bytes,
        requester: Requester,
        headers: Mapping[str, str] | None = None,
        max_bytes: int,
        repeatable: bool = False,
    ) -> Response:
        """Return the whole answer to a body that was sent. Raises as ``get``."""
        ...


def media_type(headers: Mapping[str, str]) -> str:
    """Return the media type in lower case without parameters, ``""`` when none is named."""
    return headers.get("content-type", "").split(";")[0].split(",")[0].strip().lower()


def may_be_sent(value: str) -> bool:
    """Tell whether a value may stand in a header: what a server gave, and shall be given back, need not."""
    return all(map(_may_stand, value))


def _may_stand(character: str) -> bool:
    """Tell whether a character may stand in a field value (RFC 9110, section 5.5)."""
    return character == "\t" or " " <= character <= "~" or "\x80" <= character <= "\xff"
