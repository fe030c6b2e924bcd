"""Which contents belong together: a pure function from vectors to stories, the same answer for the same input.

Stories live on from run to run: ids are carried over by shared members, and members stay where they are.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from siftline.cluster.language_means import centred, is_shipped
from siftline.cluster.layout import lay_out
from siftline.cluster.space import (
    NONE,
    Labels,
    Points,
    Recipe,
    adopt,
    centre,
    close_groups,
    dense_groups,
    project,
    silhouette,
)

Matrix = NDArray[np.float32]


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


@dataclass(frozen=True, slots=True, eq=False)
class Story:
    """Contents that belong together, nearest to the centre first.

    ``distances`` are cosine distances to ``centroid`` (unit length, float32), in [0, 2].
    """

    id: UUID
    carried: bool
    """Whether the id comes from the run before."""
    members: tuple[UUID, ...]
    distances: tuple[float, ...]
    centroid: Matrix
    places: tuple[tuple[float, float], ...]
    """Where each member lies on the map of all stories, x and y in [-1, 1]."""


@dataclass(frozen=True, slots=True)
class Quality:
    """What a run came to. ``silhouette`` only where it is cheap and defined."""

    contents: int
    stories: int
    unclustered: int
    carried: int
    largest: int
    silhouette: float | None

    @property
    def noise_ratio(self) -> float:
        """The share of contents that belong to no story."""
        return self.unclustered / self.contents if self.contents else 0.0


@dataclass(frozen=True, slots=True)
class Grouping:
    """The result of a run: stories by size, and what belongs to none."""

    stories: tuple[Story, ...]
    unclustered: tuple[UUID, ...]
    quality: Quality


@dataclass(frozen=True, slots=True)
class Grouper:
    """Groups contents into stories by one recipe. ``new_id`` names the stories that are new.

    ``model_version`` made the vectors: of a model whose means are shipped, few contents are grouped in another way.
    """

    recipe: Recipe
    new_id: Callable[[], UUID] = field(repr=False)
    model_version: str = ""

    def group(
        self,
        ids: Sequence[UUID],
        vectors: Matrix,
        languages: Sequence[str | None],
        earlier: Sequence[Earlier] = (),
        *,
        anew: bool = True,
    ) -> Grouping:
        """Group ``vectors`` (n x d, unit length), one row and one language an id.

        Any n works, 0 and equal rows included. With ``anew`` everything is grouped afresh and ids are carried over
        where groups continue ``earlier`` stories; without it, members of earlier stories stay where they are.
        """
        order = sorted(range(len(ids)), key=lambda row: ids[row])
        known = [ids[row] for row in order]
        rows: Points = vectors[order].astype(np.float64) if order else np.zeros((0, 1))
        spoken = [languages[row] for row in order]
        points = project(centre(rows, spoken), self.recipe.dimensions)
        if 0 < len(known) <= self.recipe.small and is_shipped(self.model_version):
            apart = centred(vectors[order], spoken, self.model_version, {}).astype(np.float64)
            labels = close_groups(apart, self.recipe)
        else:
            labels = dense_groups(points, self.recipe)
        if not anew:
            labels = settle(known, labels, earlier, self.recipe.size_for(len(known)))
        labels = adopt(points, labels, self.recipe.reach_ratio)
        stories = self._stories(known, rows, points, labels, earlier)
        unclustered = tuple(known[row] for row in np.flatnonzero(labels == NONE))
        quality = Quality(
            contents=len(known),
            stories=len(stories),
            unclustered=len(unclustered),
            carried=sum(story.carried for story in stories),
            largest=max((len(story.members) for story in stories), default=0),
            silhouette=silhouette(points, labels),
        )
        return Grouping(stories, unclustered, quality)

    def _stories(
        self, ids: Sequence[UUID], vectors: Points, points: Points, labels: Labels, earlier: Sequence[Earlier]
    ) -> tuple[Story, ...]:
        groups = [np.flatnonzero(labels == label).tolist() for label in range(labels.max(initial=NONE) + 1)]
        groups.sort(key=lambda rows: (-len(rows), rows[0]))
        kept = carry_over([frozenset(ids[row] for row in rows) for rows in groups], earlier)
        centres = {story.id: story.centre for story in earlier}
        places = lay_out(points, groups, [None if story_id is None else centres[story_id] for story_id in kept])
        stories = []
        for rows, story_id in zip(groups, kept, strict=True):
            mean = vectors[rows].mean(axis=0)
            length = float(np.linalg.norm(mean))
            centroid = mean / length if length > 0 else vectors[rows[0]]
            distances = np.clip(1.0 - vectors[rows] @ centroid, 0.0, 2.0)
            outwards = sorted(range(len(rows)), key=lambda at: (distances[at], rows[at]))
            stories.append(
                Story(
                    id=story_id or self.new_id(),
                    carried=story_id is not None,
                    members=tuple(ids[rows[at]] for at in outwards),
                    distances=tuple(float(distances[at]) for at in outwards),
                    centroid=centroid.astype(np.float32),
                    places=tuple((float(places[rows[at], 0]), float(places[rows[at], 1])) for at in outwards),
                )
            )
        return tuple(stories)
