"""The articles that a page links to, by a CSS selector or by itself. Pure; runs in the child process.

Links that stand alike (the same elements and classes around them) are a list; the list that looks most like articles is
taken, and others that look nearly as much so. What frames a page (navigation, footers) and what leads to lists again
(tags, authors, further pages) does not count.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any
from urllib.parse import urlsplit

from lxml import etree
from lxml.cssselect import CSSSelector

from siftline.fetch.feed import sanitised
from siftline.fetch.feed.feeds import Entry, Feed, entry_times
from siftline.fetch.kinds import html_tree
from siftline.fetch.kinds.feed_locations import InvalidSelectorError
from siftline.kit.errors import PermanentError
from siftline.net.selectors import INVALID, BadSelectorError, check_selector
from siftline.net.urls import canonical_url, same_site
from siftline.text.instants import Dates
from siftline.text.words import extent

_LINKS_MAX = 5_000
"""Links of a page that are looked at."""
_LEVELS = 4
"""How far above a link its headline may stand."""
_NEARLY = 0.6
"""A list that scores this much of the best one's belongs to it: a lead story stands apart from the others."""
_WORDS_MIN, _CHARS_MIN = 3, 15

_FRAME = frozenset({"nav", "footer", "aside", "form", "script", "style", "template", "noscript", "button", "select"})
_FRAME_ROLES = frozenset({"navigation", "banner", "contentinfo", "complementary", "search", "menu"})
_FRAME_WORDS = re.compile(
    r"(?:^|[\s_-])(?:nav|navbar|navigation|menu|footer|sidebar|breadcrumbs?|pagination|pager|paging|tags?|share|sharing"
    r"|social|related|comments?|cookie|consent|widget|toolbar|subscribe|newsletter|promo|advert|ads)(?:$|[\s_-])",
    re.IGNORECASE,
)
_LIST_PATH = re.compile(
    r"/(?:tags?|topics?|categor(?:y|ies)|authors?|autor(?:en|es)?|users?|profiles?|page/\d+|seite/\d+|search|login|signin"
    r"|signup|register|logout|account|cart|checkout|privacy|terms|imprint|impressum|datenschutz|about|contact|kontakt"
    r"|feeds?|rss|subscribe|newsletter|wp-login\.php|wp-admin)(?:/|$)|[?&](?:page|paged|p|replytocom|share)=\d*(?:&|$)",
    re.IGNORECASE,
)
_FILE = re.compile(
    r"\.(?:jpe?g|png|gif|webp|avif|svg|ico|css|js|zip|gz|tar|exe|dmg|mp3|mp4|xml|rss|json)$", re.IGNORECASE
)
_ARTICLE_WORDS = re.compile(
    r"(?:^|[\s_-])(?:article|post|entry|story|teaser|card|item|headline|news|title|hentry|blog)s?(?:$|[\s_-])",
    re.IGNORECASE,
)
_HEADINGS = ("h1", "h2", "h3", "h4", "h5", "h6")
_DIGITS = re.compile(r"\d+")


@dataclass(frozen=True, slots=True)
class _Link:
    """A link that may lead to an article."""

    anchor: Any
    url: str
    key: str
    """Of its address: two links to one page have the same."""
    title: str
    headed: bool
    """Whether a heading holds it, or it a heading."""
    place: int


def _by_itself(tree: Any, base: str, page_url: str) -> list[_Link]:
    """Return the links to articles, in document order."""
    lists: dict[int, list[_Link]] = {}
    places = _Places()
    for link in _possible(tree, base, page_url):
        lists.setdefault(places.of(link.anchor), []).append(link)
    scored = [(_score(links), links) for links in lists.values()]
    best = max((score for score, _ in scored), default=0.0)
    kept = [link for score, links in scored if score > 0 and score >= best * _NEARLY for link in links]
    lead = [
        link
        for score, links in scored
        if 0 < score < best * _NEARLY
        for link in links
        if link.headed and next(link.anchor.iterancestors("article"), None) is not None
    ]
    return sorted([*kept, *lead], key=lambda link: link.place)


