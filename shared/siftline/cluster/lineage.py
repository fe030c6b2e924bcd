"""How stories live on from run to run: ids carried over by shared members, members that stay where they are."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

import numpy as np

from siftline.cluster.space import NONE, Labels


@dataclass(frozen=True, slots=True)
class Earlier:
    """A story of the run before; ``centre`` is where it lay on the map."""

    id: UUID
    members: frozenset[UUID]
    centre: tuple[float, float] | None = None


def carry_over(groups: Sequence[frozenset[UUID]], earlier: Sequence[Earlier]) -> list[UUID | None]:
    """Return for each group the id of the earlier story it continues, or ``None``.

    Pairs are taken by the number of shared members, most first, so that of a story that fell apart the largest part
    keeps the name; a group continues a story only if it shares at least half of the smaller of the two.
    """
    place = {member: index for index, group in enumerate(groups) for member in group}
    pairs = []
    for story in earlier:
        shared = Counter(place[member] for member in story.members if member in place)
        pairs += [
            (-count, story.id, index)
            for index, count in shared.items()
            if 2 * count >= min(len(story.members), len(groups[index]))
        ]
    kept: list[UUID | None] = [None] * len(groups)
    taken: set[UUID] = set()
    for _, story_id, index in sorted(pairs):
        if kept[index] is None and story_id not in taken:
            kept[index] = story_id
            taken.add(story_id)
    return kept


def settle(ids: Sequence[UUID], fresh: Labels, earlier: Sequence[Earlier], least: int) -> Labels:
    """Return labels in which what belonged together still does: a density grouping alone moves a tenth of its members
    when one content is added.

    Stories that still have ``least`` members, or the two or more that they had, stay as they are. A ``fresh`` group
    becomes a new story only of members that belong to none, and only if these are its larger part. Labels from 0 on
    are first the earlier stories that stay, then the new ones.
    """
    place = {content: row for row, content in enumerate(ids)}
    labels = np.full(len(ids), NONE, dtype=np.int64)
    following = 0
    for story in sorted(earlier, key=lambda one: one.id):
        rows = [place[member] for member in story.members if member in place]
        if len(rows) >= max(2, min(least, len(story.members))):
            labels[rows] = following
            following += 1
    for label in range(fresh.max(initial=NONE) + 1):
        group = np.flatnonzero(fresh == label)
        loose = group[labels[group] == NONE]
        if len(loose) >= least and 2 * len(loose) > len(group):
            labels[loose] = following
            following += 1
    return labels
