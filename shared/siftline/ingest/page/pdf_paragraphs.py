"""Paragraphs out of a PDF's lines: a PDF knows where letters stand, and nothing of paragraphs, headers or hyphens."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median

# What a paragraph's distance from the last is at least, and its first line's indent, in lines' distances and heights.
_GAP_RATIO = 1.3
_INDENT_RATIO = 0.6
_SHORT_RATIO = 0.75
# With fewer distances than these, the usual one is told by the letters' size.
_STEPS_TELLING = 3
_LEADING_RATIO = 1.5
_RUNNING_LINES = 2
"""How many lines at the top and at the bottom of a page may be its header or footer."""
_RUNNING_PAGES = 3
_PAGE_NUMBER = re.compile(
    r"\W*(?:(?:page|seite|página|pagina|p\.|s\.)\s*)?(?:\d{1,4}|[ivxl]{1,7})(?:\s*(?:/|of|von|de|di|sur|-)\s*\d{1,4})?\W*$",
    re.IGNORECASE,
)
_BULLET = re.compile(r"(?:[•‣◦▪●○■□\u2013\u2014*·-]|\(?\d{1,3}[.)]|\(?[a-z][.)])\s")
_END = re.compile(r"[.!?:;…。\uff01\uff1f][\"'”\u2019»)\]]*$")
_HYPHEN = re.compile(r"(?<=[^\W\d_])[-\u2010]$")
_UNPARTED_END = re.compile("[\u3000-\u30ff\u3400-\u9fff\uf900-\ufaff\uff00-\uffef]$")


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a page: its text, and where it begins, in points from the page's lower left corner."""

    text: str
    left: float
    bottom: float
    height: float


def paragraphs_of(pages: Sequence[Sequence[Line]]) -> list[str]:
    """Return the paragraphs of a document; what is repeated from page to page, and page numbers, are left out."""
    running = _running(pages)
    paragraphs: list[str] = []
    last = ""
    for page in pages:
        lines = [line for place, line in enumerate(page) if not _is_running(line, place, len(page), running)]
        if not lines:
            continue
        begins = [_begins_page(last, lines[0]), *_begins(lines)]
        for line, new in zip(lines, begins, strict=True):
            if new or not paragraphs:
                paragraphs.append(line.text)
            else:
                paragraphs[-1] = _joined(paragraphs[-1], line.text)
        last = lines[-1].text
    return paragraphs


def _begins(lines: Sequence[Line]) -> list[bool]:
    """Tell of each line but a page's first whether a paragraph begins with it."""
    if len(lines) < 2:
        return []
    steps = [above.bottom - line.bottom for above, line in pairwise(lines)]
    down = [step for step in steps if step > 0]
    pitch = median(down) if down else 0.0
    if len(down) < _STEPS_TELLING:
        pitch = min(pitch, _LEADING_RATIO * lines[0].height)
    left = Counter(round(line.left) for line in lines).most_common(1)[0][0]
    longest = max(len(line.text) for line in lines)
    return [
        bool(_BULLET.match(line.text))
        or step > _GAP_RATIO * pitch
        or (step <= 0 and bool(_END.search(above.text)))
        or (line.left - left > _INDENT_RATIO * line.height > above.left - left and step > 0)
        or (len(above.text) < _SHORT_RATIO * longest and bool(_END.search(above.text)))
        or abs(above.height - line.height) > 0.25 * max(above.height, line.height, 1.0)
        for (above, line), step in zip(pairwise(lines), steps, strict=True)
    ]


def _begins_page(last: str, line: Line) -> bool:
    return not last or bool(_END.search(last)) or bool(_BULLET.match(line.text)) or line.text[:1].isupper()


def _joined(above: str, line: str) -> str:
    if _HYPHEN.search(above) and line[:1].islower():
        return above[:-1] + line
    return above + line if _UNPARTED_END.search(above) else f"{above} {line}"


def _running(pages: Sequence[Sequence[Line]]) -> frozenset[str]:
    """Return the headers and footers: what stands at the edge of half of the pages, whatever its numbers."""
    seen: Counter[str] = Counter()
    for page in pages:
        if len(page) <= _RUNNING_LINES:
            continue  # a slide of a few words is all text
        seen.update({_form(line.text) for line in [*page[:_RUNNING_LINES], *page[-_RUNNING_LINES:]]})
    # Even and odd pages have their own.
    least = max(_RUNNING_PAGES, len(pages) * 0.4)
    return frozenset(form for form, count in seen.items() if count >= least)


def _is_running(line: Line, place: int, count: int, running: Iterable[str]) -> bool:
    if _RUNNING_LINES <= place < count - _RUNNING_LINES:
        return False
    return _form(line.text) in running or (place in {0, count - 1} and _PAGE_NUMBER.match(line.text) is not None)


def _form(text: str) -> str:
    return re.sub(r"\d+", "#", text).casefold().strip()
