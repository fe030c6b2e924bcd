"""Which entries of a poll are new, which are known, and which only look new. Pure: no clock, no I/O.

An entry is known by its guid, else by link and title, and by the date where several share those. A feed that rewrites
its guids is seen through, and so is one whose guids are places: guids that count the entries, or most of which come
with another entry's link and words, name none of them; and what has another title, date and text, and another link or
else another guid, is another entry. Under one guid an empty text says nothing of that; nor does a missing date, unless
the guid belongs to one entry by its form, rewritten or not, or as its address. Under a guid that names a place ("top",
"slot-2") less is needed: a short text and a round time say nothing, and a title may be that of a series. A known entry
that the feed no longer lists is the one that has its link, title and text to the letter ("Episode 12" is not "Episode
13"), or else the only one that has its link, whatever else was rewritten, unless its words to the letter and its very
time stand elsewhere now; or, without a link of its own, the only one of its words and of its very time, where only
numbers in the text differ. Where a site changes its addresses and guids at once, an entry is the one of its title and
very time or file; undated ones are taken for the same only if several moved together, for "Daily links" comes again
with the same words. A page has one content, so entries of a feed that share a link are told apart in the keys of their
contents.
"""

import hashlib
import re
from collections import Counter
from collections.abc import Callable, Container, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from siftline.fetch.feed.feeds import Entry, Feed
from siftline.net.urls import canonical_url, is_home
from siftline.text.words import letters

WITHOUT_GUIDS = "words:"
"""How the keys begin under which a feed's entries are known once its guids have turned out to be places."""
_APART = "#entry="
_TOGETHER_MIN = 2
_TELLING_LETTERS = 60
"""Fewer say nothing of which entry they are of: "Continue reading", "Image: the author"."""
_TAG = re.compile(r"<[^>]*>")
_DIGITS = re.compile(r"\d+")
# Tag URIs, UUIDs, ULIDs, long numbers and a page's number belong to one entry.
_UNIQUE = re.compile(
    r"^tag:[^,]+,|^yt:video:|[0-9a-f]{12}|[0-9]{5}|\b[0-9A-HJKMNP-TV-Z]{26}\b|\?.*[0-9]", re.IGNORECASE
)
# What the next entry may have: words for a place, with or without its number.
_PLACE_WORDS = frozenset({
    "urn", "php", "index", "top", "latest", "newest", "first", "last", "current", "today", "now", "head", "headline",
    "headlines", "main", "lead", "feature", "featured", "hero", "cover", "pos", "position", "place", "slot", "rank",
    "teaser", "box",
})  # fmt: skip
_BETWEEN_WORDS = re.compile(r"[-_.:/#=?& 0-9]+")
_AUTHORITY = re.compile(r"^https?://[^/?#]*/?", re.IGNORECASE)
_NOUGHTS = bytes(ord("0") if chr(code).isdigit() and code < 128 else code for code in range(256))


@dataclass(frozen=True, slots=True)
class Known:
    """A row of the feed's ledger."""

    entry_key: str
    link: str | None
    content_sha256: bytes
    exact_sha256: bytes | None
    content_id: UUID | None
    """``None`` once the content is gone, because the last who held it deleted it."""
    url_key: str | None
    """The key of its content, gone or not."""
    first_seen_at: datetime
    published_at: datetime | None = None
    """As its content has it; known only of entries without a link, of those that are alike, and of the doubtful."""
    title: str | None = None
    """As its content has it; known only of those that are alike (``ledger_store.alike``), and of the doubtful."""
    file_url: str | None = None
    """Known only of those that are alike."""
    guid: str | None = None
    """As the feed gave it last."""


class Identified(NamedTuple):
    """An entry of this poll with what it is known by."""

    entry: Entry
    key: str
    link: str | None
    """The link's canonical form; several entries may share it."""
    content_sha256: bytes
    exact_sha256: bytes


class Mark(NamedTuple):
    """An ``Identified`` as it leaves a child: the entry's place in the feed, and the hashes in hex."""

    place: int
    key: str
    link: str | None
    content_sha256: str
    exact_sha256: str


