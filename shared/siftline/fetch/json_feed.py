"""JSON Feed 1.0 and 1.1 (jsonfeed.org/version/1.1), read leniently: a wrong member costs that member or that item."""

import json
import math
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError
from pydantic_core import from_json

from siftline.fetch import markup
from siftline.fetch.feeds import Enclosure, Entry, Feed, FeedTooComplexError, NotAFeedError

_DIGITS_MAX = 1_000


def _text(value: object) -> str:
    """Ids and titles come as numbers, too; one that no float can hold says nothing."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return ""
    if isinstance(value, float) and not math.isfinite(value):
        return ""
    return markup.legal(str(value))


def _list(value: object) -> list[Any]:
    return [part for part in value if isinstance(part, dict)] if isinstance(value, list) else []


def _words(value: object) -> list[str]:
    return [word for word in map(_text, value) if word.strip()] if isinstance(value, list) else []


def _time(value: object) -> datetime | None:
    """Read RFC 3339; without an offset it counts as UTC."""
    try:
        parsed = datetime.fromisoformat(value.strip()) if isinstance(value, str) else None
        if parsed is None:
            return None
        return (parsed if parsed.tzinfo else parsed.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError):
        return None


_Text = Annotated[str, BeforeValidator(_text)]
_Time = Annotated[datetime | None, BeforeValidator(_time)]


class _Model(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True)


class _Author(_Model):
    name: _Text = ""


class _Attachment(_Model):
    url: _Text = ""
    mime_type: _Text = ""
    size_in_bytes: Annotated[int | None, BeforeValidator(lambda value: value if isinstance(value, int) else None)] = (
        None
    )


_Authors = Annotated[list[_Author], BeforeValidator(_list)]


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
    date_published: _Time = None
    date_modified: _Time = None
    authors: _Authors = Field(default_factory=list)
    author: Annotated[_Author, BeforeValidator(lambda value: value if isinstance(value, dict) else {})] = _Author()
    tags: Annotated[list[str], BeforeValidator(_words)] = Field(default_factory=list)
    attachments: Annotated[list[_Attachment], BeforeValidator(_list)] = Field(default_factory=list)


class _Feed(_Model):
    version: _Text
    items: list[Any]
    title: _Text = ""
    home_page_url: _Text = ""
    language: _Text = ""
    authors: _Authors = Field(default_factory=list)


def parse_json(body: bytes, *, url: str, max_entries: int) -> Feed:
    """Return what a JSON Feed says. Raises ``NotAFeedError`` and ``FeedTooComplexError``."""
    try:
        feed = _Feed.model_validate(_value(body.removeprefix(b"\xef\xbb\xbf")))
    except ValueError as error:  # a ValidationError is one
        raise NotAFeedError("The address holds JSON that is not a JSON Feed.") from error
    if "jsonfeed.org/version/" not in feed.version:
        raise NotAFeedError("The address holds JSON that is not a JSON Feed.")
    entries, skipped = [], max(0, len(feed.items) - max_entries)
    for raw in feed.items[:max_entries]:
        entry = _entry(raw, feed.authors, url)
        if entry is None:
            skipped += 1
        else:
            entries.append(entry)
    return Feed(
        title=markup.line(feed.title),
        site_url=markup.absolute(feed.home_page_url, url),
        entries=tuple(entries),
        language=markup.line(feed.language, 35) or None,
        skipped=skipped,
    )


def _value(body: bytes) -> Any:
    """Return what the body says; raises ``ValueError`` where that is no JSON at all.

    What strict JSON forbids and feeds hold nevertheless is read: control characters in text, half a surrogate pair,
    bytes that are no UTF-8, numbers of any length, more behind the end.
    """
    try:
        return from_json(body)
    except ValueError:
        lenient = json.JSONDecoder(strict=False, parse_int=_integer)
    try:
        return lenient.raw_decode(body.decode("utf-8", "replace").lstrip())[0]
    except RecursionError as error:
        raise FeedTooComplexError("The feed is nested too deeply.") from error


def _integer(digits: str) -> int | str:
    """Return a number, or its digits where Python would refuse to read that many."""
    return int(digits) if len(digits) <= _DIGITS_MAX else digits


def _entry(raw: object, feed_authors: Sequence[_Author], feed_url: str) -> Entry | None:
    """Return an entry, or ``None`` when it says nothing that could be kept."""
    try:
        item = _Item.model_validate(raw)
    except ValidationError:
        return None
    link = markup.absolute(item.url, feed_url) or markup.absolute(item.external_url, feed_url)
    html = markup.sanitised(item.content_html, link or feed_url) or markup.escaped(item.content_text)
    summary = markup.escaped(item.summary)
    title = markup.line(item.title)
    if link is None and not title and not (html or summary):
        return None
    authors = [author.name for author in [*item.authors, item.author] if author.name.strip()]
    authors = authors or [author.name for author in feed_authors if author.name.strip()]
    images = (markup.absolute(address, feed_url) for address in (item.image, item.banner_image))
    return Entry(
        guid=item.id.strip()[:2_000] or None,
        link=link,
        title=title or markup.text_of(html or summary, 120),
        author=markup.line(", ".join(dict.fromkeys(authors)), 200) or None,
        published_at=item.date_published or item.date_modified,
        updated_at=item.date_modified,
        html=html or summary,
        summary_html=summary if html else "",
        description=markup.text_of(summary or html, markup.DESCRIPTION_MAX_CHARS),
        image_url=next((image for image in images if image), None) or markup.first_image(html),
        enclosures=_enclosures(item, feed_url),
        tags=tuple(dict.fromkeys(markup.line(tag, 100) for tag in item.tags))[:20],
    )


def _enclosures(item: _Item, feed_url: str) -> tuple[Enclosure, ...]:
    found = []
    for part in item.attachments[:20]:
        address = markup.absolute(part.url, feed_url)
        if address:
            size = part.size_in_bytes if part.size_in_bytes is not None and 0 <= part.size_in_bytes < 2**53 else None
            found.append(Enclosure(address, markup.line(part.mime_type, 100) or None, size))
    return tuple(found)
