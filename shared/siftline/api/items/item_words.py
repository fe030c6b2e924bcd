"""What an item's codes say, in words, and how long it takes to read."""

import math

from siftline.api.http.shapes import Cause
from siftline.jobs.credits_store import NO_CREDIT, NO_CREDIT_DETAIL

_NOTICES = {
    "insufficient_content": "The page has too little meaningful text to summarise or classify. Any topic shown comes"
    " from its source.",
    "without_vector": "The embedding model returned no usable vector for this text. Until it does, search finds it"
    " by words only. We retry automatically.",
    NO_CREDIT: NO_CREDIT_DETAIL,
    "page_unavailable": "The page could not be read; this is the text from its feed. We retry for some days while the "
    "feed lists it.",
    "consent_wall": "The site shows this page only to visitors who accept tracking; this is what is known otherwise.",
    "paywalled": "The rest is available only to the site's subscribers.",
    "blocked_by_site": "The site blocks automated access to this page; this is the text from its feed.",
    "pdf_without_text": "The PDF contains only images of its pages, no text.",
}
_UNDATED = {
    "date_unreadable": "cannot be read",
    "date_ambiguous": "is ambiguous: the order of day and month is unknown",
    "date_implausible": "is not plausible",
}
_WORDS_PER_MINUTE = 230
# Where no spaces part words, characters are counted as such.
_CHARACTERS_PER_MINUTE = {"zh": 500, "ja": 500, "th": 900, "lo": 900, "km": 900, "my": 900}
_ANY_NOTICE = "The page could be read only in part."


def notice_of(code: str | None) -> Cause | None:
    """Return what limits what could be read, in words."""
    return None if code is None else Cause(code=code, detail=_NOTICES.get(code, _ANY_NOTICE))


def undated_of(code: str | None, claim: str | None) -> Cause | None:
    """Return why the date that an item claims is not used, in words."""
    if code is None:
        return None
    why = _UNDATED.get(code, "is not used")
    detail = f"The stated date, \u201c{claim}\u201d, {why}. The time it was first seen is used instead."
    return Cause(code=code, detail=detail)


def error_of(code: str | None, detail: str | None) -> Cause | None:
    """Return why something failed, in words."""
    return None if code is None else Cause(code=code, detail=detail or "No further details.")


def reading_minutes(word_count: int | None, lang: str | None) -> int | None:
    """Return how long a text takes to read, rounded up; where no spaces part words, by its characters."""
    if not word_count:
        return None
    return math.ceil(word_count / _CHARACTERS_PER_MINUTE.get(lang or "", _WORDS_PER_MINUTE))
