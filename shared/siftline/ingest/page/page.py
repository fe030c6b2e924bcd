"""A page as the house keeps it, and what a feed brings of an article: bytes and a content type in, text and more out.

Runs in a child process (``siftline.ingest.page_child``): pages are written by strangers. What is known to cost much is
refused all the same (``siftline.ingest.page.page_tree``).
"""

import re
from dataclasses import fields
from itertools import pairwise
from typing import Any
from urllib.parse import urldefrag, urljoin, urlsplit

from siftline.ingest.page.charset import decode
from siftline.ingest.page.maintext import main_text
from siftline.ingest.page.metadata import TITLE_MAX_CHARS, Metadata, MetadataReader
from siftline.ingest.page.notices import CONSENT_WALL, PAYWALLED, check_wall, is_paywalled
from siftline.ingest.page.page_tree import Outline, parse
from siftline.ingest.page.pdf import is_pdf, read_pdf
from siftline.ingest.page.plain import clean_line, clean_text, count_words, paragraphs
from siftline.ingest.page_model import (
    A_FEED,
    MAX_TEXT_CHARS,
    MEDIA_TYPES,
    EmptyContentError,
    EntryText,
    OnlyRedirectsError,
    Page,
    PageTooLargeError,
    PdfUnreadableError,
    Stated,
    UnsupportedContentTypeError,
)
from siftline.kit.errors import PermanentError
from siftline.net.urls import validate_url
from siftline.text.readable import looks_binary
from siftline.text.words import extent

MAX_BYTES = 10_000_000

_PDF = frozenset({"application/pdf", "application/x-pdf"})
_MAYBE_HTML = frozenset({"", "application/xml", "text/xml", "application/octet-stream"}) | _PDF
_PLAYED = frozenset({"video", "audio"})
# Possessive and atomic: a page of broken comments must not make it try every way to read them.
_BEFORE = r"\s*+(?>(?><\?xml[^>]*+>|<!--.*?-->)\s*+)*+"
_LOOKS_HTML = re.compile(
    rf"{_BEFORE}<(?:!doctype\s+html|html|head|body|title|article|main|div|p|h1)\b", re.IGNORECASE | re.DOTALL
)
_LOOKS_FEED = re.compile(rf"{_BEFORE}<(?:rss|feed|rdf:RDF)\b", re.IGNORECASE | re.DOTALL)
_JSON = "application/json"
# The address that a JSON Feed names as its version (jsonfeed.org, "Top-level"), its slashes escaped or not.
_JSON_FEED = re.compile(r""""version"\s*+:\s*+"https?:\\?/\\?/jsonfeed\.org\\?/version""")
# Where a page's markup sends its visitors (HTML, "refresh" of ``http-equiv``): told, but not followed.
_REFRESH = re.compile(
    r"""\s*(?P<seconds>\d{1,9})[\d.]*\s*[;,\s]\s*(?:url\s*=\s*)?(?P<quote>["']?)(?P<url>.+?)(?P=quote)\s*""",
    re.IGNORECASE,
)
_ZEROS_MAX_RATIO = 0.1
"""Of a text that was decoded rightly; a stray zero is nothing."""
_SOON_S = 60
_CONTENT_CHARS = 4_096
_SENT_ON_WORDS = 25
"""A page that says more than this is one, even if it sends its visitors on."""

PLAYED_CHARS = 500
"""A page with a player that says no more than this is about what is played."""
LIST_CHARS = 2_000
"""A list's text is at most its beginning: its description and its headlines."""

_TEASERS_MIN = 10
_TEASERS_STATED = 5
_TEASER_CHARS = 20
_TEASERS_KEPT = 20
_PROSE_CHARS = 80
_TEASER_SHARE = 0.66
# Text in a row that no teaser has, and that a blog's front page has at most, which shows posts whole.
_EXCERPT_CHARS = 400
_POST_CHARS = 4_000
# A headline in an address is an article's.
_HEADLINE_WORDS = 4
_FRAME = ("nav", "footer", "aside", "header")


def read_page(body: bytes, content_type: str, url: str) -> Page:
    """Read a page of HTML, XHTML or plain text, or a PDF, which its bytes tell whatever it is sent as.

    ``content_type`` is the header as sent, parameters included. Raises the leaves of
    ``siftline.ingest.page_model`` that are about pages.
    """
    media_type = content_type.split(";", maxsplit=1)[0].strip().lower()
    pdf = is_pdf(body)
    if media_type and media_type not in MEDIA_TYPES and not pdf:
        raise _unreadable(media_type[:100])
    if len(body) > MAX_BYTES:
        raise PageTooLargeError("The page is too large to read.")
    if pdf:
        return read_pdf(body, url)
    text = _decoded(body, content_type, called=_JSON if media_type == _JSON else "binary data")
    if media_type == "text/plain":
        return _plain_page(text, url)
    if _LOOKS_FEED.match(text[:4_096]) or (media_type == _JSON and _JSON_FEED.search(text)):
        raise UnsupportedContentTypeError(A_FEED)
    if media_type == _JSON:
        raise _unreadable(_JSON)
    if media_type in _MAYBE_HTML and not _LOOKS_HTML.match(text[:4_096]):
        if not text.strip():
            raise EmptyContentError("The page is empty.")
        if media_type in _PDF:
            raise PdfUnreadableError("The address claims to be a PDF but is not.")
        raise UnsupportedContentTypeError("The address does not return a readable page.")
    return _html_page(text, url)


def read_entry(entry_html: str | None) -> EntryText:
    """Return the text of a feed entry's HTML (or plain text); markup that no entry has counts as no text."""
    text = ""
    if entry_html:
        try:
            text = clean_text("\n\n".join(paragraphs(parse(f"<html><body><div>{entry_html}</div></body></html>").root)))
        except PermanentError:
            text = ""
    return EntryText(text, count_words(text))


