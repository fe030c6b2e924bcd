"""A page's elements in order with the places of their texts, gathered in one walk: what the readers ask for again."""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import accumulate

from lxml import etree, html

_MUTE = frozenset({"script", "style"})


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
    nodes, parents, last, begin, end, named = (
        found.nodes,
        found.parents,
        found.last,
        found.begin,
        found.end,
        found.named,
    )
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
