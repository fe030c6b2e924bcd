"""The order of the feed. Pure: the same answer for the same candidates, in whichever sequence they come.

- **One story, one place.** What tells of the same event, and what holds the same text, shares a place, led by what
  ranks the highest for this user; the others are folded under it.
- **Value**: relevance and freshness as in every list (``item_rank`` in PostgreSQL). Nothing dated in the future is
  fresher than fresh. What has no score yet stands where things of its source's topics stand, and is never left out.
- **Diversity**: of the stories that one source brought in the same 24 hours (counted backwards from the moment of the
  feed) the best counts in full, each further one ``repeat`` times the one before, none less than half. What the user
  saved by hand has no source and always counts in full.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import NamedTuple

UNKNOWN = 0.2
"""The relevance of what nothing is known of, as in scores: a little less than an ordinary item has."""
FACTOR_LEAST = 0.5
DAY_S = 86_400.0


Key = bytes
"""The 16 bytes of an id: tens of thousands of them are compared and kept, a fifth of the time that ``UUID`` takes."""

_BY_VALUE = itemgetter(0, 1, 2)
_BY_RANK = itemgetter(1)


class FeedCandidate(NamedTuple):
    """One item that may be shown."""

    item_id: Key
    original_id: Key
    """Its content, or the one that it repeats."""
    story_id: Key | None
    source_id: Key | None
    relevance: float | None
    """The score without freshness."""
    dated_s: float
    """``sort_at`` in seconds of the epoch."""


class Place(NamedTuple):
    """One place of the feed."""

    item_ids: tuple[Key, ...]
    """The lead, then what is folded under it, best first."""
    rank: float
    """What places are ordered by: the lead's value times its factor."""
    nth: int
    """The how manyth story of its source and day the lead is; 1 for what has no source."""


@dataclass(frozen=True, slots=True)
class OrderRule:
    """At which moment is ordered, and how much freshness and diversity count."""

    at_s: float
    freshness_weight: float
    half_life_s: float
    repeat: float
    """What each further story of a source and day counts of the one before; 1 for no diversity."""

    def value(self, relevance: float, dated_s: float) -> float:
        """Return relevance with freshness, in [0, 1], as ``item_rank`` does."""
        age_s = self.at_s - dated_s
        fresh: float = 0.5 ** (age_s / self.half_life_s) if age_s > 0 else 1.0
        return (1.0 - self.freshness_weight) * relevance + self.freshness_weight * fresh


def factor_of(nth: int, repeat: float) -> float:
    """Return what the ``nth`` story of a source and day counts.

    >>> [round(factor_of(nth, 0.9), 3) for nth in (1, 2, 3, 100)]
    [1.0, 0.9, 0.81, 0.5]
    """
    return max(repeat ** (nth - 1), min(FACTOR_LEAST, repeat)) if nth > 1 else 1.0


def order(found: Sequence[FeedCandidate], rule: OrderRule, stand_ins: Mapping[Key, float]) -> list[Place]:
    """Return all candidates in places, best first. ``stand_ins``: relevance by source for what has no score yet."""
    stories: dict[Key, Key] = {}
    for _, original_id, story_id, _, _, _ in found:
        if story_id is not None:
            stories[original_id] = min(story_id, stories.get(original_id, story_id))
    valued = [
        (
            rule.value(stand_ins.get(source_id or b"", UNKNOWN) if relevance is None else relevance, dated_s),
            dated_s,
            item_id,
            original_id,
            source_id,
        )
        for item_id, original_id, _, source_id, relevance, dated_s in found
    ]
    valued.sort(key=_BY_VALUE, reverse=True)
    groups: dict[Key, list[Key]] = {}
    leads = []
    for value, dated_s, item_id, original_id, source_id in valued:
        key = stories.get(original_id, original_id)
        group = groups.get(key)
        if group is None:  # the first one of a story is its best: it leads
            group = groups[key] = []
            leads.append((value, dated_s, source_id, group))
        group.append(item_id)
    return _spread(leads, rule)


def _spread(leads: Iterable[tuple[float, float, Key | None, list[Key]]], rule: OrderRule) -> list[Place]:
    """Have each further story of a source and day count less. What ranks the same keeps the order of its values."""
    seen: dict[tuple[Key, int], int] = {}
    places = []
    for value, dated_s, source_id, group in leads:
        nth = 1
        if source_id is not None and rule.repeat < 1.0:
            age_s = rule.at_s - dated_s
            day = (source_id, int(age_s // DAY_S) if age_s > 0 else 0)
            nth = seen[day] = seen.get(day, 0) + 1
        places.append(Place(tuple(group), value * factor_of(nth, rule.repeat), nth))
    places.sort(key=_BY_RANK, reverse=True)
    return places
