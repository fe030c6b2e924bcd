"""Which feeds a page names, the best first. Pure; ``find`` runs in the child process, for pages are strangers' too.

What a page announces (``<link rel="alternate">`` with a feed's type, ``rel="feed"``; RSS Advisory Board, "RSS
Autodiscovery"; HTML, section 4.6.7.1) counts before links that only look like feeds. The feed of the site itself goes
before those of comments, tags, authors and searches, and its own host before others. The same feed in two formats
counts once.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any
from urllib.parse import urlsplit

from siftline.fetch.feed import sanitised
from siftline.fetch.kinds import html_tree
from siftline.fetch.kinds.feed_locations import CHANNEL, VIDEOS, YOUTUBE_HOSTS, Discovered, FeedLocation
from siftline.net.urls import canonical_url, same_site

_TITLE_MAX_CHARS = 200
_LINKS_MAX = 2_000
_ADDRESS_MAX_CHARS = 500
_FEED_TYPES = frozenset({"application/rss+xml", "application/atom+xml", "application/rdf+xml", "application/feed+json"})
_DATA_TYPES = frozenset({"application/json", "application/xml", "text/xml", ""})
_ATOM = "application/atom+xml"

_LOOKS = re.compile(
    r"(?:^|/)(?:feeds?|rss|atom|syndication)(?:[/.]|$)|\.(?:rss|atom|rdf)$|(?:feed|rss|atom)[\w.-]*\.(?:xml|json|php)$"
    r"|(?:^|[?&])feed=(?:rss|atom)|/index\.xml$",
    re.IGNORECASE,
)
_NOT_FEEDS = re.compile(r"sitemap|opensearch|oembed|/wp-json/|manifest", re.IGNORECASE)
_COMMENTS = re.compile(
    r"\b(?:comments?|commentaires?|kommentare?n?|comentarios?|coment[aá]rios?|commenti|reacties|kommentarer|kommentit"
    r"|komentarze|koment[aá](?:r|ř)\w*|yorumlar|hozzászólás\w*|bình luận|replies|réponses)\b"
    r"|комментари|коментар|σχόλια|تعليقات|ความเห็น|コメント|评论|評論|댓글",
    re.IGNORECASE,
)
_SIDE_TITLE = re.compile(
    r"\b(?:category|tag|author|archive)s?\s+(?:rss|atom|feed)\b|\bposts by\b|\bsearch results\b"
    r"|\b(?:flux|feed|rss|atom)\s+(?:de |der |del |da |des )?(?:la |l.)?"
    r"(?:cat[eé]gor\w+|kategorie|schlagwort\w*|[eé]tiquet\w+|auteur|autor\w*)\b"
    r"|\b(?:kategorie|schlagwort\w*|autor)\b.{0,40}\bfeed\b",
    re.IGNORECASE,
)
_COMMENTS_PATH = re.compile(r"/comments?(?:[/.-]|$)|/feed/comments|-comments?(?:[/.]|$)|comments-rss", re.IGNORECASE)
_SIDE_PATH = re.compile(
    r"/(?:tags?|topics?|labels?|categor(?:y|ies)|kategorien?|autor|authors?|users?|search|suche)(?:/|$)|[?&](?:s|q|tag|cat)=",
    re.IGNORECASE,
)
_ARTICLE_PATH = re.compile(r"/\d{4}/\d|/[^/]+-[^/]+-[^/]+$|\.html?$")
_FORMAT_WORDS = re.compile(
    r"\b(?:rss|atom|json|xml|rdf|feeds?|syndication|format|v?[012]\.\d+)\b|[\W_]+", re.IGNORECASE
)
_CHANNEL_IN_PAGE = re.compile(rb'"externalId"\s*:\s*"(UC[\w-]{22})"')


@dataclass(frozen=True, slots=True)
class _Ranked:
    candidate: FeedLocation
    side: int
    """0 for a feed of the site, 1 of a part of it, 2 of comments."""
    elsewhere: bool
    place: int

    @property
    def twin(self) -> tuple[object, ...]:
        """What the same feed has in common in two formats."""
        host = urlsplit(self.candidate.url).hostname
        return (_FORMAT_WORDS.sub(" ", self.candidate.title.casefold()).strip(), host, self.side)


def find(body: bytes, *, url: str, content_type: str = "", most: int = 20) -> Discovered:
    """Return the feeds that a page names, at most ``most``; ``url`` is where it came from."""
    tree = html_tree.tree_of(body, content_type=content_type)
    if tree is None:
        return Discovered()
    channel = _youtube_channel(tree, body, url)
    if channel is not None:
        return Discovered((channel,), clear=True, announced=True)
    base = html_tree.base_of(tree, url)
    announced = _judged(_announced(tree, base), url, most)
    if any(not ranked.side for ranked in announced):
        return _discovered(announced, url, announced=True)
    linked = [ranked for ranked in _judged(_linked(tree, base, url), url, most) if not ranked.side]
    return (
        _discovered(linked, url, announced=False) if linked else _discovered(announced, url, announced=bool(announced))
    )


def _discovered(ranked: list[_Ranked], page_url: str, *, announced: bool) -> Discovered:
    """Decide whether the first is the one: the only one of the site, and no part of the site was asked for."""
    own = [one for one in ranked if not one.side]
    here = [one for one in own if not one.elsewhere] or own
    parts = [one for one in ranked if one.side == 1] if _SIDE_PATH.search(page_url) else []
    return Discovered(tuple(one.candidate for one in ranked), len(here) == 1 and not parts, announced)


def _judged(found: Iterable[FeedLocation], page_url: str, most: int) -> list[_Ranked]:
    distinct: dict[str, _Ranked] = {}
    page_path = urlsplit(page_url).path.rstrip("/")
    article = f"{page_path}/" if _ARTICLE_PATH.search(page_path) else None
    for place, candidate in enumerate(found):
        elsewhere = not same_site(candidate.url, page_url)
        ranked = _Ranked(candidate, _side(candidate, article), elsewhere, place)
        distinct.setdefault(canonical_url(candidate.url), ranked)
    groups: dict[tuple[object, ...], _Ranked] = {}
    formats: dict[tuple[object, ...], set[str | None]] = {}
    for ranked in distinct.values():
        twin, media_type = ranked.twin, ranked.candidate.media_type
        if twin not in groups:
            groups[twin], formats[twin] = ranked, {media_type}
        elif media_type is None or media_type in formats[twin]:
            groups[*twin, ranked.place] = ranked  # another feed of the same name
        else:
            formats[twin].add(media_type)
            if media_type == _ATOM:
                groups[twin] = replace(ranked, place=groups[twin].place)
    return sorted(groups.values(), key=lambda one: (one.side, one.elsewhere, one.place))[:most]


def _side(candidate: FeedLocation, article: str | None) -> int:
    """Return what a feed is of; what stands below an ``article``'s own path are its comments."""
    parts = urlsplit(candidate.url)
    path = f"{parts.path}?{parts.query}" if parts.query else parts.path
    if _COMMENTS.search(candidate.title) or _COMMENTS_PATH.search(path):
        return 2
    if article is not None and parts.path.startswith(article):
        return 2
    return 1 if _SIDE_TITLE.search(candidate.title) or _SIDE_PATH.search(path) else 0


