"""Tells consent dialogs from texts: by their words, in the languages below, because their markup has no common name.

Nothing that holds the page's heading or its ``article`` or ``main`` counts as one, so that a piece about cookies stays.
"""

import re
from bisect import bisect_left
from collections.abc import Iterator
from functools import cached_property

from siftline.ingest.outline import Outline, written_before

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
_BLOCKS = ("aside", "dialog", "div", "footer", "form", "header", "section")
_KEPT = ("article", "body", "h1", "html", "main")
_TERMS_KNOWN = 32
_LEFT_CHARS = 400
"""A dialog without a telling name is one only on a page that says as much besides."""


def consent_blocks(page: Outline) -> set[int]:
    """Return the places of the elements that are consent texts and nothing else: outer ones and those within."""
    return _Consent(page).blocks()


def is_consent_text(text: str) -> bool:
    """Tell whether a text says little but that its reader should agree."""
    text = _lower(text)
    terms = [term for _, term in _finds(_TERMS, text)]
    return len(set(terms)) >= 4 and len(terms) * 25 >= len(_WORD.findall(text)) and asks_to_agree(text)


def asks_to_agree(text: str) -> bool:
    """Tell whether a text has a word for agreeing or refusing."""
    return next(_finds(_ACTIONS, _lower(text)), None) is not None


class _Consent:
    """Looks for consent blocks; time grows with the page's text and with its number of blocks."""

    def __init__(self, page: Outline) -> None:
        self._page = page
        self._text = _lower(page.text)
        self._terms: dict[str, list[int]] = {}
        for start, term in _finds(_TERMS, self._text):
            if term in self._terms or len(self._terms) < _TERMS_KNOWN:
                self._terms.setdefault(term, []).append(start)
        self._hits = sorted(place for places in self._terms.values() for place in places)
        self._acts = [start for start, _ in _finds(_ACTIONS, self._text)] if len(self._terms) > 1 else []

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
        return left >= _LEFT_CHARS

    def _within(self, places: list[int], place: int) -> int:
        """Return how many of these places in the text an element holds."""
        return bisect_left(places, self._page.end[place]) - bisect_left(places, self._page.begin[place])

    @cached_property
    def _words(self) -> list[int]:
        return [match.start() for match in _WORD.finditer(self._text)]

    @cached_property
    def _written(self) -> list[int]:
        return written_before(self._page)


def _some(places: list[int], start: int, end: int) -> bool:
    at = bisect_left(places, start)
    return at < len(places) and places[at] < end


def _lower(text: str) -> str:
    # The one letter whose lower case is longer would move all places behind it.
    return text.replace("\u0130", "i").lower()


def _finds(pattern: re.Pattern[str], text: str) -> Iterator[tuple[int, str]]:
    for match in pattern.finditer(text):
        start = match.start()
        if start == 0 or not (text[start - 1].isalnum() and text[start].isascii()):
            yield start, match[0]
