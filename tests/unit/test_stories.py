import uuid
import warnings
from collections.abc import Iterator, Sequence

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from siftline.cluster.grouping import Earlier, Grouper, Grouping, carry_over, settle
from siftline.cluster.space import NONE, Recipe, adopt, centre, dense_groups, project, silhouette


def number(value: int) -> uuid.UUID:
    return uuid.UUID(int=value)


def new_ids() -> Iterator[uuid.UUID]:
    return (number(value) for value in range(10**9, 10**10))


def grouper(**recipe: float) -> Grouper:
    ids = new_ids()
    return Grouper(Recipe(**recipe), lambda: next(ids))  # type: ignore[arg-type] # ints and floats by name


def unit(vectors: np.ndarray) -> np.ndarray:
    return (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)


def scattered(count: int, dimensions: int, seed: int = 0) -> np.ndarray:
    return unit(np.random.default_rng(seed).normal(size=(count, dimensions)))


def bunches(sizes: Sequence[int], *, dimensions: int = 32, spread: float = 0.04, seed: int = 0) -> np.ndarray:
    """Bunches of unit vectors around centres that are orthogonal to one another."""
    rng = np.random.default_rng(seed)
    centres = np.eye(dimensions)[: len(sizes)]
    rows = [
        centre + rng.normal(scale=spread, size=dimensions)
        for centre, size in zip(centres, sizes, strict=True)
        for _ in range(size)
    ]
    return unit(np.array(rows))


def run(vectors: np.ndarray, *, languages: Sequence[str | None] | None = None, by: Grouper | None = None) -> Grouping:
    ids = [number(row + 1) for row in range(len(vectors))]
    return (by or grouper()).group(ids, vectors, languages or ["en"] * len(vectors))


def members(grouping: Grouping) -> list[set[int]]:
    return [{member.int - 1 for member in story.members} for story in grouping.stories]


def as_earlier(grouping: Grouping) -> list[Earlier]:
    return [Earlier(story.id, frozenset(story.members)) for story in grouping.stories]


def kept_share(before: Grouping, after: Grouping) -> float:
    """The share of the first run's clustered members that bear the same story id in the second."""
    first = {member: story.id for story in before.stories for member in story.members}
    second = {member: story.id for story in after.stories for member in story.members}
    return sum(second.get(member) == story for member, story in first.items()) / len(first)


@pytest.mark.parametrize("count", [0, 1, 2])
def test_too_few_contents_are_answered_as_unclustered(count):
    """Case C01."""
    grouping = run(scattered(count, 8) if count else np.zeros((0, 8), dtype=np.float32))

    assert grouping.stories == ()
    assert len(grouping.unclustered) == count
    assert grouping.quality.contents == count
    assert grouping.quality.noise_ratio == (1.0 if count else 0.0)


def test_a_hundred_scattered_vectors_with_a_least_size_of_32_are_all_unclustered():
    """Case C01."""
    grouping = run(scattered(100, 128), by=grouper(min_size=32))

    assert grouping.stories == ()
    assert len(grouping.unclustered) == 100
    assert grouping.quality.silhouette is None


@pytest.mark.parametrize("count", [3, 10, 200])
def test_vectors_that_are_all_equal_are_one_story(count):
    grouping = run(np.tile(scattered(1, 16), (count, 1)))

    assert members(grouping) == [set(range(count))]
    assert grouping.stories[0].distances == pytest.approx([0.0] * count, abs=1e-6)


def test_two_equal_vectors_are_too_few_for_a_story():
    assert run(np.tile(scattered(1, 16), (2, 1))).stories == ()


def test_bunches_are_found_and_listed_by_size_with_the_most_central_content_first():
    grouping = run(bunches([6, 12, 9]))

    assert members(grouping) == [set(range(6, 18)), set(range(18, 27)), set(range(6))]
    for story in grouping.stories:
        assert list(story.distances) == sorted(story.distances)
        assert np.linalg.norm(story.centroid) == pytest.approx(1.0)
    assert grouping.quality.silhouette is not None
    assert grouping.quality.silhouette > 0.5


