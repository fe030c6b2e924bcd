"""JSON Feed 1.0 and 1.1 (jsonfeed.org/version/1.1), read leniently: a wrong member costs that member or that item."""

import contextlib
import json
import math
import re
from collections.abc import Sequence
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError
from pydantic_core import from_json

from siftline.fetch.feed import sanitised
from siftline.fetch.feed.entries import (
    ENCLOSURES_MAX,
    GUID_MAX_CHARS,
    NAMES_MAX_CHARS,
    TAGS_MAX,
    duration_s,
    size_bytes,
)
from siftline.fetch.feed.feeds import Enclosure, Entry, Feed, FeedTooComplexError, NotAFeedError, entry_times
from siftline.text.instants import Dates

_DIGITS_MAX = 1_000
_NO_JSON = "no item of the feed is whole"
# A text, so that no comma within one counts, or a comma with nothing behind it.
_COMMA_AT_END = re.compile(r"""("(?:[^"\\]++|\\.?)*+(?:"|$))|,(?=\s*+[}\]])""", re.DOTALL)
_MEMBER = re.compile(r"""[\s,]*+("(?:[^"\\]++|\\.)*+")\s*+:\s*+""", re.DOTALL)
_ITEM = re.compile(r"[\s,]*+(?=[^\s,\]])")


