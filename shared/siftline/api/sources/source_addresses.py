"""What an address means as a source: its kind, its one spelling, and the key that the same wishes share."""

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from siftline.api.http.destinations import check_destination, with_scheme
from siftline.catalog.source_kinds import SourceKind
from siftline.net.reddit_address import Listing, listing_of
from siftline.net.selectors import check_selector
from siftline.net.urls import MAX_URL_LENGTH, InvalidUrlError, canonical_url, clean_url, typed_origin

# How readers and browsers hand feeds over: before the whole address, or in the place of http.
_WITH_FEED = re.compile(r"^\s*feed:(?://)?(?=https?:)", re.IGNORECASE)
_FEED = re.compile(r"^\s*feed:(?=//)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Address:
    """A source to be."""

    kind: SourceKind
    url: str
    key: str
    """Equal for what is one source; at most 2,100 characters."""
    options: Mapping[str, Any] = field(default_factory=dict)
    own_url: str | None = None
    """As who follows it spells it; ``url`` is what everybody may see."""

    @property
    def typed_origin(self) -> str | None:
        """The origin of this machine that it opens to its polls (``siftline.net.urls``).

        By what was typed: ``url`` may be what an AMP viewer's address led to.
        """
        return None if self.own_url is None else typed_origin(self.own_url)


def address_of(url: str, *, kind: SourceKind | None, selector: str | None = None, allow_loopback: bool) -> Address:
    """Return the source that an address means; without a kind a listing of Reddit is one, all else a feed or a site.

    ``feed://…`` and ``feed:https://…`` are what they stand for. Raises as ``check_destination`` and ``check_selector``
    do, and ``InvalidUrlError`` for what is no listing but should be.
    """
    if len(url) > MAX_URL_LENGTH:
        raise InvalidUrlError(f"The address is longer than {MAX_URL_LENGTH} characters.")
    url = _FEED.sub("http:", _WITH_FEED.sub("", url))
    listing = listing_of(with_scheme(url)) if kind in {None, SourceKind.REDDIT} else None
    if listing is not None:
        return _of_reddit(listing)
    if kind is SourceKind.REDDIT:
        raise InvalidUrlError("The address is neither a subreddit nor a Reddit user.")
    own_url = check_destination(url, allow_loopback=allow_loopback)
    key, shared = canonical_url(own_url), clean_url(own_url)
    if kind is not SourceKind.WEB:
        return Address(SourceKind.RSS, shared, key, own_url=own_url)
    if selector is None:
        return Address(SourceKind.WEB, shared, f"web:{key}", own_url=own_url)
    check_selector(selector)
    # One page may be followed by several selectors: each is a source of its own.
    digest = hashlib.sha256(selector.encode()).hexdigest()[:32]
    return Address(SourceKind.WEB, shared, f"web:{digest}:{key}", {"selector": selector}, own_url=own_url)


def _of_reddit(listing: Listing) -> Address:
    return Address(SourceKind.REDDIT, listing.url, f"reddit:{listing.url}")
