"""The one client for every outgoing request: feeds, pages, icons, transcripts, providers at a user's address.

http and https only; each hop's name is resolved once, its address checked against the deny list and the connection
pinned to it (``siftline.net.http_network``); loopback only where the setting allows it and a person typed that very
origin (``siftline.net.urls``); at most five redirects; one deadline for the whole request, retries and redirects
included, each of which takes a turn where a pace is kept (``siftline.net.pacing``); a cap on decoded bytes. No proxy
and no other part of the environment is read.

Cookies live for one request and its redirects: some sites send visitors round until they bring back what was just set.
Who may be told what is the standard library's doing (RFC 6265 as far as servers need it), and stricter here: nothing
for a whole public suffix, nothing for another port. Nothing outlives the request, so nobody is recognised by it.
"""

import contextlib
import random
import ssl
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from email.message import Message
from http.cookiejar import (  # type: ignore[attr-defined]  # typeshed leaves the last one out
    Cookie,
    CookieJar,
    DefaultCookiePolicy,
    eff_request_host,
)
from typing import Any, Self, cast
from urllib.parse import SplitResult, urljoin, urlsplit

import httpcore
import httpx
import tenacity

from siftline.kit.clock import Clock, SystemClock
from siftline.kit.errors import SiftlineError
from siftline.kit.trace import span
from siftline.net.hosts import suffixes
from siftline.net.http_body import ACCEPT_ENCODING, decoded, read_body
from siftline.net.http_model import (
    ConnectionFailedError,
    HttpLimits,
    HttpTransientError,
    InvalidHeaderError,
    Outgoing,
    RawHeaders,
    Requester,
    Response,
    StatusTransientError,
    TimedOutError,
    TooManyRedirectsError,
    UnsupportedMediaTypeError,
    may_be_sent,
    media_type,
    redirected,
    status_error,
)
from siftline.net.http_network import PinnedBackend, Resolver, resolve
from siftline.net.urls import InvalidUrlError, validate_url
from siftline.settings.functions import HttpSettings

MAX_BYTES = 10 * 1024 * 1024
SHORT_WAIT_S = 5.0
"""A Retry-After up to this is waited out here; a longer one is raised at once, for the queue to wait."""
ASIDE_MAX_BYTES = 64 * 1024
ASIDE_S = 3.0
"""What is read at most of a body that is not what was asked for: of a refusal, to tell why; of a redirect, to keep the
connection. It is read as far as these limits and the server allow, and its faults change nothing."""

_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_TOKEN = frozenset("!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyz")
_OURS = frozenset(
    {"accept", "accept-encoding", "connection", "content-length", "host", "te", "transfer-encoding", "user-agent"}
)

