import uuid
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pytest

from siftline.cluster.joining import Joined, Rule, Telling, join

START = datetime(2026, 3, 1, tzinfo=UTC)
RULE = Rule(average_min=0.5, nearest_min=0.6)


def number(value: int) -> uuid.UUID:
    return uuid.UUID(int=value)


def at_angle(degrees: float) -> np.ndarray:
    return np.array([np.cos(np.radians(degrees)), np.sin(np.radians(degrees))], dtype=np.float32)


def telling(value: int, degrees: float, *, hours: float = 0, story: int | None = None, **more: Any) -> Telling:
    story_id = None if story is None else number(story)
    made = Telling(
        number(value), number(value), START + timedelta(hours=hours), at_angle(degrees), story_id, loose=story is None
    )
    return replace(made, **more)


def members(joined: Sequence[Joined]) -> list[list[int]]:
    return [[member.int for member in story.members] for story in joined]


def test_nothing_to_join_is_no_story():
    assert join([], RULE) == []


def test_what_is_alike_becomes_one_story_and_the_rest_begins_its_own():
    joined = join([telling(1, 0), telling(2, 90), telling(3, 20)], RULE)

    assert members(joined) == [[1, 3], [2]]
    assert [story.id for story in joined] == [None, None]


def test_a_content_joins_the_story_it_is_most_like():
    held = [telling(1, 0, story=100), telling(2, 100, story=200)]

    assert join([*held, telling(3, 60)], RULE) == [Joined(number(200), (number(2), number(3)))]


def test_untouched_stories_are_not_handed_back():
    assert join([telling(1, 0, story=100), telling(2, 1, story=200)], RULE) == []


def test_a_chain_of_likenesses_makes_no_single_story():
    chain = [telling(value + 1, 35.0 * value) for value in range(6)]

    assert max(map(len, members(join(chain, RULE)))) <= 2


def test_a_large_story_is_no_easier_to_join_than_a_small_one():
    story = [telling(value, spread, story=100) for value, spread in enumerate((-25, -15, -5, 5, 15, 25), start=1)]

    assert members(join([*story, telling(9, 75)], RULE)) == [[9]]


@pytest.mark.parametrize("seed", range(5))
def test_the_order_in_which_a_batch_comes_changes_nothing(seed):
    rng = np.random.default_rng(seed)
    news = [telling(value, rng.uniform(0, 360), hours=rng.uniform(0, 100)) for value in range(1, 40)]
    held = [telling(100 + value, rng.uniform(0, 360), story=1_000 + value // 3) for value in range(12)]
    whole = [*news, *held]

    mixed = [whole[at] for at in rng.permutation(len(whole))]

    assert join(mixed, RULE) == join(whole, RULE)


def test_what_lies_further_back_than_the_gap_is_another_story():
    rule = replace(RULE, gap=timedelta(hours=72))

    assert members(join([telling(1, 0, story=100), telling(2, 0, hours=71)], rule)) == [[1, 2]]
    assert members(join([telling(1, 0, story=100), telling(2, 0, hours=73)], rule)) == [[2]]
    assert members(join([telling(1, 0, story=100), telling(2, 0, hours=-73)], rule)) == [[2]]


def test_a_story_that_goes_on_and_on_begins_anew_after_its_span():
    daily = [telling(day + 1, 0, hours=24.0 * day) for day in range(12)]

    joined = join(daily, replace(RULE, span=timedelta(days=7)))

    assert max(map(len, members(joined))) <= 8
    assert sorted(member for story in members(joined) for member in story) == list(range(1, 13))


def test_duplicates_belong_to_the_story_of_their_original_however_far_apart_in_time():
    copies = [telling(2, 180, hours=900, original_id=number(1)), telling(3, 90, hours=950, original_id=number(1))]

    assert join([telling(1, 0, story=100), *copies], RULE) == [Joined(number(100), (number(1), number(2), number(3)))]
    assert members(join(copies, RULE)) == [[2, 3]]


def test_two_stories_that_a_content_brings_together_go_on_as_the_older():
    held = [telling(1, 0, story=200), telling(2, 55, story=100)]

    assert join([*held, telling(3, 27)], RULE) == [
        Joined(number(100), (number(1), number(2), number(3)), absorbed=(number(200),))
    ]


def test_a_content_whose_vector_changed_leaves_a_story_it_no_longer_fits():
    held = [telling(1, 0, story=100), telling(2, 5, story=100)]

    joined = join([*held, telling(3, 120, story=100, loose=True)], RULE)

    assert joined == [Joined(number(100), (number(1), number(2))), Joined(None, (number(3),))]


def test_a_content_whose_vector_changed_stays_where_it_still_fits():
    held = [telling(1, 0, story=100), telling(2, 100, story=200)]

    assert join([*held, telling(3, 52, story=100, loose=True)], RULE) == [Joined(number(100), (number(1), number(3)))]


def test_a_content_that_was_a_story_alone_keeps_its_id():
    assert join([telling(3, 40, story=100, loose=True)], RULE) == [Joined(number(100), (number(3),))]


def test_a_vector_without_direction_joins_nothing():
    nothing = np.zeros(2, dtype=np.float32)

    assert members(join([telling(1, 0, vector=nothing), telling(2, 0, vector=nothing)], RULE)) == [[1], [2]]
