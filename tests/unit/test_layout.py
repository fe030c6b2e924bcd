from itertools import pairwise

import numpy as np
import pytest

from siftline.cluster.layout import PALETTE, colours, lay_out


def bunches(sizes, *, spread=0.1, seed=0):
    rng = np.random.default_rng(seed)
    rows = [np.eye(15)[at] + rng.normal(scale=spread, size=15) for at, size in enumerate(sizes) for _ in range(size)]
    points = np.array(rows).reshape(-1, 15)
    ends = np.cumsum([0, *sizes])
    groups = [list(range(start, end)) for start, end in pairwise(ends)]
    return points / np.linalg.norm(points, axis=1, keepdims=True), groups


def centres(placed, groups):
    return np.array([placed[rows].mean(axis=0) for rows in groups])


@pytest.mark.parametrize("sizes", [[], [3], [3, 3], [2] * 40, [500, 3, 3]])
def test_any_number_of_clusters_finds_room_in_the_frame(sizes):
    points, groups = (
        bunches([*sizes][:15]) if len(sizes) <= 15 else (np.random.default_rng(0).normal(size=(80, 15)), [])
    )
    groups = groups or [[2 * at, 2 * at + 1] for at in range(len(sizes))]

    placed = lay_out(points, groups, [None] * len(groups))

    assert placed.shape == (len(points), 2)
    assert np.isfinite(placed).all()
    assert np.abs(placed).max(initial=0.0) <= 1.0


def test_vectors_that_are_all_equal_are_laid_out_too():
    points = np.tile([1.0, 0.0, 0.0], (6, 1))

    placed = lay_out(points, [[0, 1, 2], [3, 4, 5]], [None, None])

    assert len({(round(x, 6), round(y, 6)) for x, y in placed}) == 6


def test_clusters_do_not_lie_over_each_other_and_the_most_central_member_lies_in_the_middle():
    points, groups = bunches([30, 20, 10, 5, 5])

    placed = lay_out(points, groups, [None] * 5)

    middles = centres(placed, groups)
    for at, rows in enumerate(groups):
        nearest = np.linalg.norm(placed[rows][:, None] - middles[None], axis=2).argmin(axis=1)
        assert (nearest == at).mean() > 0.9
        central = np.linalg.norm(points[rows] - points[rows].mean(axis=0), axis=1).argmin()
        assert np.linalg.norm(placed[rows][central] - middles[at]) < 0.1


def test_what_is_alike_lies_near_each_other():
    points, groups = bunches([10, 10, 10, 10], spread=0.01)
    points[10:20] = points[:10] + 0.2 * points[10:20]

    middles = centres(lay_out(points, groups, [None] * 4), groups)

    assert np.linalg.norm(middles[0] - middles[1]) < 0.6 * np.linalg.norm(middles[0] - middles[2])


def test_a_map_does_not_turn_when_a_cluster_comes_and_others_go_on():
    points, groups = bunches([12] * 8)
    before = centres(lay_out(points[:84], groups[:7], [None] * 7), groups[:7])

    after = centres(lay_out(points, groups, [*map(tuple, before), None]), groups)

    assert np.linalg.norm(after[:7] - before, axis=1).max() < 0.35


def test_the_same_input_gives_the_same_map():
    points, groups = bunches([8, 9, 10])

    assert np.array_equal(lay_out(points, groups, [None] * 3), lay_out(points, groups, [None] * 3))


def test_a_cluster_keeps_its_colour_and_new_ones_take_those_used_least():
    assert colours([None, PALETTE[0], None]) == [PALETTE[1], PALETTE[0], PALETTE[2]]
    assert sorted(colours([None] * 8)) == sorted(PALETTE)
    assert colours([*PALETTE, None]) == [*PALETTE, PALETTE[0]]
