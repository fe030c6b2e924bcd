"""Following and leaving sources: one, or all of a list at once, in a handful of statements."""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from siftline.api.http import callers_store
from siftline.api.items import items_store
from siftline.api.parts import Outbox
from siftline.api.sources import sources_store as store
from siftline.api.sources.source_models import FetchStatus, Health
from siftline.api.sources.sources_store import Wish
from siftline.contracts import JobType
from siftline.jobs import followers_store
from siftline.jobs import jobs_store as jobs
from siftline.jobs.job_model import NewJob, user
from siftline.kit.db import Connection


@dataclass(frozen=True, slots=True)
class Followed:
    """A source that a user follows, now or before."""

    source_id: UUID
    fresh: bool
    """Whether they did not follow it before."""
    items: int
    """How many of the items that it had are theirs now."""


def beyond(connection: Connection, user_id: UUID, keys: Sequence[str], *, at_most: int) -> list[str]:
    """Return those of these sources that would be more than the user may follow; none that they follow already.

    Until the transaction ends they follow no others.
    """
    callers_store.hold(connection, user_id, "sources")
    held = followed(connection, user_id, keys)
    room = at_most - store.count_followed(connection, user_id)
    return [key for key in keys if key not in held][max(room, 0) :]


def followed(connection: Connection, user_id: UUID, keys: Sequence[str]) -> dict[str, UUID]:
    """Return which of these sources a user follows, under this address or another of the same feed."""
    otherwise = store.followed_otherwise(connection, user_id, keys)
    return otherwise | store.followed_by_key(connection, user_id, keys)


def follow(
    connection: Connection,
    outbox: Outbox,
    user_id: UUID,
    wishes: Sequence[Wish],
    *,
    backfill: int,
    priority: int,
) -> tuple[list[Followed], list[UUID]]:
    """Let a user follow sources, made where there are none; returns one answer a wish, and the jobs to publish.

    Of what a source has brought before, its new follower gets the newest ``backfill``. Who follows already,
    under this address or another of the same feed, changes nothing by that. However many sources these are, they
    are polled in the turn of this one user.
    """
    if not wishes:
        return [], []
    same = store.followed_otherwise(connection, user_id, [wish.address.key for wish in wishes])
    lacking = [wish for wish in wishes if wish.address.key not in same]
    found = store.put_sources(connection, lacking, default_minutes=followers_store.REFRESH_MINUTES)
    asked = [(found[wish.address.key].id, wish) for wish in lacking]
    fresh = store.subscribe(connection, user_id, asked)
    new = [source for source in found.values() if source.id in fresh]
    items, job_ids = _begin(connection, outbox, user_id, new, backfill, priority)
    ids = same | {wish.address.key: source_id for source_id, wish in asked}
    answers = [
        Followed(source_id, source_id in fresh, items.get(source_id, 0))
        for source_id in (ids[wish.address.key] for wish in wishes)
    ]
    return answers, job_ids


def leave(connection: Connection, user_id: UUID, source: store.Taken) -> None:
    """Let a user follow a held source no longer; one that nobody follows is kept, but not polled."""
    store.unsubscribe(connection, user_id, source.id)
    if source.subscribers == 1:
        store.deactivate(connection, source.id, reason="it has no followers")
        jobs.cancel(connection, [source.id])
    else:
        followers_store.settle_refresh(connection, [source.id])


def fetch(
    connection: Connection, outbox: Outbox, source_ids: Sequence[UUID], user_id: UUID, *, priority: int
) -> list[UUID]:
    """Enqueue a poll of each source in the turn of who asks for it."""
    wanted = (
        NewJob(JobType.FETCH_SOURCE, source_id, group_key=user(user_id), priority=priority) for source_id in source_ids
    )
    return outbox.enqueue(connection, *wanted)


def _begin(
    connection: Connection, outbox: Outbox, user_id: UUID, new: Sequence[store.HeldSource], backfill: int, priority: int
) -> tuple[dict[UUID, int], list[UUID]]:
    """Give a new follower what is there, and poll what is not polled by itself anyway."""
    if not new:
        return {}, []
    ids = [source.id for source in new]
    items = items_store.give_newest(connection, user_id, ids, limit=backfill)
    followers_store.settle_refresh(connection, ids)
    incomplete = store.ask_whole(connection, ids, user_id)
    asleep = {source.id for source in new if source.health == Health.INACTIVE}
    if asleep:
        store.revive(connection, sorted(asleep), reason="followed again")
    due = [
        source.id
        for source in new
        if source.id in incomplete
        or source.id in asleep
        or not (source.imported or source.status == FetchStatus.FETCHING)
    ]
    job_ids = fetch(connection, outbox, due, user_id, priority=priority)
    if items:
        job_ids += outbox.enqueue(connection, NewJob(JobType.JOIN_STORIES, user_id, user(user_id), priority))
    return items, job_ids
