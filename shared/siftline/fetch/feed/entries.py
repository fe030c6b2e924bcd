"""What was found in a feed of XML, as it stands there; and our entries of it: sanitised, linked, plain where needed.

Readers (``siftline.fetch.feed.xml_feed``) fill a ``FeedDraft``, and ``finish`` makes a ``Feed`` of it: with what an
entry brings beside its words, too, files, pictures, running times, transcripts.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import NamedTuple

from siftline.fetch.feed import sanitised
from siftline.fetch.feed.feeds import Enclosure, Entry, Feed, Transcript, entry_times
from siftline.net.recordings import KINDS, said_kind
from siftline.text.instants import Dates

PLAIN = "text/plain"
HTML = "text/html"
XHTML = "application/xhtml+xml"
_PAGE = re.compile(r"(?:https?:)?/", re.IGNORECASE)

ENCLOSURES_MAX = 20
_SIZE = re.compile(r"([0-9]{1,15})(?:\.[0-9]*)?")
_ANY_MEDIUM = frozenset({"", "executable", "document"})
"""A medium that says nothing of a file whose name does; ``image`` would."""
_DURATION_MAX_S = 10_000_000
_DURATION = re.compile(r"(?:(?:(\d{1,4}):)?(\d{1,4}):)?(\d{1,8})(?:\.\d*)?", re.ASCII)
_PICTURE_NAME = re.compile(r"\.(?:avif|gif|jpe?g|png|webp)(?:[?#]|$)", re.IGNORECASE)

GUID_MAX_CHARS = 2_000
NAMES_MAX_CHARS = 200
TAGS_MAX = 20
_AUTHORS_MAX, _AUTHOR_MAX_CHARS = 50, 1_000
_TTL_DIGITS_MAX = 6
_DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_MAILBOX = re.compile(r"(?:mailto:)?[\w.+-]+@[\w-]+(?:\.[\w-]+)+", re.ASCII)
FAULTS = (ArithmeticError, AssertionError, AttributeError, LookupError, RecursionError, TypeError, ValueError)
"""What a stranger's entry may raise; it costs that entry only."""


def names_page(guid: str) -> bool:
    """Return whether a GUID of RSS can be an address, as it stands there.

    It is one unless it says otherwise (RSS 2.0), and many a name (``12345``) does not.
    """
    return _PAGE.match(guid) is not None


class Text(NamedTuple):
    """A text construct. ``base`` is the address that its relative links count from."""

    value: str
    media_type: str
    base: str


class Link(NamedTuple):
    """A link of an entry or a feed, an enclosure among them. The address is as absolute as its reader made it."""

    href: str
    rel: str = "alternate"
    media_type: str = ""
    attributes: Mapping[str, str] = {}
    """The others: ``length``, ``duration``, ``language``."""


class Tag(NamedTuple):
    """A category."""

    term: str | None
    label: str | None = None


@dataclass(slots=True)
class EntryDraft:
    """One entry as found."""

    guid: str = ""
    permalink: str = ""
    """The GUID or id, where it says that it is an address, and can be one."""
    original_link: str = ""
    """The address behind a counting redirect (FeedBurner)."""
    links: list[Link] = field(default_factory=list)
    title: Text | None = None
    summary: Text | None = None
    contents: list[Text] = field(default_factory=list)
    authors: list[str] = field(default_factory=list)
    """Names, and what stands for one: an address, or both in one text."""
    published_at: str = ""
    """As it is written there: what it is worth depends on the whole feed."""
    updated_at: str = ""
    created_at: str = ""
    media: list[Mapping[str, str]] = field(default_factory=list)
    """The attributes of each media:content."""
    thumbnails: list[str] = field(default_factory=list)
    image: str = ""
    tags: list[Tag] = field(default_factory=list)
    transcripts: list[Mapping[str, str]] = field(default_factory=list)
    """The attributes of each podcast:transcript."""
    duration: str = ""
    comments: str = ""


