"""Text as it is stored: paragraphs parted by an empty line, without what PostgreSQL or a reader cannot use."""

import re
from collections.abc import Collection

from lxml import etree

from siftline.kit.lines import line
from siftline.text.normal_form import nfc
from siftline.text.words import UNPARTED

# Elements that stand on lines of their own; the first group begins a new paragraph, the second only a new line.
# Trafilatura's own names (head, quote, list, item, row, lb) are among them.
_PARAGRAPHS = frozenset(
    {
        *("address", "article", "aside", "blockquote", "body", "code", "details", "div", "dl", "fieldset"),
        *("figcaption", "figure", "footer", "form", "h1", "h2", "h3", "h4", "h5", "h6", "head", "header", "hr", "html"),
        *("list", "main", "nav", "ol", "p", "pre", "quote", "section", "table", "ul"),
    }
)
_LINES = frozenset({"br", "caption", "dd", "dt", "item", "lb", "legend", "li", "option", "row", "summary", "tr"})
_CELLS = frozenset({"cell", "td", "th"})
_SILENT = frozenset(
    {
        *("audio", "button", "canvas", "dialog", "embed", "iframe", "input", "math", "noscript", "object", "script"),
        *("select", "style", "svg", "template", "textarea", "title", "video"),
    }
)
# C0 and C1 controls but line feed, lone surrogates, soft hyphen, zero-width space, byte order mark, non-characters.
_UNWANTED = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u200b\ufeff\ufffe\uffff\ud800-\udfff]")
_SPACES = re.compile(r"[^\S\n]+")
_WORD = re.compile(r"\w+")
# Scripts that part no words: each character counts as one.
_UNPARTED = re.compile(f"[{UNPARTED}]")


def clean_text(text: str) -> str:
    """Return ``text`` in normal form C, spaces collapsed, at most one empty line in a row, unusable characters gone."""
    text = nfc(_UNWANTED.sub("", text.replace("\r\n", "\n").replace("\r", "\n")))
    lines = [_SPACES.sub(" ", line).strip() for line in text.split("\n")]
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip()


def clean_line(text: str | None, max_chars: int) -> str | None:
    """Return ``text`` on one line, cut to ``max_chars``; ``None`` when nothing is left."""
    whole = nfc(line(text or "", 2 * max_chars))
    return (whole if len(whole) <= max_chars else whole[: max_chars - 1].rstrip() + "…") or None


def beginning(element: etree._Element, max_chars: int) -> str:
    """Return the beginning of an element's text.

    The text of each of many nested elements, taken whole, would be the square of the page.
    """
    pieces: list[str] = []
    for piece in element.itertext():
        pieces.append(piece[:max_chars])
        max_chars -= len(piece)
        if max_chars <= 0:
            break
    return "".join(pieces)


def count_words(text: str) -> int:
    """Count words; in scripts without spaces (Chinese, Japanese, Thai and their kin) each character is one."""
    unparted = len(_UNPARTED.findall(text))
    return unparted + len(_WORD.findall(_UNPARTED.sub(" ", text) if unparted else text))


def paragraphs(element: etree._Element, *, without: Collection[str] = ()) -> list[str]:
    """Return the text of an element's blocks, in order; lines within a block (list items, rows) are parted by ``\\n``.

    What stands in elements named ``without`` is left out. Neither recursive nor quadratic, whatever the markup.
    """
    writer = _Writer()
    silent: etree._Element | None = None
    unread = _SILENT.union(without)
    for event, node in etree.iterwalk(element, events=("start", "end", "comment", "pi")):
        if event == "start":
            if silent is None and node.tag in unread and node is not element:
                silent = node
            if silent is None:
                writer.boundary(node.tag)
                writer.write(node.text)
            continue
        if event == "end":
            if silent is None:
                writer.boundary(node.tag)
            elif silent is node:
                silent = None
        if silent is None and node is not element:
            writer.write(node.tail)
    return writer.blocks()


class _Writer:
    def __init__(self) -> None:
        self._blocks: list[list[str]] = [[]]

    def boundary(self, tag: object) -> None:
        if tag in _PARAGRAPHS:
            if self._blocks[-1]:
                self._blocks.append([])
        elif tag in _LINES:
            self._blocks[-1].append("\n")
        elif tag in _CELLS:
            self._blocks[-1].append(" ")

    def write(self, text: str | None) -> None:
        if text:
            self._blocks[-1].append(text.replace("\n", " "))

    def blocks(self) -> list[str]:
        cleaned = (re.sub(r"\n{2,}", "\n", clean_text("".join(pieces))) for pieces in self._blocks)
        return [block for block in cleaned if block]
