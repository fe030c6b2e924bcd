"""What a page states, gathered: its meta elements, its microdata, its links, and its JSON-LD (schema.org).

The last is read leniently: other people write it by hand.
"""

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from html import unescape
from itertools import islice
from typing import Any
from urllib.parse import urljoin

from lxml import html

from siftline.ingest.page.page_tree import Outline
from siftline.ingest.page.plain import beginning
from siftline.kit.errors import PermanentError
from siftline.net.urls import canonical_url, validate_url

_MAX_CHARS = 1_000_000
_MAX_DEPTH = 8
_MAX_NODES = 2_000
_ARTICLE = re.compile(r"(?:Article|Posting|Report|Review|Recipe|Essay)$")
_MEDIA = {
    **dict.fromkeys(("VideoObject", "Clip", "Movie", "TVEpisode", "BroadcastEvent"), "video"),
    **dict.fromkeys(("AudioObject", "PodcastEpisode", "RadioEpisode", "MusicRecording", "Audiobook"), "audio"),
}
_LISTS = frozenset({"CollectionPage", "SearchResultsPage", "ProfilePage"})
_WITHIN = ("@graph", "mainEntity", "mainEntityOfPage", "hasPart", "video", "audio", "associatedMedia", "subjectOf")
_FENCE = re.compile(r"^\s*(?:<!--|//\s*<!\[CDATA\[|/\*\s*<!\[CDATA\[\s*\*/|<!\[CDATA\[)|(?://\s*)?(?:\]\]>|-->)\s*$")

Node = dict[str, Any]

STATED_MAX = 50
"""No page for people states one thing more often: headings of the first rank, authors, links of a kind."""
READ_CHARS = 5_000
"""What is read of an element for a line of metadata: markup indents."""


class LinkedData:
    """All that a page's scripts say, in order."""

    def __init__(self, scripts: Iterable[str]) -> None:
        self.nodes: list[Node] = []
        for script in scripts:
            for node in _nodes(script):
                if len(self.nodes) < _MAX_NODES:
                    self.nodes.append(node)
        self._by_id = {node["@id"]: node for node in reversed(self.nodes) if isinstance(node.get("@id"), str)}
        self.media = next((node for node in self.nodes if media_kind(node)), {})
        """The first video or audio, else an empty node."""
        self.article = next((node for node in self.nodes if any(map(_ARTICLE.search, kinds(node)))), {})
        """The first article, else an empty node."""
        self.is_list = any(_LISTS.intersection(kinds(node)) for node in self.nodes)

    @property
    def main(self) -> Node:
        """The article, else the video or audio, else an empty node."""
        return self.article or self.media

    def text(self, node: Node, key: str, *, inner: str = "name") -> str | None:
        """Return the text of a property: itself, its ``inner`` one, or those of its members joined by a comma."""
        return self._text(node.get(key), inner, _MAX_DEPTH)

    def _text(self, value: Any, inner: str, depth: int) -> str | None:
        if depth == 0:
            return None
        if isinstance(value, str):
            return unescape(value)
        if isinstance(value, dict):
            if inner not in value:
                known = value.get("@id")
                value = self._by_id.get(known, value) if isinstance(known, str) else value
            return self._text(value.get(inner), inner, depth - 1)
        if isinstance(value, list):
            texts = [text for member in value if (text := self._text(member, inner, depth - 1))]
            return ", ".join(dict.fromkeys(texts)) or None
        return None

    def first_address(self, node: Node, *keys: str) -> str | None:
        """Return the first address under these properties: a string, an object with an ``url``, or a list of them."""
        for key in keys:
            value = node.get(key)
            while isinstance(value, list):
                value = next(iter(value), None)
            for inner in ("url", "contentUrl"):
                if found := self._text(value, inner, 3):
                    return found
        return None

    def locked_parts(self) -> list[str] | None:
        """Return the CSS selectors of what only subscribers may read; ``None`` where the page is for everybody.

        Empty where the page says that it is not free, and not which part of it
        (developers.google.com/search/docs/appearance/structured-data/paywalled-content).
        """
        stated = [node for node in self.nodes if "isAccessibleForFree" in node]
        wholes = [node for node in stated if "cssSelector" not in node]
        parts = [node for node in stated if "cssSelector" in node and _is_false(node["isAccessibleForFree"])]
        if any(not _is_false(node["isAccessibleForFree"]) for node in wholes if node is self.article):
            return None
        if not parts and not any(_is_false(node["isAccessibleForFree"]) for node in wholes):
            return None
        selectors = [part["cssSelector"] for part in parts]
        return [
            text for value in selectors for text in (value if isinstance(value, list) else [value]) if _is_text(text)
        ]