class Arrival(NamedTuple):
    """A new entry and the key of its content."""

    identified: Identified
    url_key: str
    shares_page: bool = False
    """Whether other entries of the feed have its link: the page is not what the entry is about, its own words are."""


@dataclass(frozen=True, slots=True)
class Edit:
    """A known entry whose title or text changed."""

    identified: Identified
    content_id: UUID | None
    url_key: str | None = None
    """The key of its content."""


@dataclass(frozen=True, slots=True)
class Move:
    """A known entry under a new key, or at a new address under the key that it has."""

    identified: Identified
    old_key: str
    moved_id: UUID | None = None
    """Its content, where the entry has another address now."""
    url_key: str | None = None
    """The key of its content."""


@dataclass(frozen=True, slots=True)
class Return:
    """A known entry whose content is gone: it is new to whoever came after that."""

    arrival: Arrival
    first_seen_at: datetime


@dataclass(frozen=True, slots=True)
class PollChanges:
    """What a poll brought, each in document order."""

    arrivals: list[Arrival] = field(default_factory=list)
    edits: list[Edit] = field(default_factory=list)
    moves: list[Move] = field(default_factory=list)
    returns: list[Return] = field(default_factory=list)
    seen: list[Identified] = field(default_factory=list)
    """Every entry that the ledger holds under its key, at its address."""


def marked(feed: Feed, marks: Iterable[Mark]) -> list[Identified]:
    """Return the entries that these marks are of."""
    return [
        Identified(feed.entries[place], key, link, bytes.fromhex(content_sha256), bytes.fromhex(exact_sha256))
        for place, key, link, content_sha256, exact_sha256 in marks
    ]


def identify(entries: Iterable[Entry]) -> list[Identified]:
    """Give each entry its key; a repetition within the poll is dropped."""
    listed = list(entries)
    by_guid = not _count_places([entry.guid for entry in listed])
    return _identified(listed, by_guid=by_guid)


def without_guids(poll: Iterable[Identified]) -> list[Identified]:
    """Return a poll's entries under the keys that they have where guids are places in the feed."""
    return [
        one._replace(key=f"{WITHOUT_GUIDS}{one.key}")
        for one in _identified([identified.entry for identified in poll], by_guid=False)
    ]


def guids_are_places(poll: Sequence[Identified], ledger: Iterable[Known]) -> bool:
    """Return whether most of a poll's known guids come with the link and the words that another guid had."""
    by_key = {row.entry_key: row for row in ledger}
    words = {(row.link, row.content_sha256) for row in by_key.values()}
    in_poll = Counter(one.link for one in poll)
    stayed = shifted = 0
    for one in poll:
        row = by_key.get(one.key)
        if row is None or one.entry.guid is None:
            continue
        own_link = one.link == row.link and in_poll[one.link] == 1 and one.link is not None
        same_words = one.content_sha256 == row.content_sha256
        anothers = (one.link, one.content_sha256) in words and not (same_words and one.link in {None, row.link})
        if own_link or (same_words and not anothers):
            stayed += 1
        elif anothers:
            shifted += 1
    return shifted > stayed


def _count_places(guids: Sequence[str | None]) -> bool:
    """Return whether guids count the entries of a feed, from 0 or from 1 on; as addresses, too, as some are read."""
    parts = [(guid or "").rpartition("/") for guid in guids]
    numbers = [int(last) if last.isdecimal() else None for _, _, last in parts]
    counts = numbers in (list(range(len(guids))), list(range(1, len(guids) + 1)))
    return len(guids) > 1 and counts and len({before for before, _, _ in parts}) == 1


def _identified(entries: Sequence[Entry], *, by_guid: bool) -> list[Identified]:
    linked = [(entry, canonical_url(entry.link) if entry.link else None) for entry in entries]
    named = [_named(entry, link, by_guid=by_guid) for entry, link in linked]
    sharing = Counter((name, apart[:count]) for name, apart in set(named) for count in range(len(apart)))
    found: dict[str, Identified] = {}
    told = set()
    for (entry, link), (name, apart) in zip(linked, named, strict=True):
        needed = next((count for count in range(len(apart)) if sharing[name, apart[:count]] == 1), len(apart))
        key = _digest(*name, *apart[:needed])
        if key in found:
            continue
        text = _text(entry)
        one = Identified(entry, key, link, _masked_sha256(entry, text), _exact_sha256(entry, text))
        # A feed that lists an article twice, under two guids, tells of one.
        same = link, one.exact_sha256, entry.published_at, _file_of(entry)
        if link is None or same not in told:
            found[key] = one
            told.add(same)
    return list(found.values())