def _possible(tree: Any, base: str, page_url: str) -> Iterator[_Link]:
    page_key = canonical_url(page_url)
    framed = {anchor for element in tree.iter() if _frames(element) for anchor in element.iter("a")}
    for place, anchor in enumerate(tree.iter("a")):
        if place >= _LINKS_MAX:
            return
        if anchor in framed or "tag" in (anchor.get("rel") or "").split():
            continue
        address = html_tree.link_of(anchor, base)
        if address is None or not _leads_to_article(address, page_url):
            continue
        key = canonical_url(address)
        if key == page_key:
            continue
        title, headed = _title_of(anchor)
        if extent(title) >= _CHARS_MIN or len(title.split()) >= _WORDS_MIN or (headed and title):
            yield _Link(anchor, address, key, title, headed, place)


def _frames(element: Any) -> bool:
    """Whether an element frames the page, so that links in it are no articles."""
    if not isinstance(element.tag, str) or element.tag in {"html", "body", "main", "article"}:
        return False
    if element.tag in _FRAME or (element.get("role") or "").lower() in _FRAME_ROLES:
        return True
    if element.tag == "header":  # of the page, not of an article
        return next(element.iterancestors("article", "main", "section"), None) is None
    names = f"{element.get('class') or ''} {element.get('id') or ''}"
    # A class on a whole article ("post tag-news") says what it is about; a frame holds no headed articles.
    return bool(_FRAME_WORDS.search(names)) and not _ARTICLE_WORDS.search(names)


def _leads_to_article(address: str, page_url: str) -> bool:
    parts = urlsplit(address)
    if parts.hostname != urlsplit(page_url).hostname and not same_site(address, page_url):
        return False
    if parts.path in {"", "/"} and not parts.query:
        return False
    query = f"?{parts.query}" if parts.query else ""
    return not _LIST_PATH.search(f"{parts.path}{query}") and not _FILE.search(parts.path)


def _title_of(anchor: Any) -> tuple[str, bool]:
    """Return a link's headline and whether a heading holds it: in the link, around it, or beside it in its box."""
    for heading in anchor.iter(*_HEADINGS):
        if text := _text_of(heading):
            return text, True
    heading = next(anchor.iterancestors(*_HEADINGS), None)
    text = _text_of(anchor)
    if heading is not None:
        return text or _text_of(heading), True
    box = anchor
    for _ in range(_LEVELS):
        box = box.getparent()
        if box is None or box.tag in {"body", "main", "ul", "ol", "table"}:
            break
        headings = list(islice((one for one in box.iter(*_HEADINGS) if _text_of(one)), 2))
        if len(headings) > 1:
            break
        if headings and next(headings[0].iter("a"), None) is None:
            return _text_of(headings[0]), True
    image = next(anchor.iter("img"), None)
    label = anchor.get("title") or anchor.get("aria-label") or ("" if image is None else image.get("alt")) or ""
    return text or sanitised.line(label), False


def _text_of(element: Any) -> str:
    """Return an element's text as one line."""
    return sanitised.line(" ".join(element.itertext()))


class _Places:
    """Numbers for what is alike for the links of a list: the elements around them with their classes, digits aside."""

    def __init__(self) -> None:
        self._known: dict[Any, int] = {}
        self._numbers: dict[tuple[int, str], int] = {}

    def of(self, element: Any) -> int:
        """Return the number of an element's place."""
        way = []
        while element is not None and element not in self._known:
            way.append(element)
            element = element.getparent()
        number = self._known.get(element, 0)
        for one in reversed(way):
            number = self._numbers.setdefault((number, _shape(one)), len(self._numbers) + 1)
            self._known[one] = number
        return number


def _shape(element: Any) -> str:
    classes = sorted({_DIGITS.sub("", name) for name in (element.get("class") or "").split()})
    return f"{element.tag}.{'.'.join(classes[:3])}"


def _score(links: list[_Link]) -> float:
    """Return how much a list looks like articles: many, with headlines, in articles, at telling addresses."""
    distinct = {link.key for link in links}
    first = links[0]
    in_article = next(first.anchor.iterancestors("article"), None) is not None
    named = any(_ARTICLE_WORDS.search(one.get("class") or "") for one in [first.anchor, *first.anchor.iterancestors()])
    if len(distinct) < 2 and not (first.headed and (in_article or named)):
        return 0.0
    chars = sum(min(extent(link.title), 100) for link in links) / len(links)
    telling = sum(_tells(link.url) for link in links) / len(links)
    weight = 1.0 + 1.5 * first.headed + in_article + 0.5 * named + telling
    return float(min(len(distinct), 30) ** 0.5 * chars * weight)