@dataclass(slots=True)
class FeedDraft:
    """A feed as found."""

    is_atom: bool = False
    title: Text | None = None
    description: Text | None = None
    links: list[Link] = field(default_factory=list)
    authors: list[str] = field(default_factory=list)
    image: str = ""
    language: str = ""
    ttl: str = ""
    skip_hours: list[str] = field(default_factory=list)
    skip_days: list[str] = field(default_factory=list)
    entries: list[EntryDraft] = field(default_factory=list)
    skipped: int = 0


def duration_s(text: str) -> int | None:
    """Return a running time: seconds, ``MM:SS`` or ``HH:MM:SS`` (itunes:duration, Media RSS); ``None`` for others."""
    match = _DURATION.fullmatch(text.strip()) if text else None
    if match is None:
        return None
    hours, minutes, seconds = (int(part or 0) for part in match.groups())
    total_s = hours * 3_600 + minutes * 60 + seconds
    return total_s if 0 < total_s <= _DURATION_MAX_S else None


def size_bytes(text: str) -> int | None:
    """Return a size in bytes, or ``None`` where the text is no plausible one."""
    match = _SIZE.fullmatch(text.strip()) if text else None
    return int(match[1]) if match else None


def _enclosures(draft: EntryDraft, feed_url: str) -> tuple[Enclosure, ...]:
    """Return the files that an entry links to as enclosures, then its audio and video after Media RSS; each once."""
    found: dict[str, Enclosure] = {}
    for link in draft.links:
        if link.rel == "enclosure":
            _add_file(found, link.href, link.media_type, link.attributes, feed_url)
    for part in draft.media:
        kind, href = part.get("type", ""), part.get("url", "")
        medium = part.get("medium", "").strip().lower()
        told = said_kind(href, kind)
        if medium in KINDS:
            # Where neither type nor name tells, its medium does.
            _add_file(found, href, kind or ("" if told else f"{medium}/*"), part, feed_url)
        elif told and medium in _ANY_MEDIUM:
            _add_file(found, href, kind, part, feed_url)
    return tuple(found.values())


def _add_file(
    found: dict[str, Enclosure], href: str, media_type: str, attributes: Mapping[str, str], feed_url: str
) -> None:
    url = sanitised.absolute(href, feed_url)
    if url is None:
        return
    # An enclosure without a type counts as a web page in Atom; a page is no file to bring along.
    media_type = "" if media_type == HTML else sanitised.line(media_type, 100)
    size = size_bytes(attributes.get("length") or attributes.get("filesize") or "")
    new = Enclosure(url, media_type or None, size, duration_s(attributes.get("duration") or ""))
    known = found.get(url)
    if known is not None:
        found[url] = Enclosure(
            url,
            known.media_type or new.media_type,
            known.length_bytes or new.length_bytes,
            known.duration_s or new.duration_s,
        )
    elif len(found) < ENCLOSURES_MAX:
        found[url] = new


def _transcripts(parts: Iterable[Mapping[str, str]], feed_url: str) -> tuple[Transcript, ...]:
    """Return the transcripts that an entry names, each address once."""
    found: dict[str, Transcript] = {}
    for part in parts:
        url = sanitised.absolute(part.get("url"), feed_url)
        if url is not None and url not in found and len(found) < ENCLOSURES_MAX:
            media_type, language = (
                sanitised.line(part.get("type", ""), 100),
                sanitised.line(part.get("language", ""), 35),
            )
            found[url] = Transcript(url, media_type or None, language or None)
    return tuple(found.values())


def _image_url(draft: EntryDraft, clean_html: str, feed_url: str) -> str | None:
    """Return the picture of an entry: the widest it names, else a thumbnail, its icon, or the first within its body."""
    for address in _pictures(draft):
        if address and (url := sanitised.absolute(address, feed_url)):
            return url
    return sanitised.first_image(clean_html)


def _pictures(draft: EntryDraft) -> list[str]:
    found: list[str] = []
    if draft.media:
        pictures = [part for part in draft.media if _is_picture(part)]
        pictures.sort(key=lambda part: -(size_bytes(part.get("width", "")) or 0))
        found = [part.get("url", "") for part in pictures]
    for link in draft.links:
        if link.media_type.startswith("image/") or _is_named_picture(link):
            found.append(link.href)
    return [*found, *draft.thumbnails, draft.image] if draft.thumbnails or draft.image else found