def _text(value: object) -> str:
    """Ids and titles come as numbers, too; one that no float can hold says nothing."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return ""
    if isinstance(value, float) and not math.isfinite(value):
        return ""
    return sanitised.legal(str(value))


def _list(value: object) -> list[Any]:
    return [part for part in value if isinstance(part, dict)] if isinstance(value, list) else []


def _words(value: object) -> list[str]:
    return [word for word in map(_text, value) if word.strip()] if isinstance(value, list) else []


_Text = Annotated[str, BeforeValidator(_text)]


class _Model(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True)


class _Author(_Model):
    name: _Text = ""


class _Attachment(_Model):
    url: _Text = ""
    mime_type: _Text = ""
    size_in_bytes: _Text = ""
    duration_in_seconds: _Text = ""


_Authors = Annotated[list[_Author], BeforeValidator(_list)]
_OneAuthor = Annotated[_Author, BeforeValidator(lambda value: value if isinstance(value, dict) else {})]


class _Item(_Model):
    id: _Text = ""
    url: _Text = ""
    external_url: _Text = ""
    title: _Text = ""
    content_html: _Text = ""
    content_text: _Text = ""
    summary: _Text = ""
    image: _Text = ""
    banner_image: _Text = ""
    date_published: Any = None
    date_modified: Any = None
    authors: _Authors = Field(default_factory=list)
    author: _OneAuthor = _Author()
    tags: Annotated[list[str], BeforeValidator(_words)] = Field(default_factory=list)
    attachments: Annotated[list[_Attachment], BeforeValidator(_list)] = Field(default_factory=list)


class _Feed(_Model):
    version: _Text
    items: list[Any]
    title: _Text = ""
    home_page_url: _Text = ""
    language: _Text = ""
    description: _Text = ""
    icon: _Text = ""
    favicon: _Text = ""
    authors: _Authors = Field(default_factory=list)
    author: _OneAuthor = _Author()


def parse_json(body: bytes, *, url: str, max_entries: int) -> Feed:
    """Return what a JSON Feed says. Raises ``NotAFeedError`` and ``FeedTooComplexError``."""
    try:
        feed = _Feed.model_validate(_value(body.removeprefix(b"\xef\xbb\xbf")))
    except ValueError as error:  # a ValidationError is one
        raise NotAFeedError("The address returned JSON that is not a JSON Feed.") from error
    if "jsonfeed.org/version/" not in feed.version:
        raise NotAFeedError("The address returned JSON that is not a JSON Feed.")
    entries, skipped = [], max(0, len(feed.items) - max_entries)
    inherited = _names([*feed.authors, feed.author])
    dates = Dates(feed.language, lambda: (raw.get("date_published") for raw in feed.items if isinstance(raw, dict)))
    for raw in feed.items[:max_entries]:
        entry = _entry(raw, inherited, url, dates)
        if entry is None:
            skipped += 1
        else:
            entries.append(entry)
    return Feed(
        title=sanitised.line(feed.title),
        site_url=sanitised.absolute(feed.home_page_url, url),
        entries=tuple(entries),
        language=sanitised.line(feed.language, 35) or None,
        skipped=skipped,
        description=sanitised.line(feed.description, sanitised.DESCRIPTION_MAX_CHARS),
        author=inherited,
        image_url=sanitised.absolute(feed.icon, url) or sanitised.absolute(feed.favicon, url),
    )


def _names(authors: Sequence[_Author]) -> str | None:
    names = dict.fromkeys(author.name for author in authors if author.name.strip())
    return sanitised.line(", ".join(names), NAMES_MAX_CHARS) or None


def _value(body: bytes) -> Any:
    """Return what the body says; raises ``ValueError`` where that is no JSON at all.

    What strict JSON forbids and feeds hold nevertheless is read: control characters in text, half a surrogate pair,
    bytes that are no UTF-8, numbers of any length, more behind the end.
    """
    try:
        return from_json(body)
    except ValueError:
        lenient = json.JSONDecoder(strict=False, parse_int=_integer)
    text = body.decode("utf-8", "replace").lstrip()
    try:
        try:
            return lenient.raw_decode(text)[0]
        except ValueError:
            return _whole_parts(lenient, _COMMA_AT_END.sub(_kept, text))
    except RecursionError as error:
        raise FeedTooComplexError("The feed is nested too deeply.") from error


def _kept(match: re.Match[str]) -> str:
    return match[1] or ""


def _whole_parts(decoder: json.JSONDecoder, text: str) -> dict[str, Any]:
    """Return the members of an object as far as they are whole; an item that is not stands there as ``None``."""
    found: dict[str, Any] = {}
    at = 1
    with contextlib.suppress(ValueError):
        while match := _MEMBER.match(text, at):
            name = decoder.raw_decode(match[1])[0]
            at = match.end()
            if name == "items" and text[at : at + 1] == "[":
                found[name], at = _whole_items(decoder, text, at + 1)
            else:
                found[name], at = decoder.raw_decode(text, at)
    items = found.get("items")
    if not isinstance(items, list) or not any(items):
        raise ValueError(_NO_JSON)
    return found


def _whole_items(decoder: json.JSONDecoder, text: str, at: int) -> tuple[list[Any], int]:
    items: list[Any] = []
    while (match := _ITEM.match(text, at)) is not None:
        try:
            item, at = decoder.raw_decode(text, match.end())
        except ValueError:
            return [*items, None], len(text)
        items.append(item)
    return items, max(at, text.find("]", at) + 1)


def _integer(digits: str) -> int | str:
    """Return a number, or its digits where Python would refuse to read that many."""
    return int(digits) if len(digits) <= _DIGITS_MAX else digits


def _entry(raw: object, inherited: str | None, feed_url: str, dates: Dates) -> Entry | None:
    """Return an entry, or ``None`` when it says nothing that could be kept."""
    try:
        item = _Item.model_validate(raw)
    except ValidationError:
        return None
    link = sanitised.absolute(item.url, feed_url) or sanitised.absolute(item.external_url, feed_url)
    html = sanitised.sanitised(item.content_html, link or feed_url) or sanitised.escaped(item.content_text)
    summary = sanitised.escaped(item.summary)
    title = sanitised.line(item.title)
    if link is None and not title and not (html or summary):
        return None
    enclosures = _enclosures(item, feed_url)
    images = (sanitised.absolute(address, feed_url) for address in (item.image, item.banner_image))
    return Entry(
        guid=item.id.strip()[:GUID_MAX_CHARS] or None,
        link=link,
        title=title or sanitised.text_of_clean(html or summary, 120),
        author=_names([*item.authors, item.author]) or inherited,
        **entry_times(dates, item.date_published, updated=item.date_modified),
        html=html or summary,
        summary_html=summary if html else "",
        description=sanitised.text_of_clean(summary or html, sanitised.DESCRIPTION_MAX_CHARS),
        image_url=next((image for image in images if image), None) or sanitised.first_image(html),
        enclosures=enclosures,
        tags=tuple(dict.fromkeys(tag for tag in (sanitised.line(tag, 100) for tag in item.tags) if tag))[:TAGS_MAX],
        duration_s=next((file.duration_s for file in enclosures if file.duration_s), None),
    )


def _enclosures(item: _Item, feed_url: str) -> tuple[Enclosure, ...]:
    found = []
    for part in item.attachments[:ENCLOSURES_MAX]:
        address = sanitised.absolute(part.url, feed_url)
        if address:
            kind = sanitised.line(part.mime_type, 100) or None
            runs_s = duration_s(part.duration_in_seconds)
            found.append(Enclosure(address, kind, size_bytes(part.size_in_bytes), runs_s))
    return tuple(found)
