"""Following and leaving sources: one, or all of a list at once, in a handful of statements."""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from siftline.api.http import callers_store
from siftline.api.items import items_store
from siftline.api.sources import following_store as store
from siftline.api.sources import sources_store
from siftline.api.sources.following_store import Wish
from siftline.api.sources.source_models import FetchStatus, Health
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


class Following:
    """Writes in the transaction of the caller, who hands out the jobs after its commit."""

    def __init__(self, *, max_attempts: int, at_most: int) -> None:
        """``at_most``: so many sources a user may follow."""
        self._max_attempts = max_attempts
        self.at_most = at_most

    def beyond(self, connection: Connection, user_id: UUID, keys: Sequence[str]) -> list[str]:
        """Return those of these sources that would be more than the user may follow; none that they follow already.

        Until the transaction ends they follow no others.
        """
        callers_store.hold(connection, user_id, "sources")
        followed = self.followed(connection, user_id, keys)
        room = self.at_most - store.count_followed(connection, user_id)
        return [key for key in keys if key not in followed][max(room, 0) :]

    def followed(self, connection: Connection, user_id: UUID, keys: Sequence[str]) -> dict[str, UUID]:
        """Return which of these sources a user follows, under this address or another of the same feed."""
        otherwise = store.followed_otherwise(connection, user_id, keys)
        return otherwise | store.followed_by_key(connection, user_id, keys)

    def follow(
        self,
        connection: Connection,
        user_id: UUID,
        wishes: Sequence[Wish],
        *,
        backfill: int,
        priority: int,
    ) -> tuple[list[Followed], list[UUID]]:
        """Let a user follow sources, made where there are none; returns one answer a wish, and the jobs to hand out.

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
        items, job_ids = self._begin(connection, user_id, new, backfill, priority)
        ids = same | {wish.address.key: source_id for source_id, wish in asked}
        followed = [
            Followed(source_id, source_id in fresh, items.get(source_id, 0))
            for source_id in (ids[wish.address.key] for wish in wishes)
        ]
        return followed, job_ids

    def leave(self, connection: Connection, user_id: UUID, source: sources_store.Taken) -> None:
        """Let a user follow a held source no longer; one that nobody follows is kept, but not polled."""
        sources_store.unsubscribe(connection, user_id, source.id)
        if source.subscribers == 1:
            sources_store.deactivate(connection, source.id, reason="it has no followers")
            jobs.cancel(connection, [source.id])
        else:
            self.settle(connection, [source.id])

    def settle(self, connection: Connection, source_ids: Sequence[UUID]) -> None:
        """Set how often sources are polled by what their followers wish now."""
        followers_store.settle_refresh(connection, source_ids)

    def fetch(
        self,
        connection: Connection,
        source_ids: Sequence[UUID],
        user_id: UUID,
        *,
        priority: int,
    ) -> list[UUID]:
        """Enqueue a poll of each source in the turn of who asks for it."""
        wanted = [
            NewJob(
                job_type=JobType.FETCH_SOURCE,
                subject_id=source_id,
                group_key=user(user_id),
                priority=priority,
            )
            for source_id in source_ids
        ]
        return jobs.enqueue(connection, wanted, max_attempts=self._max_attempts)

    def _begin(
        self,
        connection: Connection,
        user_id: UUID,
        new: Sequence[store.Found],
        backfill: int,
        priority: int,
    ) -> tuple[dict[UUID, int], list[UUID]]:
        """Give a new follower what is there, and poll what is not polled by itself anyway."""
        if not new:
            return {}, []
        ids = [source.id for source in new]
        items = items_store.give_newest(connection, user_id, ids, limit=backfill)
        self.settle(connection, ids)
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
        job_ids = self.fetch(connection, due, user_id, priority=priority)
        if items:
            joins = NewJob(JobType.JOIN_STORIES, user_id, user(user_id), priority)
            job_ids += jobs.enqueue(connection, [joins], max_attempts=self._max_attempts)
        return items, job_ids
