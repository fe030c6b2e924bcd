"""Places of the feed as the API shows them."""

from siftline.api.feed.feed_models import Diversity, FeedItem, Story
from siftline.api.feed.feed_service import Shown
from siftline.api.items.item_models import Reason, Topic
from siftline.api.items.items_store import Freshness
from siftline.api.items.scores import freshness_of, freshness_reason, reasons_of


def feed_item_of(shown: Shown, freshness: Freshness, factor: float) -> FeedItem:
    """Return a place with its reasons; ``factor`` is what diversity has its score count."""
    row, nth = shown.lead, shown.place.nth
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
            "story": Story(
                id=shown.story_id,
                size=shown.size,
                folded=shown.folded,
            ),
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
