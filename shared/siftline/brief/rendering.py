"""Renders the frozen document of an edition: one HTML for page and mail, one plain text. The same in, the same out.

The HTML keeps to what large mail clients show (tables, inline styles, one style block, no script, no image), to
``prefers-color-scheme`` for the dark, and to ``HTML_MAX_BYTES``, for Gmail clips a longer mail.
"""

import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from typing import Any
from zoneinfo import ZoneInfo

from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape

from siftline.text.instants import in_zone

HTML_MAX_BYTES = 100_000
_WIDTH = 72
_INDENT = "   "
# What an edition too long for a mail leaves out, step by step: cited contents, characters of a summary, stories.
_STEPS = ((8, 600, 50), (4, 400, 50), (2, 280, 50), (0, 200, 50), (0, 0, 50), (0, 0, 20), (0, 0, 10), (0, 0, 5))

_LEFT_OUT = {
    "too_old": "too old",
    "read": "already read",
    "failed": "unreadable",
    "not_read_yet": "not processed yet",
    "unusable": "unusable",
}


@dataclass(frozen=True, slots=True)
class Rendered:
    """An edition as it is read."""

    html: str
    plain: str


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("siftline.brief"),
        autoescape=select_autoescape(enabled_extensions=("html.j2",), default=False),
        undefined=StrictUndefined,
        keep_trailing_newline=True,
    )
    environment.filters["wrapped"] = _wrapped
    return environment


def render(document: Mapping[str, Any], *, unsubscribe_url: str | None, zone: ZoneInfo) -> Rendered:
    """Return an edition as HTML of at most ``HTML_MAX_BYTES`` and as plain text; times are those of ``zone``.

    Without an ``unsubscribe_url`` there is no link that stops the briefing.
    """
    for cited, chars, places in _STEPS:
        values = _values(document, zone, unsubscribe_url, cited=cited, chars=chars, places=places)
        html = _environment().get_template("edition.html.j2").render(values)
        if len(html.encode()) <= HTML_MAX_BYTES:
            break
    return Rendered(html, _environment().get_template("edition.txt.j2").render(values))


def subject(document: Mapping[str, Any]) -> str:
    """Return a mail's subject: the briefing, and what comes first."""
    stories = document["stories"]
    name = document["briefing"]["name"]
    if not stories:
        return f"{name}: nothing new"
    more = f" and {len(stories) - 1} more" if len(stories) > 1 else ""
    return f"{name}: {textwrap.shorten(stories[0]['title'], 90, placeholder=' …')}{more}"


def _values(
    document: Mapping[str, Any], zone: ZoneInfo, unsubscribe_url: str | None, *, cited: int, chars: int, places: int
) -> Mapping[str, Any]:
    window = document["window"]
    until = datetime.fromisoformat(window["until"]).astimezone(zone)
    stories = document["stories"]
    left = len(stories) - places
    return {
        "briefing": document["briefing"]["name"],
        "day": _day(until),
        "lede": _lede(stories, datetime.fromisoformat(window["from"]).astimezone(zone), until),
        "overdue": _overdue(document, zone),
        "stories": [_story(story, zone, cited, chars) for story in stories[:places]],
        "cut": f"{_counted(left, 'story', 'stories')} more left out to keep this short enough for an email."
        if left > 0
        else "",
        "coverage": _coverage(document["coverage"]),
        "failed": document["coverage"]["failed"],
        "page_url": document["links"]["page"],
        "unsubscribe_url": unsubscribe_url,
    }


def _story(story: Mapping[str, Any], zone: ZoneInfo, cited: int, chars: int) -> Mapping[str, Any]:
    citations = story["citations"]
    summary = story["summary"]
    return {
        **story,
        "when": _when(story["published_at"], zone),
        "summary": textwrap.shorten(summary, chars, placeholder=" …") if summary and chars else None,
        "citations": citations[:cited],
        "more": story["more"] + max(0, len(citations) - cited),
    }


def _lede(stories: Sequence[Mapping[str, Any]], start: datetime, end: datetime) -> str:
    since = f"{start:%A} {start:%H:%M}" if (end - start).days < 6 else f"{start.day} {start:%B} {start:%H:%M}"
    return f"{_counted(len(stories), 'story', 'stories')} since {since}."


def _overdue(document: Mapping[str, Any], zone: ZoneInfo) -> str:
    """Return that an edition is overdue, and what that means for what it tells; nothing for one in its time."""
    window = document["window"]
    passed_over = window["periods_passed_over"]
    if not passed_over:
        return ""
    days = _counted(max(1, round(window["seconds"] / 86_400)), "day", "days")
    before = (
        f"{_counted(passed_over, 'earlier edition', 'earlier editions')} {'was' if passed_over == 1 else 'were'} missed"
    )
    too_old = document["coverage"]["items_left_out"]["too_old"]
    since = datetime.fromisoformat(window["news_since"]).astimezone(zone)
    left = (
        f" {_counted(too_old, 'article', 'articles')} from before {since.day} {since:%B} left out." if too_old else ""
    )
    return f"Late: this edition covers {days} because {before}.{left}"


def _coverage(coverage: Mapping[str, Any]) -> str:
    parts = [f"{_counted(coverage['items_seen'], 'article', 'articles')} considered"]
    parts += [f"{_counted(coverage['sources_read'], 'source', 'sources')} read"] if coverage["sources_read"] else []
    parts += [f"{coverage['sources_failed']} failed"] if coverage["sources_failed"] else []
    skipped = coverage["sources_skipped"]
    parts += [f"{_counted(skipped, 'source', 'sources')} not due"] if skipped else []
    before = coverage["stories_told_before"]
    parts += [f"{_counted(before, 'story', 'stories')} from earlier editions left out"] if before else []
    parts += [f"{coverage['stories_left_out']} left out for lack of space"] if coverage["stories_left_out"] else []
    undated = coverage["items_undated"]
    parts += [f"{_counted(undated, 'article', 'articles')} without a date, dated by when first seen"] if undated else []
    left_out = coverage["items_left_out"]
    told = [f"{left_out[reason]} {words}" for reason, words in _LEFT_OUT.items() if left_out[reason]]
    return ", ".join(parts) + "." + (f" Not considered: {', '.join(told)}." if told else "")


def _counted(count: int, one: str, many: str) -> str:
    return f"{count} {one if count == 1 else many}"


def _day(moment: datetime) -> str:
    return f"{moment:%A}, {moment.day} {moment:%B} {moment.year}"


def _when(published_at: str | None, zone: ZoneInfo) -> str | None:
    if published_at is None:
        return None
    moment = in_zone(datetime.fromisoformat(published_at), zone)
    return f"{moment.day} {moment:%b} {moment:%H:%M}"


def _wrapped(text: str) -> str:
    return textwrap.fill(
        text,
        _WIDTH,
        initial_indent=_INDENT,
        subsequent_indent=_INDENT,
        break_long_words=False,
        break_on_hyphens=False,
    )
