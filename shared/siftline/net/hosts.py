"""What counts as one host: the names above it, the domain that its owner registered, an address in its one spelling."""

import ipaddress

from siftline.net.ip_addresses import literal_address, reached
from siftline.net.suffixes import suffixes
from siftline.net.urls import host_of_url

_LOCALHOST = "localhost"
_NETWORK_BITS = 64
"""Whoever has one address of IPv6 has as many as they like of the network that these first bits name (RFC 6177)."""


def host_of(url: str) -> str:
    """Return the host of an address, however it is spelled; empty if there is none."""
    return _plain(host_of_url(url).rstrip("."))


def registrable_domain(host: str) -> str:
    """Return what its owner registered: ``example.co.uk`` for ``feeds.example.co.uk``; an address for an address."""
    if _is_address(host):
        return host
    return suffixes().privatesuffix(host) or host


def own_url(url: str, key: str) -> str:
    """Return where a page that is known under ``key`` is asked for: at ``url``, if that is of the key's own owner.

    Else it is somebody's who shows pages of others, or has a name that looks like theirs: then at the key itself, so
    that nobody's word ever stands under another's address. Keys that are no address are of nobody's page.
    """
    if not key.startswith(("http://", "https://")):
        return url
    same = registrable_domain(host_of(url)) == registrable_domain(host_of(key))
    return url if same else key


def owner(host: str) -> str:
    """Return what stands for whoever runs a host: its registrable domain, its address, or its network in IPv6."""
    if not _is_address(host):
        return registrable_domain(host)
    address = ipaddress.ip_address(host)
    if address.version == 4 or address.is_loopback:
        return host
    return str(ipaddress.ip_network((address, _NETWORK_BITS), strict=False))


def domains(host: str) -> list[str]:
    """Return a host and the domains above it that have at least one dot."""
    if _is_address(host):
        return [host]
    labels = host.split(".")
    return [host, *(".".join(labels[place:]) for place in range(1, len(labels) - 1))]


def is_loopback(host: str) -> bool:
    """Return whether a host is this machine."""
    if _is_address(host):
        return ipaddress.ip_address(host).is_loopback
    return host == _LOCALHOST or host.endswith(f".{_LOCALHOST}")


def _plain(host: str) -> str:
    """Return the one spelling of an address; a name, or what would be an address and is none, as it is."""
    try:
        address = literal_address(host)
    except ValueError:
        return host
    return host if address is None else str(reached(address))


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True
