"""What a page states, gathered: its meta elements, its microdata, its JSON-LD, its links."""

from collections import defaultdict
from collections.abc import Iterator
from itertools import islice
from urllib.parse import urljoin

from lxml import html

from siftline.ingest.page.linked_data import LinkedData
from siftline.ingest.page.outline import Outline
from siftline.ingest.page.plain import beginning
from siftline.kit.errors import PermanentError
from siftline.net.urls import canonical_url, validate_url

STATED_MAX = 50
"""No page for people states one thing more often: headings of the first rank, authors, links of a kind."""
READ_CHARS = 5_000
"""What is read of an element for a line of metadata: markup indents."""


class Statements:
    """What the page at ``url`` states."""

    def __init__(self, page: Outline, url: str) -> None:
        self._page = page
        self._base = _base(page, url)
        self._meta: dict[str, str] = {}
        for node in page.of("meta"):
            name = node.get("property") or node.get("name") or node.get("itemprop") or node.get("http-equiv") or ""
            content = (node.get("content") or "").strip()
            if name and content:
                self._meta.setdefault(name.strip().lower(), content)
        self.props: dict[str, list[html.HtmlElement]] = defaultdict(list)
        """The elements of each microdata property, not all of many."""
        self.types: list[str] = []
        """The types of its microdata, without their vocabulary's address."""
        for node in page.nodes:
            for name in node.get("itemprop", "").split():
                if len(self.props[name]) < STATED_MAX:
                    self.props[name].append(node)
            if kind := node.get("itemtype"):
                self.types.append(kind.strip().rsplit("/", 1)[-1])
        self.linked = LinkedData(node.text or "" for node in page.of("script") if _is_linked_data(node))

    def first(self, *names: str) -> str | None:
        """Return the first of these meta elements that the page has."""
        return next((self._meta[name] for name in names if name in self._meta), None)

    def links(self, rel: str) -> Iterator[html.HtmlElement]:
        """Yield the ``link`` elements of a relation."""
        nodes = (node for node in self._page.of("link") if rel in (node.get("rel") or "").lower().split())
        return islice(nodes, STATED_MAX)

    def address(self, text: str | None) -> str | None:
        """Resolve an address against the page's base; a bad one is no address (``http://[``)."""
        return _joined(self._base, text.strip()) if text and text.strip() else None


def value_of(node: html.HtmlElement) -> str:
    """Return the value of a microdata property (HTML standard, section 5.2.4), a thing's by its name."""
    if "itemscope" in node.attrib:
        named = node.find('.//*[@itemprop="name"]')
        node = node if named is None else named
    return node.get("content") or node.get("datetime") or beginning(node, READ_CHARS)


def _is_linked_data(script: html.HtmlElement) -> bool:
    kind: str = script.get("type", "")
    return kind.split(";", maxsplit=1)[0].strip().lower() == "application/ld+json"


def _base(page: Outline, url: str) -> str:
    stated = next((node.get("href", "").strip() for node in page.of("base")), "")
    return (_joined(url, stated) if stated else None) or url


def _joined(base: str, text: str) -> str | None:
    """Resolve an address against a base; a bad one is no address (``http://[``)."""
    try:
        address = validate_url(urljoin(base, text))
        canonical_url(address)
    except (ValueError, PermanentError):
        return None
    return address
