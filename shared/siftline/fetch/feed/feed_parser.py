"""A feed's bytes into what it says.

Runs in a child process (``siftline.fetch.kinds.readers``), for strangers write feeds, and only that imports it:
reading them takes libraries that are dear to load.
"""

import gc
import re
from collections.abc import Iterator
from contextlib import contextmanager

from siftline.fetch.feed.entries import FAULTS, FeedDraft, finish
from siftline.fetch.feed.feeds import Feed, NotAFeedError
from siftline.fetch.feed.identity import Mark, identify
from siftline.fetch.feed.json_feed import parse_json
from siftline.fetch.feed.xml_feed import read_feed
from siftline.fetch.feed.xml_tree import tree_of

_FRAGMENT_MAX_BYTES = 1_000_000
_ENTRY = re.compile(rb"<(?:item|entry)\b", re.IGNORECASE)
_PAGE = re.compile(rb"<html\b", re.IGNORECASE)


def parse(body: bytes, *, url: str, content_type: str = "", max_entries: int = 50_000) -> Feed:
    """Return what a feed's bytes say; ``url`` is where they came from, for relative links.

    A damaged feed yields what can be read of it. Raises ``NotAFeedError`` and ``FeedTooComplexError``.
    """
    with _uncollected():
        if body.removeprefix(b"\xef\xbb\xbf").lstrip()[:1] == b"{":
            return parse_json(body, url=url, max_entries=max_entries)
        tree = tree_of(body, content_type)
        draft = read_feed(tree, url=url, max_entries=max_entries) or _by_feedparser(body, url, content_type)
        if draft is None:
            raise NotAFeedError("The address is not an RSS, Atom, RDF or JSON feed.")
        return finish(draft, url=url)


def _by_feedparser(body: bytes, url: str, content_type: str) -> FeedDraft | None:
    """Return what feedparser makes of a small body that has entries, but in no document that is a feed."""
    if len(body) > _FRAGMENT_MAX_BYTES or not _ENTRY.search(body) or _PAGE.search(body):
        return None
    from siftline.fetch.feed.feedparser_feed import read_by_feedparser  # noqa: PLC0415 - dear to load, and hardly needed

    try:
        draft = read_by_feedparser(body, url=url, content_type=content_type)
    except FAULTS:
        return None
    return draft if draft.entries else None


def parse_identified(
    body: bytes, *, url: str, content_type: str = "", max_entries: int = 50_000
) -> tuple[Feed, list[Mark]]:
    """Return what ``parse`` does, and the marks of its entries. Raises as that does."""
    feed = parse(body, url=url, content_type=content_type, max_entries=max_entries)
    places = {id(entry): place for place, entry in enumerate(feed.entries)}
    return feed, [
        Mark(places[id(entry)], key, link, content_sha256.hex(), exact_sha256.hex())
        for entry, key, link, content_sha256, exact_sha256 in identify(feed.entries)
    ]


@contextmanager
def _uncollected() -> Iterator[None]:
    """Leave the garbage collector out: a feed is many objects and no circles, and looking for some costs a quarter."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
