"""A call that costs money: reserved before it is made, settled by what it cost, given back where it cost nothing.

A worker that dies in between leaves the money reserved, for the call may have been billed: it stays counted in its day.
"""

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta
from typing import Literal
from uuid import UUID

from siftline.kit.clock import Clock
from siftline.kit.db import Connection, Database
from siftline.kit.ids import new_id
from siftline.kit.log import logger
from siftline.models import spending_store
from siftline.models.openai_client import CallFailedError, ModelBusyError
from siftline.models.spending_store import Cap, Caps, Spending

_LOST_MAX = 2
Reason = Literal["paused", "answers_lost", "over_budget", "user_over_budget"]
_OVER: dict[Cap, Reason] = {Cap.ALL: "over_budget", Cap.USER: "user_over_budget"}


class NotAskedError(Exception):
    """The call was not made, and no money is reserved.

    ``retry_after_s`` is in how many seconds the pause or the day (UTC) ends; infinite for ``answers_lost``.
    """

    def __init__(self, reason: Reason, retry_after_s: float) -> None:
        super().__init__(reason)
        self.reason = reason
        self.retry_after_s = retry_after_s


@dataclass(frozen=True, slots=True)
class PaidCalls:
    """The calls of one model, paid for with everybody's money. Thread-safe."""

    database: Database
    provider: str
    model: str
    caps: Caps
    clock: Clock
    lost_per: Literal["job", "subject"] | None = None
    """After two lost answers no other is paid for: in the same job, or about the same subject; ``None``: no limit."""

    @contextmanager
    def reserved(
        self,
        micro_usd_max: int,
        subject_id: UUID,
        payer: Callable[[Connection], UUID | None],
        job_id: UUID | None = None,
    ) -> Iterator[Spending]:
        """Reserve the most that the call within the block can cost, in millionths of a dollar; yields what to settle.

        A call that raises ``CallFailedError`` gives the money back unless it may have been billed, and a
        ``ModelBusyError`` has all workers leave the provider alone. Whoever has an answer settles the spending
        (``spending_store.settle``), in the transaction that keeps what came of it. Raises ``NotAskedError``.
        """
        now = self.clock.now()
        with self.database.transaction() as connection:
            paused_s = spending_store.paused_s(connection, self.provider)
            if paused_s is not None:
                raise NotAskedError("paused", max(paused_s, 1.0))
            if self._lost(connection, subject_id, job_id) >= _LOST_MAX:
                raise NotAskedError("answers_lost", math.inf)
            spending = Spending(
                new_id(), self.provider, now.date(), subject_id, micro_usd_max, self.model, payer(connection), job_id
            )
            over = spending_store.reserve(connection, spending, self.caps)
        if over is not None:
            raise NotAskedError(_OVER[over], _until_tomorrow_s(now))
        try:
            yield spending
        except CallFailedError as error:
            if not error.billed:
                with self.database.transaction() as connection:
                    spending_store.release(connection, spending.id)
                    if isinstance(error, ModelBusyError) and error.retry_after_s is not None:
                        spending_store.pause(connection, self.provider, error.retry_after_s)
            raise

    def believed(self, tokens: int | None, most: int) -> int | None:
        """Return a server's count as far as it can be true: a wrong one must use up nobody's day and stop no plan."""
        if tokens is None or tokens <= most:
            return tokens
        event = f"{self.provider}_dearer_than_reserved"
        logger(self.provider).warning(event, model=self.model, tokens=tokens, tokens_max=most)
        return most

    def _lost(self, connection: Connection, subject_id: UUID, job_id: UUID | None) -> int:
        if self.lost_per is None:
            return 0
        job_id = job_id if self.lost_per == "job" else None
        return spending_store.unsettled(connection, kind=self.provider, subject_id=subject_id, job_id=job_id)


def _until_tomorrow_s(now: datetime) -> float:
    tomorrow = datetime.combine(now.astimezone(UTC).date() + timedelta(days=1), time(), UTC)
    return (tomorrow - now).total_seconds()
