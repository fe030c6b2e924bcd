"""RSS 0.9x to 2.0, RDF and Atom, with their extensions: from a document's tree to what a feed and its entries say.

What two formats read differently is read as feedparser does; tests compare the two.
"""

from collections.abc import Callable, Mapping
from typing import Any

from lxml import etree

from siftline.fetch.feed import sanitised
from siftline.fetch.feed.entries import HTML, PLAIN, XHTML, EntryDraft, FeedDraft, Link, Tag, Text, names_page
from siftline.fetch.feed.xml_elements import (
    XML,
    address_of,
    attributes_of,
    base_of,
    construct_of,
    href_of,
    joined,
    local_name,
    mended,
    name_of,
    text_of,
    value_of,
)
from siftline.fetch.feed.xml_tree import Element
from siftline.text.instants import UNREADABLE, claimed

_RDF_ABOUT = "{http://www.w3.org/1999/02/22-rdf-syntax-ns#}about"
_ROOTS = frozenset({"rss", "rdf:rdf", "feed"})
_ENTRIES = frozenset({"item", "entry"})
_HAS_BASES = etree.XPath(
    " or ".join(f"boolean(descendant-or-self::*/@{name})" for name in ("xml:base", "base", "BASE"))
)

_ITUNES_SCHEME = "http://www.itunes.com/"
_MEDIA_SCHEME = "http://search.yahoo.com/mrss/category_schema"
_TAGS_MAX = 1_000
# A method of a ``_Reader`` and not one bound to it: a reader that held those of its own would be a circle, and what it
# has read would stay until the garbage collector comes.
_Handler = Callable[[Any, Element], None]


def read_feed(tree: Element, *, url: str, max_entries: int) -> FeedDraft | None:
    """Return the feed that a document is, or ``None`` where it is none: no page is, whatever elements it has."""
    if any(local_name(element) == "html" for element in (tree, *tree[:1])):
        return None
    root = next((element for element in tree.iter() if name_of(element) in _ROOTS), tree)
    draft = _FeedReader(root, max_entries).feed(joined(url, url))
    return draft if name_of(root) in _ROOTS or draft.entries else None


class _Reader:
    """Reads the children of one kind of element (an entry, a feed) into its draft, in document order."""

    handlers: Mapping[str, _Handler] = {}

    def __init__(self, root: Element, *, has_bases: bool) -> None:
        self.is_atom = name_of(root) == "feed"
        self.has_bases = has_bases
        self.base = ""
        """The address that relative ones within the element being read count from."""
        self.links: list[Link] = []
        self.authors: list[str] = []
        self._by_tag: dict[str, _Handler] = {}

    def read(self, element: Element) -> None:
        by_tag, outer = self._by_tag, self.base
        for child in element:
            handler = by_tag.get(child.tag) or self._handler(child)
            if self.has_bases:
                self.base = base_of(child, outer)
            handler(self, child)
        self.base = outer

    def _handler(self, element: Element) -> _Handler:
        found = self.handlers.get(name_of(element)) or self.handlers.get("", _Reader.pass_over)
        self._by_tag[element.tag] = found
        return found

    def pass_over(self, element: Element) -> None:
        """Leave an element that says nothing to us."""

    def text(self, element: Element, default: str) -> Text:
        """Return a text construct; without a type it is of the ``default`` one."""
        if default != XHTML and not len(element) and not element.keys():
            return Text(text_of(element), default, self.base)
        return construct_of(element, self.base, default, is_atom=self.is_atom)

    def link(self, element: Element) -> None:
        """Read a link: its address is an attribute in Atom, its text in RSS."""
        attributes = attributes_of(element)
        rel, media_type, href = "alternate", HTML, None
        if attributes:
            rel = attributes.get("rel", "alternate")
            media_type = attributes.get("type", "application/atom+xml" if rel == "self" else HTML)
            href = href_of(attributes)
        written = element.text or "" if href is None else href
        href = address_of(element, self.base).replace("&amp;", "&") if href is None else joined(self.base, href)
        href = sanitised.with_scheme(written.strip(), self.base) or href
        self.links.append(Link(href, rel, media_type, attributes))

    def author(self, element: Element) -> None:
        """Read a person: a text in RSS, name and addresses in Atom."""
        found = {local_name(child): text_of(child) for child in element}
        self.authors.append(found.get("name") or found.get("email") or mended((element.text or "").strip()))