def judge(source_id: UUID, poll: Sequence[Identified], ledger: Iterable[Known]) -> PollChanges:
    """Compare a poll with the ledger's rows that share a key, a link or a text with it."""
    by_key = {row.entry_key: row for row in ledger}
    departed = _departed(poll, by_key)
    poll = [_under_its_own_key(identified, by_key.get(identified.key), departed) for identified in poll]
    renamed = _renamed(poll, by_key, departed)
    # An entry that moved away leaves its content under the key of its first address, which another may have by now.
    taken = {link for row in by_key.values() for link in (row.link, row.url_key)}
    in_poll = Counter(identified.link for identified in poll)
    changes = PollChanges()
    for identified in poll:
        known = by_key.get(identified.key) or renamed.get(identified.key)
        if known is None:
            shares = identified.link in taken or (in_poll[identified.link] > 1 and _tells(identified))
            changes.arrivals.append(_arrival(source_id, identified, shares=shares))
            taken.add(identified.link)
            continue
        moved = identified.link is not None and known.link is not None and identified.link != known.link
        if known.entry_key == identified.key and not moved:
            changes.seen.append(identified)
        else:
            changes.moves.append(Move(identified, known.entry_key, known.content_id if moved else None, known.url_key))
        if known.content_id is None and known.url_key is not None:
            shares = in_poll[identified.link] > 1 or _APART in known.url_key
            again = Arrival(identified, known.url_key, shares and _tells(identified))
            changes.returns.append(Return(again, known.first_seen_at))
        if known.content_sha256 != identified.content_sha256:
            changes.edits.append(Edit(identified, known.content_id, known.url_key))
    return changes


def doubtful(poll: Sequence[Identified], ledger: Sequence[Known]) -> list[str]:
    """Return the keys of rows that may be another entry than what has their guid or their link now.

    ``judge`` takes them for the same, unless it is told what their titles and dates were.
    """
    by_key = {row.entry_key: row for row in ledger}
    by_link = {row.link: row for row in ledger}
    by_place = {(row.guid, row.link): row for row in ledger}
    fresh = {one.exact_sha256 for one in poll if one.key not in by_key}
    found = {row.entry_key for row in ledger if row.link and row.exact_sha256 in fresh}
    for one in poll:
        placed = by_place.get((one.entry.guid, one.link))
        if one.entry.guid and placed is not None and one.key not in by_key:
            found.add(placed.entry_key)
        row = by_key.get(one.key) or (by_link.get(one.link) if one.link else None)
        if row is None:
            continue
        if row.content_sha256 == one.content_sha256 and (row.link == one.link or not _is_place(one.entry.guid, row)):
            continue
        if one.entry.published_at is None and row.entry_key != one.key:
            continue
        if (row.entry_key, row.link) != (one.key, one.link):
            found.add(row.entry_key)
    return sorted(found)


def content_sha256(entry: Entry) -> bytes:
    """Return the hash by which an edit is noticed: title and text without markup, numbers in the text all alike.

    Numbers count nothing, because counters of comments and "3 hours ago" change at every poll and mean no edit.
    """
    return _masked_sha256(entry, _text(entry))


def exact_sha256(entry: Entry) -> bytes:
    """Return the hash by which an entry is known under a new guid: title and text to the letter, and numbers count.

    An entry without text is told apart by its date too: a title alone ("Backup done") may come again every day.
    """
    return _exact_sha256(entry, _text(entry))


def _masked_sha256(entry: Entry, text: str) -> bytes:
    return hashlib.sha256(f"{entry.title}\0".encode() + _masked(text)).digest()


