"""The entries of sound feeds: RSS items and Atom entries, with their extensions."""

from datetime import datetime

from siftline.fetch.feed.draft import HTML, PLAIN, XHTML, EntryDraft, Link, Tag, names_page
from siftline.fetch.feed.xml_parts import IN_IMAGE, Element, Part, Walk, address, value
from siftline.fetch.feed.xml_tree import DoubtError, attributes_of, leaf, mended, text_in
from siftline.text.instants import usual

_RDF_ABOUT = "{http://www.w3.org/1999/02/22-rdf-syntax-ns#}about"
_ITUNES_SCHEME = "http://www.itunes.com/"
_MEDIA_SCHEME = "http://search.yahoo.com/mrss/category_schema"
# What an entry's source may hold (RFC 4287, section 4.2.11); all of it is said of another feed.
_SOURCE = frozenset({
    "title", "link", "id", "guid", "updated", "published", "author", "contributor", "category", "generator", "icon",
    "logo", "rights", "subtitle",
})  # fmt: skip


class EntryPart(Part):
    """Reads entries, one after the other."""

    def __init__(self, walk: Walk, level: int) -> None:
        super().__init__(walk, level, _METHODS)
        self.draft = EntryDraft()
        self._has_summary = False
        self._tags: list[list[str | None]] = []
        self._tagged: set[tuple[str | None, ...]] = set()

    def entry(self, element: Element, base: str) -> EntryDraft:
        """Return the entry that an element is."""
        draft = self.draft = EntryDraft()
        self.links, self.authors = draft.links, draft.authors
        self._has_summary = self.walk.has_content = False
        self._tags, self._tagged = [], set()
        self.walk.title_level = -1
        if element.keys():
            if element.get("lastmod") or element.get("href"):
                raise DoubtError
            draft.guid = element.get(_RDF_ABOUT) or ""
        self.read(element, base)
        self.walk.has_content = False
        if self._tags:
            draft.tags = [Tag(term, label) for term, _, label in self._tags]
        return draft

    def title(self, element: Element, base: str) -> None:
        """Read a title."""
        self.draft.title = self.new_title(element, base, level=self.level) or self.draft.title

    def media_title(self, element: Element, base: str) -> None:
        """Read the title of a file: it stands for an entry without one."""
        self.draft.title = self.new_title(element, base, level=self.level, counts=False) or self.draft.title

    def summary(self, element: Element, base: str) -> None:
        """Read a summary; a second one is taken for content."""
        self._describe(element, base, PLAIN)

    def description(self, element: Element, base: str) -> None:
        """Read a description, which in RSS is summary or content."""
        self._describe(element, base, HTML)

    def _describe(self, element: Element, base: str, default: str) -> None:
        if self._has_summary and not self.walk.has_content:
            self.content(element, base)
            return
        self.draft.summary = self.text(element, base, default)
        self._has_summary = True

    def content(self, element: Element, base: str, default: str = PLAIN) -> None:
        """Read a body."""
        self.walk.has_content = True
        self.draft.contents.append(self.text(element, base, default))
        self._has_summary = True

    def encoded(self, element: Element, base: str) -> None:
        """Read a body that is HTML in text (content:encoded)."""
        self.content(element, base, HTML)

    def body(self, element: Element, base: str) -> None:
        """Read a body that is XHTML in elements."""
        self.draft.contents.append(self.text(element, base, XHTML))
        self._has_summary = True

    def guid(self, element: Element, base: str) -> None:
        """Read a GUID or an id; unless it says otherwise it is an address, too."""
        is_address = attributes_of(element).get("ispermalink", "true") == "true"
        # A name is made absolute as well, so that it stays the GUID that it has always been.
        self.draft.guid = mended(address(element, base)) if is_address else text_in(element)
        if is_address:
            self.draft.permalink = self.draft.guid if self.walk.is_atom or names_page(leaf(element)) else ""

    def published(self, element: Element, base: str) -> None:  # noqa: ARG002 - a handler
        """Read when the entry was published."""
        self.draft.published_at = _moment(element)

    def updated(self, element: Element, base: str) -> None:  # noqa: ARG002 - a handler
        """Read when the entry was changed."""
        self.draft.updated_at = _moment(element)

    def created(self, element: Element, base: str) -> None:  # noqa: ARG002 - a handler
        """Read when the entry was made."""
        self.draft.created_at = _moment(element)

    def enclosure(self, element: Element, base: str) -> None:  # noqa: ARG002 - a handler
        """Read a file that the entry brings along."""
        leaf(element)
        attributes = attributes_of(element)
        href = attributes.get("url", attributes.get("uri", attributes.get("href"))) or attributes.get("href")
        self.links.append(Link(href or "", "enclosure", attributes.get("type", ""), attributes))

    def category(self, element: Element, base: str) -> None:  # noqa: ARG002 - a handler
        """Read a category: in Atom it is said by attributes, in RSS by the text."""
        attributes = attributes_of(element)
        if attributes:
            scheme = attributes.get("scheme", attributes.get("domain"))
            self._tag(attributes.get("term"), scheme, attributes.get("label"))
        self._term(text_in(element))

    def media_category(self, element: Element, base: str) -> None:  # noqa: ARG002 - a handler
        """Read a category after Media RSS."""
        attributes = attributes_of(element)
        self._tag(attributes.get("term"), attributes.get("scheme", _MEDIA_SCHEME), attributes.get("label"))
        self._term(text_in(element))

    def itunes_category(self, element: Element, base: str) -> None:  # noqa: ARG002 - a handler
        """Read a category of podcasts."""
        self._tag(attributes_of(element).get("text"), _ITUNES_SCHEME, None)
        self._term(text_in(element))

    def keywords(self, element: Element, base: str) -> None:  # noqa: ARG002 - a handler
        """Read words between commas (itunes:keywords, media:keywords)."""
        for word in value(element).split(","):
            if word.strip():
                self._tag(word.strip(), _ITUNES_SCHEME if self.walk.name(element)[0] == "i" else None, None)

    def _tag(self, *parts: str | None) -> None:
        if any(parts) and parts not in self._tagged:
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

    def media_content(self, element: Element, base: str) -> None:
        """Read a file after Media RSS, and what is said of it within."""
        self.draft.media.append(attributes_of(element))
        self.inner(element, base)

    def inner(self, element: Element, base: str) -> None:
        """Read what stands within an element as the entry's own, one level deeper."""
        self.level += 1
        self.read(element, base)
        self.level -= 1

    def thumbnail(self, element: Element, base: str) -> None:
        """Read a picture's address."""
        attributes = attributes_of(element)
        text = mended(address(element, base))
        self.draft.thumbnails.append(attributes.get("url") or ("" if "url" in attributes else text))

    def icon(self, element: Element, base: str) -> None:  # noqa: ARG002 - a handler
        """Read a podcast episode's picture."""
        leaf(element)
        attributes = attributes_of(element)
        self.draft.image = attributes.get("href") or attributes.get("url") or self.draft.image

    def image(self, element: Element, base: str) -> None:  # noqa: ARG002 - a handler
        """Leave a picture that no format gives to an entry."""
        self.only(element, IN_IMAGE)
        self.walk.title_level = -1

    def transcript(self, element: Element, base: str) -> None:  # noqa: ARG002 - a handler
        """Read where a transcript is (podcast:transcript)."""
        leaf(element)
        self.draft.transcripts.append(attributes_of(element))

    def duration(self, element: Element, base: str) -> None:  # noqa: ARG002 - a handler
        """Read a running time (itunes:duration)."""
        self.draft.duration = value(element)

    def comments(self, element: Element, base: str) -> None:
        """Read where the entry is discussed."""
        self.draft.comments = "" if element.keys() else mended(address(element, base))

    def original_link(self, element: Element, base: str) -> None:  # noqa: ARG002 - a handler
        """Read the address behind a counting redirect."""
        self.draft.original_link = value(element)

    def source(self, element: Element, base: str) -> None:  # noqa: ARG002 - a handler
        """Leave what is said of the feed that an entry was taken from."""
        self.walk.title_level = -1
        for child in element:
            name = self.walk.name(child)
            if name not in _SOURCE:
                raise DoubtError
            if name in {"author", "contributor"}:
                self.people(child, "")
                continue
            if len(child):
                self.text(child, "", PLAIN)
            if name == "title" and (len(child) or leaf(child)):
                self.walk.title_level = self.level + 1