class _EntryReader(_Reader):
    """Reads entries, one after the other."""

    def __init__(self, root: Element, *, has_bases: bool) -> None:
        super().__init__(root, has_bases=has_bases)
        self.draft = EntryDraft()
        self._has_title = self._has_summary = self._has_content = False
        self.nested: list[tuple[Element, str]] = []
        """The entries that stand within it, each with its base."""
        self._tags: list[list[str | None]] = []
        self._tagged: set[tuple[str | None, ...]] = set()

    def entry(self, element: Element, base: str) -> EntryDraft:
        draft = self.draft = EntryDraft()
        self.base, self.links, self.authors = base, draft.links, draft.authors
        self._has_title = self._has_summary = self._has_content = False
        self._tags, self._tagged, self.nested = [], set(), []
        if element.keys():
            draft.guid = element.get(_RDF_ABOUT) or ""
            attributes = attributes_of(element)
            if "href" in attributes:
                self.link(element)
            draft.updated_at = attributes.get("lastmod", "")
        self.read(element)
        if self._tags:
            draft.tags = [Tag(term, label) for term, _, label in self._tags]
        return draft

    def title(self, element: Element) -> None:
        """Read a title: the first that says something counts."""
        if not self._has_title:
            self.draft.title = self.text(element, PLAIN)
            self._has_title = bool(self.draft.title.value)

    def within(self, element: Element) -> None:
        """Leave an entry within this one for afterwards; what has no parts is none."""
        if len(element):
            self.nested.append((element, self.base))

    def media_title(self, element: Element) -> None:
        """Read the title of a file: it stands for an entry without one."""
        if not self._has_title:
            self.draft.title = self.text(element, PLAIN)

    def summary(self, element: Element) -> None:
        """Read a summary; a second one is taken for content."""
        self._describe(element, PLAIN)

    def description(self, element: Element) -> None:
        """Read a description, which in RSS is summary or content."""
        self._describe(element, HTML)

    def _describe(self, element: Element, default: str) -> None:
        if self._has_summary and not self._has_content:
            self.content(element)
            return
        self.draft.summary = self.text(element, default)
        self._has_summary = True

    def content(self, element: Element, default: str = PLAIN) -> None:
        self._has_content = True
        self.draft.contents.append(self.text(element, default))
        self._has_summary = True

    def encoded(self, element: Element) -> None:
        """Read a body that is HTML in text (content:encoded)."""
        self.content(element, HTML)

    def body(self, element: Element) -> None:
        """Read a body that is XHTML in elements."""
        self.draft.contents.append(self.text(element, XHTML))
        self._has_summary = True

    def guid(self, element: Element) -> None:
        """Read a GUID or an id; unless it says otherwise it is an address, too."""
        if attributes_of(element).get("ispermalink", "true").strip().lower() != "true":
            self.draft.guid = text_of(element)
            return
        # A name is made absolute as well, so that it stays the GUID that it has always been.
        self.draft.guid = address_of(element, self.base)
        self.draft.permalink = self.draft.guid if self.is_atom or names_page(text_of(element)) else ""

    def published(self, element: Element) -> None:
        self.draft.published_at = _later(self.draft.published_at, element)

    def updated(self, element: Element) -> None:
        self.draft.updated_at = _later(self.draft.updated_at, element)

    def created(self, element: Element) -> None:
        self.draft.created_at = _later(self.draft.created_at, element)

    def enclosure(self, element: Element) -> None:
        attributes = attributes_of(element)
        self.links.append(Link(href_of(attributes) or "", "enclosure", attributes.get("type", ""), attributes))

    def rights(self, element: Element) -> None:  # noqa: ARG002 - a handler
        """Note a licence: it counts among the links of an entry, and leads to none of its pages."""
        self.links.append(Link("", "license"))

    def category(self, element: Element) -> None:
        """Read a category: in Atom it is said by attributes, in RSS by the text."""
        attributes = attributes_of(element)
        if attributes:
            scheme = attributes.get("scheme", attributes.get("domain"))
            self._tag(attributes.get("term"), scheme, attributes.get("label"))
        self._term(text_of(element))

    def media_category(self, element: Element) -> None:
        attributes = attributes_of(element)
        self._tag(attributes.get("term"), attributes.get("scheme", _MEDIA_SCHEME), attributes.get("label"))
        self._term(text_of(element))

    def itunes_category(self, element: Element) -> None:
        self._tag(attributes_of(element).get("text"), _ITUNES_SCHEME, None)
        self._term(text_of(element))

    def keywords(self, element: Element) -> None:
        """Read words between commas (itunes:keywords, media:keywords)."""
        for word in value_of(element).split(","):
            if word.strip():
                self._tag(word.strip(), _ITUNES_SCHEME if name_of(element) == "itunes:keywords" else None, None)

    def _tag(self, *parts: str | None) -> None:
        if any(parts) and parts not in self._tagged and len(self._tags) < _TAGS_MAX:
            self._tagged.add(parts)
            self._tags.append(list(parts))

    def _term(self, text: str) -> None:
        if text and self._tags and not self._tags[-1][0]:
            last = self._tags[-1]
            self._tagged.discard(tuple(last))
            last[0] = text
            self._tagged.add(tuple(last))
        elif text:
            self._tag(text, None, None)

    def media_content(self, element: Element) -> None:
        """Read a file after Media RSS, and what is said of it within."""
        self.draft.media.append(attributes_of(element))
        self.read(element)

    def thumbnail(self, element: Element) -> None:
        attributes = attributes_of(element)
        self.draft.thumbnails.append(attributes["url"] if "url" in attributes else address_of(element, self.base))

    def icon(self, element: Element) -> None:
        attributes = attributes_of(element)
        self.draft.image = attributes.get("href") or attributes.get("url") or self.draft.image

    def transcript(self, element: Element) -> None:
        """Read where a transcript is (podcast:transcript)."""
        self.draft.transcripts.append(attributes_of(element))

    def duration(self, element: Element) -> None:
        """Read a running time (itunes:duration)."""
        self.draft.duration = value_of(element)

    def comments(self, element: Element) -> None:
        self.draft.comments = "" if element.keys() else address_of(element, self.base)

    def original_link(self, element: Element) -> None:
        self.draft.original_link = value_of(element)

    handlers: Mapping[str, _Handler] = {
        **dict.fromkeys(_ENTRIES, within),
        **dict.fromkeys(("published", "issued", "pubdate", "dcterms:issued"), published),
        **dict.fromkeys(("updated", "modified", "lastbuilddate", "dc:date", "dcterms:modified"), updated),
        **dict.fromkeys(("created", "dcterms:created"), created),
        **dict.fromkeys(("title", "dc:title"), title),
        "media:title": media_title,
        **dict.fromkeys(("summary", "itunes:summary"), summary),
        **dict.fromkeys(("description", "dc:description", "media:description", "abstract"), description),
        "content": content,
        **dict.fromkeys(("content:encoded", "fullitem"), encoded),
        **dict.fromkeys(("body", "xhtml:body"), body),
        **dict.fromkeys(("guid", "id"), guid),
        "link": _Reader.link,
        **dict.fromkeys(("author", "managingeditor", "dc:creator", "dc:author", "itunes:author"), _Reader.author),
        **dict.fromkeys(("category", "keywords", "dc:subject"), category),
        "media:category": media_category,
        "itunes:category": itunes_category,
        **dict.fromkeys(("itunes:keywords", "media:keywords"), keywords),
        **dict.fromkeys(("cc:license", "creativecommons:license"), rights),
        "enclosure": enclosure,
        "media:content": media_content,
        "media:group": _Reader.read,
        "media:thumbnail": thumbnail,
        **dict.fromkeys(("itunes:image", "itunes:link"), icon),
        "podcast:transcript": transcript,
        "itunes:duration": duration,
        "comments": comments,
        "feedburner:origlink": original_link,
    }


