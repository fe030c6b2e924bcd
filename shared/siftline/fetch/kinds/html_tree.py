"""A page as a tree, for what is looked up in pages instead of feeds. Runs in the child process only."""

import codecs
import re
from typing import Any
from urllib.parse import urljoin

from lxml import etree, html

from siftline.fetch.feed import sanitised

_CHARSET = re.compile(r"""charset\s*=\s*["']?([\w:.-]+)""", re.IGNORECASE)
_META = re.compile(rb"""<meta[^>]{0,200}?charset\s*=\s*["']?\s*([\w:.-]+)""", re.IGNORECASE)
_LATIN = frozenset({"iso-8859-1", "iso8859-1", "latin1", "latin-1", "us-ascii", "ascii"})
_META_WITHIN_BYTES = 4_096
_MARKS = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "UTF-16LE"), (codecs.BOM_UTF16_BE, "UTF-16BE"))


def tree_of(body: bytes, *, content_type: str = "") -> Any:
    """Return a page's root element, or ``None`` for one without any."""
    parser = html.HTMLParser(encoding=_encoding(body, content_type), no_network=True, remove_comments=True)
    try:
        return html.document_fromstring(body, parser=parser, ensure_head_body=True)
    except (etree.ParserError, etree.XMLSyntaxError, ValueError):
        return None


def base_of(tree: Any, url: str) -> str:
    """Return what a page's relative links count from: its first ``<base href>``, else its own address."""
    base = next((element.get("href") for element in tree.iter("base") if element.get("href")), "")
    try:
        return sanitised.absolute(urljoin(url, base.strip())) or url
    except ValueError:
        return url


def link_of(element: Any, base_url: str) -> str | None:
    """Return where an element's ``href`` leads, without its fragment; ``None`` unless that is http(s)."""
    href = (element.get("href") or "").strip()
    if not href or href.startswith("#"):
        return None
    found = sanitised.absolute(href, base_url)
    return found.partition("#")[0] if found and not _routed(found) else found


def _routed(url: str) -> bool:
    return url.partition("#")[2].startswith(("!", "/"))


def _encoding(body: bytes, content_type: str) -> str:
    """Return the character set to read with (HTML, section 13.2.3.2, in short)."""
    for mark, name in _MARKS:
        if body.startswith(mark):
            return name
    meta = _META.search(body[:_META_WITHIN_BYTES])
    header = _CHARSET.search(content_type)
    for name in (header[1] if header else "", meta[1].decode() if meta else ""):
        # A page whose <meta> can be read is in no UTF-16, and who says Latin-1 means Windows.
        if name.lower().startswith("utf-16"):
            continue
        if name.lower() in _LATIN:
            return "windows-1252"
        if name and _known(name):
            return name
    try:
        body.decode("utf-8")
    except UnicodeDecodeError:
        return "windows-1252"
    return "utf-8"


def _known(name: str) -> bool:
    try:
        html.HTMLParser(encoding=name)
    except LookupError:
        return False
    return True