def kinds(node: Node) -> list[str]:
    """Return a node's types without their vocabulary's address."""
    value = node.get("@type")
    names = value if isinstance(value, list) else [value]
    return [name.rsplit("/", 1)[-1] for name in names if isinstance(name, str)]


def media_kind(node: Node) -> str | None:
    """Return ``video`` or ``audio`` for a node that is one."""
    return kind_of_types(kinds(node))


def kind_of_types(names: Iterable[str]) -> str | None:
    """Return ``video`` or ``audio`` for a type of schema.org that is one."""
    return next((_MEDIA[name] for name in names if name in _MEDIA), None)


def is_article_type(name: str) -> bool:
    """Tell whether a type of schema.org is an article's."""
    return _ARTICLE.search(name) is not None


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and bool(value.strip())


def _is_false(value: Any) -> bool:
    return value is False or (
        isinstance(value, str) and value.rsplit("/", 1)[-1].strip().lower() in {"false", "no", "0"}
    )


def _nodes(text: str) -> Iterator[Node]:
    if len(text) > _MAX_CHARS:
        return
    try:
        value = json.loads(_FENCE.sub("", text), strict=False)
    except (ValueError, RecursionError):
        return
    yield from _walk(value, 0)


def _walk(value: Any, depth: int) -> Iterator[Node]:
    """Yield a node, then what it is about; graphs and lists are only containers."""
    if depth > _MAX_DEPTH:
        return
    if isinstance(value, list):
        for member in value:
            yield from _walk(member, depth + 1)
    elif isinstance(value, dict):
        yield value
        for key in _WITHIN:
            yield from _walk(value.get(key), depth + 1)


class Statements:
    """What the page at ``url`` states."""

    def __init__(self, page: Outline, url: str) -> None:
        self._page = page
        self._base = _base(page, url)
        self._meta: dict[str, str] = {}
        for node in page.of("meta"):
            name = node.get("property") or node.get("name") or node.get("itemprop") or node.get("http-equiv") or ""
            content = (node.get("content") or "").strip()
            if name and content:
                self._meta.setdefault(name.strip().lower(), content)
        self.props: dict[str, list[html.HtmlElement]] = defaultdict(list)
        """The elements of each microdata property, not all of many."""
        self.types: list[str] = []
        """The types of its microdata, without their vocabulary's address."""
        for node in page.nodes:
            for name in node.get("itemprop", "").split():
                if len(self.props[name]) < STATED_MAX:
                    self.props[name].append(node)
            if kind := node.get("itemtype"):
                self.types.append(kind.strip().rsplit("/", 1)[-1])
        self.linked = LinkedData(node.text or "" for node in page.of("script") if _is_linked_data(node))

    def first(self, *names: str) -> str | None:
        """Return the first of these meta elements that the page has."""
        return next((self._meta[name] for name in names if name in self._meta), None)

    def links(self, rel: str) -> Iterator[html.HtmlElement]:
        """Yield the ``link`` elements of a relation."""
        nodes = (node for node in self._page.of("link") if rel in (node.get("rel") or "").lower().split())
        return islice(nodes, STATED_MAX)

    def address(self, text: str | None) -> str | None:
        """Resolve an address against the page's base; a bad one is no address (``http://[``)."""
        return _joined(self._base, text.strip()) if text and text.strip() else None


def value_of(node: html.HtmlElement) -> str:
    """Return the value of a microdata property (HTML standard, section 5.2.4), a thing's by its name."""
    if "itemscope" in node.attrib:
        named = node.find('.//*[@itemprop="name"]')
        node = node if named is None else named
    return node.get("content") or node.get("datetime") or beginning(node, READ_CHARS)


def _is_linked_data(script: html.HtmlElement) -> bool:
    kind: str = script.get("type", "")
    return kind.split(";", maxsplit=1)[0].strip().lower() == "application/ld+json"


def _base(page: Outline, url: str) -> str:
    stated = next((node.get("href", "").strip() for node in page.of("base")), "")
    return (_joined(url, stated) if stated else None) or url


def _joined(base: str, text: str) -> str | None:
    """Resolve an address against a base; a bad one is no address (``http://[``)."""
    try:
        address = validate_url(urljoin(base, text))
        canonical_url(address)
    except (ValueError, PermanentError):
        return None
    return address
