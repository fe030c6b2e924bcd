"""Mail addresses as users give them: one plain address, fit to stand in a header and in an envelope."""

import re

from siftline.kit.errors import PermanentError

# RFC 5321's dot-string; quoted local parts and those beyond ASCII are sent by hardly anybody, and not by SES.
_LOCAL = re.compile(r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+(\.[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+)*")
_LABEL = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?")
_LOCAL_MAX = 64
_LABEL_MAX = 63
# RFC 2047: some mail systems would take it for one, and write out what it hides.
_ENCODED_WORD = "=?"
_ADDRESS_MAX = 254


class InvalidMailAddressError(PermanentError):
    """What was given is no mail address to which anything could be sent."""

    code = "invalid_mail_address"


def mail_address(text: str) -> str:
    """Return an address with its domain in lower case and in ASCII (RFC 5891). Raises ``InvalidMailAddressError``.

    One address only, without a name: whatever else would be told to the mail system by way of it is refused.

    >>> mail_address("Ada@Bücher.example")
    'Ada@xn--bcher-kva.example'
    """
    local, _, domain = text.strip(" ").rpartition("@")
    if (
        len(local) > _LOCAL_MAX
        or len(domain) > _ADDRESS_MAX
        or any(len(part) > _LABEL_MAX for part in domain.split("."))
    ):
        raise InvalidMailAddressError(
            "This is not a valid email address: it is too long."
        )  # before IDNA, which is slow
    if _ENCODED_WORD in local:
        raise InvalidMailAddressError("Addresses that look like an encoded word are not supported.")
    if not local.isascii():
        raise InvalidMailAddressError("Non-ASCII characters before the @ are not supported in email addresses.")
    try:
        ascii_domain = domain.encode("idna").decode().lower()
    except UnicodeError as error:
        raise InvalidMailAddressError("This is not a valid email address.") from error
    address = f"{local}@{ascii_domain}"
    labels = ascii_domain.split(".")
    whole = _LOCAL.fullmatch(local) and len(local) <= _LOCAL_MAX and len(address) <= _ADDRESS_MAX
    if not whole or len(labels) < 2 or not all(map(_LABEL.fullmatch, labels)) or labels[-1].isdigit():
        raise InvalidMailAddressError("This is not a valid email address.")
    return address


def mailbox_key(address: str) -> str:
    """Return what stands for an address where it is looked up: hardly anybody tells local parts apart by case."""
    return address.lower()