def _is_picture(part: Mapping[str, str]) -> bool:
    kind, medium = part.get("type", ""), part.get("medium", "")
    if not kind and not medium:
        return _PICTURE_NAME.search(part.get("url", "")) is not None
    return kind.startswith("image/") or medium == "image"


def _is_named_picture(link: Link) -> bool:
    return link.rel == "enclosure" and link.media_type in {"", HTML} and _PICTURE_NAME.search(link.href) is not None


def _page_url(links: Sequence[Link], others: Iterable[str], feed_url: str) -> str | None:
    """Return the address of the page that an entry or a feed is about.

    Of its links that is the alternate one, HTML before others; a link without ``rel`` is an alternate one (RFC 4287,
    section 4.2.7.2), replies, enclosures and the rest are not. ``others`` are tried after them.
    """
    alternates = [link for link in links if link.rel == "alternate" and link.href]
    if len(alternates) > 1:
        alternates.sort(key=lambda link: not _is_page(link))
    for link in alternates:
        if url := sanitised.absolute(link.href, feed_url):
            return url
    for address in others:
        if address and (url := sanitised.absolute(address, feed_url)):
            return url
    return None


def _is_page(link: Link) -> bool:
    """Return whether a link leads to something to be read in a browser."""
    return (link.media_type or HTML) in {HTML, "application/xhtml+xml"}


def finish(draft: FeedDraft, *, url: str) -> Feed:
    """Return a feed; ``url`` is where it came from. An entry that says nothing is skipped and counted."""
    entries, skipped = [], draft.skipped
    names_of = cache(_names)  # a feed has few authors, and each of them writes many entries
    author = names_of(tuple(draft.authors))
    dates = Dates(draft.language, lambda: (raw.published_at or raw.updated_at for raw in draft.entries))
    inherited = author if draft.is_atom else None
    for raw in draft.entries:
        try:
            entry = _entry(raw, url, names_of, dates, inherited=inherited, is_atom=draft.is_atom)
        except FAULTS:
            entry = None
        if entry is None:
            skipped += 1
        else:
            entries.append(entry)
    return Feed(
        title=_plain(draft.title, is_atom=draft.is_atom),
        site_url=_page_url(draft.links, (), url),
        entries=tuple(entries),
        language=sanitised.line(draft.language, 35) or None,
        skipped=skipped,
        description=_plain(draft.description, is_atom=draft.is_atom)[: sanitised.DESCRIPTION_MAX_CHARS].rstrip(),
        author=author,
        image_url=sanitised.absolute(draft.image, url),
        ttl_minutes=_minutes(draft.ttl),
        skip_hours=frozenset(int(hour) % 24 for hour in map(str.strip, draft.skip_hours) if _is_hour(hour)),
        skip_days=frozenset(
            _DAYS.index(day) for day in (day.strip().lower() for day in draft.skip_days) if day in _DAYS
        ),
    )


def _entry(
    draft: EntryDraft,
    feed_url: str,
    names_of: Callable[[tuple[str, ...]], str | None],
    dates: Dates,
    *,
    inherited: str | None,
    is_atom: bool,
) -> Entry | None:
    """Return an entry, or ``None`` when it says nothing that could be kept."""
    # An Atom entry that has links, but none to a page, has no page: its id is a name (RFC 4287, section 4.2.6).
    permalink = "" if is_atom and draft.links else draft.permalink
    link = _page_url(draft.links, (permalink,), feed_url)
    link = sanitised.absolute(draft.original_link, feed_url) or link if draft.original_link else link
    content, summary = _bodies(draft, link or feed_url, feed_url, is_atom=is_atom)
    title = _plain(draft.title, is_atom=is_atom)
    if link is None and not title and not content:
        return None
    enclosures = _enclosures(draft, feed_url)
    runs_s = duration_s(draft.duration)
    if runs_s is None and enclosures:
        runs_s = next((file.duration_s for file in enclosures if file.duration_s), None)
    return Entry(
        guid=sanitised.legal(draft.guid).strip()[:GUID_MAX_CHARS] or None,
        link=link,
        title=title or sanitised.text_of_clean(content, 120),
        author=names_of(tuple(draft.authors)) or inherited,
        **entry_times(dates, draft.published_at, updated=draft.updated_at, created=draft.created_at),
        html=content,
        summary_html=summary,
        description=sanitised.text_of_clean(summary or content, sanitised.DESCRIPTION_MAX_CHARS),
        image_url=_image_url(draft, content, feed_url),
        enclosures=enclosures,
        tags=_tags(draft),
        transcripts=_transcripts(draft.transcripts, feed_url) if draft.transcripts else (),
        duration_s=runs_s,
        comments_url=_comments_url(draft, feed_url),
    )