def test_copies_of_one_vector_beside_a_bunch_do_no_harm():
    vectors = np.vstack([np.tile(scattered(1, 32, seed=5), (8, 1)), bunches([8])])

    assert sorted(map(len, members(run(vectors)))) == [8, 8]


def test_the_answer_does_not_depend_on_the_order_of_the_rows():
    vectors, ids = bunches([6, 9, 12], spread=0.15), [number(row + 1) for row in range(27)]
    shuffled = np.random.default_rng(4).permutation(27)

    straight = grouper().group(ids, vectors, ["en"] * 27)
    mixed = grouper().group([ids[row] for row in shuffled], vectors[shuffled], ["en"] * 27)

    assert [(story.id, story.members) for story in straight.stories] == [
        (story.id, story.members) for story in mixed.stories
    ]


def test_a_story_may_hold_contents_in_two_languages_whose_vectors_lie_apart():
    rng = np.random.default_rng(2)
    topics = np.repeat(np.eye(32)[:4], 10, axis=0)
    languages = ["en", "fr"] * 20
    accent = np.where(np.array(languages)[:, None] == "en", 0.8, -0.8) * np.eye(32)[10]
    vectors = unit(topics + accent + rng.normal(scale=0.05, size=(40, 32)))

    assert sorted(map(sorted, members(run(vectors, languages=languages)))) == [
        list(range(start, start + 10)) for start in (0, 10, 20, 30)
    ]


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    rows=st.lists(
        st.sampled_from([-1.0, 0.0, 0.5, 1.0]).flatmap(lambda x: st.tuples(*[st.sampled_from([x, 0.25, -0.75])] * 4)),
        max_size=40,
    ),
    data=st.data(),
)
def test_any_vectors_get_an_answer_without_a_warning_and_nothing_is_lost(rows, data):
    vectors = np.array([row if any(row) else (1.0, 0, 0, 0) for row in rows], dtype=np.float32).reshape(-1, 4)
    languages = data.draw(st.lists(st.sampled_from(["en", "de", None]), min_size=len(rows), max_size=len(rows)))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        grouping = run(vectors, languages=languages)

    everyone = [member for story in grouping.stories for member in story.members] + list(grouping.unclustered)
    assert sorted(everyone) == [number(row + 1) for row in range(len(rows))]
    assert all(len(story.members) >= 2 for story in grouping.stories)


def test_after_one_more_content_every_member_keeps_its_story():
    """Case C03."""
    vectors = np.vstack([bunches([8, 9, 10, 11], spread=0.12), scattered(30, 32, seed=7)])
    ids = [number(row + 1) for row in range(len(vectors) + 1)]
    by = grouper()
    before = by.group(ids[:-1], vectors, ["en"] * len(vectors))
    more = np.vstack([vectors, scattered(1, 32, seed=9)])

    settled = by.group(ids, more, ["en"] * len(more), as_earlier(before), anew=False)

    assert kept_share(before, settled) >= 0.95
    assert settled.quality.carried == len(before.stories)


def test_grouping_anew_carries_the_ids_of_stories_that_still_hang_together():
    by = grouper()
    ids = [number(row + 1) for row in range(30)]
    before = by.group(ids, bunches([9, 10, 11]), ["en"] * 30)
    after = by.group(ids, bunches([9, 10, 11], seed=1), ["en"] * 30, as_earlier(before))

    assert kept_share(before, after) == 1.0


def test_a_new_bunch_becomes_a_new_story_while_the_others_stay():
    vectors, by = bunches([8, 9, 10]), grouper()
    ids = [number(row + 1) for row in range(27)]
    before = by.group(ids[:17], vectors[:17], ["en"] * 17)
    after = by.group(ids, vectors, ["en"] * 27, as_earlier(before), anew=False)

    assert kept_share(before, after) == 1.0
    new = [story for story in after.stories if not story.carried]
    assert [{member.int - 1 for member in story.members} for story in new] == [set(range(17, 27))]


def test_a_story_of_which_one_content_is_left_dissolves():
    vectors, by = bunches([8, 9]), grouper()
    ids = [number(row + 1) for row in range(17)]
    before = by.group(ids, vectors, ["en"] * 17)
    after = by.group(ids[7:], vectors[7:], ["en"] * 10, as_earlier(before), anew=False)

    assert [{member.int for member in story.members} for story in after.stories] == [set(range(9, 18))]
    assert after.unclustered == (ids[7],)


