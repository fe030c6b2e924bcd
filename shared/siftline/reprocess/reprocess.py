"""Reads again what other versions read: counted and priced first, then in slices behind everybody's work, in budget.

A slice is as many analysis jobs as may be on their way at a time, at the lowest priority and in the turn of one tenant
of their own. Users are not charged: a job is free for the version of the text that it was made for, and the language
model's price is nobody's, within a daily budget; where that is spent the run rests until the next day. A run that is
stopped at any point goes on with the next tick, for each content is sent once a run.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from uuid import UUID

from siftline.catalog import reading_profile_store
from siftline.catalog.reading_profile_store import ReadingProfile
from siftline.contracts import JobType, Priority
from siftline.jobs import jobs_store
from siftline.jobs.job_model import NewJob
from siftline.kit.clock import Clock
from siftline.kit.db import Connection, Database
from siftline.kit.errors import PermanentError
from siftline.models.missing_vectors import TENANT
from siftline.reprocess import reprocess_store as reprocess
from siftline.reprocess.reprocess_store import Measured, Order, Outdated, Run
from siftline.settings.functions import ReprocessSettings

BUDGET = "budget"
"""What a run waits for whose money is spent for the day."""
ASSUMED = Measured(ms=300.0, asked=1.0, tokens_in=3_000.0, tokens_out=500.0)
"""What reading a text takes where nothing was measured yet."""
_MICRO = 1_000_000


class NotToldError(PermanentError):
    """Nothing has been analysed yet, so nobody knows what is outdated."""

    code = "reader_unknown"


class RunningError(PermanentError):
    """A run is going already."""

    code = "reprocess_running"


@dataclass(frozen=True, slots=True)
class Plan:
    """What would be read again, and what that costs."""

    contents: int
    by: Sequence[Outdated]
    usd: float
    """For the language model, at the prices of now; 0 where none is set."""
    llm_texts: int
    """Texts that it is likely to be asked about."""
    work_s: float
    """How long one processor's worker reads."""
    measured: bool
    """Whether this follows from what was measured here; else from what is usual."""


def price_micro_usd(profile: ReadingProfile, measured: Measured) -> float:
    """Return what asking the language model about one text costs, in millionths of a dollar; 0 without one."""
    if profile.llm is None:
        return 0.0
    tokens_in = ASSUMED.tokens_in if measured.tokens_in is None else measured.tokens_in
    tokens_out = ASSUMED.tokens_out if measured.tokens_out is None else measured.tokens_out
    return (tokens_in or 0) * profile.llm.usd_per_million_in + (tokens_out or 0) * profile.llm.usd_per_million_out


class Reprocess:
    """Plans, begins, slices, and ends runs; one is going at a time."""

    def __init__(self, database: Database, *, max_attempts: int) -> None:
        self._database = database
        self._max_attempts = max_attempts

    def plan(self, order: Order) -> Plan:
        """Count and price what is outdated; changes nothing. Raises ``NotToldError``."""
        with self._database.transaction() as connection:
            return self._plan(connection, _told(connection), order)

    def start(self, order: Order) -> Plan:
        """Begin a run; the ticks do the rest. Raises ``NotToldError`` and ``RunningError``."""
        with self._database.transaction() as connection:
            plan = self._plan(connection, _told(connection), order)
            if not reprocess.start(connection, order, plan.contents):
                raise RunningError("A run is already in progress. Cancel it, or wait until it ends.")
        return plan

    def run(self) -> Run | None:
        """Return the run that is going, or else the last one."""
        with self._database.transaction() as connection:
            return reprocess.run(connection)

    def cancel(self) -> bool:
        """End the run that is going; what is on its way is read to its end. Returns whether there was one."""
        with self._database.transaction() as connection:
            return reprocess.end(connection, "cancelled")

    def slice(self, settings: ReprocessSettings, clock: Clock) -> list[UUID]:
        """Make the jobs of the next slice of the run that is going; returns those to hand out."""
        with self._database.transaction() as connection:
            going = reprocess.run(connection) if reprocess.hold(connection) else None
            profile = reading_profile_store.told(connection)
            if going is None or profile is None:
                return []
            left = going.planned if going.at_most is None else going.at_most - going.enqueued
            room = min(settings.reprocess_live_max - going.live, max(left, 0) if going.at_most else math.inf)
            affordable = self._affordable(connection, profile, settings, going.live, clock.now().date())
            reprocess.waits(connection, going.id, BUDGET if affordable <= 0 else None)
            limit = int(min(room, affordable))
            found = reprocess.following(connection, profile, going, limit) if limit > 0 else {}
            if not found and not going.live and (limit > 0 or (going.at_most is not None and left <= 0)):
                reprocess.end(connection, "completed")
            ids = jobs_store.enqueue(
                connection,
                [_job(going.id, content_id, version) for content_id, version in found.items()],
                max_attempts=self._max_attempts,
            )
            reprocess.sent(connection, going.id, ids)
        return ids

    def _plan(self, connection: Connection, profile: ReadingProfile, order: Order) -> Plan:
        by = reprocess.outdated(connection, profile, order)
        contents = reprocess.contents(connection, profile, order)
        measured = reprocess.measured(connection)
        share = 0.0
        if profile.llm is not None and profile.llm.asked_for != "never":
            asked = ASSUMED.asked if measured.asked is None else measured.asked
            share = 1.0 if profile.llm.asked_for == "always" else float(asked or 0.0)
        texts = math.ceil(contents * share)
        ms = ASSUMED.ms if measured.ms is None else measured.ms
        return Plan(
            contents=contents,
            by=by,
            usd=round(texts * price_micro_usd(profile, measured) / _MICRO, 4),
            llm_texts=texts,
            work_s=round(contents * float(ms or 0.0) / 1000, 1),
            measured=measured.ms is not None and (not texts or measured.tokens_in is not None),
        )

    @staticmethod
    def _affordable(
        connection: Connection, profile: ReadingProfile, settings: ReprocessSettings, live: int, day: date
    ) -> float:
        """Return for how many more texts there is money today, should the language model be asked about each.

        What is on its way (``live``) has not paid yet and will; where it has, that is held back twice until it is done.
        """
        price = price_micro_usd(profile, reprocess.measured(connection))
        if profile.llm is None or profile.llm.asked_for == "never" or price <= 0:
            return math.inf
        own, by_all = reprocess.spent_micro_usd(connection, day)
        left = min(settings.reprocess_usd_per_day * _MICRO - own, profile.llm.usd_per_day * _MICRO - by_all)
        return (left - live * price) // price


def _told(connection: Connection) -> ReadingProfile:
    profile = reading_profile_store.told(connection)
    if profile is None:
        raise NotToldError("Nothing has been analysed yet, so outdated versions are unknown.")
    return profile


def _job(run_id: UUID, content_id: UUID, version: int) -> NewJob:
    """Return an analysis that costs nobody, for this version of the text."""
    payload = {"reprocess": str(run_id), "free_version": version}
    return NewJob(JobType.ANALYZE_CONTENT, content_id, TENANT, priority=Priority.AGAIN, payload=payload)
