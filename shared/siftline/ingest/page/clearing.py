"""Puts a page in order before its text is looked for: consent dialogs go, pieces are joined, an article is freed."""

import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Collection
from itertools import pairwise

from lxml import etree, html

from siftline.ingest.page.consent import consent_blocks
from siftline.ingest.page.outline import Outline, outline, written_before
from siftline.ingest.page.plain import beginning

_UNREAD = (
    *("script", "style", "noscript", "template", "svg", "iframe", "link", "meta", "canvas", "object", "embed"),
    *("button", "select", "input", "textarea", "dialog", "nav", "footer", "aside", "menu"),
)
# Whose tags say nothing of the text in them.
_UNTOLD = (
    *("abbr", "acronym", "bdi", "bdo", "big", "cite", "data", "dfn", "font", "img", "ins", "mark", "nobr", "small"),
    *("tbody", "tfoot", "thead", "wbr"),
)
_PARAGRAPH_CHARS = 80
# Names of what holds a text, and of what holds other people's or other articles' texts.
_PIECE = re.compile(r"article|body|content|entry|post|story|text", re.IGNORECASE)
_NO_PIECE = re.compile(
    r"comment|repl(?:y|ies)|related|recommend|teaser|card|promo|sidebar|footer|review|widget|newsletter", re.IGNORECASE
)


def clear(page: Outline) -> frozenset[int]:
    """Drop consent blocks, join an article's pieces, and turn an aside that holds most of the text into an article.

    Returns the places of what was dropped. Changes the tree; the outline stays that of the tree as it was.
    """
    gone = consent_blocks(page)
    for place in gone:
        page.nodes[place].clear(keep_tail=True)  # not dropped, for the reason above
    if page.named.get("aside"):
        _free_article(outline(page.nodes[0]) if gone else page)
    _slim(page)
    _join_pieces(page, gone)
    return frozenset(gone)


def _slim(page: Outline) -> None:
    """Drop what nobody reads, before the tree is copied and searched again and again."""
    for node in page.of(*_UNREAD):
        parent = node.getparent()
        if node.tag not in _UNREAD or parent is None:
            continue
        if node.tag == "script" and node.get("type", "").lower().startswith("application/ld+json"):
            continue
        if not node.tail or node.tail.isspace():
            parent.remove(node)
        else:
            # Dropped, it would give its tail to the one before: with many such tails, the square of their length.
            # What it says of itself stays: a button's label may be one of its attributes.
            node.text = None
            del node[:]
    etree.strip_tags(page.nodes[0], *_UNTOLD)


def _free_article(page: Outline) -> None:
    written = written_before(page)
    paragraphs = [place for place in page.named.get("p", ()) if page.chars(place) >= _PARAGRAPH_CHARS]
    for place in page.named["aside"]:
        last = page.last[place]
        several = bisect_left(paragraphs, last) - bisect_left(paragraphs, place) >= 3
        if several and (written[last] - written[place]) * 2 > written[-1]:
            page.nodes[place].tag = "article"


def _join_pieces(page: Outline, gone: Collection[int]) -> None:
    """Move the paragraphs of a text that advertisements cut into several containers of one class into the first."""
    alike: dict[str, list[int]] = defaultdict(list)
    for name in ("div", "section"):
        for place in page.named.get(name, ()):
            alike[page.nodes[place].get("class", "")].append(place)
    homes: dict[int, int | None] = {-1: 0, **dict.fromkeys(gone)}
    for name, places in alike.items():
        if len(places) < 2 or not _PIECE.search(name):
            continue
        pieces: dict[int, list[int]] = defaultdict(list)
        for place in sorted(places):
            home = _home(page, place, homes)
            if home is not None and any(map(_says_something, page.nodes[place].iterchildren("p"))):
                pieces[home].append(place)
        for parts in pieces.values():
            if all(page.last[one] <= other for one, other in pairwise(parts)):
                for place in parts[1:]:
                    page.nodes[parts[0]].extend(list(page.nodes[place]))


def _home(page: Outline, place: int, homes: dict[int, int | None]) -> int | None:
    """Return the place of the ``article`` or ``main`` around an element, else 0; ``None`` in what is no article's text.

    ``homes`` keeps the answers.
    """
    above = []
    while place not in homes:
        above.append(place)
        place = page.parents[place]
    home = homes[place]
    for place in reversed(above):
        node = page.nodes[place]
        if node.tag not in {"html", "body"} and _NO_PIECE.search(f"{node.get('class', '')} {node.get('id', '')}"):
            home = None
        elif home is not None and node.tag in {"article", "main"}:
            home = place
        homes[place] = home
    return home


def _says_something(paragraph: html.HtmlElement) -> bool:
    return len(beginning(paragraph, 10 * _PARAGRAPH_CHARS).strip()) >= _PARAGRAPH_CHARS
