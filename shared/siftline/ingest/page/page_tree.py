"""HTML into a tree, within limits that no page for people comes near; and its outline, which the readers ask for again.

The limits are there because the parser's time grows with the square of a tag's attributes and trafilatura's with more
than the number of elements; what is deeper than the parser goes is silently lost.
"""

import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import accumulate

from lxml import etree, html

from siftline.ingest.page_model import EmptyContentError, PageTooComplexError, PageTooLargeError

_MUTE = frozenset({"script", "style"})

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


@dataclass(slots=True)
class Outline:
    """The elements of a tree as it was when this was made. An element is named by its place in document order.

    Holding the elements keeps lxml from making its objects for them anew at each later walk, which would cost as much
    as reading the page.
    """

    nodes: list[html.HtmlElement] = field(default_factory=list)
    parents: list[int] = field(default_factory=list)
    """The place of each element's parent; the root's is -1."""
    last: list[int] = field(default_factory=list)
    """The place behind each element's last descendant."""
    begin: list[int] = field(default_factory=list)
    end: list[int] = field(default_factory=list)
    """Where each element's text, that of its descendants included, stands in ``text``."""
    named: dict[str, list[int]] = field(default_factory=lambda: defaultdict(list))
    """The places of the elements of each name, in order."""
    text: str = ""
    """All text but that of scripts and styles, each piece on a line."""
    depth: int = 0

    def of(self, *names: str) -> Iterator[html.HtmlElement]:
        """Yield the elements of these names, name by name."""
        for name in names:
            for place in self.named.get(name, ()):
                yield self.nodes[place]

    def chars(self, place: int) -> int:
        """Return the length of an element's text."""
        return self.end[place] - self.begin[place]


def outline(root: html.HtmlElement) -> Outline:
    """Return the outline of a tree without comments."""
    found = Outline()
    nodes, parents, last = found.nodes, found.parents, found.last
    begin, end, named = found.begin, found.end, found.named
    above = [-1]
    pieces: list[str] = []
    length = deepest = 0
    for event, node in etree.iterwalk(root, events=("start", "end")):
        if event == "start":
            place, name = len(nodes), node.tag
            nodes.append(node)
            parents.append(above[-1])
            above.append(place)
            last.append(place)
            begin.append(length)
            end.append(length)
            named[name].append(place)
            text = None if name in _MUTE else node.text
            deepest = max(deepest, len(above))
        else:
            place = above.pop()
            last[place] = len(nodes)
            end[place] = length
            text = node.tail
        if text and not text.isspace():
            pieces.append(text)
            length += len(text) + 1
    found.depth = deepest - 1
    found.text = "\n".join(pieces)
    return found


def written_before(page: Outline) -> list[int]:
    """Return how many characters stand in paragraphs before each element, and at the end."""
    chars = [0] * len(page.nodes)
    for place in page.named.get("p", ()):
        chars[place] = page.chars(place)
    return [0, *accumulate(chars)]


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
