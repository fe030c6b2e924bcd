"""The fast way for sound feeds: RSS 0.9x to 2.0, RDF and Atom 1.0, read from lxml's tree.

It gives what the forgiving way would (``siftline.fetch.feed.xml_lenient``), or ``None`` where it doubts that: for what
is not well-formed, for older formats, and for all that feedparser treats in a way of its own.
"""

import re

from siftline.fetch.feed.draft import HTML, PLAIN, FeedDraft
from siftline.fetch.feed.xml_entry import EntryPart
from siftline.fetch.feed.xml_parts import IN_IMAGE, Element, Part, Walk, address, value
from siftline.fetch.feed.xml_tree import (
    XML_NAMESPACE,
    DoubtError,
    attributes_of,
    joined,
    kind_of,
    leaf,
    mended,
    text_in,
    tree_of,
)

_ENTRIES = frozenset({"item", "entry"})
_BASE = re.compile(rb"base\s*=")
_IN_TEXT_INPUT = frozenset({"title", "link", "description", "name"})


def read_fast(body: bytes, *, url: str, max_entries: int) -> FeedDraft | None:
    """Return a feed in UTF-8, or ``None`` for doubt. Raises ``FeedTooComplexError``."""
    try:
        root = tree_of(body)
        kind = kind_of(root)
        walk = Walk(is_atom=kind == "atom", has_bases=_BASE.search(body) is not None)
        part = FeedPart(walk, level=2 if kind == "rss" else 1, max_entries=max_entries)
        return part.feed(root, kind, joined(url, url))
    except DoubtError:
        return None


