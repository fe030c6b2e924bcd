"""Who may speak for whom: contents are shared by all users, so only a page's own site says what stands there."""

from collections.abc import Iterable
from functools import lru_cache

from siftline.net.suffixes import suffixes
from siftline.net.urls import host_of_url

_HOSTS_KEPT = 1_024


def speaks_for(speakers: Iterable[str], url: str) -> bool:
    """Return whether what came from these addresses may say what stands at ``url``.

    Each of them must be of the same host (``www.`` aside) or of one above it: where anybody can have a sub-domain, that
    one is not the site, and what a site redirects to is another's word. Public suffixes are above none.
    """
    host = _host(url)
    return all(_above(_host(speaker), host) for speaker in speakers)


def _above(speaker: str, host: str) -> bool:
    return speaker == host or (host.endswith(f".{speaker}") and suffixes().privatesuffix(speaker) is not None)


# A feed's own addresses are asked for with each of its entries.
@lru_cache(maxsize=_HOSTS_KEPT)
def _host(url: str) -> str:
    return host_of_url(url).rstrip(".").removeprefix("www.")
