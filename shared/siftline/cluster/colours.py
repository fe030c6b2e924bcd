"""Colours of clusters: eight that people with any colour vision tell apart, on white and on near-black.

Six of Okabe and Ito's set (2008, "Color universal design"; black and yellow left out, which one of the two grounds
swallows) and two of Tol's (2021, "Colour schemes", muted). Where there are more clusters, colours repeat.
"""

from collections import Counter
from collections.abc import Sequence

PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#999933", "#AA4499")


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
