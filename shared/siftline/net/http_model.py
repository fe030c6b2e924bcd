"""What goes in and out of the one HTTP client (``siftline.net.http``): its limits, who asks, a request, an answer."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Protocol
from uuid import UUID

from siftline.kit.ids import new_id
from siftline.net.http_errors import RedirectRefusedError
from siftline.net.http_headers import RawHeaders, charset, media_type
from siftline.net.urls import origin_of

CONNECT_S = 10.0
"""Longer than a handshake with the far side of the world takes."""
REDIRECTS_MAX = 5
"""Honest sites need two or three: to https, to www, to a language."""
ADDRESSES_MAX = 4
"""Addresses of one name that are tried one after the other: two of each family."""
_PERSONAL = frozenset({b"authorization", b"cookie"})
_OF_THE_BODY = frozenset({b"content-length", b"content-type"})


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
    """Gives turns of whatever host a request goes to next (``siftline.net.asking``)."""

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
    """The origin of this machine that a person typed (``siftline.net.http_typed``)."""
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
        raise RedirectRefusedError("The address redirects what was sent to another server.")
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

    @property
    def charset(self) -> str | None:
        """The ``charset`` parameter of the content type, if there is one."""
        return charset(self.headers)


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
