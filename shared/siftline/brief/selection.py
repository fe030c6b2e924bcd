"""Which stories an edition tells, and in which order. Pure: the same answer for the same input.

- A story takes **one place**, however many contents tell it; its best content leads, the others are cited.
- Stories come by the score of their best content, raised a little by how many sources have it, for what many report is
  seldom nothing: ``1 - (1 - score) / (1 + 0.15 ln sources)``.
- A briefing with interests of its own tells what lies near one of them (likeness of at least a half), and by that: it
  counts as much as the user's own score does.
- A story that an earlier edition of the briefing told is left out, unless it **changed materially**: at least two
  contents more, at least half as many as were told, one of them from a source that was not cited. Then it is an update,
  led by something new.
"""

import math
from collections.abc import Mapping, Sequence
from itertools import groupby
from uuid import UUID

from siftline.brief.edition_model import Choice, EditionCandidate, Slot, Told

SCORE_UNKNOWN = 0.3
"""Counts where nothing has scored a content, so that it is neither first nor left out."""
NEAR = 0.5
"""From this likeness on a content is about an interest."""
PER_SOURCE = 0.15
"""How much a story is raised by each source that has it."""
_NEW_LEAST = 2
_NEW_RATIO = 0.5


def choose(candidates: Sequence[EditionCandidate], told: Mapping[UUID, Told], *, places: int) -> Choice:
    """Return the best ``places`` stories of ``candidates``. ``told`` is by story."""
    slots: list[Slot] = []
    told_before = items_told_before = 0
    ordered = sorted(candidates, key=lambda one: (one.story_key, *_rank(one)))
    for key, group in groupby(ordered, key=lambda one: one.story_key):
        members = list(group)
        slot = _slot(key, members, told.get(key))
        if slot is None:
            told_before += 1
            items_told_before += max(members[0].story_size, len(members))
        else:
            slots.append(slot)
    slots.sort(key=lambda slot: (-weight(slot), -_newest(slot), slot.story_key))
    return Choice(slots[:places], told_before, items_told_before)


def changed_materially(fresh: Sequence[EditionCandidate], told: Told) -> bool:
    """Say whether what came in since makes a story that was told worth telling again."""
    came = max([len(fresh), *(one.story_size for one in fresh)])
    enough = came >= max(_NEW_LEAST, math.ceil(_NEW_RATIO * len(told.content_ids)))
    return enough and any(one.site not in told.sources for one in fresh)


def weight(slot: Slot) -> float:
    """Return what a story is ordered by, in [0, 1]."""
    sources = len({one.site for one in (slot.lead, *slot.others)})
    return 1.0 - (1.0 - _score(slot.lead)) / (1.0 + PER_SOURCE * math.log(sources))


def _slot(key: UUID, group: Sequence[EditionCandidate], told: Told | None) -> Slot | None:
    if told is None:
        return Slot(key, group[0], group[1:], update=False)
    fresh = [one for one in group if one.content_id not in told.content_ids]
    return Slot(key, fresh[0], fresh[1:], update=True) if changed_materially(fresh, told) else None


def relevance(one: EditionCandidate) -> float | None:
    """Return how relevant a content is in this briefing, in [0, 1]; ``None`` where nothing has told."""
    known = [value for value in (one.score, one.likeness) if value is not None]
    return min(1.0, max(0.0, sum(known) / len(known))) if known else None


def _score(one: EditionCandidate) -> float:
    scored = relevance(one)
    return SCORE_UNKNOWN if scored is None else scored


def _rank(one: EditionCandidate) -> tuple[float, float, UUID]:
    """Order the contents of a story: best first, of equals the newest."""
    return -_score(one), -one.sort_at.timestamp(), one.content_id


def _newest(slot: Slot) -> float:
    return max(one.sort_at.timestamp() for one in (slot.lead, *slot.others))
