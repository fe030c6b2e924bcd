"""The feed resource: what the caller has not read, best first, one story one place, each place explained."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Annotated
from uuid import UUID

from aws_lambda_powertools.event_handler.openapi.params import Query
from pydantic import BaseModel, Field

from siftline.api.feed import feed_store
from siftline.api.feed.feed_order import UNKNOWN, OrderRule, Place, factor_of, order
from siftline.api.feed.feed_store import FeedRow, Folded, MemberRow
from siftline.api.http.auth import CurrentCaller
from siftline.api.http.paging import DEFAULT_LIMIT, Limit, Next, OrderCursor, decode_order
from siftline.api.http.problems import ProblemError
from siftline.api.http.routing import route
from siftline.api.http.shapes import ByEntity, ByFolder, BySince, BySource, ByStarred, ByTag, ByTopic, ByUntil, ListPage
from siftline.api.items import held_entities_store, items_store
from siftline.api.items.item_models import Item, Reason, Topic
from siftline.api.items.items_store import Freshness, Listed, ScoreRule
from siftline.api.items.scores import freshness_of, freshness_reason, reasons_of
from siftline.api.parts import Routes
from siftline.kit.db import Connection, Database

ITEMS_MAX = 50_000
"""So many of a user's items are ordered, the most relevant ones: it is done while they wait."""
REPEAT_FACTOR = 0.9
"""A further story of a source and day counts so much of the one before, at least half: no source fills the feed."""
FOLDED_MAX = 20
"""So many folded items of a place are shown; the place says how many there are."""


class Diversity(BaseModel):
    """How source diversity changed an entry's rank."""

    nth: int = Field(description="Position among its source's stories of the last 24 hours, best first", examples=[3])
    factor: float = Field(description="What its score is multiplied by for that; 1: unchanged", examples=[0.81])
    detail: str = Field(
        description="The same, human-readable",
        examples=["The 3rd story of its source within 24 hours: its score is multiplied by 0.81."],
    )


class Story(BaseModel):
    """The items grouped into one entry of the feed."""

    id: UUID | None = Field(description="Story id; null for a single item or for identical texts")
    size: int = Field(description="Number of your items that tell it, including this one", examples=[3])
    folded: list[Folded] = Field(description="The other items, best first, at most 20")


class FeedItem(Item):
    """An entry of the feed: the best item of a story, with the reasons for its rank."""

    site: str = Field(description="Publisher", examples=["Example News"])
    rank: float = Field(description="Sort key of the feed: score times `diversity.factor`", examples=[0.5022])
    reasons: list[Reason] = Field(description="The parts of the score, freshness last")
    freshness: float = Field(description="From 1 (new) to 0; halves every `SCORE_HALF_LIFE_H`", examples=[0.84])
    source_topics: list[Topic] | None = Field(
        description="What its source mostly writes about; used while nothing is known about the item itself"
    )
    diversity: Diversity
    story: Story


class Feed(ListPage):
    """A page of the feed."""

    at: datetime = Field(description="The time for which this order was computed", examples=["2026-11-27T12:00:00Z"])
    items: list[FeedItem]


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
    """What ``later_places`` takes for the places behind; ``None`` if there are none."""


class FeedRoutes(Routes):
    """``/v1/feed``."""

    tag = "feed"

    @route("GET /v1/feed", (200, Feed, "A page of the feed"), operation_id="getFeed", problems=(410,))
    def browse(
        self,
        caller: CurrentCaller,
        *,
        all: Annotated[bool, Query(description="Include items you have read")] = False,  # noqa: A002  # a query parameter
        topic: ByTopic = None,
        tag: ByTag = None,
        source_id: BySource = None,
        folder_id: ByFolder = None,
        entity: ByEntity = None,
        since: BySince = None,
        until: ByUntil = None,
        starred: ByStarred = None,
        limit: Limit = DEFAULT_LIMIT,
        next: Next = None,  # noqa: A002  # the parameter's name in the API
    ) -> Feed:
        """List your ranked feed.

        Later pages are of the first one's order, whatever was read or came in since.
        """
        after = decode_order(next)
        database, rule = self._database, self._parts.score_rule
        if after is None:
            filters = Listed(topic, tag, source_id, folder_id, since, until, None if all else True, starred)
            stretch = first_places(database, rule, caller.user_id, filters, limit, entity=entity)
            behind = limit
        else:
            stretch = later_places(database, rule, caller.user_id, after.order_id, after.place, limit)
            behind = after.place + limit
        return Feed(
            at=stretch.freshness.at,
            items=[feed_item_of(shown, stretch.freshness) for shown in stretch.shown],
            next=None if stretch.order_id is None else OrderCursor(stretch.order_id, behind).encode(),
        )


