"""How long a job waits before its next try."""

import random
from collections.abc import Sequence

# The share of a delay that jitter may take off: downward only, because SQS delays at most 900 s.
JITTER_RATIO = 0.1


def delay_s(attempts: int, backoff_s: Sequence[float], rng: random.Random) -> float:
    """Return the seconds to wait after try number ``attempts`` (1 is the first), jittered downward by up to 10 %.

    Tries beyond the list's end wait as long as its last entry.
    """
    step = backoff_s[min(max(attempts, 1), len(backoff_s)) - 1]
    return step * (1 - JITTER_RATIO * rng.random())
