"""The sweep: heals what crashes left, from its own schedule, outside the queues it heals, re-entrant.

Each step is conditional and takes only what no other sweep holds, so that two at once do nothing twice, and a sweep
that is killed leaves nothing locked.
"""

from dataclasses import dataclass

from siftline.contracts import Queue
from siftline.jobs import outbox_store as outbox
from siftline.jobs.publish import Publisher
from siftline.kit.db import Database
from siftline.settings import JobSettings

_BATCH = 1_000


@dataclass(frozen=True, slots=True)
class SweepResult:
    """What one sweep did, in jobs."""

    recovered: int
    failed: int
    parked: int
    handed_out: int
    repeated: int


class Sweep:
    """Recovers lost jobs, parks what was not parked, hands out what waits, repeats what went unanswered."""

    def __init__(self, database: Database, publisher: Publisher, settings: JobSettings) -> None:
        self._database = database
        self._publisher = publisher
        self._settings = settings

    def run(self) -> SweepResult:
        """Run once; repeats the recovery until no expired lease is left."""
        recovered = failed = 0
        while True:
            with self._database.transaction() as connection:
                swept = outbox.sweep_lost(connection, limit=_BATCH)
            recovered += swept.retried
            failed += swept.failed
            if swept.retried + swept.failed < _BATCH:
                break
        with self._database.transaction() as connection:
            waiting = outbox.to_park(connection, quiet_s=self._settings.job_quiet_s, limit=_BATCH)
        parked = self._publisher.park(waiting)
        handed_out = sum(self._publisher.hand_out(queue) for queue in Queue)
        repeated = self._publisher.repeat_unanswered(limit=_BATCH)
        return SweepResult(recovered, failed, parked, handed_out, repeated)