def _announced(tree: Any, base: str) -> Iterator[FeedLocation]:
    for link in islice(tree.iter("link"), _LINKS_MAX):
        relations = (link.get("rel") or "").lower().split()
        media_type = (link.get("type") or "").partition(";")[0].strip().lower()
        address = html_tree.link_of(link, base)
        if address is None or "stylesheet" in relations or not {"alternate", "feed"} & set(relations):
            continue
        title = sanitised.line(link.get("title") or "", _TITLE_MAX_CHARS)
        if media_type in _FEED_TYPES or "feed" in relations or (media_type in _DATA_TYPES and _looks(address)):
            yield FeedLocation(address, title, media_type or None)


def _linked(tree: Any, base: str, page_url: str) -> Iterator[FeedLocation]:
    for anchor in islice(tree.iter("a"), _LINKS_MAX):
        address = html_tree.link_of(anchor, base)
        if address is None or not _looks(address) or canonical_url(address) == canonical_url(page_url):
            continue
        if same_site(address, page_url) or urlsplit(address).hostname == "feeds.feedburner.com":
            title = anchor.get("title") or anchor.text_content()
            yield FeedLocation(address, sanitised.line(title, _TITLE_MAX_CHARS), None)


def _looks(address: str) -> bool:
    if len(address) > _ADDRESS_MAX_CHARS:
        return False
    parts = urlsplit(address)
    text = f"{parts.path}?{parts.query}" if parts.query else parts.path
    looks = _LOOKS.search(parts.path) or _LOOKS.search(f"?{parts.query}") or parts.hostname == "feeds.feedburner.com"
    return bool(looks) and not _NOT_FEEDS.search(text)


def _youtube_channel(tree: Any, body: bytes, url: str) -> FeedLocation | None:
    """Return a channel's feed by the id in its page: handles (``/@name``) do not tell it."""
    if urlsplit(url).hostname not in YOUTUBE_HOSTS:
        return None
    addresses = [link.get("href") or "" for link in tree.iter("link") if link.get("rel") == "canonical"]
    addresses += [meta.get("content") or "" for meta in tree.iter("meta") if meta.get("property") == "og:url"]
    found = next((match[1] for address in addresses if (match := CHANNEL.search(address))), None)
    if found is None and (inside := _CHANNEL_IN_PAGE.search(body)):
        found = inside[1].decode()
    title = sanitised.line(tree.findtext(".//title") or "", _TITLE_MAX_CHARS).removesuffix(" - YouTube")
    return FeedLocation(f"{VIDEOS}?channel_id={found}", title, _ATOM) if found else None