def _moment(element: Element) -> datetime | str:
    """Return the instant that an element names in the usual form, else its text."""
    text = text_in(element)
    return usual(text) or text


_METHODS: dict[str, str] = {
    **dict.fromkeys(("published", "issued", "pubdate", "dcterms:issued"), "published"),
    **dict.fromkeys(("updated", "modified", "lastbuilddate", "dc:date", "dcterms:modified"), "updated"),
    **dict.fromkeys(("created", "dcterms:created"), "created"),
    **dict.fromkeys(("title", "dc:title"), "title"),
    **dict.fromkeys(("summary", "itunes:summary"), "summary"),
    **dict.fromkeys(("description", "dc:description", "media:description"), "description"),
    **dict.fromkeys(("guid", "id"), "guid"),
    **dict.fromkeys(("author", "managingeditor", "dc:creator", "dc:author", "itunes:author"), "author"),
    **dict.fromkeys(("category", "keywords", "dc:subject"), "category"),
    **dict.fromkeys(("itunes:keywords", "media:keywords"), "keywords"),
    **dict.fromkeys(("cc:license", "creativecommons:license"), "no_link"),
    **dict.fromkeys(("contributor", "dc:contributor", "webmaster", "dc:publisher"), "people"),
    "media:title": "media_title",
    "content": "content",
    **dict.fromkeys(("content:encoded", "fullitem"), "encoded"),
    **dict.fromkeys(("body", "xhtml:body"), "body"),
    "link": "link",
    "enclosure": "enclosure",
    "media:category": "media_category",
    "itunes:category": "itunes_category",
    "media:content": "media_content",
    "media:group": "inner",
    "media:thumbnail": "thumbnail",
    "itunes:image": "icon",
    "itunes:link": "icon",
    "image": "image",
    "podcast:transcript": "transcript",
    "itunes:duration": "duration",
    "comments": "comments",
    "feedburner:origlink": "original_link",
    "source": "source",
}
