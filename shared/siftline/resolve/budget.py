"""How often a provider may be asked: so often a run, so often a day, counted in PostgreSQL for all workers alike."""

from datetime import datetime, timedelta

from siftline.kit.clock import Clock
from siftline.kit.db import Database
from siftline.resolve import resolve_store
from siftline.resolve.providers import BudgetSpentError

_HOUR, _DAY = timedelta(hours=1), timedelta(days=1)


class RequestBudget:
    """Counts requests before they are made. A run is the clock's hour, as the schedule hands out by the hour; UTC."""

    def __init__(self, database: Database, clock: Clock, *, per_run: int, per_day: int) -> None:
        self._database = database
        self._clock = clock
        self._per_run = per_run
        self._per_day = per_day

    def take(self, provider: str) -> None:
        """Count one request. Raises ``BudgetSpentError`` with the time until the next run or day begins."""
        now = self._clock.now()
        day = day_of(now)
        hour = now.replace(minute=0, second=0, microsecond=0)
        with self._database.transaction() as connection:
            if resolve_store.take(connection, provider, "day", day, most=self._per_day) is None:
                self._refuse(provider, "today", (day + _DAY - now).total_seconds())
            taken = resolve_store.take(connection, provider, "run", hour, most=self._per_run)
            if taken is None:
                self._refuse(provider, "in this run", (hour + _HOUR - now).total_seconds())
            if taken == 1:
                resolve_store.forget_requests(connection, now)

    def _refuse(self, provider: str, when: str, wait_s: float) -> None:
        raise BudgetSpentError(
            f"The limit of requests to {provider} {when} is reached.", retry_after_s=max(wait_s, 1.0)
        )


def day_of(now: datetime) -> datetime:
    """Return when a time's day began."""
    return now.replace(hour=0, minute=0, second=0, microsecond=0)
