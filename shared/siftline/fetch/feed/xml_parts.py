"""What entries and feeds of sound XML have in common: links, people, bases, and what is passed over.

Every rule here is feedparser's, so that the result is the same; where its rule is too odd to follow there is doubt.
"""

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from lxml import etree

from siftline.fetch.feed.draft import HTML, PLAIN, XHTML, Link, Text
from siftline.fetch.feed.xml_text import construct
from siftline.fetch.feed.xml_tree import (
    XML_NAMESPACE,
    DoubtError,
    attributes_of,
    joined,
    leaf,
    mended,
    name_of,
    text_in,
)

Element: TypeAlias = etree._Element  # noqa: SLF001 - lxml has no public name for what it makes
# A method of a ``Part`` and not one bound to it: a part that held those of its own would be a circle, and what it has
# read would stay until the garbage collector comes.
Handler = Callable[[Any, Element, str], None]

# Unknown elements become members of feedparser's entries under their names: these would replace others.
_COLLIDING = frozenset({
    "author_detail", "authors", "comments", "content", "contributors", "created_parsed", "enclosures", "entries",
    "feed", "guidislink", "href", "image", "item", "entry", "links", "named", "permalink", "published_parsed",
    "skip_days", "skip_hours", "summary_detail", "tags", "title_detail", "transcripts", "updated_parsed", "abstract",
    "channel", "textinput",
})  # fmt: skip
IN_IMAGE = frozenset({"title", "link", "url", "description", "width", "height"})
_PERSON = frozenset({"name", "email", "uri", "url", "homepage", "itunes:name", "itunes:email"})


class Walk:
    """Where the reading of one document stands."""

    def __init__(self, *, is_atom: bool, has_bases: bool) -> None:
        self.is_atom = is_atom
        self.title_level = -1
        """The level of the title that counts so far: one at the same or a deeper level does not replace it."""
        self.has_content = False
        self.has_bases = has_bases
        self._names: dict[str, str] = {}

    def name(self, element: Element) -> str:
        """Return ``name_of`` an element, remembered by its tag."""
        tag = element.tag
        name = self._names.get(tag)
        if name is None:
            name = self._names[tag] = name_of(element)
        return name

    def base(self, element: Element, outer: str) -> str:
        """Return the address that relative ones within an element count from (XML Base; ``base`` in RSS)."""
        if not self.has_bases:
            return outer
        given = element.get(f"{XML_NAMESPACE}base") or element.get("base")
        if not given:
            return outer
        base = joined(outer, given)
        if not base.startswith(("http://", "https://")):
            raise DoubtError
        return base


class Part:
    """Reads the children of one kind of element (an entry, a channel) into its draft, in document order."""

    def __init__(self, walk: Walk, level: int, methods: Mapping[str, str]) -> None:
        self.walk = walk
        self.level = level
        self.links: list[Link] = []
        self.authors: list[str] = []
        self.handlers: dict[str, Handler] = {name: getattr(type(self), method) for name, method in methods.items()}
        self._by_tag: dict[str, Handler] = {}

    def read(self, element: Element, base: str) -> None:
        """Read every child of an element."""
        by_tag, base_of = self._by_tag, self.walk.base if self.walk.has_bases else None
        for child in element:
            tag = child.tag
            handler = by_tag.get(tag)
            if handler is None:
                handler = by_tag[tag] = self._handler(child)
            handler(self, child, base if base_of is None else base_of(child, base))

    def _handler(self, element: Element) -> Handler:
        """Return what reads elements of this name. Raises ``DoubtError`` for those that ``pass_over`` doubts."""
        name = self.walk.name(element)
        if name not in self.handlers and name in _COLLIDING:
            raise DoubtError
        return self.handlers.get(name, Part._unknown)

    def _unknown(self, element: Element, base: str) -> None:  # noqa: ARG002 - a handler
        if len(element):
            self.pass_over(element, self.walk.name(element))

    def pass_over(self, element: Element, name: str) -> None:
        """Leave an element that says nothing to us, unless something within it would be taken for an entry's own."""
        if name in _COLLIDING:
            raise DoubtError
        for child in element:
            inner = self.walk.name(child)
            if inner in self.handlers:
                raise DoubtError
            self.pass_over(child, inner)

    def only(self, element: Element, names: frozenset[str]) -> None:
        """Leave an element. Raises ``DoubtError`` where it holds others than these, or these hold others."""
        for child in element:
            leaf(child)
            if self.walk.name(child) not in names:
                raise DoubtError

    def text(self, element: Element, base: str, default: str) -> Text:
        """Return a text construct; its base is empty where that is the document's."""
        if default != XHTML and not len(element) and not element.keys():
            return Text(text_in(element), default, base)
        return construct(element, base, default, is_atom=self.walk.is_atom)

    def new_title(self, element: Element, base: str, *, level: int, counts: bool = True) -> Text | None:
        """Return a title, or ``None`` when an earlier one stays. ``counts`` says whether it keeps later ones away."""
        found = self.text(element, base, PLAIN)
        stays = -1 < self.walk.title_level <= level
        if found.value and counts:
            self.walk.title_level = level
        return None if stays else found

    def link(self, element: Element, base: str) -> None:
        """Read a link: its address is an attribute in Atom, its text in RSS."""
        if len(element):
            raise DoubtError
        attributes = attributes_of(element)
        rel, media_type, href = "alternate", HTML, None
        if attributes:
            rel = attributes.get("rel", "alternate")
            media_type = attributes.get("type", "application/atom+xml" if rel == "self" else HTML)
            href = attributes.get("url", attributes.get("uri", attributes.get("href"))) or attributes.get("href")
        if href is None:
            href = mended(address(element, base)).replace("&amp;", "&")
            if "&" in href and ";" in href:
                raise DoubtError
        else:
            href = joined(base, href)
        self.links.append(Link(href, rel, media_type, attributes))

    def author(self, element: Element, base: str) -> None:  # noqa: ARG002 - a handler
        """Read a person: a text in RSS, name and addresses in Atom."""
        if not len(element):
            self.authors.append(text_in(element))
            return
        found: dict[str, str] = {}
        rest = element.text or ""
        for child in element:
            name = self.walk.name(child)
            if name not in _PERSON:
                raise DoubtError
            found[name.removeprefix("itunes:")] = leaf(child)
            rest += child.tail or ""
        if rest.strip():
            raise DoubtError
        self.authors.append(found.get("name") or found.get("email") or "")

    def people(self, element: Element, base: str) -> None:  # noqa: ARG002 - a handler
        """Leave persons that are not the author."""
        if any(self.walk.name(child) not in _PERSON for child in element):
            raise DoubtError

    def no_link(self, element: Element, base: str) -> None:  # noqa: ARG002 - a handler
        """Note a licence: it counts among the links of an entry, and leads to none of its pages."""
        self.links.append(Link("", "license"))


def value(element: Element) -> str:
    """Return the text of an element; one that has attributes says nothing by it."""
    return "" if element.keys() else text_in(element)


def address(element: Element, base: str) -> str:
    """Return the text of an element as an address."""
    text = leaf(element)
    return joined(base, text) if text else ""
