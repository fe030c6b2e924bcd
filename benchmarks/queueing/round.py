"""What a worker measured in one round."""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Work:
    """One worker's share of a round: from when to when (Unix time), and the seconds of each job, claim to finish."""

    started: float
    ended: float
    spans: Sequence[float]


@dataclass(frozen=True, slots=True)
class Round:
    """A round: the same number of jobs made, then worked off."""

    jobs: int
    enqueue_s: float
    work_s: float
    p99_ms: float
    """Of a job, from its claim to its finish."""

    @property
    def worked_per_s(self) -> float:
        """Jobs claimed and finished a second."""
        return self.jobs / self.work_s

    @property
    def per_s(self) -> float:
        """Jobs made, claimed and finished a second."""
        return self.jobs / (self.enqueue_s + self.work_s)


def round_of(enqueue_s: float, shares: Sequence[Work]) -> Round:
    """Put the workers' shares together."""
    shares = [share for share in shares if share.spans]
    spans = [span for share in shares for span in share.spans]
    work_s = max(share.ended for share in shares) - min(share.started for share in shares)
    return Round(len(spans), enqueue_s, work_s, 1000 * statistics.quantiles(spans, n=100)[98])
