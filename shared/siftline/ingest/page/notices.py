"""What keeps a page's article from us: a check for robots, a wall of consent, a paywall.

An article about consent has the same words as a wall, and its page a banner with the same buttons. What tells them
apart: a wall speaks of itself and to its reader, and what agrees stands in the same part of the page as its text.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterator
from itertools import accumulate, islice

from siftline.ingest.page.consent import (
    ACTIONS,
    ALL_TERMS,
    FEW_TERMS,
    LABEL_CHARS,
    agreeing,
    controls,
    finds,
    lower,
    speaks_to_its_reader,
)
from siftline.ingest.page.maintext import Article
from siftline.ingest.page.metadata import Metadata
from siftline.ingest.page.page_tree import Outline
from siftline.ingest.page.plain import count_words
from siftline.ingest.page_model import ConsentWallError
from siftline.net.blocks import BLOCKED, BlockedBySiteError, is_block, is_consent_address
from siftline.text.words import extent, letters

_TERMS_LEAST = 4
_WORDS_A_TERM = 25
_PROSE_CHARS = 40
"""A part that says as much besides its labels speaks for itself, without any term of consent."""
# A wall has few parts that ask, and they are small: more need not be looked at.
_PARTS_MOST = 20
_ASKING_CHARS = 100_000
_HEADED_SHARE = 2
"""So much longer a part may be than the text that was found in it, for its headings to count."""
_PIECE_LETTERS = 15
"""A shorter line of a part may stand anywhere in a text by chance."""
# What may stand elsewhere in the text of a wall: its site's name and the like, but no sentence.
_SENTENCE_LETTERS = 40
_ELSEWHERE_SHARE = 0.5
_OFFERS = re.compile(
    "abonn|subscri|suscr[ií]|abbona|assina|subskry|prenumer|ohnetracking|(?:im|pro)monat|permonth|parmois|almes|permaand"
    "|pormês|miesięczn"
)
_WORD = re.compile(r"\w+")

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
_LOCKED_CHARS = 250
_SELECTOR = re.compile(r"(?=.)(?P<name>[a-z][a-z0-9-]*)?(?:#(?P<id>[\w-]+))?(?P<classes>(?:\.[\w-]+)*)", re.IGNORECASE)
_SELECTORS = 20


def _is_consent_wall(page: Outline, text: str, dialogs: Collection[int], url: str) -> bool:
    """Tell whether the text that was found in a page is that of a wall of consent.

    ``dialogs`` are the places of the consent dialogs that were dropped, ``url`` is where the page was found.
    """
    words = lower(text)
    if not _is_about_consent(words):
        return False
    if is_consent_address(url):
        return speaks_to_its_reader(text) or next(finds(ACTIONS, words), None) is not None
    return any(_is_wall(part, text) for part in islice(_Asking(page, dialogs).parts(), _PARTS_MOST))


def _is_about_consent(words: str) -> bool:
    if next(finds(FEW_TERMS, words), None) is None:
        return False
    terms = [term for _, term in finds(ALL_TERMS, words)]
    return len(set(terms)) >= _TERMS_LEAST and len(terms) * _WORDS_A_TERM >= len(_WORD.findall(words))


def _is_wall(part: str, text: str) -> bool:
    """Tell whether a part of a page asks, and no sentence of the text that was found stands elsewhere.

    But for what a wall offers instead, which stands beside what it asks: to pay by the month and not be tracked.
    """
    if not speaks_to_its_reader(text) and (len(part) > _HEADED_SHARE * len(text) or not speaks_to_its_reader(part)):
        return False
    elsewhere = _without(text, part)
    if sum(map(len, elsewhere)) > _ELSEWHERE_SHARE * len(_letters(text)):
        return False
    sentences = [stretch for stretch in elsewhere if letters(stretch) >= _SENTENCE_LETTERS]
    return not sentences or (all(map(_OFFERS.search, sentences)) and _is_about_consent(lower(part)))


def _without(text: str, part: str) -> list[str]:
    """Return the letters of each stretch of a text that does not stand in a part of its page.

    Lines are joined and parted on the way from a page to its text, so that the part's are looked for in the text.
    """
    rest = _letters(text)
    pieces = {piece for line in part.split("\n") if letters(piece := _letters(line)) >= _PIECE_LETTERS}
    for piece in sorted(pieces, key=len, reverse=True):
        rest = rest.replace(piece, "\n")
    return [stretch for stretch in rest.split("\n") if stretch]


class _Asking:
    """The parts of a page in which something to press agrees or refuses, consent dialogs aside."""

    def __init__(self, page: Outline, dialogs: Collection[int]) -> None:
        self._page = page
        self._dialogs: list[int] = []
        for place in sorted(dialogs):
            if not self._is_in_dialog(place):
                self._dialogs.append(place)
        labels = _labels(page)
        self._begins = [begin for begin, _ in labels]
        self._ends = [end for _, end in labels]
        self._before = [0, *accumulate(end - begin for begin, end in labels)]
        self._terms = [start for start, _ in finds(FEW_TERMS, lower(page.text)) if not self._is_label(start)]

    def parts(self) -> Iterator[str]:
        """Yield the text of the smallest part around each control that says something besides what can be pressed.

        That is a banner's own words where a banner holds it, and a wall's text where it stands below that in a row.
        """
        page, seen = self._page, set[int]()
        for place in agreeing(page):
            if self._is_in_dialog(place):
                continue
            holder = place
            while holder not in seen and holder >= 0 and not self._says_something(holder):
                seen.add(holder)
                holder = page.parents[holder]
            if holder not in seen and holder >= 0:
                seen.add(holder)
                if page.chars(holder) <= _ASKING_CHARS:
                    yield page.text[page.begin[holder] : page.end[holder]]

    def _is_in_dialog(self, place: int) -> bool:
        at = bisect_right(self._dialogs, place)
        return at > 0 and place < self._page.last[self._dialogs[at - 1]]

    def _says_something(self, place: int) -> bool:
        begin, end = self._page.begin[place], self._page.end[place]
        if bisect_left(self._terms, begin) < bisect_left(self._terms, end):
            return True
        return end - begin - (self._in_labels(end) - self._in_labels(begin)) >= _PROSE_CHARS

    def _in_labels(self, place: int) -> int:
        """Return how many characters before a place in the text are labels."""
        at = bisect_left(self._begins, place)
        return self._before[at] - max(0, self._ends[at - 1] - place if at else 0)

    def _is_label(self, place: int) -> bool:
        return self._in_labels(place + 1) > self._in_labels(place)


def _labels(page: Outline) -> list[tuple[int, int]]:
    """Return where the labels of what can be pressed or ticked stand in the text."""
    places = {*controls(page), *page.named.get("label", ()), *page.named.get("option", ())}
    found: list[tuple[int, int]] = []
    for begin, end in sorted((page.begin[place], page.end[place]) for place in places):
        if 0 < end - begin <= LABEL_CHARS and (not found or begin >= found[-1][1]):
            found.append((begin, end))
    return found


def _letters(text: str) -> str:
    return "".join(_WORD.findall(text)).casefold()


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
    walled = _is_consent_wall(page, text, article.consent, url) if text else bool(article.consent)
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
    if held and max(held) >= _LOCKED_CHARS:
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
