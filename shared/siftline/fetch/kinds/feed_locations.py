"""Where feeds are, as far as an address says it or a page begins like one: what needs no parser and no request."""

import codecs
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar
from urllib.parse import parse_qs, urljoin, urlsplit

from siftline.kit.errors import PermanentError

YOUTUBE_HOSTS = frozenset({"youtube.com", "www.youtube.com", "m.youtube.com"})
CHANNEL = re.compile(r"/channel/(UC[\w-]{22})(?:[/?]|$)")
VIDEOS = "https://www.youtube.com/feeds/videos.xml"
_PLAYLIST = re.compile(r"[\w-]{10,64}")

_IN_FOLDER = ("feed", "feed.xml", "rss.xml", "atom.xml", "index.xml")
_IN_ROOT = ("feed", "rss.xml", "atom.xml", "feed.xml", "index.xml", "rss", "feed.json", "feed/", "atom", "index.rdf")

# Each alternative is taken once and for all, so that no body makes this try every way to cut its comments.
_PAGE = re.compile(
    rb"(?>\s+|<!--.*?-->|<\?xml[^>]*>)*+<(?:!doctype\s+html|html|head|body)\b", re.IGNORECASE | re.DOTALL
)
_FEED_ROOT = re.compile(rb"<(?:\w+:)?(?:rss|feed|rdf)\b", re.IGNORECASE)
_PAGE_TYPES = frozenset({"text/html", "application/xhtml+xml"})
_LOOK_BYTES = 8_192


@dataclass(frozen=True, slots=True)
class FeedLocation:
    """A feed that a page names."""

    url: str
    title: str = ""
    media_type: str | None = None


@dataclass(frozen=True, slots=True)
class Discovered:
    """The feeds of a page, the best first."""

    candidates: tuple[FeedLocation, ...] = ()
    clear: bool = False
    """Whether the first is the one; else somebody has to choose."""
    announced: bool = False
    """Whether the page says that these are feeds; else they only look so."""


class NeedsPersonError(PermanentError):
    """Only a person can help the source, so its page is left alone for a long while."""

    next_fetch_reason: ClassVar[str]
    """What the source says of that."""
    candidates: tuple[FeedLocation, ...] = ()
    """The feeds to choose from, if any."""


class InvalidSelectorError(NeedsPersonError):
    """The CSS selector is none, or uses what cannot be looked for in a page."""

    code = "invalid_selector"
    next_fetch_reason = "its CSS selector is not valid"


class SeveralFeedsError(NeedsPersonError):
    """The page names several feeds, and none of them is clearly the one."""

    code = "several_feeds"
    next_fetch_reason = "one of its feeds must be chosen"

    def __init__(self, candidates: Sequence[FeedLocation]) -> None:
        detail = "The page links to a feed that may not be the right one: choose it, or another address."
        if len(candidates) > 1:
            detail = f"The page links to {len(candidates)} feeds: choose one."
        super().__init__(detail)
        self.candidates = tuple(candidates)


class NoFeedFoundError(NeedsPersonError):
    """The page names no feed, and none is where sites use to have theirs."""

    code = "no_feed_found"
    next_fetch_reason = "no feed was found at its address"

    def __init__(self) -> None:
        super().__init__("No feed was found at this address. To follow its links instead, use the kind web.")


def is_page(body: bytes, media_type: str) -> bool:
    """Return whether this is a web page: by its beginning, or by its media type where nothing speaks of a feed."""
    start = body[:_LOOK_BYTES].removeprefix(codecs.BOM_UTF8)
    return bool(_PAGE.match(start)) or (media_type in _PAGE_TYPES and not _FEED_ROOT.search(start))


def known_feed(url: str) -> str | None:
    """Return the feed of an address that says itself which it is: a YouTube channel's or playlist's."""
    parts = urlsplit(url)
    if parts.hostname not in YOUTUBE_HOSTS or parts.path.startswith("/feeds/"):
        return None
    channel = CHANNEL.match(parts.path)
    if channel:
        return f"{VIDEOS}?channel_id={channel[1]}"
    playlist = parse_qs(parts.query).get("list", [""])[0]
    if parts.path == "/playlist" and _PLAYLIST.fullmatch(playlist):
        return f"{VIDEOS}?playlist_id={playlist}"
    return None


def guesses(url: str, most: int) -> list[str]:
    """Return where sites use to keep their feed, likely places first: the page's own folder, then the site's root."""
    folder = urljoin(url, urlsplit(url).path.rpartition("/")[0] + "/")
    last = urlsplit(url).path.rpartition("/")[2]
    if last and "." not in last:
        folder = urljoin(url, f"{urlsplit(url).path}/")
    root = urljoin(url, "/")
    places = [] if folder == root else [urljoin(folder, name) for name in _IN_FOLDER]
    places += [urljoin(root, name) for name in _IN_ROOT]
    return [place for place in dict.fromkeys(places) if place != url][:most]