_COOKIE_CHARS_MAX = 4_096
_ANSWER_COOKIES_MAX = 50
_SENT_CHARS_MAX = 16_384
"""More than this is sent to nobody: no server takes it."""
_USUAL_PORTS = {None, 80, 443}


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
        self._backend = PinnedBackend(clock=self._clock, resolver=resolver, addresses_max=self._limits.addresses)
        tls = tls or httpx.create_ssl_context(trust_env=False)
        self._pool = _pool(self._backend, tls)
        # Connections of their own: one that is open already is not asked again where it leads.
        self._typed_pool = _pool(self._backend.opened(), tls) if allow_loopback else self._pool
        self._rng = random.Random()  # noqa: S311 - jitter, not a secret

    @classmethod
    def of(cls, settings: HttpSettings, *, total_s: float | None = None, retries: int | None = None) -> Self:
        """Return a client made from settings; ``total_s`` and ``retries`` replace theirs."""
        return cls(
            contact=settings.http_contact,
            allow_loopback=settings.http_allow_loopback,
            limits=HttpLimits(
                total_s=settings.http_total_s if total_s is None else total_s,
                read_s=settings.http_read_s,
                retries=settings.http_retries if retries is None else retries,
            ),
        )

    def get(
        self,
        url: str,
        *,
        requester: Requester | None = None,
        headers: Mapping[str, str] | None = None,
        max_bytes: int = MAX_BYTES,
        accept: str = "*/*",
        media_types: Collection[str] | None = None,
    ) -> Response:
        """Fetch ``url``, following redirects, and return the whole answer: 2xx or 304.

        Without a ``requester`` no pace is kept and loopback is closed.
        ``accept`` is the Accept header to send; ``media_types``, when given, are the only media types whose body is
        downloaded (an answer that names none is let through). Raises the leaves of ``siftline.net.http_model`` and
        ``siftline.net.urls``: ``PermanentError`` where every try would end alike, else ``TransientError``, with
        ``retry_after_s`` where the server asked for more than a few seconds. Network errors and 408, 500, 502, 503 and
        504 are retried here after 1, 2 and 4 seconds, jittered, as long as the deadline allows; a 429 never, for it
        concerns others too (``siftline.net.pacing``).
        """
        sent = _request_headers(headers or {}, accept=accept, user_agent=self._user_agent)
        request = Outgoing("GET", requester or Requester(), sent, max_bytes, media_types)
        return self._tried(url, request, self._limits.retries)

    def post(
        self,
        url: str,
        *,
        body: bytes,
        requester: Requester | None = None,
        headers: Mapping[str, str] | None = None,
        max_bytes: int = MAX_BYTES,
        accept: str = "*/*",
        repeatable: bool = False,
    ) -> Response:
        """Send ``body`` to ``url`` and return the whole answer; otherwise as ``get``, under the same protection.

        The caller names the Content-Type. Only what is ``repeatable`` is retried here: a second try of anything else
        could do it twice. Redirects (RFC 9110, section 15.4): 303, and 301 and 302 as every browser has it, are
        followed by a GET without the body; 307 and 308 send it again, but only to the same scheme, host and port, else
        ``RedirectRefusedError`` is raised: what the body says was meant for the first address.
        """
        sent = _request_headers(headers or {}, accept=accept, user_agent=self._user_agent, length=len(body))
        request = Outgoing("POST", requester or Requester(), sent, max_bytes, None, body)
        return self._tried(url, request, self._limits.retries if repeatable else 0)

    def close(self) -> None:
        """Close the connections."""
        self._pool.close()
        self._typed_pool.close()
        self._backend.close()

    def _tried(self, url: str, request: Outgoing, retries: int) -> Response:
        """Make a request, and make it again where that may help, all within one deadline."""
        until_s = self._clock.monotonic() + self._limits.total_s
        limiter = request.requester.rate_limiter
        retrying = tenacity.Retrying(
            retry=tenacity.retry_if_exception(_worth_retrying),
            wait=self._wait_s,
            stop=lambda state: (
                state.attempt_number > retries
                or self._clock.monotonic() + state.upcoming_sleep >= until_s
                or (limiter is not None and not limiter.again(url))
            ),
            sleep=self._sleep,
            reraise=True,
        )
        try:
            with self._backend.deadline(until_s):
                return retrying(self._follow, url, request)
        except StatusTransientError as error:
            if retries and error.retry_soon and (error.retry_after_s or 0.0) <= SHORT_WAIT_S:
                error.retry_after_s = None  # it was waited out and did not help: the caller's own backoff is next
            raise

    def _follow(self, url: str, request: Outgoing) -> Response:
        """Make one try: the request and its redirects."""
        current, limiter = validate_url(url), request.requester.rate_limiter
        cookies = _Cookies()
        redirects: list[tuple[int, str]] = []
        while True:
            parts = urlsplit(current)
            with _at(current), self._exchange(parts, cookies.sent(request, current)) as (status, answered, chunks):
                location = answered.get("location") if status in _REDIRECTS else None
                if location is None:
                    address = parts._replace(fragment="").geturl()
                    body = self._body(status, answered, chunks, address, request)
                    return Response(status, address, url, answered, body, tuple(redirects))
                self._aside(answered, chunks)
                cookies.keep(current, answered.get_list("set-cookie"))
            if len(redirects) == self._limits.redirects:
                raise TooManyRedirectsError(f"The address redirects more than {self._limits.redirects} times.")
            current = _joined(current, location)
            request = redirected(request, status, same_origin=urlsplit(current)[:2] == parts[:2])
            if limiter is not None:
                limiter.onward(current)
            redirects.append((status, current))

    @contextlib.contextmanager
    def _exchange(self, parts: SplitResult, request: Outgoing) -> Iterator[tuple[int, httpx.Headers, Iterable[bytes]]]:
        """Send one request and hand over its answer; the library's errors become ours."""
        target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        address = httpcore.URL(scheme=parts.scheme, host=parts.hostname or "", port=parts.port, target=target)
        timeouts = {
            "connect": self._limits.connect_s,
            "read": self._limits.read_s,
            "write": self._limits.read_s,
            "pool": self._limits.total_s,
        }
        pool = self._typed_pool if request.requester.typed(parts.geturl()) else self._pool
        try:
            with (
                span("Site", parts.hostname),
                pool.stream(
                    request.method,
                    address,
                    headers=[(b"host", parts.netloc.encode()), *request.headers],
                    content=request.body,
                    extensions={"timeout": timeouts},
                ) as answer,
            ):
                yield (
                    answer.status,
                    httpx.Headers(answer.headers, encoding="latin-1"),
                    cast("Iterable[bytes]", answer.iter_stream()),
                )
        except httpcore.TimeoutException as error:
            raise TimedOutError(f"{parts.hostname} did not answer in time.") from error
        except (httpcore.NetworkError, httpcore.ProtocolError) as error:
            raise ConnectionFailedError(f"The connection to {parts.hostname} was interrupted.") from error

    def _body(self, status: int, headers: httpx.Headers, chunks: Iterable[bytes], url: str, request: Outgoing) -> bytes:
        if status == 304:
            return b"".join(chunks)  # has none; reading to its end keeps the connection
        named = media_type(headers)
        if not 200 <= status < 300:
            start = self._aside(headers, chunks) if not named or _is_text(named) else b""
            raise status_error(status, headers, self._clock.now(), url=url, body_start=start)
        if request.media_types is not None and named and named not in request.media_types:
            detail = f"The address returned {named[:100]}, which cannot be read."
            raise UnsupportedMediaTypeError(detail, media_type=named)
        return read_body(chunks, headers, request.max_bytes)

    def _aside(self, headers: httpx.Headers, chunks: Iterable[bytes]) -> bytes:
        """Return the beginning of a body that was not asked for, as far as it can be had."""
        start = bytearray()
        # What is told to the caller is the status or the redirect; that the body beside it is damaged, endless or slow
        # is not.
        with (
            contextlib.suppress(
                SiftlineError, httpcore.TimeoutException, httpcore.NetworkError, httpcore.ProtocolError
            ),
            self._backend.deadline(self._clock.monotonic() + ASIDE_S),
        ):
            for chunk in decoded(chunks, headers, ASIDE_MAX_BYTES):
                start += chunk
        return bytes(start)

    def _wait_s(self, state: tenacity.RetryCallState) -> float:
        error = state.outcome.exception() if state.outcome else None
        step_s = min(self._limits.retry_base_s * 2.0 ** (state.attempt_number - 1), self._limits.retry_cap_s)
        # No sooner than by our own reckoning, were it nought that was asked for.
        return max(getattr(error, "retry_after_s", None) or 0.0, step_s * (1 - 0.25 * self._rng.random()))


