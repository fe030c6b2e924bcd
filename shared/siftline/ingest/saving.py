"""Addresses into contents: what a person saves, and what a message on the queue names."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from uuid import UUID

from siftline.contracts import IngestContent, JobType, Message, Priority, TranscribeContent
from siftline.ingest import ingest_store
from siftline.ingest.ingest_store import Mark, PageAddress
from siftline.jobs import jobs_store as jobs
from siftline.jobs.job_model import NewJob, user
from siftline.kit.db import Connection
from siftline.kit.ids import random_id
from siftline.net.urls import canonical_url, clean_url, typed_origin, validate_url


@dataclass(frozen=True, slots=True)
class SavedUrl:
    """A user's item on a page; ``created`` is false when they held the page already.

    What is created is ``PENDING``, though the page may have been read for somebody else.
    """

    item_id: UUID
    content_id: UUID
    status: str
    created: bool


@dataclass(frozen=True, slots=True)
class Page:
    """A page that a user wants to keep."""

    url: str
    """In any spelling."""
    address: PageAddress = field(repr=False, kw_only=True)  # a repeated batch is known by what was asked for
    """Worked out before the transaction: no lock is held meanwhile."""
    tags: Sequence[str] = ()
    """The user's own."""
    note: str | None = None


def page_address(url: str) -> PageAddress:
    """Return the forms of an address. Raises the leaves of ``siftline.net.urls``."""
    own = validate_url(url)
    return PageAddress(own, canonical_url(own), clean_url(own), typed_origin(own))


def page_of(url: str, tags: Sequence[str] = (), note: str | None = None) -> Page:
    """Return a page to be saved, its address worked out. Raises the leaves of ``siftline.net.urls``."""
    return Page(url, tags, note, address=page_address(url))


def save_urls(connection: Connection, user_id: UUID, wishes: Sequence[Page]) -> list[SavedUrl]:
    """Save pages for a user in the caller's transaction: contents, items and, unless read already, their jobs.

    One page is one content, whatever the spelling of its address, and one item a user, who keeps their own spelling;
    named twice, it is new the first time, and has the tags of both and the later note. A page that failed is tried
    anew, and a try that waits is made now; one that is on its way for others goes on as this user's. Publish the
    contents' jobs after the commit. The number of statements does not grow with the pages.
    """
    shared: dict[str, PageAddress] = {}
    for address in (wish.address for wish in wishes):
        if address.key not in shared or address.own.startswith("https:"):
            shared[address.key] = address
    contents = ingest_store.hold_contents(connection, [random_id() for _ in shared], shared)
    marks: dict[UUID, Mark] = {}
    for wish in wishes:
        id_ = contents[wish.address.key].id
        before = marks.get(id_, Mark(wish.address.own))
        note = before.note if wish.note is None else wish.note
        marks[id_] = Mark(before.url, [*before.tags, *wish.tags], note)
    items = ingest_store.hold_items(connection, user_id, marks)
    unread = [content.id for content in contents.values() if content.unread]
    wanted = [_reading(content_id, user_id) for content_id in unread]
    if any(content.status == "READY" and items[content.id].created for content in contents.values()):
        wanted.append(NewJob(JobType.JOIN_STORIES, user_id, user(user_id), Priority.SAVED))
    jobs.enqueue(connection, wanted)
    on_the_way = [content.id for content in contents.values() if not content.unread and content.status != "READY"]
    jobs.hasten(connection, on_the_way, user(user_id))
    jobs.try_now(connection, [*unread, *on_the_way], JobType.INGEST_CONTENT, JobType.ANALYZE_CONTENT)
    saved, told = [], set[UUID]()
    for wish in wishes:
        content = contents[wish.address.key]
        item = items[content.id]
        created = item.created and item.id not in told
        # What is new to who saves it looks new, whoever has had it read before.
        status = "PENDING" if content.unread or created else content.status
        saved.append(SavedUrl(item.id, content.id, status, created))
        told.add(item.id)
    return saved


def save_url(
    connection: Connection, user_id: UUID, url: str, tags: Sequence[str] = (), note: str | None = None
) -> SavedUrl:
    """Save one page, as ``save_urls`` does. Raises the leaves of ``siftline.net.urls``."""
    return save_urls(connection, user_id, [page_of(url, tags, note)])[0]


def ensure_content(connection: Connection, content_id: UUID, url: str) -> UUID:
    """Return the id of the content under ``url``, made with ``content_id`` when there is none.

    Who puts a message on our queue runs this system, and so typed the address. Raises the leaves of
    ``siftline.net.urls``.
    """
    address = page_address(url)
    return ingest_store.hold_contents(connection, [content_id], {address.key: address})[address.key].id


def _reading(content_id: UUID, user_id: UUID) -> NewJob:
    return NewJob(JobType.INGEST_CONTENT, content_id, user(user_id), priority=Priority.SAVED)


def subject_of(connection: Connection, message: Message) -> UUID | None:
    """Return the content that a message without a job is about, made where it names an address; else ``None``.

    A ``siftline.jobs.consume.SubjectMaker``. Raises the leaves of ``siftline.net.urls``.
    """
    if not isinstance(message, IngestContent | TranscribeContent):
        return None
    if ingest_store.exists(connection, message.shared_content_id):
        return message.shared_content_id
    if isinstance(message, TranscribeContent):
        return None
    return None if message.url is None else ensure_content(connection, message.shared_content_id, message.url)
