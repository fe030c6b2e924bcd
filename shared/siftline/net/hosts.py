"""What counts as one host: the domain that its owner registered, the names above it, an address in its one spelling."""

import ipaddress
from functools import cache, lru_cache
from importlib import resources

from publicsuffixlist import PublicSuffixList

from siftline.net.ip_addresses import literal_address, reached

_LOCALHOST = "localhost"
_NETWORK_BITS = 64
"""Whoever has one address of IPv6 has as many as they like of the network that these first bits name (RFC 6177)."""
_HOSTS_KEPT = 512
# Blogger's domains of countries: blogs are still there, but the list has let them go.
_BLOGGER = (
    "ae al am ba be bg bj ca cf ch cl co.at co.id co.il co.ke co.nz co.uk co.za com.ar com.au com.br com.by com.co",
    "com.cy com.ee com.eg com.es com.mt com.ng com.tr com.uy cv cz de dk fi fr gr hk hr hu ie in is it jp kr li lt lu",
    "md mk mr mx my nl no pe pt qa re ro rs ru se sg si sk sn td tw ug vn",
)


@cache
def suffixes() -> PublicSuffixList:
    """Return the list, private suffixes (``github.io``) among the others: read once a process, when it is needed."""
    listed = resources.files("publicsuffixlist").joinpath("public_suffix_list.dat").read_text("utf-8").splitlines()
    blogs = [f"blogspot.{country}" for line in _BLOGGER for country in line.split()]
    return PublicSuffixList([*listed, *blogs])


def registrable_domain(host: str) -> str:
    """Return what its owner registered: ``example.co.uk`` for ``feeds.example.co.uk``; an address for an address."""
    if _is_address(host):
        return host
    return suffixes().privatesuffix(host) or host


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


@lru_cache(maxsize=_HOSTS_KEPT)
def plain_host(host: str) -> str:
    """Return a host that spells an IPv4 address in its usual form, any other as it is (``127.1`` is ``127.0.0.1``)."""
    try:
        address = literal_address(host)
    except ValueError:
        return host
    return host if address is None else address.compressed


def reached_host(host: str) -> str:
    """Return an address as the one that a request to it reaches; a name, or what is no address, as it is."""
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
