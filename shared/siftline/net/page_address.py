"""All forms of a page's address that saving it takes, worked out at once: before any transaction holds locks."""

from dataclasses import dataclass

from siftline.net.http_typed import typed_origin
from siftline.net.urls import canonical_url, clean_url, validate_url


@dataclass(frozen=True, slots=True)
class PageAddress:
    """A page's address as somebody gave it."""

    own: str
    """As they spell it, in the form in which it can be fetched."""
    key: str
    """Under which the page is known."""
    shared: str
    """As all may see it."""
    typed_origin: str | None
    """Of this machine, if it is one that they typed."""


def page_address(url: str) -> PageAddress:
    """Return the forms of an address. Raises the leaves of ``siftline.net.urls``."""
    own = validate_url(url)
    return PageAddress(own, canonical_url(own), clean_url(own), typed_origin(own))
