"""Which entries of a poll are new, which are known, and which only look new. Pure: no clock, no I/O.

An entry is known by its guid, else by link and title, and by the date where several share those. A feed that rewrites
its guids is seen through: what has the address and the text of a known entry that the feed no longer lists is that
entry. A page has one content, so entries of a feed that share a link are told apart in the keys of their contents.
"""

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from uuid import UUID

from siftline.fetch.feeds import Entry
from siftline.kit.urls import canonical_url

_TAG = re.compile(r"<[^>]*>")
_DIGITS = re.compile(r"\d+")


@dataclass(frozen=True, slots=True)
class Known:
    """A row of the feed's ledger."""

    entry_key: str
    link: str | None
    content_sha256: bytes
    content_id: UUID | None


@dataclass(frozen=True, slots=True)
class Identified:
    """An entry of this poll with what it is known by."""

    entry: Entry
    key: str
    link: str | None
    """The link's canonical form; several entries may share it."""
    content_sha256: bytes


@dataclass(frozen=True, slots=True)
class Arrival:
    """A new entry and the key of its content."""

    identified: Identified
    url_key: str


@dataclass(frozen=True, slots=True)
class Edit:
    """A known entry whose title or text changed."""

    identified: Identified
    content_id: UUID | None


@dataclass(frozen=True, slots=True)
class Move:
    """A known entry under a new key."""

    identified: Identified
    old_key: str


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a poll brought, each in document order."""

    arrivals: list[Arrival] = field(default_factory=list)
    edits: list[Edit] = field(default_factory=list)
    moves: list[Move] = field(default_factory=list)
    seen: list[Identified] = field(default_factory=list)
    """Every entry that the ledger holds under its key."""


def identify(entries: Iterable[Entry]) -> list[Identified]:
    """Give each entry its key; a repetition within the poll is dropped."""
    linked = [(entry, canonical_url(entry.link) if entry.link else None) for entry in entries]
    named = [(_name(entry, link), _apart(entry, link)) for entry, link in linked]
    sharing = Counter(name for name, _ in set(named))
    found: dict[str, Identified] = {}
    for (entry, link), (name, apart) in zip(linked, named, strict=True):
        key = _digest(*name, apart) if sharing[name] > 1 else _digest(*name)
        if key not in found:
            found[key] = Identified(entry, key, link, content_sha256(entry))
    return list(found.values())


def judge(source_id: UUID, poll: Sequence[Identified], ledger: Iterable[Known]) -> Verdict:
    """Compare a poll with the ledger's rows that share a key or a link with it."""
    by_key = {row.entry_key: row for row in ledger}
    listed = {identified.key for identified in poll}
    unlisted: dict[tuple[str | None, bytes], list[Known]] = {}
    for row in by_key.values():
        if row.entry_key not in listed:
            unlisted.setdefault((row.link, row.content_sha256), []).append(row)
    taken = {row.link for row in by_key.values()}
    verdict = Verdict()
    for identified in poll:
        if known := by_key.get(identified.key):
            verdict.seen.append(identified)
            if known.content_sha256 != identified.content_sha256:
                verdict.edits.append(Edit(identified, known.content_id))
        elif rows := unlisted.get((identified.link, identified.content_sha256)):
            verdict.moves.append(Move(identified, rows.pop().entry_key))
        else:
            verdict.arrivals.append(Arrival(identified, _url_key(source_id, identified, taken)))
            taken.add(identified.link)
    return verdict


def content_sha256(entry: Entry) -> bytes:
    """Return the hash by which an edit is noticed: title and text without markup, numbers in the text all alike.

    Numbers count nothing, because counters of comments and "3 hours ago" change at every poll and mean no edit.
    """
    text = _DIGITS.sub("0", " ".join(_TAG.sub(" ", entry.html).split()))
    return hashlib.sha256(f"{entry.title}\0{text}".encode()).digest()


def _name(entry: Entry, link: str | None) -> tuple[str, ...]:
    """Return what an entry is known by as long as no other entry of the poll is known by the same."""
    if entry.guid:
        return "guid", entry.guid.removeprefix("http://").removeprefix("https://")
    return "link", link or "", entry.title


def _apart(entry: Entry, link: str | None) -> str:
    """Return what tells an entry apart from others of its name: for one guid the link, else the date, else the text."""
    if entry.guid:
        return link or ""
    return entry.published_at.isoformat() if entry.published_at else entry.html


def _url_key(source_id: UUID, identified: Identified, taken: set[str | None]) -> str:
    """Return the key of an entry's content: its canonical address, told apart where others of the feed share it."""
    if identified.link is None:
        return f"entry:{source_id}:{identified.key}"
    return f"{identified.link}#entry={identified.key[:32]}" if identified.link in taken else identified.link


def _digest(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()
