"""A job in hand, and the open breakers that keep it from being tried."""

from collections.abc import Sequence
from dataclasses import dataclass

from siftline.jobs import breakers_store
from siftline.jobs.job_model import ClaimedJob
from siftline.kit.errors import NotTriedError

_HELD_UP = "A required service ({}) is unavailable ({}). We retry automatically."


class BreakerOpenError(NotTriedError):
    """What the job needs does not serve and is left alone for a while."""

    code = "breaker_open"


@dataclass(frozen=True, slots=True)
class Claim:
    """A job in hand, and the breakers it found on its way that are not closed."""

    job: ClaimedJob
    standings: Sequence[breakers_store.Standing] = ()

    @property
    def probes(self) -> frozenset[str]:
        """The providers that this job may try first after their breaker was open."""
        return frozenset(standing.provider for standing in self.standings if standing.probing)

    @property
    def held_up_by(self) -> breakers_store.Standing | None:
        """The breaker that keeps the job from being tried at all, the longest one first."""
        closed = [standing for standing in self.standings if not standing.probing]
        return max(closed, key=lambda standing: standing.wait_s, default=None)


def held_up(standing: breakers_store.Standing) -> BreakerOpenError:
    """Return what keeps a job from being tried while a breaker is open."""
    detail = _HELD_UP.format(standing.provider, standing.error_code)
    return BreakerOpenError(detail, retry_after_s=standing.wait_s)
