"""The one client for every outgoing request: feeds, pages, icons, transcripts, providers at a user's address.

http and https only; each hop's name is resolved once, its address checked against the deny list and the connection
pinned to it (``siftline.kit.http_network``); at most five redirects; one deadline for the whole request, retries and
redirects included; a cap on decoded bytes. No proxy and no other part of the environment is read.
"""

import random
import ssl
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Protocol, Self, cast
from urllib.parse import SplitResult, urljoin, urlsplit

import httpcore
import httpx
import tenacity

from siftline.kit.clock import Clock, SystemClock
from siftline.kit.http_body import read_body
from siftline.kit.http_errors import (
    ConnectionFailedError,
    HttpTransientError,
    StatusTransientError,
    TimedOutError,
    TooManyRedirectsError,
    UnsupportedMediaTypeError,
    status_error,
)
from siftline.kit.http_headers import RawHeaders, charset, media_type, request_headers
from siftline.kit.http_network import PinnedBackend, Resolver, resolve
from siftline.kit.urls import InvalidUrlError, validate_url

REDIRECTS_MAX = 5
MAX_BYTES = 10 * 1024 * 1024
SHORT_WAIT_S = 5.0
"""A Retry-After up to this is waited out here; a longer one is raised at once, for the queue to wait."""

_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_PERSONAL = frozenset({"authorization", "cookie"})


@dataclass(frozen=True, slots=True)
class HttpLimits:
    """How long and how often; seconds."""

    total_s: float = 30.0
    connect_s: float = 10.0
    read_s: float = 10.0
    retries: int = 3
    retry_base_s: float = 1.0
    retry_cap_s: float = 30.0


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

    @property
    def charset(self) -> str | None:
        """The ``charset`` parameter of the content type, if there is one."""
        return charset(self.headers)


class HttpOptions(Protocol):
    """The settings a client is made from (``siftline.settings.HttpSettings``)."""

    @property
    def http_contact(self) -> str:
        """URL or mail address named in the user agent."""
        ...

    @property
    def http_allow_loopback(self) -> bool:
        """Whether loopback addresses may be reached."""
        ...

    @property
    def http_total_s(self) -> float:
        """See ``HttpLimits``, as for the rest."""
        ...

    @property
    def http_connect_s(self) -> float:
        """The longest a connection may take."""
        ...

    @property
    def http_read_s(self) -> float:
        """The longest silence."""
        ...

    @property
    def http_retries(self) -> int:
        """Tries after the first."""
        ...


