"""Puts a page in order before its text is looked for: consent dialogs go, a text in pieces is joined, an article freed.

Consent texts are told by their words, in the languages below, because their markup has no common name. Nothing that
holds the page's heading or its ``article`` or ``main`` is taken out, so that a piece about cookies stays.
"""

import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Collection, Iterator
from functools import cached_property
from itertools import accumulate, pairwise

from lxml import etree, html

from siftline.ingest.outline import Outline, outline
from siftline.ingest.plain import beginning

_MARKED = re.compile(
    r"(?:^|[\s_-])(?:cookies?|consent|gdpr|ccpa|cmp|onetrust|didomi|truste|usercentrics|cookiebot|klaro|borlabs|iubenda"
    r"|tarteaucitron|sp_message|qc-cmp2?|fc-consent|privacy)(?:$|[\s_-])",
    re.IGNORECASE,
)
# Both begin with plain letters, and are for text in lower case: an assertion in front, or letters in both cases, would
# make the search try every word at every character. What stands before a find is looked at afterwards.
_TERMS = re.compile(
    r"(?:cookies?\b|クッキー|consent\b|privacy\b|partners?\b|vendors?\b|legitimate interests?\b|personal data\b"
    r"|personali[sz]ed ad\w*|gdpr\b|preferences\b|third[- ]part\w+|store and/or access\b|tracking\b"
    r"|einwilligung\w*|zustimm\w+|datenschutz\w*|berechtigte\w* interesse\w*|personenbezogen\w+"
    r"|consentement\b|confidentialité\b|partenaires\b|données personnelles\b|intérêts? légitimes?\b"
    r"|consentimiento\b|privacidad\b|socios\b|datos personales\b|consentimento\b|privacidade\b|parceiros\b"
    r"|dados pessoais\b|consenso\b|riservatezza\b|dati personali\b|toestemming\b|persoonsgegevens\b|zgod[aąęy]\b"
    r"|prywatności\b|プライバシー|個人情報|隐私|隱私|个人信息)"
)
_ACTIONS = re.compile(
    r"(?:accept|agree|allow|reject|decline|refuse|manage|opt out|akzeptieren|ablehnen|einverstanden|accepter|refuser"
    r"|aceptar|rechazar|accetta\w*|rifiuta\w*|accepteer|weiger\w*|akcept\w+|aceitar|rejeitar)\b|同意|拒否|拒绝|拒絕"
)
_WORD = re.compile(r"\w+")
_UNREAD = (
    *("script", "style", "noscript", "template", "svg", "iframe", "link", "meta", "canvas", "object", "embed"),
    *("button", "select", "input", "textarea", "dialog", "nav", "footer", "aside", "menu"),
)
_UNTOLD = (
    "abbr",
    "acronym",
    "bdi",
    "bdo",
    "big",
    "cite",
    "data",
    "dfn",
    "font",
    "img",
    "ins",
    "mark",
    "nobr",
    "small",
    "tbody",
    "tfoot",
    "thead",
    "wbr",
)
_BLOCKS = ("aside", "dialog", "div", "footer", "form", "header", "section")
_KEPT = ("article", "body", "h1", "html", "main")
_PARAGRAPH_CHARS = 80
_TERMS_KNOWN = 32
# Names of what holds a text, and of what holds other people's or other articles' texts.
_PIECE = re.compile(r"article|body|content|entry|post|story|text", re.IGNORECASE)
_NO_PIECE = re.compile(
    r"comment|repl(?:y|ies)|related|recommend|teaser|card|promo|sidebar|footer|review|widget|newsletter", re.IGNORECASE
)


def clear(page: Outline) -> None:
    """Drop consent blocks, join an article's pieces, and turn an aside that holds most of the text into an article.

    Changes the tree; the outline stays that of the tree as it was.
    """
    gone = _Consent(page).blocks()
    for place in gone:
        page.nodes[place].clear(keep_tail=True)  # not dropped, for the reason above
    if page.named.get("aside"):
        _free_article(outline(page.nodes[0]) if gone else page)
    _slim(page)
    _join_pieces(page, gone)


def _slim(page: Outline) -> None:
    """Drop what nobody reads, before the tree is copied and searched again and again."""
    for node in page.of(*_UNREAD):
        parent = node.getparent()
        if node.tag not in _UNREAD or parent is None:
            continue
        if node.tag == "script" and node.get("type", "").lower().startswith("application/ld+json"):
            continue
        if not node.tail or node.tail.isspace():
            parent.remove(node)
        else:
            # Dropped, it would give its tail to the one before: with many such tails, the square of their length.
            node.clear(keep_tail=True)
    etree.strip_tags(page.nodes[0], *_UNTOLD)


