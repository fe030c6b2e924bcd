"""What one poll brought, on its way into the database: contents, ledger, items and jobs, in one transaction."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import cycle
from typing import Any
from uuid import UUID

from siftline.contracts import JobType, Priority
from siftline.fetch.feed import ledger_store
from siftline.fetch.feed.feeds import Entry, Feed, recording_kind, recording_url
from siftline.fetch.feed.identity import Arrival, Edit, Identified, PollChanges
from siftline.fetch.poll import health_store, poll_store
from siftline.fetch.poll.health_store import Polled, Source
from siftline.fetch.poll.poll_store import NewContent, Stored, told_row
from siftline.jobs.job_model import NewJob
from siftline.kit.db import Connection
from siftline.kit.ids import random_id
from siftline.net.urls import canonical_url, clean_url, origin_of, own_url, speaks_for
from siftline.text.instants import plausible_at

_LONG_AGO = datetime(1, 1, 1, tzinfo=UTC)


class Intake:
    """Saves a poll. Its jobs are done in the turns of ``tenants``, one after the other.

    ``wanted`` are the keys of contents that are gone and that a later subscriber waits for; ``unlisted`` the contents
    whose pages were asked for again and that the feed lists no longer.
    """

    def __init__(
        self,
        *,
        source: Source,
        feed: Feed,
        speakers: Sequence[str],
        changes: PollChanges,
        polled: Polled,
        first_import: str,
        tenants: Sequence[str],
        now: datetime,
        wanted: Collection[str] = (),
        unlisted: Sequence[UUID] = (),
    ) -> None:
        self._source = source
        self._feed = feed
        self._speakers = (source.url, *speakers)
        self._changes = changes
        self._unlisted = unlisted
        self._polled = replace(
            polled,
            imported=True,
            title=feed.title or None,
            site_url=feed.site_url,
            skipped=feed.skipped,
        )
        self._tenants = cycle(tenants)
        self._now = now
        self._payload = {"source_id": str(source.id)}
        self._files: set[str] = set()
        rule = first_import if source.imported_at is None else "all"
        arrivals = [_plausibly_dated(arrival, now) for arrival in changes.arrivals]
        analysed = chosen(arrivals, rule)
        self._contents = [self._content(arrival, analyse=arrival.url_key in analysed) for arrival in arrivals]
        self._returned = self._returning(wanted, first_import)

    def counts(self) -> Mapping[str, Any]:
        """Return what the poll brought, in numbers."""
        return {
            "entries": len(self._feed.entries),
            "skipped": self._feed.skipped,
            "new": len(self._contents),
            "new_analysed": sum(content.analyse for content in self._contents),
            "edited": len(self._changes.edits),
            "renamed": len(self._changes.moves),
            "returned": len(self._returned),
        }

    def write(self, connection: Connection) -> list[NewJob]:
        """Save everything in the caller's transaction; returns the jobs of what turned out to be new."""
        brought = [*self._contents, *self._returned]
        relinked, edits = self._relinked(), [*map(self._allowed, self._changes.edits)]
        changed = {*relinked, *(edit.content_id for edit in edits if edit.content_id)}
        # Before all else that is written: a job before its subject, and both before the items of who holds it.
        stored = poll_store.add_contents(connection, self._source.id, brought, changed)
        # What is not asked for an answer does not wait for one (pipeline mode of libpq).
        with connection.pipeline():
            poll_store.relink_contents(connection, self._source.id, relinked)
            edited = self._write_entries(connection, brought, stored, edits)
            health_store.polled(connection, self._polled)
        jobs = [
            self._job(row.id, content.identified.entry.published_at, made=row.id == content.id)
            for content in brought
            if content.analyse and (row := stored.get(content.url_key)) and row.unread
        ]
        return [*jobs, *(self._job(content_id, _LONG_AGO) for content_id in edited)]

    def _write_entries(
        self,
        connection: Connection,
        brought: Sequence[NewContent],
        stored: Mapping[str, Stored],
        edits: Sequence[Edit],
    ) -> list[UUID]:
        """Save ledger, items and edits; returns the contents to be ingested again.

        What nobody wants has no row in ``stored``: the ledger knows it, for who comes later.
        """
        source_id, changes = self._source.id, self._changes
        rows = [stored.get(content.url_key) for content in brought]
        ledger_store.move_entries(connection, source_id, changes.moves)
        ledger_store.add_entries(connection, source_id, zip(brought, rows, strict=True))
        poll_store.give_items(
            connection, source_id, [(one, row) for one, row in zip(brought, rows, strict=True) if row]
        )
        ledger_store.touch_entries(connection, source_id, changes.seen)
        ledger_store.edit_entries(connection, source_id, [(edit, self._told(edit)) for edit in changes.edits])
        ledger_store.unlist(connection, source_id, self._unlisted)
        # Whoever saved a file by hand knows no more than its name, of a page that cannot be read nothing, and of many
        # a page neither date nor author; its feed does.
        known = [
            (content, row)
            for content, row in zip(brought, rows, strict=True)
            if row and row.id != content.id and (content.url_key in self._files or self._speaks_for(content.identified))
        ]
        poll_store.fill_contents(connection, [(row.id, content.identified.entry) for content, row in known])
        told = [
            Edit(content.identified, row.id) for content, row in known if content.url_key in self._files or row.untold
        ]
        return poll_store.edit_contents(connection, [*edits, *told])

    def _returning(self, wanted: Collection[str], first_import: str) -> list[NewContent]:
        """Return the contents to be made again; the import rule holds for what the first poll brought."""
        returns = [found for found in self._changes.returns if found.arrival.url_key in wanted]
        imported_at = self._source.imported_at or self._now
        arrivals = [_plausibly_dated(found.arrival, self._now) for found in returns]
        old = [arrival for arrival, found in zip(arrivals, returns, strict=True) if found.first_seen_at <= imported_at]
        left = {arrival.url_key for arrival in old} - chosen(old, first_import)
        return [self._content(arrival, analyse=arrival.url_key not in left) for arrival in arrivals]

    def _content(self, arrival: Arrival, *, analyse: bool) -> NewContent:
        identified, entry = arrival.identified, arrival.identified.entry
        has_page = entry.link is not None and not arrival.shares_page
        recording = recording_url(entry)
        site_name = self._feed.title or None
        told = None
        url_key, url = arrival.url_key, entry.link or recording or self._feed.site_url or self._source.url
        if arrival.shares_page and not self._speaks_for(identified):
            url_key = f"entry:{self._source.id}:{identified.key}"
        if recording is not None and not (has_page and self._speaks_for(identified)):
            # The page of another site is not this feed's to describe. The recording is.
            url_key, url = self._file_key(recording, identified), recording
        elif recording is not None and canonical_url(recording) == url_key:
            self._files.add(url_key)
        elif self._is_own(url_key) and identified.link is not None:
            site_name, url = None, own_url(url, identified.link)
        elif not self._speaks_for(identified):
            # Another site's page speaks for itself. What this feed calls it is for who follows it.
            told, site_name = entry, None
            identified = identified._replace(entry=Entry(guid=entry.guid, link=entry.link, title=""))
        return NewContent(
            id=random_id(),
            url_key=url_key,
            url=clean_url(url),
            kind=recording_kind(entry) or ("article" if has_page else "note"),
            identified=identified,
            site_name=site_name,
            analyse=analyse,
            typed_origin=self._typed_origin(url),
            told_title=(told.title or None) if told else None,
            told_at=min(told.published_at, self._now) if told and told.published_at else None,
            told=told_row(told) if told else None,
        )

    def _typed_origin(self, url: str) -> str | None:
        """Return the origin that the source's followers opened, where the address is of that very one."""
        own = self._source.typed_origin
        return own if own is not None and origin_of(url) == own else None

    def _file_key(self, recording: str, identified: Identified) -> str:
        """Return the key of a recording without a page that its feed may describe.

        One address is one content, but what a feed says of a file that lies elsewhere is a content of the feed's own,
        and so is what several entries of a poll say of one file.
        """
        key = canonical_url(recording)
        if key in self._files or not speaks_for(self._speakers, recording):
            return f"entry:{self._source.id}:{identified.key}"
        self._files.add(key)
        return key

    def _speaks_for(self, identified: Identified) -> bool:
        """Whether the feed may say what stands at an entry's link: contents are shared, so only of its own site."""
        return identified.entry.link is None or speaks_for(self._speakers, identified.entry.link)

    def _is_own(self, url_key: str | None) -> bool:
        """Whether a content is this feed's alone, and all of it for the feed to say."""
        return url_key is not None and url_key.startswith(f"entry:{self._source.id}:")

    def _spoke_for(self, url_key: str | None) -> bool:
        """Whether a known entry's content is this feed's to change, whatever the entry links to by now."""
        return url_key is None or self._is_own(url_key) or speaks_for(self._speakers, url_key)

    def _may_say(self, edit: Edit) -> bool:
        return self._is_own(edit.url_key) or (self._speaks_for(edit.identified) and self._spoke_for(edit.url_key))

    def _allowed(self, edit: Edit) -> Edit:
        """Return the edit, without its content where another site's page stands behind it."""
        return edit if self._may_say(edit) else replace(edit, content_id=None)

    def _told(self, edit: Edit) -> Mapping[str, str] | None:
        """Return what an edited entry tells of another site's page."""
        entry = edit.identified.entry
        return None if self._may_say(edit) or recording_url(entry) is not None else told_row(entry)

    def _relinked(self) -> dict[UUID, str]:
        """Return the contents whose pages the site has moved, with their new addresses: from its own to its own."""
        return {
            move.moved_id: clean_url(move.identified.entry.link)
            for move in self._changes.moves
            if move.moved_id
            and move.identified.entry.link
            and self._speaks_for(move.identified)
            and self._spoke_for(move.url_key)
        }

    def _job(self, content_id: UUID, published_at: datetime | None, *, made: bool = False) -> NewJob:
        return NewJob(
            JobType.INGEST_CONTENT,
            content_id,
            next(self._tenants),
            priority=priority(published_at, self._now),
            payload=self._payload,
            subject_waits=made,
        )


