import uuid
from collections.abc import Collection

import numpy as np

from siftline.models.vectors import Hit
from siftline.rank import search
from siftline.rank.search import IDS_MAX, nearest_held

QUERY = np.zeros(2, dtype=np.float32)


def number(value: int) -> uuid.UUID:
    return uuid.UUID(int=value)


class FakeIndex:
    """Holds points 0 … size - 1; the lower its number, the nearer a point."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.asked: list[tuple[int, int | None]] = []

    def search(
        self,
        vector: object,
        limit: int,
        *,
        ids: Collection[uuid.UUID] | None = None,
        exclude: Collection[uuid.UUID] = (),
    ) -> list[Hit]:
        self.asked.append((limit, None if ids is None else len(ids)))
        wanted = None if ids is None else set(ids)
        points = (number(at) for at in range(self.size))
        found = [point for point in points if (wanted is None or point in wanted) and point not in set(exclude)]
        return [Hit(point, 1.0 - point.int / self.size) for point in found[:limit]]


class FakeHoldings:
    """Holds some points, the last the newest."""

    def __init__(self, held: list[int]) -> None:
        self.held = held

    def few(self, limit: int) -> list[uuid.UUID] | None:
        return self.newest(limit) if len(self.held) <= limit else None

    def newest(self, limit: int) -> list[uuid.UUID]:
        return [number(at) for at in reversed(self.held)][:limit]

    def among(self, ids: Collection[uuid.UUID]) -> set[uuid.UUID]:
        return set(ids) & {number(at) for at in self.held}


def found(index: FakeIndex, holdings: FakeHoldings, limit: int, exclude: Collection[uuid.UUID] = ()) -> list[int]:
    return [hit.id.int for hit in nearest_held(index, QUERY, limit, holdings, exclude=exclude)]


def test_up_to_five_thousand_holdings_are_named_to_the_index_in_one_question():
    index, holdings = FakeIndex(20_000), FakeHoldings(list(range(1, 20_000, 4)))

    assert found(index, holdings, 3) == [1, 5, 9]
    assert index.asked == [(3, len(holdings.held))]


def test_whoever_holds_nothing_finds_nothing_and_the_index_is_not_asked():
    index = FakeIndex(10)

    assert found(index, FakeHoldings([]), 5) == []
    assert index.asked == []


def test_more_holdings_are_found_by_widening_until_enough_is_held():
    index, holdings = FakeIndex(40_000), FakeHoldings(list(range(100, 40_000, 5)))

    assert found(index, holdings, 5) == [100, 105, 110, 115, 120]
    assert index.asked == [(10, None), (80, None), (640, None)]


def test_holdings_far_from_the_query_are_filled_up_from_the_newest():
    held = list(range(30_000, 40_000))
    index = FakeIndex(40_000)

    assert found(index, FakeHoldings(held), 50) == list(range(35_000, 35_050))
    assert index.asked[-1] == (50, IDS_MAX)
    assert max(limit for limit, _ in index.asked) == 10_000


def test_widening_stops_when_the_index_has_no_more():
    index, holdings = FakeIndex(100), FakeHoldings([*range(99, 100), *range(1_000, 8_000)])

    assert found(index, holdings, 40) == [99]
    assert index.asked == [(80, None), (640, None), (40, IDS_MAX)]


def test_what_is_excluded_is_never_found():
    assert found(FakeIndex(10), FakeHoldings([1, 2, 3]), 5, exclude=[number(1)]) == [2, 3]
    assert found(FakeIndex(10_000), FakeHoldings(list(range(9_000))), 2, exclude=[number(0)]) == [1, 2]


def test_the_bounds_fit_what_qdrant_answers_quickly():
    assert search.IDS_MAX * 40 < 1_000_000  # bytes of ids in a request
