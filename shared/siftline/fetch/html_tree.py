"""A page as a tree, for what is looked up in pages instead of feeds. Runs in the child process only."""

import codecs
import re
from typing import Any
from urllib.parse import urljoin

from lxml import etree, html

from siftline.fetch import markup

_CHARSET = re.compile(r"""charset\s*=\s*["']?([\w:.-]+)""", re.IGNORECASE)
_META = re.compile(rb"""<meta[^>]{0,200}charset\s*=""", re.IGNORECASE)
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
        return markup.absolute(urljoin(url, base.strip())) or url
    except ValueError:
        return url


def link_of(element: Any, base_url: str) -> str | None:
    """Return where an element's ``href`` leads, without its fragment; ``None`` unless that is http(s)."""
    href = (element.get("href") or "").strip()
    if not href or href.startswith("#"):
        return None
    found = markup.absolute(href, base_url)
    return found.partition("#")[0] if found and not _routed(found) else found


def _routed(url: str) -> bool:
    return url.partition("#")[2].startswith(("!", "/"))


def _encoding(body: bytes, content_type: str) -> str | None:
    """Return the character set to read with; ``None`` where the page's own ``<meta>`` is to be followed."""
    for mark, name in _MARKS:
        if body.startswith(mark):
            return name
    named = _CHARSET.search(content_type)
    if named and _known(named[1]):
        return named[1]
    if _META.search(body[:_META_WITHIN_BYTES]):
        return None
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
