"""Which contents tell of one event: a pure function from vectors and times to stories, whatever the order of its input.

Stories grow by group-average linkage (Sokal and Michener 1958), the most alike first: two join if their members are
alike on average and some pair of them clearly is, and if they are close in time. The average is what keeps chains
short: that a follows b and b follows c makes no story of a and c. Unlike a comparison of normalised centroids it does
not grow with the size of a story, so that two earthquakes of which much is written stay as far apart as two of which
little is.
"""

import heapq
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

Matrix = NDArray[np.float32]
_HOME_BONUS = 2.0  # above any cosine: what still fits where it was stays there


@dataclass(frozen=True, slots=True)
class Rule:
    """What makes one story of contents; chosen on made-up news (tests/data/stories.toml) with multilingual-e5-small."""

    average_min: float = 0.46
    """Least mean cosine between the members of two parts of a story, vectors centred by language."""
    nearest_min: float = 0.5
    """Least cosine of the most alike pair."""
    gap: timedelta = timedelta(hours=72)
    """The longest silence within a story."""
    span: timedelta = timedelta(days=7)
    """The longest time from a story's first content to its last."""


@dataclass(frozen=True, slots=True, eq=False)
class Telling:
    """A content that tells of something; ``vector`` centred, unit length (or 0), float32."""

    content_id: UUID
    original_id: UUID
    """What it is a duplicate of, or its own id."""
    at: datetime
    vector: Matrix
    story_id: UUID | None = None
    """The story it belongs to."""
    loose: bool = True
    """Whether it is to be joined (anew); others stay where they are."""


@dataclass(frozen=True, slots=True)
class Joined:
    """A story as it comes out. ``id`` is that of the oldest story in it, ``None`` where it is new."""

    id: UUID | None
    members: tuple[UUID, ...]
    absorbed: tuple[UUID, ...] = ()
    """Stories that became part of it."""


def join(tellings: Sequence[Telling], rule: Rule) -> list[Joined]:
    """Return the stories that gained or lost a member, each with all its members, by their ids.

    Duplicates of one original belong to one story whatever their times. Ids are UUIDv7: of two stories that become one
    the smaller id, which is the older, lives on.
    """
    known = sorted(tellings, key=lambda telling: telling.content_id)
    if not known:
        return []
    parts = _Parts(known, rule)
    parts.join_duplicates()
    parts.join_alike()
    return parts.changed()


@dataclass(slots=True, eq=False)
class _Part:
    rows: list[int]
    first: datetime
    last: datetime
    ids: frozenset[UUID]
    homes: frozenset[UUID]
    """The stories that its members were in before, ``ids`` among them."""
    touched: bool


class _Likeness:
    """For a part, what its members' cosines with each content come to, worked out once: their sums and the greatest."""

    def __init__(self, vectors: Matrix) -> None:
        self._vectors = vectors
        self._known: dict[int, tuple[Matrix, Matrix]] = {}

    def open(self, numbers: Sequence[int], rows: Sequence[int]) -> None:
        """Work out all parts of a single content at once."""
        alike = self._vectors[rows] @ self._vectors.T
        self._known.update({number: (row, row) for number, row in zip(numbers, alike, strict=True)})

    def of(self, number: int, rows: Sequence[int]) -> tuple[Matrix, Matrix]:
        """Return the sums and the greatest, one number a content."""
        if number not in self._known:
            alike = self._vectors[rows] @ self._vectors.T
            self._known[number] = alike.sum(axis=0), alike.max(axis=0)
        return self._known[number]

    def merge(self, number: int, parts: Sequence[tuple[int, Sequence[int]]]) -> None:
        """Make one of what was known of its parts."""
        sums, greatest = zip(*(self.of(*part) for part in parts), strict=True)
        self._known[number] = np.sum(sums, axis=0), np.max(greatest, axis=0)
        for part, _ in parts:
            del self._known[part]


