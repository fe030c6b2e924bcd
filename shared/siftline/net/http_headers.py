"""Headers out, checked so that none can break the request apart; and what the content type header in says."""

from collections.abc import Mapping

from siftline.net.http_body import ACCEPT_ENCODING
from siftline.net.http_errors import InvalidHeaderError

RawHeaders = list[tuple[bytes, bytes]]

_TOKEN = frozenset("!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyz")
_OURS = frozenset(
    {"accept", "accept-encoding", "connection", "content-length", "host", "te", "transfer-encoding", "user-agent"}
)


def request_headers(
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


def media_type(headers: Mapping[str, str]) -> str:
    """Return the media type in lower case without parameters, ``""`` when none is named."""
    return headers.get("content-type", "").split(";")[0].split(",")[0].strip().lower()


def is_text(named: str) -> bool:
    """Tell whether a media type is one of text: HTML, JSON, XML, plain."""
    return named.startswith("text/") or named.endswith(("json", "xml"))


def charset(headers: Mapping[str, str]) -> str | None:
    """Return the ``charset`` parameter of the content type, if there is one."""
    for parameter in headers.get("content-type", "").split(";")[1:]:
        name, _, value = parameter.partition("=")
        if name.strip().lower() == "charset" and value.strip(" \"'"):
            return value.strip(" \"'").lower()
    return None


def may_be_sent(value: str) -> bool:
    """Tell whether a value may stand in a header: what a server gave, and shall be given back, need not."""
    return all(map(_may_stand, value))


def _may_stand(character: str) -> bool:
    """Tell whether a character may stand in a field value (RFC 9110, section 5.5)."""
    return character == "\t" or " " <= character <= "~" or "\x80" <= character <= "\xff"
