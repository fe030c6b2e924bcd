"""Strangers' text and HTML made safe to store: plain titles, sanitised bodies, absolute links."""

import html
import re
from urllib.parse import urljoin

import nh3

from siftline.kit.errors import PermanentError
from siftline.kit.urls import validate_url

TITLE_MAX_CHARS = 1_000
DESCRIPTION_MAX_CHARS = 500
HTML_MAX_CHARS = 1_000_000

# What neither XML nor PostgreSQL takes in text: control characters, lone surrogates, non-characters.
_ILLEGAL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff]")
_SPACE = re.compile(r"\s+")
_BREAK = re.compile(
    r"<(?:br|/?(?:p|div|li|ul|ol|h[1-6]|tr|td|blockquote|pre|figure|figcaption))\b[^>]*>", re.IGNORECASE
)
_SCHEMES = {"http", "https", "mailto"}
_IMAGE = re.compile(r'<img [^>]*?src="([^"]+)"')


def legal(text: str) -> str:
    """Return text without the characters that neither XML nor PostgreSQL takes."""
    return _ILLEGAL.sub("", text)


def line(text: str, max_chars: int = TITLE_MAX_CHARS) -> str:
    """Return plain text as one line."""
    return _SPACE.sub(" ", legal(text)).strip()[:max_chars].rstrip()


def text_of(markup: str, max_chars: int = TITLE_MAX_CHARS) -> str:
    """Return the text of HTML as one line: no tags, no scripts, entities resolved."""
    spaced = _BREAK.sub(r" \g<0>", markup[:HTML_MAX_CHARS])
    return line(html.unescape(nh3.clean(spaced, tags=set())), max_chars)


def escaped(text: str) -> str:
    """Return plain text as HTML, its blank lines as paragraphs."""
    paragraphs = re.split(r"\n\s*\n", legal(text[:HTML_MAX_CHARS]).strip())
    return "".join(f"<p>{html.escape(paragraph)}</p>" for paragraph in paragraphs if paragraph)


def sanitised(markup: str, base_url: str | None) -> str:
    """Return HTML with harmless elements and attributes only, its links and images absolute, http(s) or mailto.

    Relative addresses are resolved against ``base_url``, and dropped without one.
    """
    cleaner = nh3.Cleaner(url_schemes=_SCHEMES, url_relative=("rewrite_with_base", base_url) if base_url else "deny")
    return cleaner.clean(legal(markup[:HTML_MAX_CHARS])).strip()


def absolute(address: object, base_url: str | None = None) -> str | None:
    """Return an address as an absolute http(s) URL, or ``None`` when it is none."""
    if not isinstance(address, str) or not address.strip():
        return None
    try:
        return validate_url(urljoin(base_url or "", address.strip()))
    except (ValueError, PermanentError):
        return None


def first_image(clean_html: str) -> str | None:
    """Return the address of the first image in sanitised HTML."""
    found = _IMAGE.search(clean_html)
    return absolute(html.unescape(found[1])) if found else None
