"""The sample feeds as RSS 2.0, Atom (RFC 4287) and JSON Feed 1.1.

Most entries carry the first paragraph only, so that their page must be fetched; full articles are in the feed whole.
"""

import json
from email.utils import format_datetime
from xml.etree import ElementTree as ET

from infra.local.sample_library import SampleArticle, SampleFeed
from infra.local.sample_pages import article_html

MEDIA_TYPES = {
    "rss": "application/rss+xml",
    "atom": "application/atom+xml",
    "jsonfeed": "application/feed+json",
}
_ATOM = "http://www.w3.org/2005/Atom"
_CONTENT = "http://purl.org/rss/1.0/modules/content/"
_CREATOR = "http://purl.org/dc/elements/1.1/"


def render_feed(feed: SampleFeed, base_url: str) -> bytes:
    """Return the feed's document in its own format, with links under ``base_url``."""
    match feed.format:
        case "rss":
            return _xml(_rss(feed, base_url))
        case "atom":
            return _xml(_atom(feed, base_url))
        case "jsonfeed":
            return _json(feed, base_url)


def _xml(root: ET.Element) -> bytes:
    ET.indent(root)
    document: bytes = ET.tostring(root, encoding="utf-8", xml_declaration=True)
    return document


def _add(parent: ET.Element, tag: str, text: str | None = None, **attributes: str) -> ET.Element:
    child = ET.SubElement(parent, tag, attributes)
    child.text = text
    return child


def _rss(feed: SampleFeed, base_url: str) -> ET.Element:
    # Prefixes are written as they stand, since ElementTree keeps one table of them for the whole process.
    root = ET.Element("rss", {"version": "2.0", "xmlns:content": _CONTENT, "xmlns:dc": _CREATOR, "xmlns:atom": _ATOM})
    channel = _add(root, "channel")
    _add(channel, "title", feed.title)
    _add(channel, "link", f"{base_url}/{feed.name}/")
    _add(channel, "description", feed.description)
    _add(channel, "language", feed.language)
    _add(channel, "lastBuildDate", format_datetime(feed.articles[0].published))
    _add(channel, "atom:link", rel="self", type=MEDIA_TYPES["rss"], href=f"{base_url}{feed.path}")
    for article in feed.articles:
        item = _add(channel, "item")
        _add(item, "title", article.title)
        _add(item, "link", f"{base_url}{article.path}")
        _add(item, "guid", article.identity, isPermaLink="false")
        _add(item, "pubDate", format_datetime(article.published))
        _add(item, "dc:creator", article.author)
        _add(item, "description", article.summary)
        if article.full:
            _add(item, "content:encoded", article_html(article))
    return root


def _atom(feed: SampleFeed, base_url: str) -> ET.Element:
    root = ET.Element("feed", {"xmlns": _ATOM, "xml:lang": feed.language})
    _add(root, "id", f"tag:samples.siftline.example,2026:/{feed.name}/")
    _add(root, "title", feed.title)
    _add(root, "subtitle", feed.description)
    _add(root, "updated", feed.articles[0].published.isoformat())
    _add(root, "link", rel="self", type=MEDIA_TYPES["atom"], href=f"{base_url}{feed.path}")
    _add(root, "link", rel="alternate", type="text/html", href=f"{base_url}/{feed.name}/")
    for article in feed.articles:
        entry = _add(root, "entry", None, **{"xml:lang": article.language})
        _add(entry, "id", article.identity)
        _add(entry, "title", article.title)
        _add(entry, "link", rel="alternate", type="text/html", href=f"{base_url}{article.path}")
        _add(entry, "published", article.published.isoformat())
        _add(entry, "updated", article.published.isoformat())
        _add(_add(entry, "author"), "name", article.author)
        _add(entry, "summary", article.summary)
        if article.full:
            _add(entry, "content", article_html(article), type="html")
    return root


def _json(feed: SampleFeed, base_url: str) -> bytes:
    document = {
        "version": "https://jsonfeed.org/version/1.1",
        "title": feed.title,
        "description": feed.description,
        "language": feed.language,
        "home_page_url": f"{base_url}/{feed.name}/",
        "feed_url": f"{base_url}{feed.path}",
        "items": [_json_item(article, base_url) for article in feed.articles],
    }
    return json.dumps(document, ensure_ascii=False, indent=2).encode()


def _json_item(article: SampleArticle, base_url: str) -> dict[str, object]:
    # An item must have one of the two contents; a summary-only item says its summary again.
    content = {"content_html": article_html(article)} if article.full else {"content_text": article.summary}
    return {
        "id": article.identity,
        "url": f"{base_url}{article.path}",
        "title": article.title,
        "language": article.language,
        "summary": article.summary,
        **content,
        "image": f"{base_url}{article.path}.png",
        "date_published": article.published.isoformat(),
        "authors": [{"name": article.author}],
    }