@contextlib.contextmanager
def _at(url: str) -> Iterator[None]:
    """Note with whatever goes wrong at which address it did."""
    try:
        yield
    except SiftlineError as error:
        error.at = url
        raise


def _pool(backend: PinnedBackend, tls: ssl.SSLContext) -> httpcore.ConnectionPool:
    return httpcore.ConnectionPool(
        ssl_context=tls,
        max_connections=None,
        max_keepalive_connections=20,
        keepalive_expiry=15.0,
        network_backend=backend,
    )


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
        raise InvalidUrlError("The address redirects to an invalid address.") from error


def _request_headers(
    headers: Mapping[str, str], *, accept: str, user_agent: str, length: int | None = None
) -> RawHeaders:
    """Return a caller's headers and the client's own, as sent; ``length`` is a body's.

    Raises ``InvalidHeaderError``.
    """
    wanted = {name.lower(): value for name, value in headers.items()}
    for name, value in {**wanted, "accept": accept}.items():
        if not name or not _TOKEN.issuperset(name) or not may_be_sent(value):
            raise InvalidHeaderError(f"The request header {name[:40]!r} contains an invalid character.")
    if taken := _OURS & wanted.keys():
        raise InvalidHeaderError(f"The request header {min(taken)!r} is set by the client itself.")
    ours = {"accept": accept, "accept-encoding": ACCEPT_ENCODING, "user-agent": user_agent}
    if length is not None:
        ours["content-length"] = str(length)
    return [(name.encode(), value.encode("latin-1")) for name, value in {**ours, **wanted}.items()]