def _unreadable(what: str) -> UnsupportedContentTypeError:
    return UnsupportedContentTypeError(f"The address returned {what}, which cannot be read as text.")


def _decoded(body: bytes, content_type: str, *, called: str) -> str:
    text = "\0" if looks_binary(body) else decode(body, content_type)
    if text.count("\0") > _ZEROS_MAX_RATIO * len(text):
        raise _unreadable(called)
    return text


def _html_page(text: str, url: str) -> Page:
    markup = parse(text)
    page = markup.outline
    metadata = MetadataReader(page, url).read()
    article = main_text(markup, metadata.titles)
    walled = check_wall(page, metadata, article, text, url)
    kind = _kind_of(page, metadata, article.text, url)
    found, notice = _cut(article.text), None
    if walled:
        found, notice = metadata.description or "", CONSENT_WALL
    elif kind == "list":
        found = _list_text(page, metadata) or found
    elif kind in _PLAYED and extent(found) < PLAYED_CHARS:
        found = max(found, metadata.description or "", key=len)
    if not walled and kind not in _PLAYED and count_words(found) <= _SENT_ON_WORDS and (target := _sent_to(page, url)):
        raise OnlyRedirectsError(f"The page only redirects its visitors. Save its target instead: {target}")
    if not found and not walled and kind not in _PLAYED:
        raise EmptyContentError("The page contains no text.")
    if notice is None and is_paywalled(page, metadata.locked_parts, found):
        notice = PAYWALLED
    stated: dict[str, Any] = {field.name: getattr(metadata, field.name) for field in fields(Stated)} | {"kind": kind}
    return Page(**stated, text=found, word_count=count_words(found), notice_code=notice)


def _sent_to(page: Outline, url: str) -> str | None:
    """Return the other address that a page sends its visitors to within a minute, if it does."""
    for place in page.named.get("meta", ()):
        node = page.nodes[place]
        if node.get("http-equiv", "").strip().lower() != "refresh":
            continue
        match = _REFRESH.fullmatch(node.get("content", "")[:_CONTENT_CHARS])
        if match is None or int(match["seconds"]) > _SOON_S:
            continue
        try:
            target = validate_url(urljoin(url, match["url"]))
        except (PermanentError, ValueError):
            continue
        if urldefrag(target).url != urldefrag(url).url:
            return target
    return None


def _plain_page(text: str, url: str) -> Page:
    text = _cut(clean_text(text))
    if not text:
        raise EmptyContentError("The page is empty.")
    name = urlsplit(url).path.rpartition("/")[2]
    title = clean_line(text.partition("\n")[0], TITLE_MAX_CHARS) or clean_line(name, TITLE_MAX_CHARS)
    return Page(title=title, text=text, word_count=count_words(text))


def _cut(text: str) -> str:
    if len(text) <= MAX_TEXT_CHARS:
        return text
    head = text[:MAX_TEXT_CHARS]
    return (head.rpartition("\n\n")[0] or head).rstrip()


def _kind_of(page: Outline, stated: Metadata, text: str, url: str) -> str:
    """Return ``article``, ``list``, ``video`` or ``audio``; ``text`` is what was found of its article."""
    if stated.kind != "article":
        return stated.kind
    if stated.player and extent(text) < PLAYED_CHARS:
        return stated.player
    return "list" if not stated.is_article and _is_list(page, stated, url) else "article"


def _list_text(page: Outline, stated: Metadata) -> str:
    """Return what a list is about: its description, then its first headlines, each on a line."""
    lines: list[str] = []
    for place in _teasers(page):
        line = " ".join(page.text[page.begin[place] : page.end[place]].split())
        if line not in lines:
            lines.append(line)
        if len(lines) == _TEASERS_KEPT:
            break
    return "\n\n".join(part for part in (stated.description, "\n".join(lines)) if part)[:LIST_CHARS]


def _is_list(page: Outline, stated: Metadata, url: str) -> bool:
    """Tell a page of teasers from an article with others beside it: there, much text stands in a row."""
    teasers = _teasers(page)
    likely = stated.is_list or not urlsplit(url).path.strip("/")
    if len(teasers) < (_TEASERS_STATED if likely else _TEASERS_MIN) or (not likely and _ends_in_headline(url)):
        return False
    longest = _POST_CHARS if likely else _EXCERPT_CHARS
    spans = [(0, 0), *((page.begin[place], page.end[place]) for place in teasers), (len(page.text),) * 2]
    return all(_prose_chars(page.text[end:begin]) < longest for (_, end), (begin, _) in pairwise(spans))


def _teasers(page: Outline) -> list[int]:
    """Return the places of the links that read like headlines, outside of what frames a page, in order."""
    framed = sorted((place, page.last[place]) for name in _FRAME for place in page.named.get(name, ()))
    found, frame_end, at = [], 0, 0
    for place in page.named.get("a", ()):
        while at < len(framed) and framed[at][0] <= place:
            frame_end = max(frame_end, framed[at][1])
            at += 1
        chars = page.chars(place)
        # A link within a sentence is none.
        if place >= frame_end and chars >= _TEASER_CHARS and chars >= _TEASER_SHARE * page.chars(page.parents[place]):
            found.append(place)
    return found


def _ends_in_headline(url: str) -> bool:
    words = re.split(r"[-_]", urlsplit(url).path.rstrip("/").rpartition("/")[2])
    return sum(map(bool, words)) >= _HEADLINE_WORDS


def _prose_chars(text: str) -> int:
    return sum(chars for line in text.split("\n") if (chars := extent(line)) >= _PROSE_CHARS)
