"""The articles that a page links to, by a CSS selector or by itself. Pure; runs in the child process."""

from collections.abc import Iterator
from itertools import islice
from typing import Any

from lxml import etree
from lxml.cssselect import CSSSelector

from siftline.fetch.feed import sanitised
from siftline.fetch.feed.feeds import Entry, Feed
from siftline.fetch.kinds import html_tree
from siftline.fetch.kinds.feed_locations import InvalidSelectorError
from siftline.fetch.kinds.page_lists import HEADINGS, LEVELS, LINKS_MAX, Link, by_itself, distinct, text_of, title_of
from siftline.kit.errors import PermanentError
from siftline.net.selectors import INVALID, BadSelectorError, check_selector
from siftline.net.urls import canonical_url
from siftline.text.instants import Dates


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
        found: list[Link] = []
    elif selector is not None:
        found = distinct(_selected(tree, base, selector))
    else:
        found = distinct(by_itself(tree, base, url))
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


def _selected(tree: Any, base: str, selector: str) -> Iterator[Link]:
    try:
        check_selector(selector)
        chosen = CSSSelector(selector, translator="html")(tree)
    except (BadSelectorError, etree.XPathError, RecursionError, ValueError) as error:
        raise InvalidSelectorError(INVALID) from error
    for place, element in enumerate(chosen[:LINKS_MAX]):
        anchor = _anchor_of(element)
        address = None if anchor is None else html_tree.link_of(anchor, base)
        if address is not None:
            title = text_of(element) if element.tag in HEADINGS else title_of(anchor)[0]
            yield Link(anchor, address, canonical_url(address), title, headed=False, place=place)


def _anchor_of(element: Any) -> Any:
    """Return the link that an element is, else the first that it holds, else the one that holds it."""
    if element.tag == "a":
        return element
    inside = next((anchor for anchor in element.iter("a") if anchor.get("href")), None)
    return inside if inside is not None else next(element.iterancestors("a"), None)


def _entry(link: Link, base: str, others: set[Any], dates: Dates) -> Entry:
    box = _box(link.anchor, others)
    published = dates.first(*map(_stated, box.iter("time")))
    return Entry(
        guid=None,
        link=link.url,
        title=link.title or link.url,
        published_at=published.at,
        undated_code=published.undated_code,
        undated_claim=published.claim,
        image_url=next(filter(None, (_image(one, base) for one in box.iter("img"))), None),
    )


def _box(anchor: Any, others: set[Any]) -> Any:
    """Return the largest element around a link that holds no other article's link, a few levels up at most."""
    box = anchor
    for ancestor in list(anchor.iterancestors())[: LEVELS + 2]:
        inside = islice((anchor for anchor in ancestor.iter("a") if anchor in others), 2)
        if ancestor.tag in {"body", "main"} or len(list(inside)) > 1:
            break
        box = ancestor
    return box


def _stated(element: Any) -> str:
    """Return what a time element says, in its attribute or else in its words."""
    return element.get("datetime") or text_of(element)


def _image(element: Any, base: str) -> str | None:
    source = element.get("src") or ""
    return sanitised.absolute(element.get("data-src") if source.startswith("data:") or not source else source, base)


def _page_title(tree: Any) -> str:
    stated = next((meta.get("content") for meta in tree.iter("meta") if meta.get("property") == "og:site_name"), None)
    return sanitised.line(stated or tree.findtext(".//title") or "")
