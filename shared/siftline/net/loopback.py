"""Who may ask a service that listens on this machine alone: programs that know its secret, and no page in a browser.

Loopback is no wall. Every page that is open in a browser can send requests to 127.0.0.1, and by a name of its own that
suddenly means 127.0.0.1 (DNS rebinding) it can read the answers; every other user of the machine can connect too. So a
service believes only names of this machine (``Host``), no page (``Origin``, ``Sec-Fetch-Site``), and who has a secret.
"""

import hmac
import re
from collections.abc import Collection, Iterator, Mapping

NAMES = frozenset({"127.0.0.1", "localhost"})
_SIGNED = re.compile(r"AWS4-HMAC-SHA256\b.*?\bCredential=([^/,\s]+)/")


def refusal(
    headers: Mapping[str, str], *, secret: str = "", names: Collection[str] = NAMES, has_pages: bool = False
) -> str | None:
    """Return in a sentence why a request is refused, or ``None``. Names of ``headers`` are in lower case.

    ``secret`` is asked for unless it is empty: as ``Authorization: Bearer``, as Qdrant's ``api-key``, or as the access
    key id of a request signed for AWS. A service that ``has_pages`` answers those, and links to it.
    """
    host = headers.get("host", "")
    if _name(host) not in names:
        return "The Host header is not a name of this machine."
    if not _is_ours(headers, host, has_pages=has_pages):
        return "Requests from other sites are not allowed."
    if secret and not any(hmac.compare_digest(one.encode(), secret.encode()) for one in _presented(headers)):
        return "The request does not have this service's secret."
    return None


def _name(host: str) -> str:
    """Return the name in a ``Host`` header, without its port."""
    name, colon, port = host.rpartition(":")
    return (name if colon and port.isdigit() else host).lower()


def _is_ours(headers: Mapping[str, str], host: str, *, has_pages: bool) -> bool:
    """Whether no page sent this, or one of this service."""
    origin = headers.get("origin")
    if has_pages:
        return origin is None or origin.partition("://")[2] == host
    return origin is None and headers.get("sec-fetch-site", "none") == "none"


def _presented(headers: Mapping[str, str]) -> Iterator[str]:
    """Yield whatever a request presents as a secret."""
    if key := headers.get("api-key"):
        yield key
    authorization = headers.get("authorization", "")
    kind, _, rest = authorization.partition(" ")
    if kind.lower() == "bearer":
        yield rest.strip()
    if signed := _SIGNED.match(authorization):
        yield signed[1]