def _masked(text: str) -> bytes:
    """Return text with a nought for every number, in UTF-8."""
    if not text.isascii():
        return _DIGITS.sub("0", text).encode()
    raw = text.encode().translate(_NOUGHTS)
    while b"00" in raw:
        raw = raw.replace(b"00", b"0")
    return raw


def _exact_sha256(entry: Entry, text: str) -> bytes:
    dated = "" if text or entry.published_at is None else entry.published_at.isoformat()
    return _sha256(entry.title, text, dated)


def _departed(poll: Sequence[Identified], by_key: Mapping[str, Known]) -> dict[str, str]:
    """Return the keys of rows that left their page to another, each by the key under which its entry is now.

    Its title, its very time and a text that tells it from others stand elsewhere now, and other words at its page.
    """
    in_ledger = Counter(row.link for row in by_key.values())
    in_poll = Counter(one.link for one in poll)
    words = Counter(row.exact_sha256 for row in by_key.values())
    listed = Counter(one.exact_sha256 for one in poll)
    rows = {row.exact_sha256: row for row in by_key.values() if in_ledger[row.link] == words[row.exact_sha256] == 1}
    at = {one.link: one for one in poll if in_poll[one.link] == 1}
    found = {}
    for one in poll:
        row = rows.get(one.exact_sha256)
        if row is None or row.link is None or is_home(row.link) or one.link in {None, row.link} or one.key in by_key:
            continue
        now = at.get(row.link)
        date = one.entry.published_at
        if now is None or listed[one.exact_sha256] > 1 or date is None or row.published_at != date or _is_round(date):
            continue
        itself = now.key == row.entry_key and not _is_place(now.entry.guid, row)
        if not itself and letters(_text(one.entry)) >= _TELLING_LETTERS:
            found[row.entry_key] = one.key
    return found


def _under_its_own_key(one: Identified, row: Known | None, departed: Container[str]) -> Identified:
    """Return an entry under another key where its guid is that of another one: a place in the feed, and no name."""
    if row is None or row.link is None:
        return one
    if row.entry_key not in departed and (one.link in {None, row.link} or not _is_another(row, one)):
        return one
    return one._replace(key=_digest(one.key, one.link or ""))


def _is_another(row: Known, one: Identified) -> bool:
    """Return whether an entry is another than the row's, though it has its guid or its link.

    It is where title, date and text all differ; an empty text says nothing of that at another link, nor a missing date
    under a guid that may come again. At another link under a guid that names a place, a short text and a round time say
    nothing, and the title may be that of a series, of which the next has a time of its own.
    """
    guid, title, date, text = one.entry.guid, one.entry.title, one.entry.published_at, _text(one.entry)
    elsewhere = one.link != row.link
    place = elsewhere and _is_place(guid, row)
    same_words = row.content_sha256 == one.content_sha256
    if row.content_id is None:
        return place and not same_words  # nobody knows its title any more
    if not (row.title and title):
        return False
    # Where the words are the same and the titles differ, the row's is that of another site's page.
    another_title = row.title != title and not same_words
    another_text = not same_words and _masked_sha256(_titled(one.entry, row), text) != row.content_sha256
    if row.published_at is None or date is None:
        another_date = another_title and elsewhere and (place or not _is_unique(guid, row))
    else:
        another_date = row.published_at != date or (place and another_title and _is_round(date))
    if place:
        return another_date and (another_text or letters(text) < _TELLING_LETTERS)
    return another_title and another_date and (another_text or (elsewhere and not text))


def _is_place(guid: str | None, row: Known) -> bool:
    """Return whether a guid consists of words for a place in the feed and of numbers, and was not the row's address."""
    words = set(_BETWEEN_WORDS.split(_AUTHORITY.sub("", guid or "").lower())) - {""}
    return bool(words) and words <= _PLACE_WORDS and not _is_address(guid or "", row)


def _is_unique(guid: str | None, row: Known) -> bool:
    """Return whether a guid belongs to one entry by its form, or as its address until now.

    A word is read as an address on the feed's site ("https://n.example/top"), so only the last part of those counts.
    """
    if guid is None:
        return False
    rest = _AUTHORITY.sub("", guid)
    last = rest if rest == guid else rest.partition("#")[0].rstrip("/").rpartition("/")[2]
    return _UNIQUE.search(last) is not None or _is_address(guid, row)


