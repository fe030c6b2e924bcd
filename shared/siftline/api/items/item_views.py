"""Rows of items as the API shows them."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict

from siftline.api.entities.held_entities_store import NamedRow
from siftline.api.http.shapes import Cause, Waiting
from siftline.api.items.details_store import DerivationRow, DuplicateRow, RecordingRow, VectorRow
from siftline.api.items.item_models import (
    Derivation,
    Duplicate,
    Item,
    ItemDetail,
    Named,
    Recording,
    Transcript,
    TranscriptState,
    Vector,
)
from siftline.api.items.items_store import Freshness, ItemRow
from siftline.api.items.scores import reasons_of
from siftline.jobs.credits_store import NO_CREDIT, NO_CREDIT_DETAIL
from siftline.kit.stored import readable

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


def item_of(row: ItemRow) -> Item:
    """Return a row as an item of a list."""
    return Item.model_validate(fields_of(row))


def detail_of(
    row: ItemRow,
    *,
    waiting: Waiting | None,
    duplicates: Sequence[DuplicateRow],
    derivations: Sequence[DerivationRow],
    named: Sequence[NamedRow],
    vector: VectorRow | None,
    recording: RecordingRow | None,
    freshness: Freshness,
) -> ItemDetail:
    """Return a row and what is known besides it as one item."""
    return ItemDetail.model_validate(
        fields_of(row)
        | {
            **_wait(waiting),
            "reasons": reasons_of(row, freshness),
            "duplicates": [Duplicate(**asdict(one)) for one in duplicates],
            "entities": [_named(one) for one in named],
            "derivations": [Derivation(**asdict(one)) for one in derivations],
            "vector": Vector(**asdict(vector)) if vector else None,
            "recording": _recording(recording) if recording else None,
        }
    )


def notice_of(code: str | None) -> Cause | None:
    """Return what limits what could be read, in words."""
    return None if code is None else Cause(code=code, detail=_NOTICES.get(code, _ANY_NOTICE))


def undated_of(row: ItemRow) -> Cause | None:
    """Return why the date that an item claims is not used, in words."""
    if row.undated_code is None:
        return None
    why = _UNDATED.get(row.undated_code, "is not used")
    detail = f"The stated date, \u201c{row.undated_claim}\u201d, {why}. The time it was first seen is used instead."
    return Cause(code=row.undated_code, detail=detail)


def error_of(code: str | None, detail: str | None) -> Cause | None:
    """Return why something failed, in words."""
    return None if code is None else Cause(code=code, detail=detail or "No further details.")


def reading_minutes(word_count: int | None, lang: str | None) -> int | None:
    """Return how long a text takes to read, rounded up; where no spaces part words, by its characters."""
    if not word_count:
        return None
    return math.ceil(word_count / _CHARACTERS_PER_MINUTE.get(lang or "", _WORDS_PER_MINUTE))


def _named(row: NamedRow) -> Named:
    return Named(id=row.canonical_id or row.temporary_id, kind=row.kind, name=row.name, mentions=row.mentions)


def _wait(waiting: Waiting | None) -> dict[str, object]:
    """Return what an item waits for, without what is behind its reading: the timeline tells that."""
    if waiting is not None and waiting.code == "in_work":
        return {"waiting_until": None, "waiting_reason": "It is being processed now."}
    return {"waiting_until": waiting and waiting.until, "waiting_reason": waiting and waiting.reason}


def _recording(row: RecordingRow) -> Recording | None:
    if not isinstance(row.media, Mapping):
        return None
    told = row.media.get
    transcript = Transcript(
        state=readable(TranscriptState, told("transcript_state")),
        source=readable(str, told("transcript_source")),
        language=readable(str, told("transcript_language")),
        next_try_at=row.next_try_at,
    )
    return Recording(
        url=readable(str, told("url")),
        media_type=readable(str, told("media_type")),
        duration_s=readable(float, told("duration_s")),
        transcript=transcript,
    )


def fields_of(row: ItemRow) -> dict[str, object]:
    """Return what ``Item`` shows of a row."""
    return asdict(row) | {
        "sort_at": row.shown_sort_at,
        "reading_minutes": reading_minutes(row.word_count, row.lang),
        "tags": list(dict.fromkeys([*row.own_tags, *row.content_tags])),
        "score": None if row.score is None else round(row.score, 4),
        "undated": undated_of(row),
        "notice": notice_of(row.shown_notice_code),
        "error": error_of(row.error_code, row.error_detail),
    }