def _tells(url: str) -> bool:
    """Whether an address looks like an article's: a date, a number or several words in it."""
    last = urlsplit(url).path.rstrip("/").rpartition("/")[2]
    return bool(re.search(r"\d{3,}", url)) or last.count("-") >= 2 or last.count("_") >= 2


def _distinct(links: Iterable[_Link]) -> list[_Link]:
    """Keep one link an article: the first, with the longest title that any of its links has."""
    kept: dict[str, _Link] = {}
    for link in links:
        known = kept.get(link.key)
        if known is None:
            kept[link.key] = link
        elif (link.headed, len(link.title)) > (known.headed, len(known.title)):
            kept[link.key] = replace(link, url=known.url, place=known.place)
    return list(kept.values())


class NoLinksFoundError(PermanentError):
    """The page links to no article, or to none that the selector chooses."""

    code = "no_links_found"


def article_links(
    body: bytes, *, url: str, content_type: str = "", selector: str | None = None, max_links: int = 100
) -> Feed:
    """Return the articles that a page links to, in document order, at most ``max_links``.

    A selector's links count wherever they lead; it may choose links, what holds them, or what they hold. Raises
    ``InvalidSelectorError`` and ``NoLinksFoundError``.
    """
    tree = html_tree.tree_of(body, content_type=content_type)
    base = url if tree is None else html_tree.base_of(tree, url)
    if tree is None:
        found: list[_Link] = []
    elif selector is not None:
        found = _distinct(_selected(tree, base, selector))
    else:
        found = _distinct(_by_itself(tree, base, url))
    if not found:
        if selector is not None:
            raise NoLinksFoundError("The page has no links that match this selector. Set another one.")
        raise NoLinksFoundError("The page has no article links. Set a CSS selector for the links to follow.")
    others = {link.anchor for link in found}
    language = sanitised.line(tree.get("lang") or "", 35) or None
    dates = Dates(language, lambda: map(_stated, tree.iter("time")))
    return Feed(
        title=_page_title(tree),
        site_url=url,
        entries=tuple(_entry(link, base, others, dates) for link in found[:max_links]),
        language=language,
        skipped=max(0, len(found) - max_links),
    )


def _selected(tree: Any, base: str, selector: str) -> Iterator[_Link]:
    try:
        check_selector(selector)
        chosen = CSSSelector(selector, translator="html")(tree)
    except (BadSelectorError, etree.XPathError, RecursionError, ValueError) as error:
        raise InvalidSelectorError(INVALID) from error
    for place, element in enumerate(chosen[:_LINKS_MAX]):
        anchor = _anchor_of(element)
        address = None if anchor is None else html_tree.link_of(anchor, base)
        if address is not None:
            title = _text_of(element) if element.tag in _HEADINGS else _title_of(anchor)[0]
            yield _Link(anchor, address, canonical_url(address), title, headed=False, place=place)


def _anchor_of(element: Any) -> Any:
    """Return the link that an element is, else the first that it holds, else the one that holds it."""
    if element.tag == "a":
        return element
    inside = next((anchor for anchor in element.iter("a") if anchor.get("href")), None)
    return inside if inside is not None else next(element.iterancestors("a"), None)


def _entry(link: _Link, base: str, others: set[Any], dates: Dates) -> Entry:
    box = _box(link.anchor, others)
    return Entry(
        guid=None,
        link=link.url,
        title=link.title or link.url,
        **entry_times(dates, *map(_stated, box.iter("time"))),
        image_url=next(filter(None, (_image(one, base) for one in box.iter("img"))), None),
    )


def _box(anchor: Any, others: set[Any]) -> Any:
    """Return the largest element around a link that holds no other article's link, a few levels up at most."""
    box = anchor
    for ancestor in list(anchor.iterancestors())[: _LEVELS + 2]:
        inside = islice((anchor for anchor in ancestor.iter("a") if anchor in others), 2)
        if ancestor.tag in {"body", "main"} or len(list(inside)) > 1:
            break
        box = ancestor
    return box


def _stated(element: Any) -> str:
    """Return what a time element says, in its attribute or else in its words."""
    return element.get("datetime") or _text_of(element)


def _image(element: Any, base: str) -> str | None:
    source = element.get("src") or ""
    return sanitised.absolute(element.get("data-src") if source.startswith("data:") or not source else source, base)


def _page_title(tree: Any) -> str:
    stated = next((meta.get("content") for meta in tree.iter("meta") if meta.get("property") == "og:site_name"), None)
    return sanitised.line(stated or tree.findtext(".//title") or "")
