"""RSS, Atom and RDF through feedparser, which forgives nearly everything; sanitising and linking are ours."""

import codecs
import io
import re
from calendar import timegm
from collections.abc import Mapping
from datetime import UTC, datetime
from time import struct_time
from typing import Any

import feedparser  # type: ignore[import-untyped]  # it has no type information

from siftline.fetch import markup
from siftline.fetch.feeds import Enclosure, Entry, Feed, FeedUnreadableError, NotAFeedError
from siftline.fetch.xml_guard import check_shape

_GUID_MAX_CHARS = 2_000
_TAGS_MAX = 20
_ENCLOSURES_MAX = 20
_WIDE = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE, b"<\0", b"\0<", b"\0\0")
# ESC stays: it switches alphabets in ISO-2022 encodings.
_CONTROL = bytes(code for code in range(32) if code not in b"\t\n\r\x1b")

_REFERENCE = re.compile(rb"&#(?:[xX]([0-9a-fA-F]+)|([0-9]+));?")

_HEADER_CHARSET = re.compile(rb"""charset\s*=\s*["']?([\w:.-]+)""", re.IGNORECASE)
_XML_ENCODING = re.compile(rb"""(?:\xef\xbb\xbf)?\s*<\?xml\s[^<>]*?encoding\s*=\s*["']([\w:.-]+)""", re.IGNORECASE)
# "us-ascii" is what text/xml without a charset would mean by RFC 3023; nobody means it.
_UTF8_LABELS = {b"utf-8", b"utf8", b"us-ascii", b"ascii"}

# The elements of every extension but those that carry an entry's own words; and the sizes of a feed's logo.
_EXTENSION = re.compile(
    rb"</?(?:(?!(?:atom|a10|content|dc|rdf|rss|xhtml|html):)[A-Za-z_][\w.-]*:[\w.-]+|width|height)(?:\s[^<>]*)?/?>"
)
# feedparser fails in as many ways as there are extensions (a georss point of one number is a KeyError).
_FAULTS = (ArithmeticError, AssertionError, AttributeError, LookupError, RecursionError, TypeError, ValueError)

_Raw = Mapping[str, Any]


def parse_xml(body: bytes, *, url: str, content_type: str, max_entries: int) -> Feed:
    """Return what an RSS, Atom or RDF feed says. Raises the errors of ``siftline.fetch.feeds``.

    Characters that XML forbids are dropped before parsing, so that one of them costs no entry.
    """
    if not body.startswith(_WIDE):
        body = _readable(_REFERENCE.sub(_legal_reference, body.translate(None, delete=_CONTROL)), content_type)
    check_shape(body)
    headers = {"content-location": url, **({"content-type": content_type} if content_type else {})}
    try:
        found = _feedparser(body, headers)
    except _FAULTS:
        found = _without_extensions(body, headers)
    if not found.entries and not found.get("version"):
        raise NotAFeedError("The address holds neither an RSS, Atom, RDF nor JSON feed.")
    feed = found.feed
    entries, skipped = [], max(0, len(found.entries) - max_entries)
    for raw in found.entries[:max_entries]:
        try:
            entry = _entry(raw, url)
        except _FAULTS:
            entry = None
        if entry is None:
            skipped += 1
        else:
            entries.append(entry)
    return Feed(
        title=_plain(feed.get("title_detail"), feed.get("title")),
        site_url=_link(feed, url),
        entries=tuple(entries),
        language=markup.line(str(feed.get("language") or ""), 35) or None,
        skipped=skipped,
    )


def _readable(body: bytes, content_type: str) -> bytes:
    """Return the body with U+FFFD for the bytes that are no UTF-8, where it is UTF-8 by its own word and nearly true.

    Without a word it counts as UTF-8 too (XML 1.0, section 4.3.3). feedparser would read all of it as Windows-1252 for
    a single such byte. That is left to bodies in which such bytes outnumber the characters that UTF-8 makes sense of.
    """
    declared = _HEADER_CHARSET.search(content_type.encode("ascii", "ignore")) or _XML_ENCODING.match(body)
    if declared and declared[1].lower() not in _UTF8_LABELS:
        return body
    try:
        body.decode("utf-8")
    except UnicodeDecodeError:
        text = body.decode("utf-8", "replace")
        damaged = text.count("\ufffd")
        understood = len(text) - len(text.encode("ascii", "ignore")) - damaged
        return text.encode() if damaged <= understood else body
    return body


def _feedparser(body: bytes, headers: Mapping[str, str]) -> Any:
    # Wrapped, because feedparser would take a bare string that looks like an address for something to download.
    return feedparser.parse(
        io.BytesIO(body), response_headers=headers, sanitize_html=False, resolve_relative_uris=False
    )


def _without_extensions(body: bytes, headers: Mapping[str, str]) -> Any:
    """Parse what an extension made fail; what is not the feed's own must not cost an entry."""
    try:
        return _feedparser(_EXTENSION.sub(b"", body), headers)
    except _FAULTS as error:
        raise FeedUnreadableError("The feed is damaged beyond reading.") from error