def _plain(part: Text | None, *, is_atom: bool) -> str:
    """Return a text construct as one line of plain text."""
    if part is None or not part.value:
        return ""
    if _is_plain(part, is_atom=is_atom):
        return sanitised.line(part.value)
    return sanitised.text_of(_markup(part))


def _names(authors: Sequence[str]) -> str | None:
    """Return the names of authors as one line, each once; a mail address only where there is no name."""
    if not authors:
        return None
    if len(authors) == 1 and "@" not in authors[0]:
        return sanitised.text_of(authors[0], NAMES_MAX_CHARS) or None
    authors = [author[:_AUTHOR_MAX_CHARS] for author in authors[:_AUTHORS_MAX]]
    found = [sanitised.text_of(_name(author), NAMES_MAX_CHARS) for author in authors]
    found = [name for name in found if name] or [sanitised.text_of(author, NAMES_MAX_CHARS) for author in authors[:1]]
    return ", ".join(dict.fromkeys(found))[:NAMES_MAX_CHARS].rstrip(" ,") or None


def _name(author: str) -> str:
    """Return a name without the mail address beside it, as RSS has them: ``ann@site.example (Ann)``."""
    if "@" not in author:
        return author
    rest = _MAILBOX.sub("", author).replace("<>", "").replace("&lt;&gt;", "").replace("()", "").strip()
    return rest[1:-1].strip() if rest.startswith("(") and rest.endswith(")") else rest


def _bodies(draft: EntryDraft, page_url: str, feed_url: str, *, is_atom: bool) -> tuple[str, str]:
    """Return the fullest body and, where it is not that already, the summary; both sanitised."""
    summary = draft.summary
    short = _html(summary, page_url, feed_url, is_atom=is_atom) if summary else ""
    content = short
    for part in draft.contents:
        if part != summary:
            body = _html(part, page_url, feed_url, is_atom=is_atom)
            content = body if len(body) >= len(content) else content
    return content, short if short != content else ""


def _html(part: Text, page_url: str, feed_url: str, *, is_atom: bool) -> str:
    """Return a text construct as sanitised HTML; relative links count from its xml:base, else from the entry's page."""
    if not part.value:
        return ""
    if _is_plain(part, is_atom=is_atom):
        return sanitised.escaped(part.value)
    base = sanitised.absolute(part.base) if part.base and part.base != feed_url else page_url
    return sanitised.sanitised(_markup(part), base)


def _markup(part: Text) -> str:
    # To HTML the end tag of a line break is another line break.
    return part.value.replace("</br>", "") if part.media_type == XHTML else part.value


def _is_plain(part: Text, *, is_atom: bool) -> bool:
    """Return whether text is to be taken literally: what RSS calls plain often is not."""
    return part.media_type == PLAIN and (is_atom or not sanitised.looks_like_html(part.value))


def _comments_url(draft: EntryDraft, feed_url: str) -> str | None:
    if draft.comments:
        return sanitised.absolute(draft.comments, feed_url)
    for link in draft.links:
        if link.rel == "replies" and _is_page(link):
            return sanitised.absolute(link.href, feed_url)
    return None


def _tags(draft: EntryDraft) -> tuple[str, ...]:
    found: dict[str, None] = {}
    for tag in draft.tags:
        term = sanitised.text_of(tag.label or tag.term or "", 100)
        if term:
            found[term] = None
            if len(found) == TAGS_MAX:
                break
    return tuple(found)


def _minutes(text: str) -> int | None:
    text = text.strip()
    return int(text) if text.isascii() and text.isdigit() and len(text) <= _TTL_DIGITS_MAX and int(text) else None


def _is_hour(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) <= 2 and int(text) <= 24
