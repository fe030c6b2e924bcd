"""Which network addresses an outgoing request may reach: an explicit deny list, and every way to spell an address.

``ipaddress.is_global`` is not enough: it lets ``::127.0.0.1``, ``64:ff9b::/96``, ``2002::/16`` and ``fec0::/10`` pass.
Sources: the IANA special-purpose registries for IPv4 and IPv6 (RFC 6890), RFC 4291, RFC 6052 and RFC 8215 (NAT64),
RFC 3056 (6to4), RFC 4380 (Teredo), RFC 3879 (site-local); the host parser of the WHATWG URL standard for the spellings.
"""

import unicodedata
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network

Address = IPv4Address | IPv6Address

_HOST_MAX_CHARS = 255
"""With the brackets of IPv6, or a dot at the end; a name that is longer is none (RFC 1035)."""
_LOOPBACK_V4 = IPv4Network("127.0.0.0/8")
_LOOPBACK_V6 = IPv6Address("::1")

_DENIED_V4 = (
    (IPv4Network("0.0.0.0/8"), "unspecified"),
    (IPv4Network("10.0.0.0/8"), "private"),
    (IPv4Network("100.64.0.0/10"), "carrier-grade NAT"),
    (_LOOPBACK_V4, "loopback"),
    (IPv4Network("168.63.129.16/32"), "cloud host service"),
    (IPv4Network("169.254.0.0/16"), "link-local"),
    (IPv4Network("172.16.0.0/12"), "private"),
    (IPv4Network("192.0.0.0/24"), "reserved"),
    (IPv4Network("192.0.2.0/24"), "documentation"),
    (IPv4Network("192.88.99.0/24"), "6to4 relay"),
    (IPv4Network("192.168.0.0/16"), "private"),
    (IPv4Network("198.18.0.0/15"), "benchmarking"),
    (IPv4Network("198.51.100.0/24"), "documentation"),
    (IPv4Network("203.0.113.0/24"), "documentation"),
    (IPv4Network("224.0.0.0/4"), "multicast"),
    (IPv4Network("240.0.0.0/4"), "reserved"),
)
_DENIED_V6 = (
    (IPv6Network("::/128"), "unspecified"),
    (IPv6Network("::1/128"), "loopback"),
    (IPv6Network("::/96"), "IPv4-compatible"),
    (IPv6Network("64:ff9b:1::/48"), "local NAT64"),
    (IPv6Network("100::/64"), "discard"),
    (IPv6Network("2001::/32"), "Teredo"),
    (IPv6Network("2001::/23"), "reserved"),
    (IPv6Network("2001:db8::/32"), "documentation"),
    (IPv6Network("2002::/16"), "6to4"),
    (IPv6Network("3fff::/20"), "documentation"),
    (IPv6Network("fc00::/7"), "unique local"),
    (IPv6Network("fe80::/10"), "link-local"),
    (IPv6Network("fec0::/10"), "site-local"),
    (IPv6Network("ff00::/8"), "multicast"),
)
_GLOBAL_UNICAST_V6 = IPv6Network("2000::/3")
_NAT64 = IPv6Network("64:ff9b::/96")


def refusal(address: Address, *, allow_loopback: bool = False) -> str | None:
    """Return why a request may not go to this address, in a few words, or ``None`` when it may.

    IPv4 addresses mapped into IPv6 or translated by NAT64 are judged by the IPv4 address within; the other forms that
    hide one (IPv4-compatible, 6to4, Teredo) have no honest use any more and are refused whole. ``allow_loopback`` opens
    127.0.0.0/8 and ::1, nothing else.
    """
    if isinstance(address, IPv4Address):
        if allow_loopback and address in _LOOPBACK_V4:
            return None
        return next((reason for network, reason in _DENIED_V4 if address in network), None)
    if address.scope_id is not None:
        return "zoned"
    if address.ipv4_mapped is not None:
        return refusal(address.ipv4_mapped, allow_loopback=allow_loopback)
    if address in _NAT64:
        return refusal(IPv4Address(int(address) & 0xFFFF_FFFF))
    if allow_loopback and address == _LOOPBACK_V6:
        return None
    denied = next((reason for network, reason in _DENIED_V6 if address in network), None)
    return denied or (None if address in _GLOBAL_UNICAST_V6 else "reserved")


def reached(address: Address) -> Address:
    """Return the address that a request to this one reaches: the IPv4 within, where there is one."""
    if isinstance(address, IPv4Address):
        return address
    if address in _NAT64:
        return IPv4Address(int(address) & 0xFFFF_FFFF)
    return address.ipv4_mapped or address


def name_refusal(name: str, *, allow_loopback: bool = False) -> str | None:
    """Return why a name is not looked up, in a few words, or ``None`` when it may be.

    None of these names a host that everybody can reach: ``localhost`` (RFC 6761), ``local`` (RFC 6762), ``home.arpa``
    (RFC 8375), ``internal`` (reserved by ICANN for private networks, where clouds put their metadata), and names of one
    label, which a search list or a hosts file completes. ``allow_loopback`` opens ``localhost``, nothing else.
    """
    labels = name.lower().rstrip(".").split(".")
    if labels[-1] == "localhost":
        return None if allow_loopback else "loopback"
    if len(labels) == 1 or labels[-1] in {"internal", "local"} or labels[-2:] == ["home", "arpa"]:
        return "private name"
    return None


def literal_address(host: str) -> Address | None:
    """Return the address that a URL's host spells, or ``None`` when it is a name.

    Takes what browsers and ``inet_aton`` take: decimal, octal and hexadecimal numbers, one to four of them, full-width
    and circled digits, ideographic full stops, a trailing dot, IPv6 with or without brackets.
    Raises ``ValueError`` when the host can only be meant as an address and is none (``1.2.3.400``, ``[::g]``).
    """
    if len(host) > _HOST_MAX_CHARS:
        raise ValueError("longer than any host")
    text = unicodedata.normalize("NFKC", host).replace("\u3002", ".")
    if ":" in text or text.startswith("["):
        return IPv6Address(text.removeprefix("[").removesuffix("]"))
    labels = text.removesuffix(".").split(".")
    if not (labels[-1].isdecimal() or labels[-1].lower().startswith("0x")):
        return None
    return _ipv4(labels)


def _ipv4(labels: list[str]) -> IPv4Address:
    """Read one to four numbers as ``inet_aton`` does: the last one fills the octets that are left."""
    if len(labels) > 4:
        raise ValueError("an IPv4 address has at most four parts")
    numbers = [_number(label) for label in labels]
    *octets, rest = numbers
    if any(octet > 255 for octet in octets) or rest >= 256 ** (5 - len(numbers)):
        raise ValueError("a part of the IPv4 address is too large")
    return IPv4Address(sum(octet << (24 - 8 * place) for place, octet in enumerate(octets)) + rest)


def _number(label: str) -> int:
    """Read a decimal, octal (``0``…) or hexadecimal (``0x``…) number; an empty hexadecimal is 0."""
    if not label.isascii() or len(label) > 32:
        raise ValueError("not a number")
    if label.lower().startswith("0x"):
        digits, base = label[2:] or "0", 16
    elif len(label) > 1 and label.startswith("0"):
        digits, base = label[1:], 8
    else:
        digits, base = label, 10
    if not digits.isalnum():
        raise ValueError("not a number")
    return int(digits, base)