def _legal_reference(match: re.Match[bytes]) -> bytes:
    """Drop a reference to a character that XML forbids (XML 1.0, section 2.2) or that is none at all; keep others."""
    code = int(match[1], 16) if match[1] else int(match[2][:10])
    return match[0] if code in {9, 10, 13} or 32 <= code < 0xD800 or 0xE000 <= code < 0x110000 else b""


def _entry(raw: _Raw, feed_url: str) -> Entry | None:
    """Return an entry, or ``None`` when it says nothing that could be kept."""
    link = _link(raw, feed_url)
    content, summary = _bodies(raw, link or feed_url, feed_url)
    title = _plain(raw.get("title_detail"), raw.get("title"))
    if link is None and not title and not content:
        return None
    published_at = _time(raw, "published_parsed") or _time(raw, "updated_parsed") or _time(raw, "created_parsed")
    author = raw.get("author_detail") or {}
    return Entry(
        guid=markup.legal(str(raw.get("id") or "")).strip()[:_GUID_MAX_CHARS] or None,
        link=link,
        title=title or markup.text_of(content, 120),
        author=markup.text_of(str(author.get("name") or raw.get("author") or ""), 200) or None,
        published_at=published_at,
        updated_at=_time(raw, "updated_parsed"),
        html=content,
        summary_html=summary,
        description=markup.text_of(summary or content, markup.DESCRIPTION_MAX_CHARS),
        image_url=_image(raw, content, feed_url),
        enclosures=_enclosures(raw, feed_url),
        tags=_tags(raw),
    )


def _link(raw: _Raw, feed_url: str) -> str | None:
    """Return the address of the page that an entry or a feed is about.

    Of Atom's links that is the alternate one, HTML before others; a link without ``rel`` is an alternate one (RFC 4287,
    section 4.2.7.2), replies, enclosures and the rest are not.
    """
    alternates = [
        link for link in raw.get("links") or () if link.get("rel", "alternate") == "alternate" and link.get("href")
    ]
    pages = [link for link in alternates if link.get("type", "text/html") in {"text/html", "application/xhtml+xml"}]
    candidates = [raw.get("feedburner_origlink"), *(link["href"] for link in [*pages, *alternates])]
    if not alternates and not raw.get("links"):
        candidates.append(raw.get("link"))
    found = (markup.absolute(candidate, feed_url) for candidate in candidates)
    return next((address for address in found if address), None)


def _bodies(raw: _Raw, page_url: str, feed_url: str) -> tuple[str, str]:
    """Return the fullest body and, where it is not that already, the summary; both sanitised."""
    content = max((_html(part, page_url, feed_url) for part in raw.get("content") or ()), key=len, default="")
    summary = _html(raw.get("summary_detail"), page_url, feed_url)
    return (content, summary) if content else (summary, "")


def _html(part: _Raw | None, page_url: str, feed_url: str) -> str:
    """Return a text construct as sanitised HTML; relative links count from its xml:base, else from the entry's page."""
    if not part or not part.get("value"):
        return ""
    if part.get("type") == "text/plain":
        return markup.escaped(part["value"])
    base = part.get("base")
    return markup.sanitised(part["value"], markup.absolute(base) if base and base != feed_url else page_url)


def _plain(detail: _Raw | None, value: object) -> str:
    text = str((detail or {}).get("value") or value or "")
    return markup.line(text) if (detail or {}).get("type") == "text/plain" else markup.text_of(text)


def _time(raw: _Raw, name: str) -> datetime | None:
    value = dict.get(raw, name)  # type: ignore[call-overload]  # past feedparser's own stand-ins for missing dates
    if not isinstance(value, struct_time):
        return None
    try:
        return datetime.fromtimestamp(timegm(value), UTC)
    except (ValueError, OverflowError, OSError):
        return None


def _image(raw: _Raw, content: str, feed_url: str) -> str | None:
    media = [*(raw.get("media_content") or ()), *(raw.get("links") or ())]
    pictures = [
        part.get("url") or part.get("href")
        for part in media
        if str(part.get("type", "")).startswith("image/") or part.get("medium") == "image"
    ]
    thumbnails = [part.get("url") for part in raw.get("media_thumbnail") or ()]
    icon = (raw.get("image") or {}).get("href")
    candidates = (markup.absolute(address, feed_url) for address in [*pictures, *thumbnails, icon])
    return next((address for address in candidates if address), None) or markup.first_image(content)


def _enclosures(raw: _Raw, feed_url: str) -> tuple[Enclosure, ...]:
    found = []
    for part in raw.get("enclosures") or ():
        address = markup.absolute(part.get("href"), feed_url)
        if address:
            length = str(part.get("length") or "")
            size = int(length) if length.isascii() and length.isdigit() and len(length) < 16 else None
            found.append(Enclosure(address, markup.line(str(part.get("type") or ""), 100) or None, size))
    return tuple(found[:_ENCLOSURES_MAX])


def _tags(raw: _Raw) -> tuple[str, ...]:
    terms = (markup.text_of(str(tag.get("label") or tag.get("term") or ""), 100) for tag in raw.get("tags") or ())
    return tuple(dict.fromkeys(term for term in terms if term))[:_TAGS_MAX]
