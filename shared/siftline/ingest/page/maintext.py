"""The text of a page, without what stands around it: trafilatura on a page put in order, or all its text.

In order means: consent dialogs are gone, pieces are joined, an article is freed.
"""

import re
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from itertools import pairwise

from lxml import etree, html
from trafilatura import bare_extraction
from trafilatura.settings import Document, Extractor

from siftline.ingest.page.consent import ConsentDialogs
from siftline.ingest.page.page_tree import Markup, Outline, outline, written_before
from siftline.ingest.page.plain import beginning, clean_text, paragraphs
from siftline.kit.log import logger

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

# Trafilatura takes about a quarter of a millisecond an element, and lxml's own recursion has a floor: beyond these, and
# when it finds nothing, the page's plain text without its frame is taken.
_ELEMENTS_MAX = 20_000
_DEPTH_MAX = 250
_MOVED_MAX_CHARS = 200_000_000
_FRAME = frozenset({"aside", "footer", "nav"})
# Below this trafilatura falls back on all of the page, menus included.
_SHORT_CHARS = 250
_PROSE_CHARS = 80
_MISSED_RATIO = 2.0
_LINKED_RATIO = 1.5
_HEADING_BLOCKS = 6
_HEADING_SHARE = 0.3
# Made once, because it takes a millisecond. The output format is what keeps trafilatura from writing the text as well,
# which is read off the tree here.
_FAST = Extractor(output_format="txt", comments=False, fast=True)
_THOROUGH = Extractor(output_format="txt", comments=False)
_log = logger("ingest")


def _clear(page: Outline) -> frozenset[int]:
    """Drop consent blocks, join an article's pieces, and turn an aside that holds most of the text into an article.

    Returns the places of what was dropped. Changes the tree; the outline stays that of the tree as it was.
    """
    gone = ConsentDialogs(page).places()
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


@dataclass(frozen=True, slots=True)
class Article:
    """What was found of a page's article."""

    text: str
    """Paragraphs parted by an empty line; ``""`` when the page holds none."""
    consent: frozenset[int]
    """The places of the consent dialogs that were dropped."""


def main_text(page: Markup, titles: Collection[str]) -> Article:
    """Return the article's text.

    ``titles`` are the names the page gives itself: what stands above such a line, and the line itself, is not its text.
    Changes ``page.root``.
    """
    blocks: list[str] = []
    consent: frozenset[int] = frozenset()
    if _is_bearable(page.outline):
        consent = _clear(page.outline)
        blocks = _extracted(page)
    if _size(blocks) < _SHORT_CHARS:
        framed = _framed(page.root)
        blocks = framed if not blocks or _size(framed) < _size(blocks) else blocks
    return Article(clean_text("\n\n".join(_below_title(_without_repeats(blocks), titles))), consent)


def _is_bearable(page: Outline) -> bool:
    """Tell whether trafilatura reads a page in the time that reading may take."""
    if len(page.nodes) > _ELEMENTS_MAX or page.depth > _DEPTH_MAX:
        return False
    if len(page.nodes) * len(page.text) <= _MOVED_MAX_CHARS:
        return True
    # Of each child that it drops it gives the text behind it to the one before: the square of many such texts.
    children, chars = Counter[int](), Counter[int]()
    for node, parent in zip(page.nodes, page.parents, strict=True):
        children[parent] += 1
        chars[parent] += len(node.tail or "")
    return sum(count * chars[parent] for parent, count in children.items()) <= _MOVED_MAX_CHARS


def _extracted(page: Markup) -> list[str]:
    try:
        found = _taken(page.root, _FAST)
        if found is None or _doubtful(page.outline, found):
            found = _taken(page.root, _THOROUGH)
    except (ValueError, TypeError, AttributeError, LookupError, RecursionError, etree.LxmlError) as error:
        # Other people's code on strangers' markup: the plain text is still better than no page.
        _log.warning("extraction_failed", error_code=type(error).__name__)
        return []
    return [] if found is None else paragraphs(found.body)


def _taken(root: html.HtmlElement, options: Extractor) -> Document | None:
    found = bare_extraction(root, options=options)
    return None if isinstance(found, dict) else found


def _doubtful(page: Outline, found: Document) -> bool:
    """Tell whether trafilatura's other extractors, which take as long again, could find something better.

    They can where it found little, next to the page's prose, or took more than all that is not links.
    """
    chars = len(found.raw_text or "")
    own = len(page.text) - sum(map(page.chars, page.named.get("a", ())))
    if chars < _SHORT_CHARS or chars > _LINKED_RATIO * own or _prose_chars(page) > _MISSED_RATIO * chars:
        return True
    counts = Counter(node.tag for node in found.body.iter())
    return counts["table"] > counts["p"] or not counts["p"]


def _prose_chars(page: Outline) -> int:
    """Return how much text stands on long lines, outside of what is no article's text in any page."""
    chars = place = 0
    frame = sorted((page.begin[at], page.end[at]) for name in _FRAME for at in page.named.get(name, ()))
    for begin, end in [*frame, (len(page.text), len(page.text))]:
        chars += sum(len(line) for line in page.text[place:begin].split("\n") if len(line) >= _PROSE_CHARS)
        place = max(place, end)
    return chars


def _framed(root: html.HtmlElement) -> list[str]:
    """Return the page's own text blocks, without navigation, header and footer."""
    holder = _longest(root, {"main", "article"})
    if holder is not None:
        return paragraphs(holder, without=_FRAME)
    body = root.find("body")
    return [] if body is None else paragraphs(body, without={*_FRAME, "header"})


def _longest(root: html.HtmlElement, names: Collection[str]) -> html.HtmlElement | None:
    """Return the element of these names with the most text; in one walk, however deep they are nested."""
    longest, most, total = None, -1, 0
    begun: list[int] = []
    for event, node in etree.iterwalk(root, events=("start", "end")):
        if event == "start":
            if node.tag in names:
                begun.append(total)
            total += len(node.text or "")
        else:
            if node.tag in names and (chars := total - begun.pop()) >= most:
                longest, most = node, chars
            total += len(node.tail or "")
    return longest


def _without_repeats(blocks: list[str]) -> list[str]:
    return blocks[:1] + [block for before, block in pairwise(blocks) if block != before]


def _below_title(blocks: list[str], titles: Collection[str]) -> list[str]:
    names = {_letters(title) for title in titles} - {""}
    above, most = 0, _HEADING_SHARE * _size(blocks)
    for place, block in enumerate(blocks[:_HEADING_BLOCKS]):
        if _letters(block) in names:
            return blocks[place + 1 :] or blocks
        above += len(block)
        if above > most:
            break
    return blocks


def _size(blocks: Iterable[str]) -> int:
    return sum(map(len, blocks))


def _letters(text: str) -> str:
    return re.sub(r"\W+", "", text).casefold()
