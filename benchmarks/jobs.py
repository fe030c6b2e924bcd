"""P5: jobs that do nothing, made and worked off by 1 to 16 processes at once. ``python -m benchmarks jobs``

The job store; beside it, in the same run on the same server, procrastinate and a loop written by hand. All work the
same number of jobs in turn, round after round: as many processes make and publish them at once as then claim and
complete them, each handing out the next ones as it goes. The server counts the deadlocks. A job of the store leaves
more than the loop's: a lease that others see, a timeline of three lines, counts by queue and state; one about a
content also sets that content's status.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor, ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from statistics import median
from typing import Any
from uuid import UUID

import psycopg

from benchmarks.database import count, server
from benchmarks.queueing import loop, ours
from benchmarks.queueing.procrastinate import Procrastinate
from benchmarks.queueing.round import Round, Work, round_of
from benchmarks.report import Report, ratio, timed
from siftline.contracts import JobType
from siftline.kit.ids import new_id
from tests.factories import make_content

OURS, CONTENTS, LOOP, PEER = "store", "store, with contents", "hand-written loop", "procrastinate"
JOBS = 1_000
BATCH = 50
"""Jobs that are made in one commit."""
ROUNDS = 3
CROWDS: Sequence[int] = (1, 2, 4, 8, 16)
"""How many processes make jobs at once, and then as many work."""
_DEADLOCKS = "select deadlocks from pg_stat_database where datname = current_database()"

Way = Callable[[int], Round]
Told = Mapping[tuple[str, int], Sequence[Round]]
"""Rounds by way and crowd."""


def main() -> None:
    report = Report("jobs")
    report.open(f"{JOBS:,} no-op jobs, {ROUNDS} rounds, 1 to {max(CROWDS)} makers, then workers, at once")
    processes = ProcessPoolExecutor(max(CROWDS), get_context("spawn"), ours.keep_quiet)
    with server(report) as postgres, processes:
        urls = {name: postgres.database(f"jobs_{at}") for at, name in enumerate((OURS, CONTENTS))}
        urls |= {name: postgres.database(f"floor_{at}", migrated=False) for at, name in enumerate((LOOP, PEER))}
        peer = Procrastinate(urls[PEER])
        report.tell({"peer": peer.version})
        ways = Crew(processes, JOBS, BATCH).ways(urls) | {PEER: partial(peer.round, JOBS, BATCH)}
        told, broken = measure(ways, urls, JOBS, ROUNDS, CROWDS)
    report.table("jobs a second, medians; p99 from claim to completion; deadlocks of all rounds", rows(told, broken))
    report.table("reach: store >= 3 x procrastinate, growing to the cores, no deadlock", [*reach(told, CROWDS)])
    report.keep()


def measure(
    ways: Mapping[str, Way], urls: Mapping[str, str], jobs: int, rounds: int, crowds: Sequence[int]
) -> tuple[Told, Mapping[tuple[str, int], int]]:
    """Work all ways in turn, with each crowd; return the rounds, and how many deadlocks the server broke."""
    told: dict[tuple[str, int], list[Round]] = defaultdict(list)
    broken: dict[tuple[str, int], int] = defaultdict(int)
    for crowd in crowds:
        for number in range(rounds + 1):
            for name, way in ways.items():
                before = count(urls[name], _DEADLOCKS)
                done = way(crowd)
                assert done.jobs == jobs, (name, done)
                broken[name, crowd] += count(urls[name], _DEADLOCKS) - before
                if number:  # the first one warms up
                    told[name, crowd].append(done)
    return dict(told), broken


class Crew:
    """Processes that stay warm, of which a crowd makes jobs at once and then works them off."""

    def __init__(self, processes: Executor, jobs: int, batch: int) -> None:
        self._processes = processes
        self._jobs = jobs
        self._batch = batch

    def ways(self, urls: Mapping[str, str]) -> dict[str, Way]:
        """Return the ways that need no peer, each over its database."""
        return {
            OURS: partial(self._store, urls[OURS], JobType.CLUSTER_USER),
            LOOP: partial(self._loop, urls[LOOP]),
            CONTENTS: partial(self._store, urls[CONTENTS], JobType.ANALYZE_CONTENT),
        }

    def _store(self, url: str, job_type: JobType, crowd: int) -> Round:
        subjects = [new_id() for _ in range(self._jobs)]
        if job_type is JobType.ANALYZE_CONTENT:
            with psycopg.connect(url) as connection:
                subjects = [make_content(connection) for _ in subjects]
        return self._round(crowd, subjects, partial(ours.enqueue, url, job_type), partial(ours.work, url, job_type))

    def _loop(self, url: str, crowd: int) -> Round:
        loop.make_table(url)
        subjects = [new_id() for _ in range(self._jobs)]
        return self._round(crowd, subjects, partial(loop.enqueue, url), partial(loop.work, url))

    def _round(
        self,
        crowd: int,
        subjects: Sequence[UUID],
        make: Callable[[Sequence[Sequence[UUID]]], None],
        work: Callable[[], Work],
    ) -> Round:
        batches = [subjects[first : first + self._batch] for first in range(0, len(subjects), self._batch)]
        shares = [batches[first::crowd] for first in range(crowd)]
        enqueue_s, _ = timed(lambda: [one.result() for one in [self._processes.submit(make, some) for some in shares]])
        return round_of(enqueue_s, [one.result() for one in [self._processes.submit(work) for _ in range(crowd)]])


def rows(told: Told, deadlocks: Mapping[tuple[str, int], int]) -> list[dict[str, Any]]:
    """Return what the rounds of each way came to, by crowd."""
    return [
        {
            "way": name,
            "at once": crowd,
            "made /s": round(median(done.jobs / done.enqueue_s for done in rounds)),
            "worked /s": round(median(done.worked_per_s for done in rounds)),
            "made and worked /s": round(median(done.per_s for done in rounds)),
            "p99 ms": round(median(done.p99_ms for done in rounds), 1),
            "deadlocks": deadlocks[name, crowd],
        }
        for (name, crowd), rounds in sorted(told.items())
    ]


def reach(told: Told, crowds: Sequence[int]) -> Iterator[dict[str, Any]]:
    """Yield how the store stands beside the others, and beside itself alone, by crowd."""

    def rates(name: str, crowd: int) -> list[float]:
        return [done.per_s for done in told[name, crowd]]

    for crowd in crowds:
        mine = rates(OURS, crowd)
        yield {
            "at once": crowd,
            "store / store alone": ratio(mine, rates(OURS, crowds[0])),
            **{
                f"{name} / {beside}": ratio(rates(name, crowd), rates(beside, crowd))
                for name, beside in ((OURS, PEER), (OURS, LOOP), (CONTENTS, PEER))
                if {(name, crowd), (beside, crowd)} <= told.keys()
            },
        }
