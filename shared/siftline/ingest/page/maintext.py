"""The text of a page, without what stands around it: trafilatura on a page put in order, or all its text."""

import re
from collections import Counter
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from itertools import pairwise

from lxml import etree, html
from trafilatura import bare_extraction
from trafilatura.settings import Document, Extractor

from siftline.ingest.page.clearing import clear
from siftline.ingest.page.outline import Outline
from siftline.ingest.page.page_tree import Markup
from siftline.ingest.page.plain import clean_text, paragraphs
from siftline.kit.log import logger

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
        consent = clear(page.outline)
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