class HttpClient:
    """Thread-safe; keep one as long as possible, for its connections stay open a while."""

    def __init__(
        self,
        *,
        contact: str = "",
        allow_loopback: bool = False,
        limits: HttpLimits | None = None,
        clock: Clock | None = None,
        resolver: Resolver = resolve,
        tls: ssl.SSLContext | None = None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._limits = limits or HttpLimits()
        self._clock = clock or SystemClock()
        self._sleep = sleep
        self._user_agent = f"Siftline/0.1 (+{contact})" if contact else "Siftline/0.1"
        self._backend = PinnedBackend(clock=self._clock, resolver=resolver, allow_loopback=allow_loopback)
        self._pool = httpcore.ConnectionPool(
            ssl_context=tls or httpx.create_ssl_context(trust_env=False),
            max_connections=None,
            max_keepalive_connections=20,
            keepalive_expiry=15.0,
            network_backend=self._backend,
        )
        self._rng = random.Random()  # noqa: S311 - jitter, not a secret

    @classmethod
    def of(cls, options: HttpOptions) -> Self:
        """Return a client made from settings."""
        return cls(
            contact=options.http_contact,
            allow_loopback=options.http_allow_loopback,
            limits=HttpLimits(
                total_s=options.http_total_s,
                connect_s=options.http_connect_s,
                read_s=options.http_read_s,
                retries=options.http_retries,
            ),
        )

    def get(
        self,
        url: str,
        *,
        headers: Mapping[str, str] | None = None,
        max_bytes: int = MAX_BYTES,
        accept: str = "*/*",
        media_types: Collection[str] | None = None,
    ) -> Response:
        """Fetch ``url``, following redirects, and return the whole answer: 2xx or 304.

        ``accept`` is the Accept header to send; ``media_types``, when given, are the only media types whose body is
        downloaded (an answer that names none is let through). Raises the leaves of ``siftline.kit.http_errors`` and
        ``siftline.kit.urls``: ``PermanentError`` where every try would end alike, else ``TransientError``, with
        ``retry_after_s`` where the server asked for more than a few seconds. Network errors and 408, 429, 500, 502, 503
        and 504 are retried here after 1, 2 and 4 seconds, jittered, as long as the deadline allows.
        """
        until_s = self._clock.monotonic() + self._limits.total_s
        sent = request_headers(headers or {}, accept=accept, user_agent=self._user_agent)
        retrying = tenacity.Retrying(
            retry=tenacity.retry_if_exception(_worth_retrying),
            wait=self._wait_s,
            stop=lambda state: (
                state.attempt_number > self._limits.retries or self._clock.monotonic() + state.upcoming_sleep >= until_s
            ),
            sleep=self._sleep,
            reraise=True,
        )
        try:
            with self._backend.deadline(until_s):
                return retrying(self._follow, url, sent, max_bytes, media_types)
        except StatusTransientError as error:
            if error.retry_after_s is not None and error.retry_after_s <= SHORT_WAIT_S:
                error.retry_after_s = None  # it was waited out and did not help: the caller's own backoff is next
            raise

    def close(self) -> None:
        """Close the connections."""
        self._pool.close()

    def _follow(self, url: str, headers: RawHeaders, max_bytes: int, media_types: Collection[str] | None) -> Response:
        """Make one try: the request and its redirects."""
        current = validate_url(url)
        redirects: list[tuple[int, str]] = []
        while True:
            parts = urlsplit(current)
            with self._exchange(parts, headers) as (status, answered, chunks):
                location = answered.get("location") if status in _REDIRECTS else None
                if location is None:
                    body = self._body(status, answered, chunks, max_bytes, media_types)
                    return Response(status, parts._replace(fragment="").geturl(), url, answered, body, tuple(redirects))
            if len(redirects) == REDIRECTS_MAX:
                raise TooManyRedirectsError(f"The address redirects more than {REDIRECTS_MAX} times.")
            current = _joined(current, location)
            if urlsplit(current)[:2] != parts[:2]:
                headers = [(name, value) for name, value in headers if name.decode() not in _PERSONAL]
            redirects.append((status, current))

    @contextmanager
    def _exchange(
        self, parts: SplitResult, headers: RawHeaders
    ) -> Iterator[tuple[int, httpx.Headers, Iterable[bytes]]]:
        """Send one request and hand over its answer; the library's errors become ours."""
        target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        address = httpcore.URL(scheme=parts.scheme, host=parts.hostname or "", port=parts.port, target=target)
        timeouts = {
            "connect": self._limits.connect_s,
            "read": self._limits.read_s,
            "write": self._limits.read_s,
            "pool": self._limits.total_s,
        }
        try:
            with self._pool.stream(
                "GET", address, headers=[(b"host", parts.netloc.encode()), *headers], extensions={"timeout": timeouts}
            ) as answer:
                yield (
                    answer.status,
                    httpx.Headers(answer.headers, encoding="latin-1"),
                    cast("Iterable[bytes]", answer.iter_stream()),
                )
        except httpcore.TimeoutException as error:
            raise TimedOutError(f"{parts.hostname} did not answer in time.") from error
        except (httpcore.NetworkError, httpcore.ProtocolError) as error:
            raise ConnectionFailedError(f"The connection to {parts.hostname} broke off.") from error

    def _body(
        self,
        status: int,
        headers: httpx.Headers,
        chunks: Iterable[bytes],
        max_bytes: int,
        media_types: Collection[str] | None,
    ) -> bytes:
        if status == 304:
            return b"".join(chunks)  # has none; reading to its end keeps the connection
        if not 200 <= status < 300:
            raise status_error(status, headers, self._clock.now())
        named = media_type(headers)
        if media_types is not None and named and named not in media_types:
            raise UnsupportedMediaTypeError(f"The address holds {named[:100]}, which cannot be read.")
        return read_body(chunks, headers, max_bytes)

    def _wait_s(self, state: tenacity.RetryCallState) -> float:
        error = state.outcome.exception() if state.outcome else None
        asked_s = getattr(error, "retry_after_s", None)
        if asked_s is not None:
            return float(asked_s)
        step_s = min(self._limits.retry_base_s * 2.0 ** (state.attempt_number - 1), self._limits.retry_cap_s)
        return step_s * (1 - 0.25 * self._rng.random())


def _worth_retrying(error: BaseException) -> bool:
    if not isinstance(error, HttpTransientError) or not error.retry_soon:
        return False
    return error.retry_after_s is None or error.retry_after_s <= SHORT_WAIT_S


def _joined(base: str, location: str) -> str:
    """Return where a Location header points to; servers send UTF-8 in it where only ASCII is allowed."""
    raw = location.encode("latin-1")
    try:
        return validate_url(urljoin(base, raw.decode()))
    except UnicodeDecodeError:
        return validate_url(urljoin(base, location))
    except ValueError as error:
        raise InvalidUrlError("The address redirects to one that is not valid.") from error
