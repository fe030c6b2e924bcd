"""What a page offers to press that agrees to be tracked or refuses: buttons, and links that stand as such."""

from collections.abc import Iterator

from siftline.ingest.page.consent_words import agrees
from siftline.ingest.page.outline import Outline

LABEL_CHARS = 60
_PRESSED_INPUTS = frozenset({"submit", "button", "image"})


def controls(page: Outline) -> Iterator[int]:
    """Yield the places of what can be pressed, name by name: some of them twice."""
    for name in ("button", "a", "input"):
        yield from page.named.get(name, ())
    for place, node in enumerate(page.nodes):
        if node.get("role") is not None and _is_button(page, place):
            yield place


def agreeing(page: Outline) -> Iterator[int]:
    """Yield the places of the buttons, inputs and links that agree or refuse: some of them twice."""
    for place in controls(page):
        label = _label(page, place)
        if not 0 < len(label) <= LABEL_CHARS:
            continue
        is_link = page.nodes[place].tag == "a" and not _is_button(page, place)
        if agrees(label, is_link=is_link) and not (is_link and _is_in_prose(page, place)):
            yield place


def _label(page: Outline, place: int) -> str:
    node = page.nodes[place]
    if node.tag == "input":
        said = node.get("value", "") if node.get("type", "").lower() in _PRESSED_INPUTS else ""
    else:
        said = page.text[page.begin[place] : page.end[place]]
    return (said or node.get("aria-label", "") or node.get("title", "")).strip()


def _is_button(page: Outline, place: int) -> bool:
    role: str = page.nodes[place].get("role", "")
    return role.strip().lower() == "button"


def _is_in_prose(page: Outline, place: int) -> bool:
    """Tell whether words stand right before or behind a link; by the outline, for the tree has changed since."""
    above = page.parents[place]
    before, behind = place - 1, page.last[place]
    while before != above and page.parents[before] != above:
        before = page.parents[before]
    begin = page.begin[above] if before == above else page.end[before]
    is_last = behind == len(page.nodes) or page.parents[behind] != above
    end = page.end[above] if is_last else page.begin[behind]
    return any(map(str.isalnum, page.text[begin : page.begin[place]] + page.text[page.end[place] : end]))
