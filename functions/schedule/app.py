"""What the clock starts: one EventBridge tick in, the counts of what was done out."""

from functools import cache, partial
from typing import Any

from siftline.contracts import ScheduleEvent
from siftline.jobs.jobs_wiring import producer, statistics
from siftline.jobs.sweep import Sweep
from siftline.net.probe import check_answers
from siftline.schedule.reconcile import archived_pages, remove_deleted, remove_ghosts, restore_lost
from siftline.schedule.schedule_service import Schedule
from siftline.settings.functions import ScheduleSettings


@cache
def build() -> Schedule:
    """Put the parts together, once a warm environment."""
    settings = ScheduleSettings()
    parts = producer(settings)
    return Schedule(
        database=parts.database,
        publisher=parts.publisher,
        depths=parts.queues,
        sweep=Sweep(parts.database, parts.publisher, settings, statistics=statistics(settings, parts)),
        remove_deleted=partial(remove_deleted, settings, parts.database, archived_pages(settings)),
        remove_ghosts=partial(remove_ghosts, settings, parts.database),
        check_vectors=partial(check_answers, settings.qdrant_url),
        restore_vectors=partial(restore_lost, settings, parts.database),
        clock=parts.clock,
        settings=settings,
    )


def handler(event: dict[str, Any], context: object) -> dict[str, int]:  # noqa: ARG001 - Lambda passes two
    """Run one tick."""
    return build().run(ScheduleEvent.model_validate(event).tick)
