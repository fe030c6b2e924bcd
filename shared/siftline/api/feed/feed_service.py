"""Makes the feed of a user, and shows a stretch of one: the candidates are read, ordered outside of any transaction,
and only the places that are shown are read in full.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from uuid import UUID

from siftline.api.entities import held_entities_store
from siftline.api.feed import feed_store
from siftline.api.feed.feed_order import UNKNOWN, OrderRule, Place, factor, order
from siftline.api.feed.feed_store import FeedRow, MemberRow
from siftline.api.http.problems import ProblemError
from siftline.api.items import items_store
from siftline.api.items.items_store import Freshness
from siftline.api.items.listing_store import Listed
from siftline.api.items.scores import ScoreRule
from siftline.kit.db import Connection, Database

ITEMS_MAX = 50_000
"""So many of a user's items are ordered, the most relevant ones: it is done while they wait."""
REPEAT_FACTOR = 0.9
"""A further story of a source and day counts so much of the one before, at least half: no source fills the feed."""
FOLDED_MAX = 20
"""So many folded items of a place are shown; the place says how many there are."""


@dataclass(frozen=True, slots=True)
class Shown:
    """A place with what stands in it."""

    place: Place
    lead: FeedRow
    folded: Sequence[MemberRow]
    """The first ``FOLDED_MAX``, best first."""
    size: int
    """How many items share the place, the lead included."""
    story_id: UUID | None
    oldest_id: UUID
    """The item of the place that the user has had for the longest."""
    newest_at: datetime
    """When the place last gained an item."""


@dataclass(frozen=True, slots=True)
class Stretch:
    """Some places of a feed as it was at a moment."""

    freshness: Freshness
    shown: Sequence[Shown]
    order_id: UUID | None
    """What ``following`` takes for the places behind; ``None`` if there are none."""


class FeedService:
    """Gives users their feeds."""

    def __init__(self, database: Database, scores: ScoreRule) -> None:
        self._database = database
        self._scores = scores

    def factor(self, nth: int) -> float:
        """Return what the ``nth`` story of a source and day counts."""
        return factor(nth, REPEAT_FACTOR)

    def first(
        self, user_id: UUID, filters: Listed, limit: int, *, entity: str | None = None, keep: bool = True
    ) -> Stretch:
        """Order a user's items as of now and return the first places; with ``keep`` the rest can be had later.

        Without filters on a source its stories count less and less; where one source is asked for, all count the same.
        """
        with self._database.transaction() as connection:
            if entity is not None:
                filters = replace(filters, entity_ids=held_entities_store.ids_of(connection, entity))
            freshness = self._scores.freshness(items_store.now(connection))
            found = feed_store.candidates(connection, user_id, filters, freshness, ITEMS_MAX)
            unscored = {one.source_id for one in found if one.relevance is None and one.source_id is not None}
            known = feed_store.stand_ins(connection, user_id, unscored, UNKNOWN) if unscored else {}
        rule = self._order_rule(freshness)
        places = order(found, rule if filters.source_id is None else replace(rule, repeat=1.0), known)
        with self._database.transaction() as connection:
            more = keep and len(places) > limit
            order_id = feed_store.keep(connection, user_id, freshness.at, places) if more else None
            return Stretch(freshness, _shown(connection, user_id, places[:limit], freshness), order_id)

    def following(self, user_id: UUID, order_id: UUID, first: int, limit: int) -> Stretch:
        """Return places of a feed that was ordered before, as it was. Raises 410 for one that is not kept any more."""
        with self._database.transaction() as connection:
            kept = feed_store.kept(connection, user_id, order_id, first, limit)
            if kept is None:
                detail = "This page of the feed has expired. Start again without `next`."
                raise ProblemError(410, "feed_expired", detail)
            freshness = self._scores.freshness(kept.at)
            shown = _shown(connection, user_id, kept.places, freshness)
            return Stretch(freshness, shown, order_id if kept.more else None)

    def _order_rule(self, freshness: Freshness) -> OrderRule:
        return OrderRule(freshness.at.timestamp(), freshness.freshness_weight, freshness.half_life_s, REPEAT_FACTOR)


def _shown(connection: Connection, user_id: UUID, places: Sequence[Place], freshness: Freshness) -> list[Shown]:
    """Fill places. Where the lead is gone the next one leads; a place of which all is gone is left out."""
    asked = [[UUID(bytes=key) for key in place.item_ids[: FOLDED_MAX + 1]] for place in places]
    held = feed_store.members(connection, user_id, [item_id for ids in asked for item_id in ids])
    there = [[held[item_id] for item_id in ids if item_id in held] for ids in asked]
    rows = feed_store.leads(connection, user_id, [members[0].id for members in there if members], freshness)
    return [
        _filled(place, rows[members[0].id], members, gone=len(ids) - len(members))
        for place, ids, members in zip(places, asked, there, strict=True)
        if members and members[0].id in rows
    ]


def _filled(place: Place, lead: FeedRow, members: Sequence[MemberRow], *, gone: int) -> Shown:
    return Shown(
        place=place,
        lead=lead,
        folded=members[1:],
        size=len(place.item_ids) - gone,
        story_id=next((one.story_id for one in members if one.story_id is not None), None),
        oldest_id=min(members, key=lambda one: (one.created_at, one.id)).id,
        newest_at=max(one.created_at for one in members),
    )
