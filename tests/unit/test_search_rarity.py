import math
from itertools import chain, combinations

import pytest

from siftline.rank.query import shares_of, telling


def test_a_word_in_fewer_texts_has_the_greater_share() -> None:
    rare, common = shares_of(1_000, [3, 700])
    assert rare > common
    assert rare + common == pytest.approx(1.0)


def test_a_word_in_nothing_counts_as_one_in_a_single_text() -> None:
    assert shares_of(100, [0, 1]) == [0.5, 0.5]


def test_words_that_do_not_count_have_no_share_and_none_at_all_is_no_error() -> None:
    assert shares_of(100, [None, 4]) == [0.0, 1.0]
    assert shares_of(0, [None]) == [0.0]


def test_nothing_is_bound_where_any_share_will_do() -> None:
    assert telling([0.5, 0.5], 0.0) == []


@pytest.mark.parametrize(
    "weights",
    [[1, 1], [5, 1], [3, 2, 2], [1, 1, 1, 1], [9, 4, 2, 1, 1], [1] * 6, [5, 4, 3, 2, 1, 1, 1, 1], [1] * 16],
    ids=str,
)
def test_what_holds_enough_holds_all_words_of_one_of_the_ways(weights: list[int]) -> None:
    shares = [weight / sum(weights) for weight in weights]
    ways = [set(way) for way in telling(shares, 0.5)]
    places = range(min(len(weights), 10))
    for held in map(set, chain.from_iterable(combinations(places, size) for size in range(len(places) + 1))):
        enough = math.fsum(shares[place] for place in held) >= 0.5 - 1e-9
        found = any(way <= held for way in ways)
        assert found or not enough
        assert enough or not found or len(weights) > 6


@pytest.mark.parametrize("found", [[77, 77, 0], [60, 0], [3, 70, 0], [0, 5, None]])
def test_a_word_in_nothing_says_no_more_than_the_most_common_one_that_is_held(found: list[int | None]) -> None:
    shares = shares_of(77, found)
    held = [share for share, count in zip(shares, found, strict=True) if count]
    assert shares[found.index(0)] == pytest.approx(min(held))
    assert math.fsum(held) >= 0.5
