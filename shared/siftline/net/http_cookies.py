"""Cookies of one request and its redirects: some sites send visitors round until they bring back what was just set.

Who may be told what is the standard library's doing (RFC 6265 as far as servers need it), and stricter here: nothing
for a whole public suffix, nothing for another port. Nothing outlives the request, so nobody is recognised by it.
"""

from collections.abc import Sequence
from dataclasses import replace
from email.message import Message
from http.cookiejar import (  # type: ignore[attr-defined]  # typeshed leaves the last one out
    Cookie,
    CookieJar,
    DefaultCookiePolicy,
    eff_request_host,
)
from typing import Any
from urllib.parse import urlsplit

from siftline.net.http_headers import may_be_sent
from siftline.net.http_model import Outgoing
from siftline.net.suffixes import suffixes

_COOKIE_CHARS_MAX = 4_096
_ANSWER_COOKIES_MAX = 50
_SENT_CHARS_MAX = 16_384
"""More than this is sent to nobody: no server takes it."""
_USUAL_PORTS = {None, 80, 443}


class _Policy(DefaultCookiePolicy):
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


class Cookies:
    """What the answers of one request's redirects set. Of one thread."""

    def __init__(self) -> None:
        self._jars: dict[int | None, CookieJar] = {}

    def keep(self, url: str, lines: Sequence[str]) -> None:
        """Keep what an address set by the values of its ``Set-Cookie`` headers; too long ones and too many are not."""
        kept = [line for line in lines if len(line) <= _COOKIE_CHARS_MAX and may_be_sent(line)][:_ANSWER_COOKIES_MAX]
        if kept:
            jar = self._jars.setdefault(_port(url), CookieJar(_Policy()))
            jar.extract_cookies(_Answer(kept), _Asked(url))  # type: ignore[arg-type]  # it needs no more than these have

    def sent(self, request: Outgoing, url: str) -> Outgoing:
        """Return a request with the cookies that its address is to be given, besides its own."""
        jar = self._jars.get(_port(url))
        if jar is None:
            return request
        asked = _Asked(url)
        jar.add_cookie_header(asked)  # type: ignore[arg-type]  # as above
        if not asked.cookie or len(asked.cookie) > _SENT_CHARS_MAX:
            return request
        own = [value for name, value in request.headers if name == b"cookie"]
        others = [(name, value) for name, value in request.headers if name != b"cookie"]
        cookie = b"; ".join([*own, asked.cookie.encode("latin-1")])
        return replace(request, headers=[*others, (b"cookie", cookie)])


def _port(url: str) -> int | None:
    """Return the port that a server has for itself, ``None`` for the usual ones."""
    port = urlsplit(url).port
    return None if port in _USUAL_PORTS else port


class _Answer:
    """An answer as the jar reads one."""

    def __init__(self, lines: Sequence[str]) -> None:
        self._message = Message()
        for line in lines:
            self._message["Set-Cookie"] = line

    def info(self) -> Message:
        return self._message


class _Asked:
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
