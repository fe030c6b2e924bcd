"""The schedule over a real database and a fake SQS."""

from collections.abc import Callable
from typing import Any

from siftline.contracts import Queue
from siftline.jobs.publish import Publisher
from siftline.jobs.queues import Depth
from siftline.jobs.sweep import Sweep
from siftline.kit.clock import Clock, SystemClock
from siftline.kit.db import Database
from siftline.schedule.schedule_service import Schedule
from siftline.settings.functions import ScheduleSettings
from tests.fakes import FakeSender, nowhere


class FakeDepths:
    """Tells the same depth for every queue."""

    def __init__(self, visible: int) -> None:
        self.visible = visible

    def depth(self, queue: Queue) -> Depth:
        """Return it."""
        return Depth(visible=self.visible, in_flight=0, delayed=0, dead=0)


def schedule_settings(**more: Any) -> ScheduleSettings:
    """Return settings whose places nothing is at."""
    return ScheduleSettings(**nowhere(ScheduleSettings), **more)


def make_schedule(
    database: Database,
    *,
    depth: int = 0,
    ghosts: int = 0,
    clock: Clock | None = None,
    check_vectors: Callable[[], None] = lambda: None,
    restore_vectors: Callable[[], int] = lambda: 0,
    **more: float,
) -> tuple[Schedule, FakeSender]:
    """Return a schedule and what it sends; ``more`` are settings."""
    settings, sender, clock = schedule_settings(**more), FakeSender(), clock or SystemClock()
    publisher = Publisher(database, sender, settings)
    schedule = Schedule(
        database=database,
        publisher=publisher,
        depths=FakeDepths(depth),
        sweep=Sweep(database, publisher, settings, clock=clock),
        remove_deleted=lambda: 0,
        remove_ghosts=lambda: ghosts,
        check_vectors=check_vectors,
        restore_vectors=restore_vectors,
        clock=clock,
        settings=settings,
    )
    return schedule, sender