def _is_address(guid: str, row: Known) -> bool:
    address = _bare(guid)
    return address != "" and address in {_bare(row.link or ""), _bare(row.url_key or "")}


def _bare(address: str) -> str:
    return _without_scheme(address).removeprefix("www.").partition("#")[0].rstrip("/")


def _is_round(time: datetime) -> bool:
    """Return whether a time may be that of many entries: a day, in whatever zone, or a scheduled hour."""
    return time.minute in {0, 30} and time.second == 0


def _without_scheme(address: str) -> str:
    return address.removeprefix("http://").removeprefix("https://")


def _renamed(poll: Sequence[Identified], by_key: Mapping[str, Known], departed: Mapping[str, str]) -> dict[str, Known]:
    """Return the rows that the feed no longer lists under their keys, each by the key of the entry that it became."""
    listed = {identified.key for identified in poll}
    unlisted = [row for row in by_key.values() if row.entry_key not in listed]
    fresh = [identified for identified in poll if identified.key not in by_key]
    by_text: dict[tuple[str | None, bytes | None], list[Known]] = {}
    for row in unlisted:
        by_text.setdefault((row.link, row.exact_sha256), []).append(row)
    found = {key: by_key[old_key] for old_key, key in departed.items()}
    for identified in fresh:
        if rows := by_text.get((identified.link, identified.exact_sha256)):
            found[identified.key] = rows.pop()
    # A link that nothing else of the feed has is a page of its own; a home page may be the link of any entry.
    in_ledger = Counter(row.link for row in by_key.values())
    in_poll = Counter(identified.link for identified in poll)
    alone = {
        row.link: row
        for row in unlisted
        if in_ledger[row.link] == 1 and row.link and not is_home(row.link) and row.entry_key not in departed
    }
    for identified in fresh:
        if identified.key not in found and identified.link in alone and in_poll[identified.link] == 1:
            row = alone[identified.link]
            if not _is_another(row, identified):
                found[identified.key] = row
    found |= dict(_recounted([one for one in fresh if one.key not in found], unlisted, found))
    taken = {row.entry_key for row in found.values()}
    left = [row for row in unlisted if row.entry_key not in taken]
    found |= dict(_retitled(poll, left, {**by_key, **found}))
    taken = {row.entry_key for row in found.values()}
    left = [row for row in unlisted if row.entry_key not in taken and (row.link is None or row.link not in in_poll)]
    return found | _moved([one for one in fresh if one.key not in found], left)


def _recounted(
    fresh: Sequence[Identified], unlisted: Sequence[Known], found: Mapping[str, Known]
) -> Iterator[tuple[str, Known]]:
    """Return entries without a link whose guid and numbers changed ("7 comments"), but neither words nor time."""
    taken = {row.entry_key for row in found.values()}
    old = [row for row in unlisted if row.link is None and row.published_at and row.entry_key not in taken]
    new = [one for one in fresh if one.link is None and one.entry.published_at]
    in_ledger = Counter((row.content_sha256, row.published_at) for row in old)
    in_poll = Counter((one.content_sha256, one.entry.published_at) for one in new)
    rows = {(row.content_sha256, row.published_at): row for row in old}
    for one in new:
        mark = one.content_sha256, one.entry.published_at
        if in_ledger[mark] == in_poll[mark] == 1:
            yield one.key, rows[mark]


def _retitled(
    poll: Sequence[Identified], unlisted: Sequence[Known], known: Mapping[str, Known]
) -> Iterator[tuple[str, Known]]:
    """Return entries of which only the title changed, where guids are places and no other entry changed its own."""
    guids = [one.entry.guid for one in poll]
    stayed = [known[one.key].guid == one.entry.guid for one in poll if one.key in known]
    if len(set(guids)) < len(guids) or not stayed or not all(stayed):
        return
    rows = {(row.guid, row.link): row for row in unlisted if row.title}
    for one in poll:
        row = rows.get((one.entry.guid, one.link)) if one.key not in known else None
        if row and (text := _text(one.entry)) and _masked_sha256(_titled(one.entry, row), text) == row.content_sha256:
            yield one.key, row


