"""Tells consent dialogs from texts: by their words, because their markup has no common name.

Nothing that holds the page's heading or its ``article`` or ``main`` counts as one, so that a piece about cookies stays.
"""

import re
from bisect import bisect_left
from functools import cached_property

from siftline.ingest.page.consent_controls import agreeing
from siftline.ingest.page.consent_words import ACTIONS, FEW_TERMS, finds, lower
from siftline.ingest.page.outline import Outline, written_before

_MARKED = re.compile(
    r"(?:^|[\s_-])(?:cookies?|consent|gdpr|ccpa|cmp|onetrust|didomi|truste|usercentrics|cookiebot|klaro|borlabs|iubenda"
    r"|tarteaucitron|sp_message|qc-cmp2?|fc-consent|privacy)(?:$|[\s_-])",
    re.IGNORECASE,
)
_WORD = re.compile(r"\w+")
_BLOCKS = ("aside", "dialog", "div", "footer", "form", "header", "section")
_KEPT = ("article", "body", "h1", "html", "main")
_TERMS_KNOWN = 32
_LEFT_CHARS = 400
"""A dialog without a telling name is one only on a page that says as much besides."""


def consent_blocks(page: Outline) -> set[int]:
    """Return the places of the elements that are consent texts and nothing else: outer ones and those within."""
    return _Consent(page).blocks()


class _Consent:
    """Looks for consent blocks; time grows with the page's text and with its number of blocks."""

    def __init__(self, page: Outline) -> None:
        self._page = page
        self._text = lower(page.text)
        self._terms: dict[str, list[int]] = {}
        for start, term in finds(FEW_TERMS, self._text):
            if term in self._terms or len(self._terms) < _TERMS_KNOWN:
                self._terms.setdefault(term, []).append(start)
        self._hits = sorted(place for places in self._terms.values() for place in places)

    def blocks(self) -> set[int]:
        """Return the places of the elements that are consent texts and nothing else, outer ones and those within."""
        if len(self._terms) < 2:
            return set()
        page = self._page
        kept = sorted(place for name in _KEPT for place in page.named.get(name, ()))
        return {
            place
            for name in _BLOCKS
            for place in page.named.get(name, ())
            if not _some(kept, place, page.last[place]) and self._is_consent(place) and self._asks(place)
        }

    def _is_consent(self, place: int) -> bool:
        if self._within(self._hits, place) < 2:
            return False
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
        return left >= _LEFT_CHARS

    def _asks(self, place: int) -> bool:
        """Tell whether an element agrees or refuses: in its text, or with what it offers to press."""
        return bool(self._within(self._acts, place)) or _some(self._controls, place, self._page.last[place])

    def _within(self, places: list[int], place: int) -> int:
        """Return how many of these places in the text an element holds."""
        return bisect_left(places, self._page.end[place]) - bisect_left(places, self._page.begin[place])

    @cached_property
    def _acts(self) -> list[int]:
        return [start for start, _ in finds(ACTIONS, self._text)]

    @cached_property
    def _controls(self) -> list[int]:
        return sorted(agreeing(self._page))

    @cached_property
    def _words(self) -> list[int]:
        return [match.start() for match in _WORD.finditer(self._text)]

    @cached_property
    def _written(self) -> list[int]:
        return written_before(self._page)


def _some(places: list[int], start: int, end: int) -> bool:
    at = bisect_left(places, start)
    return at < len(places) and places[at] < end
