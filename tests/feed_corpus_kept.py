"""What is kept of each case of feedparser's corpus, ours and feedparser's own in the same form.

Run by ``tools/feed_corpus.py`` as ``tests.feed_corpus_kept:ours`` and ``:theirs``, each in a process of its own, for
ours has feedparser keep more than it does by itself. Either prints one line of JSON a case. feedparser is told not to
sanitise; what it says is then reduced to what we keep, by other means than ours: titles to their words by lxml's HTML
parser, bodies by nh3, moments to their seconds.
"""

import html
import io
import json
import re
import sys
from collections.abc import Mapping
from functools import partial
from typing import Any
from urllib.parse import urlsplit

import feedparser
import nh3
from lxml import html as lxml_html

from siftline.fetch.feed.feed_parser import parse as parse_feed
from siftline.kit.errors import SiftlineError
from tests.feed_corpus import untitled

_TAG = re.compile(r'<(\w+)((?: [\w-]+="[^"]*")+)>')
_ATTRIBUTE = re.compile(r'[\w-]+="[^"]*"')
_ATTRIBUTES = {tag: names - {"cite"} for tag, names in nh3.ALLOWED_ATTRIBUTES.items()}


def ours(data: bytes, headers: Mapping[str, str], url: str | None) -> dict[str, Any]:
    """Print what our parser keeps of a case; ``null`` where it is no feed to us."""
    address = headers.get("content-location") or url or ""
    parse = partial(parse_feed, url=address, content_type=headers.get("content-type", ""))
    try:
        feed = parse(data)
        if feed.skipped and not feed.entries:
            feed = parse(untitled(data))
    except SiftlineError:
        return _told(None)
    entries = [
        {
            "title": _squeezed(entry.title.removeprefix("untitled")),
            "body": _ordered(entry.html),
            "link": entry.link,
            "guid": entry.guid,
            "published": _moment(entry.published_at and entry.published_at.utctimetuple()),
            "updated": _moment(entry.updated_at and entry.updated_at.utctimetuple()),
            "tags": [_squeezed(tag) for tag in entry.tags],
            "files": [file.url for file in entry.enclosures],
            "author": _squeezed(entry.author),
        }
        for entry in feed.entries
    ]
    return _told({"title": _squeezed(feed.title), "about": _squeezed(feed.description), "entries": entries})


def theirs(data: bytes, headers: Mapping[str, str], url: str | None) -> dict[str, Any]:
    """Print what of feedparser's reading we would keep."""
    given = {"content-location": url, **headers} if url else dict(headers)
    found = feedparser.parse(io.BytesIO(data), response_headers=given, sanitize_html=False)
    entries = [_entry(entry) for entry in found.entries]
    about = _words(found.feed.get("subtitle_detail"))
    return _told({"title": _words(found.feed.get("title_detail")), "about": about, "entries": entries})


def _entry(entry: Any) -> dict[str, Any]:
    text = next(iter(entry.get("content") or ()), None) or entry.get("summary_detail")
    # Past what stands in for missing ones: feedparser hands the one date out for the other.
    moments = [dict.get(entry, f"{name}_parsed") for name in ("published", "created", "updated")]
    tags = [tag.get("label") or tag.get("term") or "" for tag in entry.get("tags") or ()]
    names = [person["name"] for person in entry.get("authors") or () if person.get("name")]
    return {
        "title": _words(entry.get("title_detail")) or _words(text),
        "body": _body(text),
        "link": _address(entry.get("link")),
        "guid": entry.get("id"),
        "published": _moment(next(filter(None, moments), None)),
        "updated": _moment(moments[2]),
        "tags": list(dict.fromkeys(_squeezed(tag) for tag in tags if tag)),
        "files": [_address(file.get("href")) for file in entry.get("enclosures") or ()],
        "author": _squeezed(", ".join(names)),
    }


def _address(given: str | None) -> str | None:
    """Only addresses of the web are kept, with their hosts in lower case."""
    parts = urlsplit(given or "")
    return parts._replace(netloc=parts.netloc.lower()).geturl() if parts.scheme in {"http", "https"} else None


def _told(kept: dict[str, Any] | None) -> dict[str, Any]:
    sys.stdout.write(json.dumps(kept) + "\n")
    return {}


def _squeezed(text: str | None) -> str:
    """Return text without its spaces, of which each has its own notion."""
    return "".join((text or "").split())


def _words(detail: Mapping[str, Any] | None) -> str:
    value = detail["value"] if detail else ""
    if not detail or detail["type"] == "text/plain" or not value.strip():
        return _squeezed(value)
    safe = nh3.clean(value, clean_content_tags={"script", "style"})
    return _squeezed(lxml_html.fragment_fromstring(safe, create_parent="div").text_content())


def _body(detail: Mapping[str, Any] | None) -> str:
    if not detail:
        return ""
    if detail["type"] == "text/plain":
        return _squeezed(html.escape(detail["value"], quote=False))
    schemes = {"http", "https", "mailto"}
    return _ordered(nh3.clean(detail["value"], attributes=_ATTRIBUTES, url_schemes=schemes, url_relative="deny"))


def _ordered(clean_html: str) -> str:
    """Return HTML with each element's attributes in the order of their names."""
    return _squeezed(_TAG.sub(lambda tag: f"<{tag[1]} {' '.join(sorted(_ATTRIBUTE.findall(tag[2])))}>", clean_html))


def _moment(parsed: Any) -> list[int] | None:
    return list(parsed)[:6] if parsed else None
