"""The frozen document of an edition: everything that every channel shows, in one place and of one moment."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from siftline.brief.edition_model import Briefing, CameIn, Choice, Coverage, EditionCandidate, Slot, Window
from siftline.brief.selection import relevance, weight
from siftline.jobs.set_aside import UnusableRowError
from siftline.kit.lines import line
from siftline.text.stored_scores import score_parts, sentence

FORMAT = 2
"""Goes up when the document's shape changes; editions keep theirs."""
CITED_MAX = 8
"""So many other contents of a story are cited; of more it is said how many."""
_SUMMARY_CHARS = 600
_REASONS_MAX = 2
_TELLING = 0.5
"""What is no more than this in [0, 1] does not speak for a content."""


@dataclass(frozen=True, slots=True)
class Links:
    """Where things are read: made of the configured address, never of a request's Host header."""

    base_url: str

    def edition(self, edition_id: UUID) -> str:
        """Return where the API shows an edition to its owner."""
        return f"{self.base_url}/v1/editions/{edition_id}"

    def page(self, token: str) -> str:
        """Return where an edition is read in a browser, by whoever has this address."""
        return f"{self.base_url}/v1/read/{token}"

    def unsubscribe(self, token: str) -> str:
        """Return where a briefing is stopped with one click."""
        return f"{self.base_url}/v1/unsubscribe/{token}"

    def confirm(self, token: str) -> str:
        """Return where the owner of a mail address says that briefings may be sent there."""
        return f"{self.base_url}/v1/mail-addresses/confirm/{token}"


@dataclass(frozen=True, slots=True)
class Covered:
    """What an edition covers: its period and window, the periods before that got none, and all that came in."""

    period_key: str
    window: Window
    passed_over: int
    oldest: datetime
    """What counts as published until then was left out as too old."""
    came_in: CameIn


def document(
    edition_id: UUID,
    read_token: str,
    briefing: Briefing,
    covered: Covered,
    choice: Choice,
    coverage: Coverage,
    links: Links,
) -> dict[str, Any]:
    """Return the document, of JSON's own types only: times are RFC 3339 in UTC, names and titles are lines."""
    return {
        "format": FORMAT,
        "id": str(edition_id),
        "briefing": {"id": str(briefing.id), "name": line(briefing.name)},
        "period": covered.period_key,
        "frequency": briefing.frequency,
        "time_zone": briefing.time_zone,
        "window": {
            "from": _time(covered.window.start),
            "until": _time(covered.window.end),
            "seconds": round((covered.window.end - covered.window.start).total_seconds()),
            "periods_passed_over": covered.passed_over,
            "news_since": _time(covered.oldest),
        },
        "empty": not choice.slots,
        "stories": [_story(place, slot) for place, slot in enumerate(choice.slots, 1)],
        "coverage": {
            "sources_read": coverage.sources_read,
            "sources_failed": coverage.sources_failed,
            "sources_skipped": coverage.sources_skipped,
            "failed": [{"title": line(one.title), "error_code": line(one.error_code)} for one in coverage.failed],
            **_counts(covered, choice),
        },
        "links": {"edition": links.edition(edition_id), "page": links.page(read_token)},
    }


def _counts(covered: Covered, choice: Choice) -> Mapping[str, Any]:
    """Return what became of all that came in: what was told and each reason for leaving out add up to it."""
    came_in = covered.came_in
    told = sum(slot.size for slot in choice.slots)
    return {
        "items_came_in": came_in.came_in,
        "items_seen": came_in.looked_at + came_in.not_about + came_in.unusable,
        "items_told": told,
        "items_left_out": {
            "too_old": came_in.too_old,
            "read": came_in.read,
            "failed": came_in.failed,
            "not_read_yet": came_in.waiting,
            "not_about": came_in.not_about,
            "told_before": choice.items_told_before,
            "unusable": came_in.unusable,
            "no_place": came_in.looked_at - told - choice.items_told_before,
        },
        "items_undated": came_in.undated,
        "items_duplicate": came_in.duplicates,
        "stories_told_before": choice.told_before,
        "stories_left_out": came_in.stories - len(choice.slots) - choice.told_before,
    }


def _story(place: int, slot: Slot) -> Mapping[str, Any]:
    lead = slot.lead
    cited = _cited(slot)[:CITED_MAX]
    return {
        "place": place,
        "story_key": str(slot.story_key),
        "update": slot.update,
        **_content(lead),
        "summary": _cut(lead.summary),
        "topics": [line(topic) for topic in lead.topics],
        "rank": round(weight(slot), 4),
        "score": None if (scored := relevance(lead)) is None else round(scored, 4),
        "reasons": [line(reason) for reason in reasons(slot)],
        "citations": [_content(one) for one in cited],
        "more": slot.size - 1 - len(cited),
    }


def _cited(slot: Slot) -> list[EditionCandidate]:
    """Return the contents that are cited beside the lead; a text that has two addresses on its site is cited once."""
    shown = {(slot.lead.site, slot.lead.original_id): slot.lead}
    for one in slot.others:
        shown.setdefault((one.site, one.original_id), one)
    return list(shown.values())[1:]


def telling(one: EditionCandidate) -> None:
    """Tell a content as an edition would; raises ``UnusableRowError``, or whatever else keeps it from being told."""
    stored: Any = one.reasons
    if score_parts(stored) != stored:
        raise UnusableRowError("The reasons for its score are not in the format that scoring writes.")
    _story(1, Slot(one.story_key, one, [], update=False))


def reasons(slot: Slot) -> list[str]:
    """Return why a story is told, in words: what it is about for the briefing, who has it, what its score is for."""
    one = slot.lead
    told = [f'It matches "{one.about}", a topic of this briefing.'] if one.about and one.likeness else []
    sources = len({each.site for each in (one, *slot.others)})
    told += [f"{sources} of your sources report it."] if sources > 1 else []
    parts = [part for part in one.reasons if part.get("known") is not False and part["value"] > _TELLING]
    parts.sort(key=lambda part: -part["weight"] * part["value"])
    return [*told, *(sentence(part) for part in parts)][:_REASONS_MAX]


def _content(one: EditionCandidate) -> dict[str, Any]:
    return {
        "content_id": str(one.content_id),
        "item_id": str(one.item_id),
        "title": line(one.title),
        "url": one.url,
        "site": line(one.site),
        "lang": one.lang,
        "published_at": _time(one.published_at) if one.published_at else None,
    }


def _cut(text: str | None) -> str | None:
    """Return at most ``_SUMMARY_CHARS`` of a summary, cut between words."""
    if text is None or len(text) <= _SUMMARY_CHARS:
        return text
    return text[:_SUMMARY_CHARS].rpartition(" ")[0].rstrip(",;:") + " \u2026"


def _time(moment: datetime) -> str:
    return moment.isoformat(timespec="seconds").replace("+00:00", "Z")
