"""HTML into a tree, within limits that no page for people comes near.

The limits are there because the parser's time grows with the square of a tag's attributes and trafilatura's with more
than the number of elements; what is deeper than the parser goes is silently lost.
"""

import re
from dataclasses import dataclass

from lxml import etree, html

from siftline.ingest.page.outline import Outline, outline
from siftline.ingest.page_errors import EmptyContentError, PageTooComplexError, PageTooLargeError

MAX_CHARS = 10_000_000
MAX_ELEMENTS = 200_000
MAX_ATTRIBUTES = 2_000
MAX_DEPTH = 2_000
"""libxml2 stops at 2,048."""

_ATTRIBUTE = rb"""[\s/]*+[^\s/>][^\s/>=]*+(?:\s*+=\s*+(?:"[^"]*+"|'[^']*+'|[^\s>"'][^\s>]*+)?+)?+"""
# Start tags and comments, as the HTML standard's tokenizer parts them. Possessive throughout: linear on any input.
_TAG = re.compile(
    rb"<!--(?:-?>|.*?--!?>|.*\Z)|<([a-z][^\s/>]*+)((?:" + _ATTRIBUTE + rb")*+)", re.IGNORECASE | re.DOTALL
)
_ATTRIBUTES = re.compile(_ATTRIBUTE)
# What needs no look: text, comments, end tags, and start tags of few attributes whose content is markup.
_PLAIN = re.compile(
    rb"(?:[^<]++|<!--(?:-?>|.*?--!?>)|<(?![a-z]|!--)|<(?!(?:script|style|textarea|title|xmp)[\s/>])[a-z][^\s/>]*+(?:"
    + _ATTRIBUTE
    + rb"){0,%d}+[\s/]*+>)*+" % MAX_ATTRIBUTES,
    re.IGNORECASE | re.DOTALL,
)
# Elements whose content is text, whatever it looks like.
_RAW = {name: re.compile(rb"</" + name, re.IGNORECASE) for name in (b"script", b"style", b"textarea", b"title", b"xmp")}


@dataclass(frozen=True, slots=True)
class Markup:
    """A parsed page."""

    root: html.HtmlElement
    outline: Outline


def parse(text: str) -> Markup:
    """Parse a page. Raises ``PageTooLargeError``, ``PageTooComplexError``, and ``EmptyContentError`` for no markup."""
    if len(text) > MAX_CHARS:
        raise PageTooLargeError("The page is too large to read.")
    markup = text.encode("utf-8", "replace")
    _check_tags(markup)
    # The declared encoding is stale now; naming ours makes the parser ignore it.
    parser = html.HTMLParser(encoding="utf-8", huge_tree=True, remove_comments=True, remove_pis=True)
    try:
        root = html.document_fromstring(markup, parser=parser)
    except (etree.ParserError, ValueError) as error:
        raise EmptyContentError("The page is empty.") from error
    except etree.XMLSyntaxError as error:
        # Every fault of a page is mended; without a tree and without a word it comes back only when memory ran out.
        raise MemoryError from error
    if root.xpath("count(descendant-or-self::*)") > MAX_ELEMENTS:
        raise _too_complex()
    found = outline(root)
    if found.depth > MAX_DEPTH:
        raise _too_complex()
    return Markup(root, found)


def _check_tags(markup: bytes) -> None:
    place = tags = 0
    few = markup.count(b"<") <= MAX_ELEMENTS
    while match := _TAG.search(markup, _behind_plain(markup, place) if few else place):
        place = match.end()
        if match[1] is None:
            continue
        tags += 1
        if tags > MAX_ELEMENTS:
            raise _too_complex()
        if len(match[2]) > MAX_ATTRIBUTES and sum(1 for _ in _ATTRIBUTES.finditer(match[2])) > MAX_ATTRIBUTES:
            raise _too_complex()
        if raw := _RAW.get(match[1].lower()):
            end = raw.search(markup, place)
            if end is None:
                return
            place = end.start()


def _behind_plain(markup: bytes, place: int) -> int:
    plain = _PLAIN.match(markup, place)
    return plain.end() if plain else place


def _too_complex() -> PageTooComplexError:
    return PageTooComplexError("The page's markup is too large or too deeply nested to read.")
