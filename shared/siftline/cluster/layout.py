"""The map of a user's clusters: clusters that are alike lie near each other, and none over another; their colours.

The centres come from classical scaling (Torgerson 1952) of the clusters' mean vectors, improved by stress majorisation
(de Leeuw 1977). From run to run the map stays as it was: clusters that live on begin where they lay, and what is new is
turned and mirrored to fit them (orthogonal Procrustes, Schönemann 1966). Members lie around their centre, the more
central the nearer, in a direction that depends on their own vectors alone.
"""

from collections import Counter
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

# Eight colours that people with any colour vision tell apart, on white and on near-black: six of Okabe and Ito's set
# (2008, "Color universal design"; black and yellow left out, which one of the two grounds swallows) and two of Tol's
# (2021, "Colour schemes", muted). Where there are more clusters, colours repeat.
PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#999933", "#AA4499")

Points = NDArray[np.float64]
_ROUNDS = 60
_FILLED = 1.5
_MARGIN = 1.15
_EDGE = 0.98
_TINY = 1e-9


def lay_out(points: Points, groups: Sequence[Sequence[int]], before: Sequence[tuple[float, float] | None]) -> Points:
    """Return a place (x, y), both in [-1, 1], for each row of ``points``; rows in no group lie at 0, 0.

    ``before`` says for each group where its centre lay in the run before.
    """
    placed = np.zeros((len(points), 2))
    if not groups:
        return placed
    radii = np.sqrt(_FILLED * np.array([len(rows) for rows in groups]) / sum(map(len, groups))) / 2
    centres = _apart(_centres(points, groups, before), radii * _MARGIN)
    for rows, centre, radius in zip(groups, centres, radii, strict=True):
        placed[list(rows)] = centre + radius * _around(points[list(rows)])
    # The whole map is shrunk or grown to its frame, never shifted: what lives on is not to move.
    placed[:] *= _EDGE / max(_TINY, float(np.abs(placed).max())) if len(groups) > 1 else 1.0
    return np.clip(placed, -1.0, 1.0)


def colours(kept: Sequence[str | None]) -> list[str]:
    """Return each cluster's colour: the one that it had, or for a new one that which is used least."""
    used = Counter(colour for colour in kept if colour is not None)
    chosen = []
    for colour in kept:
        if colour is None:
            colour = min(PALETTE, key=lambda one: (used[one], PALETTE.index(one)))  # noqa: PLW2901  fills the gap
            used[colour] += 1
        chosen.append(colour)
    return chosen


def _centres(points: Points, groups: Sequence[Sequence[int]], before: Sequence[tuple[float, float] | None]) -> Points:
    means = np.stack([points[list(rows)].mean(axis=0) for rows in groups])
    differences = means[:, None, :] - means[None, :, :]
    wanted = np.sqrt((differences**2).sum(axis=2))
    scale = float(wanted.max())
    if scale < _TINY:
        return np.zeros((len(groups), 2))
    wanted *= 1.6 / scale
    start = _scaled(wanted)
    kept = [at for at, place in enumerate(before) if place is not None]
    if kept:
        held = np.array([before[at] for at in kept], dtype=np.float64)
        start = _turned(start, start[kept], held)
        start[kept] = held
    return _majorised(start, wanted)


def _scaled(wanted: Points) -> Points:
    """Return two coordinates a row whose distances come near the wanted ones."""
    count = len(wanted)
    around = np.eye(count) - 1.0 / count
    values, axes = np.linalg.eigh(-0.5 * around @ (wanted**2) @ around)
    first = axes[:, ::-1][:, :2] * np.sqrt(np.maximum(values[::-1][:2], 0.0))
    found = np.zeros((count, 2))
    found[:, : first.shape[1]] = first
    heaviest = np.abs(found).argmax(axis=0)
    signs = np.where(found[heaviest, [0, 1]] < 0, -1.0, 1.0)
    turned: Points = found * signs
    return turned


def _turned(all_: Points, some: Points, held: Points) -> Points:
    """Turn, mirror and shift ``all_`` so that ``some`` of it comes to lie as ``held`` does."""
    middle, target = some.mean(axis=0), held.mean(axis=0)
    left, _, right = np.linalg.svd((some - middle).T @ (held - target))
    turned: Points = (all_ - middle) @ left @ right + target
    return turned


def _majorised(start: Points, wanted: Points) -> Points:
    """Move points until their distances are nearly the wanted ones; the middle and the turn of the whole stay."""
    places, middle = start - start.mean(axis=0), start.mean(axis=0)
    for _ in range(_ROUNDS):
        distances = np.sqrt(((places[:, None, :] - places[None, :, :]) ** 2).sum(axis=2))
        ratio = np.where(distances > _TINY, wanted / np.maximum(distances, _TINY), 0.0)
        pull = -ratio
        pull[np.diag_indices_from(pull)] = ratio.sum(axis=1) - np.diag(ratio)
        places = pull @ places / len(places)
    moved: Points = places + middle
    return moved


def _apart(centres: Points, radii: Points) -> Points:
    """Push discs apart until hardly any lies over another."""
    places = centres.copy()
    least = radii[:, None] + radii[None, :]
    upper = np.triu_indices(len(places), 1)
    for _ in range(4 * _ROUNDS):
        between = places[upper[0]] - places[upper[1]]
        distances = np.sqrt((between**2).sum(axis=1))
        short = least[upper] - distances
        if not (short > _TINY).any():
            break
        # Those that lie on one spot part along a direction of their own.
        angles = 2.399963 * (upper[0] + 1)
        direction = np.where(
            distances[:, None] > _TINY,
            between / np.maximum(distances, _TINY)[:, None],
            np.stack([np.cos(angles), np.sin(angles)], axis=1),
        )
        push = direction * (np.maximum(short, 0.0) / 2)[:, None]
        np.add.at(places, upper[0], push)
        np.add.at(places, upper[1], -push)
    return places


def _around(members: Points) -> Points:
    """Return a place in the unit disc for each member of a group."""
    offsets = members - members.mean(axis=0)
    outward = np.argsort(np.argsort((offsets**2).sum(axis=1), kind="stable"), kind="stable")
    reach = np.sqrt((outward + 0.5) / len(members))
    directions = np.random.default_rng(0).normal(size=(members.shape[1], 2))
    aims = offsets @ directions
    # Copies of one text have no direction of their own: they lie on a spiral.
    lengths = np.linalg.norm(aims, axis=1)
    spiral = 2.399963 * outward
    aims = np.where(
        lengths[:, None] > _TINY,
        aims / np.maximum(lengths, _TINY)[:, None],
        np.stack([np.cos(spiral), np.sin(spiral)], 1),
    )
    placed: Points = aims * reach[:, None]
    return placed
