"""What an entry brings beside its words: files, pictures, running times, transcripts."""

import re
from collections.abc import Iterable, Mapping, Sequence

from siftline.fetch.feed import sanitised
from siftline.fetch.feed.draft import HTML, EntryDraft, Link
from siftline.fetch.feed.feeds import Enclosure, Transcript
from siftline.net.recordings import KINDS, said_kind

ENCLOSURES_MAX = 20
_SIZE = re.compile(r"([0-9]{1,15})(?:\.[0-9]*)?")
_ANY_MEDIUM = frozenset({"", "executable", "document"})
"""A medium that says nothing of a file whose name does; ``image`` would."""
_DURATION_MAX_S = 10_000_000
_DURATION = re.compile(r"(?:(?:(\d{1,4}):)?(\d{1,4}):)?(\d{1,8})(?:\.\d*)?", re.ASCII)
_PICTURE_NAME = re.compile(r"\.(?:avif|gif|jpe?g|png|webp)(?:[?#]|$)", re.IGNORECASE)


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


def enclosures(draft: EntryDraft, feed_url: str) -> tuple[Enclosure, ...]:
    """Return the files that an entry links to as enclosures, then its audio and video after Media RSS; each once."""
    found: dict[str, Enclosure] = {}
    for link in draft.links:
        if link.rel == "enclosure":
            _add(found, link.href, link.media_type, link.attributes, feed_url)
    for part in draft.media:
        kind, href = part.get("type", ""), part.get("url", "")
        medium = part.get("medium", "").strip().lower()
        told = said_kind(href, kind)
        if medium in KINDS:
            # Where neither type nor name tells, its medium does.
            _add(found, href, kind or ("" if told else f"{medium}/*"), part, feed_url)
        elif told and medium in _ANY_MEDIUM:
            _add(found, href, kind, part, feed_url)
    return tuple(found.values())


def _add(found: dict[str, Enclosure], href: str, media_type: str, attributes: Mapping[str, str], feed_url: str) -> None:
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


def transcripts(parts: Iterable[Mapping[str, str]], feed_url: str) -> tuple[Transcript, ...]:
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


def image_url(draft: EntryDraft, clean_html: str, feed_url: str) -> str | None:
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


def page_url(links: Sequence[Link], others: Iterable[str], feed_url: str) -> str | None:
    """Return the address of the page that an entry or a feed is about.

    Of its links that is the alternate one, HTML before others; a link without ``rel`` is an alternate one (RFC 4287,
    section 4.2.7.2), replies, enclosures and the rest are not. ``others`` are tried after them.
    """
    alternates = [link for link in links if link.rel == "alternate" and link.href]
    if len(alternates) > 1:
        alternates.sort(key=lambda link: not is_page(link))
    for link in alternates:
        if url := sanitised.absolute(link.href, feed_url):
            return url
    for address in others:
        if address and (url := sanitised.absolute(address, feed_url)):
            return url
    return None


def is_page(link: Link) -> bool:
    """Return whether a link leads to something to be read in a browser."""
    return (link.media_type or HTML) in {HTML, "application/xhtml+xml"}