class _Consent:
    """Looks for consent blocks; time grows with the page's text and with its number of blocks."""

    def __init__(self, page: Outline) -> None:
        self._page = page
        # The one letter whose lower case is longer would move all places behind it.
        self._text = page.text.replace("\u0130", "i").lower()
        self._terms: dict[str, list[int]] = {}
        for start, term in self._finds(_TERMS):
            if term in self._terms or len(self._terms) < _TERMS_KNOWN:
                self._terms.setdefault(term, []).append(start)
        self._hits = sorted(place for places in self._terms.values() for place in places)
        self._acts = [start for start, _ in self._finds(_ACTIONS)] if len(self._terms) > 1 else []

    def blocks(self) -> set[int]:
        """Return the places of the elements that are consent texts and nothing else, outer ones and those within."""
        if not self._acts:
            return set()
        page = self._page
        kept = sorted(place for name in _KEPT for place in page.named.get(name, ()))
        return {
            place
            for name in _BLOCKS
            for place in page.named.get(name, ())
            if self._within(self._acts, place) and not _some(kept, place, page.last[place]) and self._is_consent(place)
        }

    def _is_consent(self, place: int) -> bool:
        node = self._page.nodes[place]
        terms = sum(1 for places in self._terms.values() if self._within(places, place))
        if terms < 2:
            return False
        if _MARKED.search(f"{node.get('class', '')} {node.get('id', '')} {node.get('aria-label', '')}"):
            return True
        if terms < 4 or self._within(self._hits, place) * 25 < self._within(self._words, place):
            return False
        written = self._written
        left = written[-1] - (written[self._page.last[place]] - written[place])
        return left >= 5 * _PARAGRAPH_CHARS

    def _within(self, places: list[int], place: int) -> int:
        """Return how many of these places in the text an element holds."""
        return bisect_left(places, self._page.end[place]) - bisect_left(places, self._page.begin[place])

    @cached_property
    def _words(self) -> list[int]:
        return [match.start() for match in _WORD.finditer(self._text)]

    @cached_property
    def _written(self) -> list[int]:
        return _written(self._page)

    def _finds(self, pattern: re.Pattern[str]) -> Iterator[tuple[int, str]]:
        text = self._text
        for match in pattern.finditer(text):
            start = match.start()
            if start == 0 or not (text[start - 1].isalnum() and text[start].isascii()):
                yield start, match[0]


def _some(places: list[int], start: int, end: int) -> bool:
    at = bisect_left(places, start)
    return at < len(places) and places[at] < end


def _written(page: Outline) -> list[int]:
    """Return how many characters stand in paragraphs before each element, and at the end."""
    chars = [0] * len(page.nodes)
    for place in page.named.get("p", ()):
        chars[place] = page.chars(place)
    return [0, *accumulate(chars)]


def _free_article(page: Outline) -> None:
    written = _written(page)
    paragraphs = [place for place in page.named.get("p", ()) if page.chars(place) >= _PARAGRAPH_CHARS]
    for place in page.named["aside"]:
        last = page.last[place]
        several = bisect_left(paragraphs, last) - bisect_left(paragraphs, place) >= 3
        if several and (written[last] - written[place]) * 2 > written[-1]:
            page.nodes[place].tag = "article"


def _join_pieces(page: Outline, gone: Collection[int]) -> None:
    """Move the paragraphs of a text that advertisements cut into several containers of one class into the first."""
    alike: dict[str, list[int]] = defaultdict(list)
    for name in ("div", "section"):
        for place in page.named.get(name, ()):
            alike[page.nodes[place].get("class", "")].append(place)
    homes: dict[int, int | None] = {-1: 0, **dict.fromkeys(gone)}
    for name, places in alike.items():
        if len(places) < 2 or not _PIECE.search(name):
            continue
        pieces: dict[int, list[int]] = defaultdict(list)
        for place in sorted(places):
            home = _home(page, place, homes)
            if home is not None and any(map(_says_something, page.nodes[place].iterchildren("p"))):
                pieces[home].append(place)
        for parts in pieces.values():
            if all(page.last[one] <= other for one, other in pairwise(parts)):
                for place in parts[1:]:
                    page.nodes[parts[0]].extend(list(page.nodes[place]))


def _home(page: Outline, place: int, homes: dict[int, int | None]) -> int | None:
    """Return the place of the ``article`` or ``main`` around an element, else 0; ``None`` in what is no article's text.

    ``homes`` keeps the answers.
    """
    above = []
    while place not in homes:
        above.append(place)
        place = page.parents[place]
    home = homes[place]
    for place in reversed(above):
        node = page.nodes[place]
        if node.tag not in {"html", "body"} and _NO_PIECE.search(f"{node.get('class', '')} {node.get('id', '')}"):
            home = None
        elif home is not None and node.tag in {"article", "main"}:
            home = place
        homes[place] = home
    return home


def _says_something(paragraph: html.HtmlElement) -> bool:
    return len(beginning(paragraph, 10 * _PARAGRAPH_CHARS).strip()) >= _PARAGRAPH_CHARS
