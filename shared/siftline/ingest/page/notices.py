"""What keeps a page's article from us: a check for robots, a wall of consent, a paywall."""

import re

from siftline.ingest.page.consent_walls import is_consent_wall
from siftline.ingest.page.maintext import Article
from siftline.ingest.page.metadata import Metadata
from siftline.ingest.page.outline import Outline
from siftline.ingest.page.plain import count_words
from siftline.ingest.page_errors import ConsentWallError
from siftline.net.blocks import BLOCKED, BlockedBySiteError, is_block
from siftline.text.words import extent

CONSENT_WALL = "consent_wall"
PAYWALLED = "paywalled"

WALL_CHARS = 6_000
"""A page that says more than this is no wall of consent."""
BLOCK_CHARS = 1_500
"""A page that says more than this is no check for robots."""
TITLED_CHARS = 400
"""One that says more than this is none for its title."""
# What a teaser has at most, when its site says that the article is not free and not which part of it.
_TEASER_WORDS = 300
# With so many it is no teaser, even where the part named is not found.
_WHOLE_WORDS = 600
_PART_CHARS = 250
_SELECTOR = re.compile(r"(?=.)(?P<name>[a-z][a-z0-9-]*)?(?:#(?P<id>[\w-]+))?(?P<classes>(?:\.[\w-]+)*)", re.IGNORECASE)
_SELECTORS = 20


def check_wall(page: Outline, metadata: Metadata, article: Article, markup: str, url: str) -> bool:
    """Tell whether a wall of consent stands before the article that the page says it is.

    Raises ``BlockedBySiteError``, and ``ConsentWallError`` where nothing of a page is there.
    """
    text = article.text
    named = metadata.is_article and metadata.title is not None
    chars = extent(text)
    if chars <= BLOCK_CHARS and not (named and text) and is_block(markup, by_title=chars <= TITLED_CHARS):
        raise BlockedBySiteError(BLOCKED)
    if chars > WALL_CHARS:
        return False
    if named:
        return not text and bool(article.consent)
    walled = is_consent_wall(page, text, article.consent, url) if text else bool(article.consent)
    if walled:
        raise ConsentWallError("The site shows this page only to visitors who accept tracking.")
    return False


def is_paywalled(page: Outline, locked_parts: tuple[str, ...] | None, text: str) -> bool:
    """Tell whether the article goes on behind a paywall, by what its site states for search engines.

    A site that says so and sends all of it is read as it comes. What a page's text says of subscriptions counts for
    nothing: many a free article's footer does.
    """
    if locked_parts is None:
        return False
    held = [chars for selector in locked_parts[:_SELECTORS] if (chars := _held_chars(page, selector)) is not None]
    if held and max(held) >= _PART_CHARS:
        return False
    return count_words(text) < (_WHOLE_WORDS if held else _TEASER_WORDS)


def _held_chars(page: Outline, selector: str) -> int | None:
    """Return how much text the elements of a selector hold; ``None`` for one that cannot be read.

    Search engines read classes only; a name or an id is read here besides, and lists of such.
    """
    matches = [_SELECTOR.fullmatch(part.strip()) for part in selector.split(",")[:_SELECTORS]]
    wanted = [(match["name"], match["id"], set(match["classes"].split(".")[1:])) for match in matches if match]
    if not wanted:
        return None
    held = 0
    for place, node in enumerate(page.nodes):
        names, id_ = set(node.get("class", "").split()), node.get("id")
        if any(
            (not name or name == node.tag) and (not id_wanted or id_wanted == id_) and classes <= names
            for name, id_wanted, classes in wanted
        ):
            held = max(held, page.chars(place))
    return held