def _plausibly_dated(arrival: Arrival, now: datetime) -> Arrival:
    """Return an arrival without a date that cannot be so at ``now``; the feed is read without a clock."""
    entry = arrival.identified.entry
    if entry.published_at is None:
        return arrival
    found = plausible_at(entry.published_at, now, entry.published_claim)
    if found.at is not None:
        return arrival
    if entry.updated_at is not None and plausible_at(entry.updated_at, now).at is not None:
        entry = replace(entry, published_at=entry.updated_at)
    else:
        entry = replace(entry, published_at=None, undated_code=found.undated_code, undated_claim=found.claim)
    return arrival._replace(identified=arrival.identified._replace(entry=entry))


def chosen(arrivals: list[Arrival], rule: str) -> set[str]:
    """Return the URL keys of the entries that an import rule lets through: ``all``, ``skip`` or ``newest:N``.

    Undated entries count as older than dated ones, in document order.
    """
    if rule == "all":
        return {arrival.url_key for arrival in arrivals}
    newest_first = sorted(
        arrivals, key=lambda arrival: arrival.identified.entry.published_at or _LONG_AGO, reverse=True
    )
    count = 0 if rule == "skip" else int(rule.removeprefix("newest:"))
    return {arrival.url_key for arrival in newest_first[:count]}


def priority(published_at: datetime | None, now: datetime) -> int:
    """Return the priority of an entry's job by its age; an undated entry is as old as its discovery."""
    age = now - (published_at or now)
    if age < timedelta(hours=24):
        return Priority.UNDER_24_HOURS
    return Priority.UNDER_72_HOURS if age < timedelta(hours=72) else Priority.OLDER