def first_places(
    database: Database,
    rule: ScoreRule,
    user_id: UUID,
    filters: Listed,
    limit: int,
    *,
    entity: str | None = None,
    keep: bool = True,
) -> Stretch:
    """Order a user's items as of now and return the first places; with ``keep`` the rest can be had later.

    The candidates are read, and ordered outside of any transaction; only the places that are shown are read in full.
    Without filters on a source its stories count less and less; where one source is asked for, all count the same.
    """
    with database.transaction() as connection:
        if entity is not None:
            filters = replace(filters, entity_ids=held_entities_store.ids_of(connection, entity))
        freshness = rule.freshness(items_store.now(connection))
        found = feed_store.candidates(connection, user_id, filters, freshness, ITEMS_MAX)
        unscored = {one.source_id for one in found if one.relevance is None and one.source_id is not None}
        known = feed_store.stand_ins(connection, user_id, unscored, UNKNOWN) if unscored else {}
    repeat = REPEAT_FACTOR if filters.source_id is None else 1.0
    order_rule = OrderRule(freshness.at.timestamp(), freshness.freshness_weight, freshness.half_life_s, repeat)
    places = order(found, order_rule, known)
    with database.transaction() as connection:
        more = keep and len(places) > limit
        order_id = feed_store.keep(connection, user_id, freshness.at, places) if more else None
        return Stretch(freshness, _shown(connection, user_id, places[:limit], freshness), order_id)


def later_places(database: Database, rule: ScoreRule, user_id: UUID, order_id: UUID, first: int, limit: int) -> Stretch:
    """Return places of a feed that was ordered before, as it was. Raises 410 for one that is not kept any more."""
    with database.transaction() as connection:
        kept = feed_store.kept(connection, user_id, order_id, first, limit)
        if kept is None:
            raise ProblemError(410, "feed_expired", "This page of the feed has expired. Start again without `next`.")
        freshness = rule.freshness(kept.at)
        shown = _shown(connection, user_id, kept.places, freshness)
        return Stretch(freshness, shown, order_id if kept.more else None)


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


def feed_item_of(shown: Shown, freshness: Freshness) -> FeedItem:
    """Return a place as the API shows it, with its reasons."""
    row, nth = shown.lead, shown.place.nth
    factor = factor_of(nth, REPEAT_FACTOR)
    habits = row.granular_topics or [] if row.topics is None else None
    reasons = reasons_of(row, freshness) or _unscored(shown, freshness, factor, habits or [])
    return FeedItem.model_validate(
        dict(row)
        | {
            "rank": round(shown.place.rank, 4),
            "reasons": reasons,
            "freshness": round(freshness_of(row, freshness), 4),
            "source_topics": habits,
            "diversity": Diversity(nth=nth, factor=round(factor, 4), detail=_spread(shown, factor)),
            "story": Story(id=shown.story_id, size=shown.size, folded=shown.folded),
        }
    )


def ordinal(number: int) -> str:
    """Return a number in words of rank.

    >>> [ordinal(number) for number in (1, 2, 3, 4, 11, 21, 112)]
    ['1st', '2nd', '3rd', '4th', '11th', '21st', '112th']
    """
    ending = {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}th" if number % 100 in {11, 12, 13} else f"{number}{ending}"


def _unscored(shown: Shown, freshness: Freshness, factor: float, habits: list[Topic]) -> list[Reason]:
    """Explain where what is not scored yet stands: by what its source writes about, where that is known."""
    weight = 1.0 - freshness.freshness_weight
    fresh = freshness.freshness_weight * freshness_of(shown.lead, freshness)
    points = max(shown.place.rank / factor - fresh, 0.0)
    about = ", ".join(habit.topic for habit in habits)
    detail = "Not scored yet, and the topics of its source are not known yet."
    if about:
        detail = f"Not scored yet; its source mostly writes about {about}, so your items on that are used instead."
    standing = Reason(
        code="topics",
        detail=detail,
        weight=round(weight, 6),
        value=round(points / weight, 4),
        points=round(points, 6),
    )
    return [standing, *freshness_reason(shown.lead, freshness)]


def _spread(shown: Shown, factor: float) -> str:
    if shown.lead.source_id is None:
        return "It came from none of your sources: its score counts in full."
    which = f"The {ordinal(shown.place.nth)} story of its source within 24 hours"
    return (
        f"{which}: its score counts in full." if factor == 1.0 else f"{which}: its score is multiplied by {factor:.2f}."
    )