def _titled(entry: Entry, row: Known) -> Entry:
    return replace(entry, title=row.title or "")


def _moved(fresh: Sequence[Identified], unlisted: Sequence[Known]) -> dict[str, Known]:
    """Return entries whose guid and address changed, each with the only row that it can have been."""
    found: dict[str, Known] = {}
    for old_mark, new_mark in _MARKS:
        new = [one for one in fresh if one.key not in found]
        taken = {row.entry_key for row in found.values()}
        found |= _alone([row for row in unlisted if row.entry_key not in taken], new, old_mark, new_mark)
    new = [one for one in fresh if one.key not in found]
    taken = {row.entry_key for row in found.values()}
    old = [row for row in unlisted if row.entry_key not in taken]
    by_words = _alone(old, new, lambda row: row.exact_sha256, lambda one: one.exact_sha256)
    undated = {
        key: by_words[key]
        for one in new
        if (key := one.key) in by_words and (one.entry.published_at is None or by_words[key].published_at is None)
    }
    # One alone may be the next of its series; a whole feed does not come again in the same words.
    return found | undated if len(undated) >= _TOGETHER_MIN and 2 * len(undated) >= len(new) else found


def _alone(
    old: Sequence[Known],
    new: Sequence[Identified],
    old_mark: Callable[[Known], Hashable],
    new_mark: Callable[[Identified], Hashable],
) -> dict[str, Known]:
    """Return the rows by the keys of the entries that share a mark with them and with nothing else."""
    rows: dict[Hashable, Known] = {mark: row for row in old if (mark := old_mark(row)) is not None}
    in_old = Counter(map(old_mark, old))
    in_new = Counter(map(new_mark, new))
    return {one.key: rows[mark] for one in new if (mark := new_mark(one)) in rows and in_old[mark] == in_new[mark] == 1}


def _file_of(entry: Entry) -> str | None:
    return entry.enclosures[0].url if entry.enclosures else None


_MARKS: tuple[tuple[Callable[[Known], Hashable], Callable[[Identified], Hashable]], ...] = (
    (
        lambda row: (row.title, row.published_at) if row.title and row.published_at else None,
        lambda one: (one.entry.title, one.entry.published_at),
    ),
    (
        lambda row: (row.exact_sha256, row.published_at) if row.published_at else None,
        lambda one: (one.exact_sha256, one.entry.published_at),
    ),
    (
        lambda row: (row.title, row.file_url) if row.title and row.file_url else None,
        lambda one: (one.entry.title, _file_of(one.entry)),
    ),
)
"""What tells an entry under another guid and address: its title or words and its very time, or its title and file."""


def _text(entry: Entry) -> str:
    return " ".join(_TAG.sub(" ", entry.html).split())


def _sha256(*parts: str) -> bytes:
    return hashlib.sha256("\0".join(parts).encode()).digest()


def _named(entry: Entry, link: str | None, *, by_guid: bool) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return what an entry is known by, and what tells it apart from others of its name, of which as much counts as is
    needed.

    For one guid it is the link, then the date, then the title; else the date, or the text.
    """
    date = entry.published_at.isoformat() if entry.published_at else ""
    if entry.guid and by_guid:
        return ("guid", _without_scheme(entry.guid)), (link or "", date, entry.title)
    return ("link", link or "", entry.title), (date or entry.html,)


def _tells(one: Identified) -> bool:
    """Return whether an entry says anything itself; what says nothing is about the page that it links to."""
    return one.link is not None and bool(one.entry.title or one.entry.html)


def _arrival(source_id: UUID, identified: Identified, *, shares: bool) -> Arrival:
    """Return a new entry: its content's key is its canonical address, told apart where others of the feed share it."""
    mark = _digest(identified.key, identified.exact_sha256.hex())[:32]
    if identified.link is None:
        return Arrival(identified, f"entry:{source_id}:{mark}")
    if not shares:
        return Arrival(identified, identified.link)
    return Arrival(identified, f"{identified.link}{_APART}{mark}", shares_page=_tells(identified))


def _digest(*parts: str) -> str:
    return _sha256(*parts).hex()