class _Parts:
    """The stories in the making. Two parts that are joined go, and what they become bears a new number."""

    def __init__(self, tellings: Sequence[Telling], rule: Rule) -> None:
        self._tellings = tellings
        self._rule = rule
        self._likeness = _Likeness(np.stack([telling.vector for telling in tellings]))
        self._owner = np.zeros(len(tellings), dtype=np.int64)
        self._parts: dict[int, _Part] = {}
        self._size = 0
        settled: dict[UUID, list[int]] = {}
        left: dict[UUID, list[int]] = {}
        for row, telling in enumerate(tellings):
            if telling.story_id is None:
                self._add_rows([row], touched=True)
            else:
                (left if telling.loose else settled).setdefault(telling.story_id, []).append(row)
        self._lost = frozenset(settled) & frozenset(left)
        for story_id, rows in settled.items():
            self._add_rows(rows, frozenset({story_id}), touched=False)
        for story_id, rows in left.items():
            # One that was all that was left of its story takes the id along.
            own = frozenset({story_id} if story_id not in settled else ())
            for row in rows:
                self._add_rows([row], own, frozenset({story_id}), touched=True)
                own = frozenset()
        single = [number for number, part in self._parts.items() if part.touched]
        self._likeness.open(single, [self._parts[number].rows[0] for number in single])

    def _add_rows(
        self,
        rows: list[int],
        ids: frozenset[UUID] = frozenset(),
        homes: frozenset[UUID] = frozenset(),
        *,
        touched: bool,
    ) -> None:
        times = [self._tellings[row].at for row in rows]
        self._add(_Part(rows, min(times), max(times), ids, ids | homes, touched))

    def _add(self, part: _Part) -> int:
        number, self._size = self._size, self._size + 1
        self._parts[number] = part
        self._owner[part.rows] = number
        return number

    def _merge(self, one: int, other: int) -> int:
        a, b = self._parts.pop(one), self._parts.pop(other)
        first, last = min(a.first, b.first), max(a.last, b.last)
        number = self._add(_Part(a.rows + b.rows, first, last, a.ids | b.ids, a.homes | b.homes, touched=True))
        self._likeness.merge(number, [(one, a.rows), (other, b.rows)])
        return number

    def join_duplicates(self) -> None:
        """Put duplicates together, however far apart."""
        heads: dict[UUID, int] = {}
        for row, telling in enumerate(self._tellings):
            head = heads.setdefault(telling.original_id, row)
            if self._owner[row] != self._owner[head]:
                self._merge(int(self._owner[head]), int(self._owner[row]))

    def join_alike(self) -> None:
        """Put together what is alike, the most alike first."""
        waiting = [entry for number in self._parts for entry in self._candidates(number)]
        heapq.heapify(waiting)
        while waiting:
            _, _, one, other = heapq.heappop(waiting)
            if one in self._parts and other in self._parts:
                for entry in self._candidates(self._merge(one, other)):
                    heapq.heappush(waiting, entry)

    def _candidates(self, number: int) -> Iterator[tuple[float, tuple[int, int], int, int]]:
        """Yield what a touched part may join: the most alike first, of equals what has the least content ids."""
        part = self._parts[number]
        if not part.touched:
            return
        sums, greatest = self._likeness.of(number, part.rows)
        totals = np.bincount(self._owner, weights=sums, minlength=self._size)
        pairs = np.bincount(self._owner, minlength=self._size) * len(part.rows)
        averages = totals / np.maximum(pairs, 1)
        nearest = np.full(self._size, -np.inf)
        np.maximum.at(nearest, self._owner, greatest)
        fits = (averages >= self._rule.average_min) & (nearest >= self._rule.nearest_min)
        for at in np.flatnonzero(fits).tolist():
            other = self._parts[at]
            if at != number and self._timely(part, other):
                bonus = _HOME_BONUS if part.homes & other.homes else 0.0
                one, two = min(part.rows), min(other.rows)
                yield -round(float(averages[at]), 6) - bonus, (min(one, two), max(one, two)), number, at

    def _timely(self, one: _Part, other: _Part) -> bool:
        gap = max(one.first, other.first) - min(one.last, other.last)
        span = max(one.last, other.last) - min(one.first, other.first)
        return gap <= self._rule.gap and span <= self._rule.span

    def changed(self) -> list[Joined]:
        """Return the parts that gained or lost a member."""
        found = []
        for part in self._parts.values():
            if part.touched or part.ids & self._lost:
                ids = sorted(part.ids)
                members = tuple(self._tellings[row].content_id for row in sorted(part.rows))
                found.append(Joined(ids[0] if ids else None, members, tuple(ids[1:])))
        return sorted(found, key=lambda joined: joined.members)