A, B, C, D = (number(100 + at) for at in range(4))


def group_of(*numbers: int) -> frozenset[uuid.UUID]:
    return frozenset(map(number, numbers))


@pytest.mark.parametrize(
    ("groups", "earlier", "expected"),
    [
        pytest.param([], [Earlier(A, group_of(1))], [], id="nothing left"),
        pytest.param([group_of(1, 2)], [], [None], id="nothing before"),
        pytest.param([group_of(1, 2, 3, 9)], [Earlier(A, group_of(1, 2, 3))], [A], id="grown"),
        pytest.param([group_of(1, 2)], [Earlier(A, group_of(1, 2, 3, 4, 5, 6))], [A], id="shrunk"),
        pytest.param([group_of(1, 2), group_of(3, 4, 5)], [Earlier(A, group_of(1, 2, 3, 4, 5))], [None, A], id="split"),
        pytest.param(
            [group_of(1, 2, 3, 4, 5)], [Earlier(A, group_of(1, 2)), Earlier(B, group_of(3, 4, 5))], [B], id="merged"
        ),
        pytest.param([group_of(1, 7, 8, 9)], [Earlier(A, group_of(1, 2, 3, 4))], [None], id="hardly related"),
        pytest.param(
            [group_of(1, 2), group_of(3, 4)],
            [Earlier(B, group_of(1, 2)), Earlier(A, group_of(3, 4))],
            [B, A],
            id="same",
        ),
    ],
)
def test_ids_are_carried_over_by_shared_members(groups, earlier, expected):
    assert carry_over(groups, earlier) == expected


def test_settling_keeps_stories_and_makes_new_ones_only_of_loose_contents():
    ids = [number(at) for at in range(1, 13)]
    fresh = np.array([0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, NONE])
    earlier = [Earlier(A, group_of(1, 2, 3, 4, 5, 6, 7))]

    labels = settle(ids, fresh, earlier, least=3)

    assert labels.tolist() == [0] * 7 + [NONE] + [1] * 3 + [NONE]


def test_left_over_points_join_the_nearest_group_only_if_near_enough():
    points = np.array([[1.0, 0.0], [0.8, 0.6], [0.0, 1.0], [-1.0, 0.0]])
    labels = np.array([0, 0, NONE, NONE])

    assert adopt(points, labels, reach_ratio=0.3).tolist() == [0, 0, 0, NONE]
    assert adopt(points, labels, reach_ratio=1.0).tolist() == [0, 0, NONE, NONE]
    assert adopt(points, np.full(4, NONE), reach_ratio=0.5).tolist() == [NONE] * 4


def test_projecting_keeps_directions_and_takes_any_number_of_rows():
    assert project(np.zeros((0, 4)), 2).shape == (0, 4)
    assert project(np.ones((5, 4)), 2).tolist() == [[0.0, 0.0]] * 5
    lengths = np.linalg.norm(project(scattered(30, 64).astype(float), 50), axis=1)
    assert lengths == pytest.approx(np.ones(30))


def test_centring_draws_a_language_with_few_rows_to_the_mean_of_all():
    vectors = np.array([[1.0, 0.0]] * 95 + [[0.0, 1.0]])
    centred = centre(vectors, ["en"] * 95 + ["fr"])

    assert np.abs(centred[0]).max() < 0.01
    assert centred[-1] == pytest.approx([-0.742, 0.742], abs=0.01)
    assert centre(np.zeros((0, 2)), []).shape == (0, 2)


def test_more_contents_ask_for_greater_stories():
    assert [Recipe().size_for(count) for count in (0, 10, 100, 1_000, 20_000)] == [3, 3, 3, 8, 35]


def test_silhouette_is_left_out_where_it_is_undefined():
    assert silhouette(scattered(4, 3).astype(float), np.array([0, 0, 0, NONE])) is None
    assert silhouette(scattered(2, 3).astype(float), np.array([0, 1])) is None
    assert dense_groups(np.zeros((0, 1)), Recipe()).tolist() == []
