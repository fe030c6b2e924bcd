"""Reddit's posts as a feed's entries, from its JSON listings or its Atom feeds. Pure.

Both give a post the same guid (``t3_…``), link and text, so that changing from one to the other brings nothing twice.
What was removed and what is paid for is left out; what is pinned is a post like the others.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any
from urllib.parse import urlsplit

from siftline.fetch.feed import sanitised
from siftline.fetch.feed.feeds import Enclosure, Entry, Feed, entry_times
from siftline.kit.errors import PermanentError
from siftline.net.reddit_address import SITE, Listing
from siftline.text.instants import Dates

_GONE = frozenset({"[removed]", "[deleted]"})
_OWN_HOST = re.compile(r"(?:[a-z]+\.)?(?:reddit\.com|redd\.it|redditmedia\.com)")
_IMAGE_HOST = "i.redd.it"
_TAIL = re.compile(r"\s*(?:<table>.*?)?submitted by\s.*$", re.DOTALL)
_GUID = re.compile(r"t3_[a-z0-9]+$")
_OUTSIDE = re.compile(r'<a href="([^"]{1,8192})"[^>]{0,200}>\[link\]</a>')

_Raw = Mapping[str, Any]


class NotAListingError(PermanentError):
    """The answer is no listing of posts: a page in its place, most often."""

    code = "not_a_listing"


def posts(body: bytes, *, listing: Listing, max_entries: int = 1_000) -> Feed:
    """Return the posts of a JSON listing (asked for with ``raw_json=1``). Raises ``NotAListingError``."""
    try:
        children = json.loads(body)["data"]["children"]
        raws = [child["data"] for child in children if child["kind"] == "t3"]
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise NotAListingError("Reddit's answer contains no posts.") from error
    entries, skipped = [], max(0, len(raws) - max_entries)
    for raw in raws[:max_entries]:
        if _left_out(raw):
            continue
        entry = _entry(raw)
        if entry is None:
            skipped += 1
        else:
            entries.append(entry)
    return Feed(title=_title(raws, listing), site_url=listing.url, entries=tuple(entries), skipped=skipped)


def from_atom(feed: Feed, *, listing: Listing) -> Feed:
    """Return the posts of Reddit's Atom feed: each with the article it links to, without Reddit's own words."""
    return replace(feed, site_url=listing.url, entries=tuple(map(_post, feed.entries)))


def _left_out(raw: _Raw) -> bool:
    removed = raw.get("removed_by_category") or (raw.get("is_self") and raw.get("selftext") == "[removed]")
    return bool(removed or raw.get("promoted") or raw.get("is_created_from_ads_ui"))


def _entry(raw: _Raw) -> Entry | None:
    """Return a post as an entry, or ``None`` for what lacks its name or its place."""
    permalink = sanitised.absolute(raw.get("permalink"), SITE)
    guid = raw.get("name")
    if permalink is None or not isinstance(guid, str) or not guid.startswith("t3_"):
        return None
    parents = raw.get("crosspost_parent_list")
    told = parents[0] if isinstance(parents, list) and parents and isinstance(parents[0], dict) else raw
    html = sanitised.sanitised(_text(told, "selftext_html") or _text(raw, "selftext_html"), SITE)
    target = sanitised.absolute(told.get("url"), SITE)
    if not html and target and urlsplit(target).hostname == _IMAGE_HOST:
        html = sanitised.sanitised(f'<p><img src="{target}"></p>', SITE)
    author = sanitised.line(_text(raw, "author"), 200)
    return Entry(
        guid=sanitised.line(guid, 100),
        link=_link(told, target) or permalink,
        title=sanitised.line(_text(raw, "title")),
        author=author if author and author not in _GONE else None,
        **entry_times(Dates(), raw.get("created_utc"), updated=raw.get("edited")),
        html=html,
        description=sanitised.text_of(html, sanitised.DESCRIPTION_MAX_CHARS),
        image_url=_image(told),
        enclosures=_video(told),
        tags=_tags(raw),
        comments_url=permalink,
    )


def _link(told: _Raw, target: str | None) -> str | None:
    """Return the article that a post is about: one outside, else the post itself; of a crosspost, the first post."""
    if target and not told.get("is_self") and not _OWN_HOST.fullmatch(urlsplit(target).hostname or ""):
        return target
    return sanitised.absolute(told.get("permalink"), SITE)


def _image(told: _Raw) -> str | None:
    try:
        preview = told["preview"]["images"][0]["source"]["url"]
    except (KeyError, IndexError, TypeError):
        preview = None
    return sanitised.absolute(preview) or sanitised.absolute(told.get("thumbnail"))


def _video(told: _Raw) -> tuple[Enclosure, ...]:
    try:
        video = told["secure_media"]["reddit_video"]
        address, duration = sanitised.absolute(video["fallback_url"]), video.get("duration")
    except (KeyError, TypeError, AttributeError):
        return ()
    duration_s = duration if isinstance(duration, int) and 0 <= duration < 10**6 else None
    return (Enclosure(address, "video/mp4", duration_s=duration_s),) if address else ()


def _tags(raw: _Raw) -> tuple[str, ...]:
    flair = sanitised.line(_text(raw, "link_flair_text"), 100)
    return tuple(filter(None, (flair, "over_18" if raw.get("over_18") is True else "")))


def _text(raw: _Raw, name: str) -> str:
    value = raw.get(name)
    return value if isinstance(value, str) else ""


def _title(raws: list[_Raw], listing: Listing) -> str:
    """Return the listing's name, in the subreddit's own spelling where its posts tell it."""
    names = {sanitised.line(_text(raw, "subreddit_name_prefixed"), 100) for raw in raws}
    spelled = next(iter(names)) if len(names) == 1 else ""
    return spelled if spelled.lower() == listing.shown_name else listing.shown_name


def _post(entry: Entry) -> Entry:
    html = _TAIL.sub("", entry.html).strip()
    found = _OUTSIDE.search(entry.html)
    target = sanitised.absolute(found[1].replace("&amp;", "&")) if found else None
    link = _link({"permalink": entry.link}, target) or entry.link
    if not html and target and urlsplit(target).hostname == _IMAGE_HOST:
        html = sanitised.sanitised(f'<p><img src="{target}"></p>', SITE)
    guid = _GUID.search(entry.guid or "")
    return replace(
        entry,
        guid=guid[0] if guid else entry.guid,  # some parsers take it for a relative address
        link=link,
        author=(entry.author or "").removeprefix("/u/") or None,
        html=html,
        summary_html="",
        description=sanitised.text_of(html, sanitised.DESCRIPTION_MAX_CHARS),
        comments_url=entry.link,
    )