class FeedPart(Part):
    """Reads a feed: its own words, and its entries."""

    def __init__(self, walk: Walk, level: int, max_entries: int) -> None:
        super().__init__(walk, level, _METHODS)
        self.draft = FeedDraft(is_atom=walk.is_atom, links=self.links, authors=self.authors)
        self._entry = EntryPart(walk, level + 1)
        self._max_entries = max_entries
        self._has_summary = False
        self._subtitle = self._summary = self.draft.description
        self._pictures = {"image": "", "logo": "", "icon": ""}

    def feed(self, root: Element, kind: str, base: str) -> FeedDraft:
        """Return the feed that a document is."""
        inner = self.walk.base(root, base)
        language = root.get(f"{XML_NAMESPACE}lang") or root.get("lang") or ""
        if kind != "rdf":
            self.draft.language = language.replace("_", "-")
        if kind == "atom":
            self.read(root, inner)
        else:
            self._channels(root, inner)
        self.draft.description = self._subtitle or self._summary
        self.draft.image = next(filter(None, self._pictures.values()), "")
        return self.draft

    def _channels(self, root: Element, base: str) -> None:
        """Read a channel, and the items beside it, where RSS 0.9 and 1.0 have them."""
        channels = 0
        for child in root:
            name = self.walk.name(child)
            inner = self.walk.base(child, base)
            if name == "channel":
                channels += 1
                if channels > 1 or child.get("lastmod") or child.get("href"):
                    raise DoubtError
                self.read(child, inner)
            elif name == "item":
                self.entry(child, inner)
            elif name in {"image", "textinput"} and self.walk.name(root) == "rdf:rdf":
                self.only(child, IN_IMAGE | _IN_TEXT_INPUT)
            elif name in self.handlers:
                raise DoubtError
            else:
                self.pass_over(child, name)

    def entry(self, element: Element, base: str) -> None:
        """Read an entry, or count it where there are enough."""
        if len(self.draft.entries) < self._max_entries:
            self.draft.entries.append(self._entry.entry(element, base))
        else:
            self.draft.skipped += 1

    def title(self, element: Element, base: str) -> None:
        """Read the feed's title."""
        self.draft.title = self.new_title(element, base, level=self.level) or self.draft.title

    def subtitle(self, element: Element, base: str) -> None:
        """Read what the feed says of itself."""
        self._subtitle = self.text(element, base, PLAIN)

    def description(self, element: Element, base: str) -> None:
        """Read what the channel says of itself."""
        if self._has_summary and not self.walk.has_content:
            self.walk.has_content = True
        else:
            self._subtitle = self.text(element, base, HTML)

    def summary(self, element: Element, base: str) -> None:
        """Read what a podcast says of itself at length."""
        if self._has_summary and not self.walk.has_content:
            self.walk.has_content = True
        else:
            self._summary = self.text(element, base, PLAIN)
            self._has_summary = True

    def language(self, element: Element, base: str) -> None:  # noqa: ARG002 - a handler
        """Read the feed's language."""
        self.draft.language = text_in(element)

    def picture(self, element: Element, base: str) -> None:
        """Read the address of a logo or an icon (Atom)."""
        self._pictures[self.walk.name(element)] = "" if element.keys() else mended(address(element, base))

    def itunes_image(self, element: Element, base: str) -> None:  # noqa: ARG002 - a handler
        """Read the address of a podcast's picture."""
        leaf(element)
        attributes = attributes_of(element)
        self._pictures["image"] = attributes.get("href") or attributes.get("url") or self._pictures["image"]

    def image(self, element: Element, base: str) -> None:
        """Read a channel's picture, which has a title and a link of its own."""
        self.only(element, IN_IMAGE)
        self.walk.title_level = -1
        for child in element:
            name, inner = self.walk.name(child), self.walk.base(child, base)
            if name == "url":
                self._pictures["image"] = mended(address(child, inner))
            if name == "title" and leaf(child):
                self.walk.title_level = self.level + 1

    def text_input(self, element: Element, base: str) -> None:  # noqa: ARG002 - a handler
        """Leave a form for readers."""
        self.only(element, _IN_TEXT_INPUT)
        self.walk.title_level = -1
        if any(self.walk.name(child) == "title" and leaf(child) for child in element):
            self.walk.title_level = self.level + 1

    def ttl(self, element: Element, base: str) -> None:  # noqa: ARG002 - a handler
        """Read for how many minutes the feed stays as it is."""
        self.draft.ttl = value(element)

    def skips(self, element: Element, base: str) -> None:  # noqa: ARG002 - a handler
        """Read the hours or days in which the feed does not change."""
        for child in element:
            name = self.walk.name(child)
            if name == "hour":
                self.draft.skip_hours.append(value(child))
            elif name == "day":
                self.draft.skip_days.append(value(child))
            else:
                raise DoubtError

    def doubt(self, element: Element, base: str) -> None:  # noqa: ARG002 - a handler
        """Doubt what belongs in an entry."""
        raise DoubtError


_METHODS: dict[str, str] = {
    **dict.fromkeys(_ENTRIES, "entry"),
    **dict.fromkeys(("title", "dc:title"), "title"),
    **dict.fromkeys(("subtitle", "tagline", "itunes:subtitle"), "subtitle"),
    **dict.fromkeys(("description", "dc:description"), "description"),
    **dict.fromkeys(("summary", "itunes:summary"), "summary"),
    **dict.fromkeys(("language", "dc:language"), "language"),
    **dict.fromkeys(("logo", "icon"), "picture"),
    **dict.fromkeys(("author", "managingeditor", "dc:creator", "dc:author", "itunes:author"), "author"),
    **dict.fromkeys(("contributor", "dc:contributor", "itunes:owner", "webmaster", "dc:publisher"), "people"),
    **dict.fromkeys(("skiphours", "skipdays"), "skips"),
    **dict.fromkeys(
        (
            "content",
            "content:encoded",
            "media:title",
            "media:description",
            "source",
            "hour",
            "day",
            "body",
            "xhtml:body",
            "fullitem",
        ),
        "doubt",
    ),
    "link": "link",
    "image": "image",
    **dict.fromkeys(("itunes:image", "itunes:link"), "itunes_image"),
    "textinput": "text_input",
    "ttl": "ttl",
}
