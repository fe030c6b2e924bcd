"""Addresses into contents: what a person saves, and what a message on the queue names."""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from siftline.contracts import IngestContent, JobType, Message, Priority
from siftline.ingest import store
from siftline.jobs import store as jobs
from siftline.jobs.model import NewJob
from siftline.kit.db import Connection
from siftline.kit.ids import new_id
from siftline.kit.urls import canonical_url, validate_url


@dataclass(frozen=True, slots=True)
class SavedItem:
    """A user's item on a page; ``created`` is false when they held the page already."""

    item_id: UUID
    content_id: UUID
    status: str
    created: bool


def save_url(
    connection: Connection, user_id: UUID, url: str, tags: Sequence[str] = (), note: str | None = None
) -> SavedItem:
    """Save a page for a user in the caller's transaction: content, item and, unless it was read already, its job.

    One page is one content, whatever the spelling of its address, and one item a user. A page that failed is tried
    anew. Publish the content's job after the commit. Raises the leaves of ``siftline.kit.urls``.
    """
    content = store.hold_content(connection, new_id(), url_key=canonical_url(url), url=validate_url(url))
    item = store.hold_item(connection, user_id, content.id, tags=tags, note=note)
    if content.unread:
        job = NewJob(
            job_type=JobType.INGEST_CONTENT,
            subject_id=content.id,
            group_key=f"user:{user_id}",
            priority=Priority.SAVED,
        )
        jobs.enqueue(connection, [job])
    return SavedItem(item.id, content.id, "PENDING" if content.unread else content.status, item.created)


def ensure_content(connection: Connection, content_id: UUID, url: str) -> UUID:
    """Return the id of the content under ``url``, made with ``content_id`` when there is none.

    Raises the leaves of ``siftline.kit.urls``.
    """
    return store.hold_content(connection, content_id, url_key=canonical_url(url), url=validate_url(url)).id


def subject_of(connection: Connection, message: Message) -> UUID | None:
    """Return the content that a message without a job is about, made where it names an address; else ``None``.

    A ``siftline.jobs.consume.SubjectMaker``. Raises the leaves of ``siftline.kit.urls``.
    """
    if not isinstance(message, IngestContent):
        return None
    if store.exists(connection, message.shared_content_id):
        return message.shared_content_id
    return None if message.url is None else ensure_content(connection, message.shared_content_id, message.url)