def _is_text(named: str) -> bool:
    """Tell whether a media type is one of text: HTML, JSON, XML, plain."""
    return named.startswith("text/") or named.endswith(("json", "xml"))


class _CookiePolicy(DefaultCookiePolicy):
    """Takes no cookie for a public suffix (``co.uk``), and gives a host's own cookie to that host alone."""

    def __init__(self) -> None:
        super().__init__(strict_ns_domain=DefaultCookiePolicy.DomainStrictNonDomain)

    def set_ok_domain(self, cookie: Cookie, request: Any) -> bool:
        """Return whether a cookie may be kept that names a domain."""
        domain = cookie.domain.lstrip(".")
        if cookie.domain_specified and suffixes().privatesuffix(domain) is None:
            host, effective = eff_request_host(request)
            if domain != host:
                return False
            # Of a host that is a suffix itself (RFC 6265, section 5.3): its own, and nobody's below it.
            cookie.domain, cookie.domain_specified, cookie.domain_initial_dot = effective, False, False
        return super().set_ok_domain(cookie, request)


class _Cookies:
    """What the answers of one request's redirects set. Of one thread."""

    def __init__(self) -> None:
        self._jars: dict[int | None, CookieJar] = {}

    def keep(self, url: str, lines: Sequence[str]) -> None:
        """Keep what an address set by the values of its ``Set-Cookie`` headers; too long ones and too many are not."""
        kept = [line for line in lines if len(line) <= _COOKIE_CHARS_MAX and may_be_sent(line)][:_ANSWER_COOKIES_MAX]
        if kept:
            jar = self._jars.setdefault(_own_port(url), CookieJar(_CookiePolicy()))
            jar.extract_cookies(_CookieAnswer(kept), _CookieRequest(url))  # type: ignore[arg-type]  # it needs no more than these have

    def sent(self, request: Outgoing, url: str) -> Outgoing:
        """Return a request with the cookies that its address is to be given, besides its own."""
        jar = self._jars.get(_own_port(url))
        if jar is None:
            return request
        asked = _CookieRequest(url)
        jar.add_cookie_header(asked)  # type: ignore[arg-type]  # as above
        if not asked.cookie or len(asked.cookie) > _SENT_CHARS_MAX:
            return request
        own = [value for name, value in request.headers if name == b"cookie"]
        others = [(name, value) for name, value in request.headers if name != b"cookie"]
        cookie = b"; ".join([*own, asked.cookie.encode("latin-1")])
        return replace(request, headers=[*others, (b"cookie", cookie)])


def _own_port(url: str) -> int | None:
    """Return the port that a server has for itself, ``None`` for the usual ones."""
    port = urlsplit(url).port
    return None if port in _USUAL_PORTS else port


class _CookieAnswer:
    """An answer as the jar reads one."""

    def __init__(self, lines: Sequence[str]) -> None:
        self._message = Message()
        for line in lines:
            self._message["Set-Cookie"] = line

    def info(self) -> Message:
        return self._message


class _CookieRequest:
    """A request as the jar reads one; it writes ``cookie``."""

    unverifiable = False

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        self._url = url
        self.type = parts.scheme
        self.host = parts.hostname or ""
        self.origin_req_host = self.host
        self.cookie = ""

    def get_full_url(self) -> str:
        return self._url

    def has_header(self, _name: str) -> bool:
        return False

    def get_header(self, _name: str, default: str | None = None) -> str | None:
        return default

    def add_unredirected_header(self, name: str, value: str) -> None:
        if name == "Cookie":
            self.cookie = value
