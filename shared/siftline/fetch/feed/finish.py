"""Makes our entries of what a reader found in a feed: sanitised, linked, plain where they are to be plain."""

import re
from collections.abc import Callable, Sequence
from functools import cache

from siftline.fetch.feed import entry_media, sanitised
from siftline.fetch.feed.draft import PLAIN, XHTML, EntryDraft, FeedDraft, Text
from siftline.fetch.feed.feeds import Entry, Feed
from siftline.text.instants import Dates

GUID_MAX_CHARS = 2_000
NAMES_MAX_CHARS = 200
TAGS_MAX = 20
_AUTHORS_MAX, _AUTHOR_MAX_CHARS = 50, 1_000
_TTL_DIGITS_MAX = 6
_DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_MAILBOX = re.compile(r"(?:mailto:)?[\w.+-]+@[\w-]+(?:\.[\w-]+)+", re.ASCII)
FAULTS = (ArithmeticError, AssertionError, AttributeError, LookupError, RecursionError, TypeError, ValueError)
"""What a stranger's entry may raise; it costs that entry only."""


def finish(draft: FeedDraft, *, url: str) -> Feed:
    """Return a feed; ``url`` is where it came from. An entry that says nothing is skipped and counted."""
    entries, skipped = [], draft.skipped
    names_of = cache(names)  # a feed has few authors, and each of them writes many entries
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
        title=plain(draft.title, is_atom=draft.is_atom),
        site_url=entry_media.page_url(draft.links, (), url),
        entries=tuple(entries),
        language=sanitised.line(draft.language, 35) or None,
        skipped=skipped,
        description=plain(draft.description, is_atom=draft.is_atom)[: sanitised.DESCRIPTION_MAX_CHARS].rstrip(),
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
    link = entry_media.page_url(draft.links, (permalink,), feed_url)
    link = sanitised.absolute(draft.original_link, feed_url) or link if draft.original_link else link
    content, summary = _bodies(draft, link or feed_url, feed_url, is_atom=is_atom)
    title = plain(draft.title, is_atom=is_atom)
    if link is None and not title and not content:
        return None
    published = dates.first(draft.published_at, draft.updated_at, draft.created_at)
    updated = dates.first(draft.updated_at)
    enclosures = entry_media.enclosures(draft, feed_url)
    runs_s = entry_media.duration_s(draft.duration)
    if runs_s is None and enclosures:
        runs_s = next((file.duration_s for file in enclosures if file.duration_s), None)
    return Entry(
        guid=sanitised.legal(draft.guid).strip()[:GUID_MAX_CHARS] or None,
        link=link,
        title=title or sanitised.text_of_clean(content, 120),
        author=names_of(tuple(draft.authors)) or inherited,
        published_at=published.at,
        undated_code=published.undated_code,
        undated_claim=published.claim,
        updated_at=updated.at,
        html=content,
        summary_html=summary,
        description=sanitised.text_of_clean(summary or content, sanitised.DESCRIPTION_MAX_CHARS),
        image_url=entry_media.image_url(draft, content, feed_url),
        enclosures=enclosures,
        tags=_tags(draft),
        transcripts=entry_media.transcripts(draft.transcripts, feed_url) if draft.transcripts else (),
        duration_s=runs_s,
        comments_url=_comments_url(draft, feed_url),
    )


def plain(part: Text | None, *, is_atom: bool) -> str:
    """Return a text construct as one line of plain text."""
    if part is None or not part.value:
        return ""
    if _is_plain(part, is_atom=is_atom):
        return sanitised.line(part.value)
    return sanitised.text_of(_markup(part))


def names(authors: Sequence[str]) -> str | None:
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
        if link.rel == "replies" and entry_media.is_page(link):
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
