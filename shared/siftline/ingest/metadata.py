"""What a page says of itself: Open Graph, JSON-LD, Twitter cards, plain meta elements and links, in that spirit.

Only what is stated is taken; nothing is guessed from the running text. Every value is one line of limited length.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from itertools import chain, islice
from urllib.parse import urljoin, urlsplit

from lxml import html

from siftline.ingest import linked_data
from siftline.ingest.dates import parse_time, time_in_path
from siftline.ingest.model import Stated
from siftline.ingest.plain import beginning, clean_line
from siftline.kit.errors import PermanentError
from siftline.kit.urls import canonical_url, validate_url

TITLE_MAX_CHARS = 500
_AUTHOR_MAX_CHARS = 300
_SITE_MAX_CHARS = 200
_DESCRIPTION_MAX_CHARS = 2_000
# No page for people states one thing more often: headings of the first rank, authors, links of a kind.
_STATED_MAX = 50
# Markup indents: what is read of an element, for what is kept of it.
_READ_CHARS = 10 * TITLE_MAX_CHARS
_SEPARATOR = r"\s+[|\-\u2013\u2014·•:»/]+\s+"
_PUBLISHED = (
    "article:published_time",
    "og:published_time",
    "og:article:published_time",
    "datepublished",
    "parsely-pub-date",
    "sailthru.date",
    "dcterms.created",
    "dcterms.date",
    "dc.date.issued",
    "dc.date",
    "citation_publication_date",
    "publishdate",
    "pubdate",
    "date",
)
_LANGUAGE = re.compile(r"([a-z]{2,3})(?:[-_][a-z0-9_-]+)?$", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Metadata(Stated):
    """A page's own statements."""

    titles: tuple[str, ...]
    """Every spelling of the title: what may stand above the text again."""


def read_metadata(root: html.HtmlElement, url: str) -> Metadata:
    """Return what the page at ``url`` says of itself."""
    return _Reader(root, url).read()


class _Reader:
    def __init__(self, root: html.HtmlElement, url: str) -> None:
        self._root = root
        self._url = url
        self._base = _base(root, url)
        self._meta: dict[str, str] = {}
        for node in root.iter("meta"):
            name = node.get("property") or node.get("name") or node.get("itemprop") or node.get("http-equiv") or ""
            content = (node.get("content") or "").strip()
            if name and content:
                self._meta.setdefault(name.strip().lower(), content)
        self._article = linked_data.article_node(root)

    def read(self) -> Metadata:
        site = clean_line(
            self._first("og:site_name")
            or linked_data.text_of(self._article.get("publisher"))
            or self._first("application-name"),
            _SITE_MAX_CHARS,
        )
        titles = self._titles(site)
        language = (
            self._root.get("lang")
            or self._root.get("{http://www.w3.org/XML/1998/namespace}lang")
            or self._root.get("xml:lang")
            or self._first("content-language", "og:locale", "language")
            or linked_data.text_of(self._article.get("inLanguage"))
        )
        hint = _LANGUAGE.match((language or "").strip())
        return Metadata(
            title=titles[0] if titles else None,
            author=self._author(),
            site_name=site,
            published_at=self._published_at(),
            image_url=self._image(),
            description=clean_line(
                self._first("og:description", "description", "twitter:description"), _DESCRIPTION_MAX_CHARS
            ),
            html_lang=clean_line(language, 35),
            lang_hint=hint[1].lower() if hint else None,
            canonical_url=self._canonical(),
            kind=self._kind(),
            titles=titles,
        )

    def _first(self, *names: str) -> str | None:
        return next((self._meta[name] for name in names if name in self._meta), None)

    def _titles(self, site: str | None) -> tuple[str, ...]:
        headings = [beginning(node, _READ_CHARS) for node in islice(self._root.iter("h1"), _STATED_MAX)]
        whole = self._root.findtext(".//title")
        stated = [
            self._first("og:title"),
            linked_data.text_of(self._article.get("headline")),
            self._first("twitter:title"),
            headings[0] if len(headings) == 1 else None,
            whole,
            *headings,
        ]
        lines = (clean_line(text, TITLE_MAX_CHARS) for text in stated)
        return tuple(dict.fromkeys(_without_site(line, site) for line in lines if line))

    def _author(self) -> str | None:
        stated = [
            linked_data.text_of(self._article.get("author")),
            self._first(
                "author", "article:author", "parsely-author", "sailthru.author", "dc.creator", "twitter:creator"
            ),
        ]
        nodes = chain.from_iterable(
            islice(self._root.iterfind(f'.//*[@{name}="author"]'), _STATED_MAX) for name in ("rel", "itemprop")
        )
        for text in chain(stated, (beginning(node, _READ_CHARS) for node in nodes)):
            line = re.sub(r"^by\s+", "", clean_line(text, _AUTHOR_MAX_CHARS) or "", flags=re.IGNORECASE)
            if line and not line.lower().startswith(("http://", "https://", "@")):
                return line
        return None

    def _published_at(self) -> datetime | None:
        for text in self._dates():
            if (time := parse_time(text)) is not None:
                return time
        return time_in_path(urlsplit(self._url).path)

    def _dates(self) -> Iterator[str | None]:
        yield linked_data.text_of(self._article.get("datePublished"))
        yield linked_data.text_of(self._article.get("uploadDate"))
        for name in _PUBLISHED:
            yield self._meta.get(name)
        for path in ('.//*[@itemprop="datePublished"]', ".//time[@pubdate]", ".//article//time[@datetime]"):
            node = self._root.find(path)
            if node is not None:
                yield node.get("datetime") or node.get("content")

    def _image(self) -> str | None:
        stated = [
            self._first("og:image:secure_url", "og:image", "og:image:url", "twitter:image", "twitter:image:src"),
            linked_data.first_address(self._article.get("image")),
            *(node.get("href") for node in self._links("image_src")),
        ]
        return next((address for text in stated if (address := self._address(text))), None)

    def _canonical(self) -> str | None:
        stated = [*(node.get("href") for node in self._links("canonical")), self._first("og:url")]
        for text in stated:
            address = self._address(text)
            # Many a site names its front page as every page's canonical one.
            if address and (urlsplit(address).path.strip("/") or not urlsplit(self._url).path.strip("/")):
                return address
        return None

    def _links(self, rel: str) -> Iterator[html.HtmlElement]:
        nodes = (node for node in self._root.iter("link") if rel in (node.get("rel") or "").lower().split())
        return islice(nodes, _STATED_MAX)

    def _address(self, text: str | None) -> str | None:
        return _joined(self._base, text.strip()) if text and text.strip() else None

    def _kind(self) -> str:
        stated = (self._first("og:type") or "").lower()
        if stated.startswith("video") or linked_data.kinds(self._article) == ["VideoObject"]:
            return "video"
        return "audio" if stated.startswith("music") else "article"


def _without_site(title: str, site: str | None) -> str:
    """Cut the site's name off a title, where a separator parts them."""
    if site:
        name = re.escape(site)
        cut = re.sub(rf"(?:{_SEPARATOR}{name}$|^{name}{_SEPARATOR})", "", title, flags=re.IGNORECASE)
        return cut or title
    return title


def _base(root: html.HtmlElement, url: str) -> str:
    node = root.find(".//base[@href]")
    return (_joined(url, (node.get("href") or "").strip()) if node is not None else None) or url


def _joined(base: str, text: str) -> str | None:
    """Resolve an address against a base; a bad one is no address (``http://[``)."""
    try:
        address = validate_url(urljoin(base, text))
        canonical_url(address)
    except (ValueError, PermanentError):
        return None
    return address