class _FeedReader(_Reader):
    """Reads a feed: its own words, and its entries, beside its channel as RSS 0.9 and 1.0 have them or within it."""

    def __init__(self, root: Element, max_entries: int) -> None:
        super().__init__(root, has_bases=_HAS_BASES(root))
        self.draft = FeedDraft(is_atom=self.is_atom, links=self.links, authors=self.authors)
        self._root = root
        self._entry = _EntryReader(root, has_bases=self.has_bases)
        self._max_entries = max_entries
        self._has_title = False
        self._subtitle = self._summary = self.draft.description
        self._pictures = {"image": "", "logo": "", "icon": ""}

    def feed(self, url: str) -> FeedDraft:
        root, draft = self._root, self.draft
        self.base = base_of(root, url)
        draft.language = (root.get(f"{XML}lang") or root.get("lang") or "").replace("_", "-")
        self.read(root)
        draft.description = self._subtitle or self._summary
        draft.image = next(filter(None, self._pictures.values()), "")
        return draft

    def entry(self, element: Element, base: str = "") -> None:
        """Read an entry and those within it, or count it where there are enough."""
        if len(self.draft.entries) >= self._max_entries:
            self.draft.skipped += 1
            return
        self.draft.entries.append(self._entry.entry(element, base or self.base))
        for nested, its_base in self._entry.nested:
            self.entry(nested, its_base)

    def other(self, element: Element) -> None:
        """Read the entries in what is no part of a feed: what was left open before them."""
        for child in element:
            if name_of(child) in _ENTRIES:
                self.entry(child)
            else:
                self.other(child)

    def title(self, element: Element) -> None:
        """Read the feed's title: the first that says something counts."""
        if not self._has_title:
            self.draft.title = self.text(element, PLAIN)
            self._has_title = bool(self.draft.title.value)

    def subtitle(self, element: Element) -> None:
        self._subtitle = self.text(element, PLAIN)

    def description(self, element: Element) -> None:
        self._subtitle = self.text(element, HTML)

    def summary(self, element: Element) -> None:
        self._summary = self.text(element, PLAIN)

    def language(self, element: Element) -> None:
        self.draft.language = text_of(element)

    def picture(self, element: Element) -> None:
        self._pictures[name_of(element)] = "" if element.keys() else address_of(element, self.base)

    def itunes_image(self, element: Element) -> None:
        attributes = attributes_of(element)
        self._pictures["image"] = attributes.get("href") or attributes.get("url") or self._pictures["image"]

    def image(self, element: Element) -> None:
        """Read a channel's picture, which has a title and a link of its own."""
        for child in element:
            if name_of(child) == "url":
                self._pictures["image"] = address_of(child, self.base)

    def ttl(self, element: Element) -> None:
        self.draft.ttl = value_of(element)

    def skips(self, element: Element) -> None:
        for child in element:
            name = name_of(child)
            if name == "hour":
                self.draft.skip_hours.append(value_of(child))
            elif name == "day":
                self.draft.skip_days.append(value_of(child))

    handlers: Mapping[str, _Handler] = {
        **dict.fromkeys(_ENTRIES, entry),
        "channel": _Reader.read,
        **dict.fromkeys(("title", "dc:title"), title),
        **dict.fromkeys(("subtitle", "tagline", "itunes:subtitle"), subtitle),
        **dict.fromkeys(("description", "dc:description", "abstract"), description),
        **dict.fromkeys(("summary", "itunes:summary"), summary),
        **dict.fromkeys(("language", "dc:language"), language),
        "link": _Reader.link,
        **dict.fromkeys(("author", "managingeditor", "dc:creator", "dc:author", "itunes:author"), _Reader.author),
        **dict.fromkeys(("logo", "icon"), picture),
        "image": image,
        **dict.fromkeys(("itunes:image", "itunes:link"), itunes_image),
        **dict.fromkeys(("skiphours", "skipdays"), skips),
        "ttl": ttl,
        "": other,
    }


def _later(known: str, element: Element) -> str:
    """Return the date that an element names, as it is written; what is no date replaces none."""
    text = text_of(element)
    return known if known and (not text or (_is_no_date(text) and not _is_no_date(known))) else text


def _is_no_date(text: str) -> bool:
    return claimed(text).undated_code == UNREADABLE
