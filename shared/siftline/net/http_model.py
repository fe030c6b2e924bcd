"""What goes in and out of the one HTTP client (``siftline.net.http``): its limits, and a whole answer."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from siftline.net.http_headers import charset, media_type


@dataclass(frozen=True, slots=True)
class HttpLimits:
    """How long, how far and how often; times in seconds."""

    total_s: float = 30.0
    connect_s: float = 10.0
    read_s: float = 10.0
    retries: int = 3
    retry_base_s: float = 1.0
    retry_cap_s: float = 30.0
    redirects: int = 5
    addresses: int = 4
    """Addresses of one name that are tried one after the other."""


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
    """The settings a client is made from (``siftline.settings.functions.HttpSettings``)."""

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

    @property
    def http_redirects_max(self) -> int:
        """Redirects that one request follows."""
        ...

    @property
    def http_addresses_max(self) -> int:
        """Addresses of one name that are tried."""
        ...
