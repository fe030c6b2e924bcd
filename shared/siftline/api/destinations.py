"""Addresses refused at once because anyone can see where they lead; others are judged when they are connected to."""

from urllib.parse import urlsplit

from siftline.kit.addresses import literal_address, name_refusal, refusal
from siftline.kit.errors import PermanentError
from siftline.kit.urls import InvalidUrlError, validate_url


class AddressRefusedError(PermanentError):
    """The address leads into a private network."""

    code = "address_refused"


def check_destination(url: str, *, allow_loopback: bool) -> str:
    """Return ``url`` in fetchable form; no name is looked up.

    Raises ``InvalidUrlError`` and ``UnsupportedSchemeError``, and ``AddressRefusedError`` for a host that is a private
    address in any spelling, or a name that no public host has.
    """
    valid = validate_url(url)
    host = (urlsplit(valid).hostname or "").rstrip(".")
    try:
        address = literal_address(host)
    except ValueError as error:
        raise InvalidUrlError("The address names no valid host.") from error
    if address is None:
        reason = name_refusal(host, allow_loopback=allow_loopback)
    else:
        reason = refusal(address, allow_loopback=allow_loopback)
    if reason is not None:
        raise AddressRefusedError(f"Addresses of this kind are not visited ({reason}).")
    return valid
