"""Addresses refused at once because anyone can see where they lead; others are judged when they are connected to."""

import re

from siftline.kit.errors import PermanentError
from siftline.net.hosts import plain_host
from siftline.net.ip_addresses import literal_address, name_refusal, refusal
from siftline.net.urls import LOOPBACK, InvalidUrlError, clean_url, host_of_url, typed_origin, validate_url

_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")
_AUTHORITY = re.compile(r"[^:/?#]*:[/\\]*([^/\\?#]*)")


# A host as people type it: by its dot and its last label, as an IP address, or by its port; what has a user, a password
# or a scheme is none.
_WITHOUT_SCHEME = re.compile(
    r"\s*(?://)?(?=(?:(?:[^\s/?#@:.]+\.)+[^\s/?#@:.]{2,}\.?|\d{1,3}(?:\.\d{1,3}){3}|\[[0-9a-f:.]+\]|localhost"
    r"|(?!(?:callto|fax|sms|tel):)[^\s/?#@:.]+(?=:\d))(?::\d{1,5})?(?:[/?#]|\s*$))",
    re.IGNORECASE,
)


class AddressRefusedError(PermanentError):
    """The address leads into a private network."""

    code = "address_refused"


def with_scheme(url: str) -> str:
    """Return an address as it was typed with the scheme that browsers take where none was.

    >>> with_scheme("example.org:8443/feed"), with_scheme("//example.org"), with_scheme("http://example.org")
    ('https://example.org:8443/feed', 'https://example.org', 'http://example.org')
    """
    return _WITHOUT_SCHEME.sub("https://", url, count=1) if _WITHOUT_SCHEME.match(url) else url


def check_destination(url: str, *, allow_loopback: bool, setting: str = "") -> str:
    """Return what a user typed in fetchable form, https where no scheme was typed; no name is looked up.

    Raises ``InvalidUrlError`` and ``UnsupportedSchemeError``, and ``AddressRefusedError`` for a host that is a private
    address in any spelling, or a name that no public host has; the page that an AMP cache or viewer shows is judged as
    well. Where loopback is open it has to be typed with its scheme: what serves there hardly ever speaks https.
    ``setting``: what opens it, for whoever is refused.
    """
    whole = with_scheme(url)
    valid = validate_url(whole)
    typed, asked = host_of_url(valid), host_of_url(clean_url(valid))
    _check_host(typed, allow_loopback=allow_loopback, setting=setting)
    if asked != plain_host(typed):  # who typed a viewer's address typed none of this machine
        _check_host(asked, allow_loopback=False)
    if whole != url and typed_origin(valid) is not None:
        raise InvalidUrlError("The address is on this machine: put http:// in front of it.")
    return valid


def check_webhook(url: str, *, allow_loopback: bool) -> str:
    """Return ``url`` as ``check_destination`` does, and refuse what it would leave out silently.

    Raises ``InvalidUrlError`` besides for a user name or password, which are not sent, and for control characters.
    """
    if _CONTROL.search(url):
        raise InvalidUrlError("The address contains an invalid character.")
    found = _AUTHORITY.match(url)
    if found is not None and "@" in found[1]:
        raise InvalidUrlError("The address must not contain a user name or password: verify the signature instead.")
    return check_destination(url, allow_loopback=allow_loopback, setting="WEBHOOK_ALLOW_LOOPBACK")


def _check_host(host: str, *, allow_loopback: bool, setting: str = "") -> None:
    name = host.rstrip(".")
    try:
        address = literal_address(name)
    except ValueError as error:
        raise InvalidUrlError("The address has no valid host.") from error
    if address is None:
        reason = name_refusal(name, allow_loopback=allow_loopback)
    else:
        reason = refusal(address, allow_loopback=allow_loopback)
    if reason is not None:
        opens = f"; the setting {setting} allows them" if setting and reason == LOOPBACK else ""
        raise AddressRefusedError(f"Addresses of this kind are not allowed ({reason}){opens}.")
