"""P5: jobs that do nothing, made and worked off by 1 to 16 processes at once. ``python -m benchmarks.jobs``

The job store alone, and the same through the batch loop and an SQS endpoint; beside them, in the same run on the same
server, procrastinate and a loop written by hand. All work the same number of jobs in turn, round after round: as many
processes make and publish them at once as then claim and complete them, each handing out the next ones as it goes. The
server counts the deadlocks. A job of the store leaves more than the loop's: a lease that others see, a timeline of
three lines, counts by queue and state; where its time goes is measured step by step in the same run.
"""

import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor, ProcessPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from statistics import median
from typing import Any
from uuid import UUID

import psycopg

from benchmarks.queueing import loop, ours
from benchmarks.queueing.procrastinate import Procrastinate
from benchmarks.queueing.round import Round, Work, round_of
from benchmarks.queueing.steps import tell
from benchmarks.report import Report, durability, ratio, timed
from infra.local.aws import MiniStack
from infra.local.machine import ROOT
from infra.local.migrate import create_database, migrate
from infra.local.ministack_environment import ministack_python
from infra.local.postgres import EmbeddedPostgres
from infra.local.queues import sqs_client
from siftline.contracts import JobType
from siftline.kit.ids import new_id

OURS, CONTENTS, LOOP, PEER, SQS = "store", "store, with contents", "hand-written loop", "procrastinate", "through SQS"
_DEADLOCKS = "select deadlocks from pg_stat_database where datname = current_database()"


@dataclass(frozen=True, slots=True)
class Size:
    """How much is measured."""

    jobs: int = 1_000
    batch: int = 50
    """Jobs that are made in one commit."""
    rounds: int = 3
    crowds: Sequence[int] = (1, 2, 4, 8, 16)
    """How many processes make jobs at once, and then as many work."""


Way = Callable[[int], Round]
Told = Mapping[tuple[str, int], Sequence[Round]]


def main() -> None:
    size, report = Size(), Report("jobs")
    report.open(
        f"{size.jobs:,} no-op jobs, {size.rounds} rounds, 1 to {max(size.crowds)} makers, then workers, at once"
    )
    with tempfile.TemporaryDirectory(prefix="siftline-bench-") as folder, ExitStack() as stack:
        Path(folder).chmod(0o711)  # PostgreSQL runs as another user when this one is root
        server = stack.enter_context(EmbeddedPostgres(Path(folder) / "postgres"))
        aws = stack.enter_context(MiniStack(ministack_python(ROOT / ".local" / "ministack"), Path(folder) / "aws"))
        processes = ProcessPoolExecutor(max(size.crowds), get_context("spawn"), ours.keep_quiet)
        crew = Crew(stack.enter_context(processes), size, aws.endpoint)
        with psycopg.connect(server.url()) as connection:
            report.tell(durability(connection))
        urls = {name: _database(server, name) for name in ("ours", "contents", "sqs", "steps")}
        urls |= {name: _database(server, name, migrated=False) for name in ("loop", "peer", "floor")}
        peer = Procrastinate(urls["peer"], Path(folder))
        report.tell({"peer": peer.version})
        ways: dict[str, tuple[str, Way]] = {
            OURS: (urls["ours"], partial(crew.store, urls["ours"], JobType.CLUSTER_USER)),
            LOOP: (urls["loop"], partial(crew.loop, urls["loop"])),
            PEER: (urls["peer"], partial(peer.round, size.jobs, size.batch)),
            CONTENTS: (urls["contents"], partial(crew.store, urls["contents"], JobType.ANALYZE_CONTENT)),
            SQS: (urls["sqs"], partial(crew.sqs, urls["sqs"])),
        }
        told, broken = measure({name: way for name, (_, way) in ways.items()}, size, deadlocks_of(ways))
        steps, shares, why = tell(urls["steps"], urls["floor"])
    report.table("jobs a second, medians; p99 from claim to completion; deadlocks of all rounds", rows(told, broken))
    report.table("reach: store >= 3 x procrastinate, growing to the cores, no deadlock", [*reach(told, size.crowds)])
    report.table("where a job's time goes, by step on one connection", steps)
    report.table("what the server executes of it, by part", shares)
    report.tell({"why": why})
    report.keep()


def measure(
    ways: Mapping[str, Way], size: Size, deadlocks: Callable[[str], int]
) -> tuple[Told, Mapping[tuple[str, int], int]]:
    """Work all ways in turn, with each crowd; return the rounds, and how many deadlocks the server broke."""
    told: dict[tuple[str, int], list[Round]] = defaultdict(list)
    broken: dict[tuple[str, int], int] = defaultdict(int)
    for crowd in size.crowds:
        for number in range(size.rounds + 1):
            for name, way in ways.items():
                before = deadlocks(name)
                done = way(crowd)
                assert done.jobs == size.jobs, (name, done)
                broken[name, crowd] += deadlocks(name) - before
                if number:  # the first one warms up
                    told[name, crowd].append(done)
    return dict(told), broken


def deadlocks_of(ways: Mapping[str, tuple[str, Way]]) -> Callable[[str], int]:
    """Return what asks the server how many deadlocks it broke so far in the database of a way."""

    def ask(name: str) -> int:
        with psycopg.connect(ways[name][0]) as connection:
            [count] = connection.execute(_DEADLOCKS).fetchone() or [0]
        return int(count)

    return ask


class Crew:
    """Processes that stay warm, of which a crowd makes jobs at once and then works them off."""

    def __init__(self, processes: Executor, size: Size, endpoint: str) -> None:
        self._processes = processes
        self._size = size
        self._endpoint = endpoint
        self._queue_urls: dict[str, str] = {}

    def store(self, url: str, job_type: JobType, crowd: int) -> Round:
        """The job store alone."""
        batches = self._contents(url) if job_type is JobType.ANALYZE_CONTENT else self._subjects()
        return self._round(crowd, batches, partial(ours.enqueue, url, job_type), partial(ours.work, url, job_type))

    def loop(self, url: str, crowd: int) -> Round:
        """The loop written by hand."""
        loop.connect(url).execute(loop.TABLE)
        return self._round(crowd, self._subjects(), partial(loop.enqueue, url), partial(loop.work, url))

    def sqs(self, url: str, crowd: int) -> Round:
        """The job store, publisher and batch loop, through SQS."""
        if url not in self._queue_urls:
            name = f"bench-jobs-{new_id().hex}"
            self._queue_urls[url] = sqs_client(self._endpoint).create_queue(QueueName=name)["QueueUrl"]
        place = (url, self._endpoint, self._queue_urls[url], JobType.CLUSTER_USER)
        return self._round(
            crowd, self._subjects(), partial(ours.enqueue_by_sqs, *place), partial(ours.work_by_sqs, *place)
        )

    def _round(
        self,
        crowd: int,
        batches: Sequence[Sequence[UUID]],
        make: Callable[[Sequence[Sequence[UUID]]], None],
        work: Callable[[], Work],
    ) -> Round:
        shares = [batches[first::crowd] for first in range(crowd)]
        enqueue_s, _ = timed(lambda: [one.result() for one in [self._processes.submit(make, some) for some in shares]])
        return round_of(enqueue_s, [one.result() for one in [self._processes.submit(work) for _ in range(crowd)]])

    def _subjects(self) -> list[list[UUID]]:
        size = self._size
        return [[new_id() for _ in range(size.batch)] for _ in range(size.jobs // size.batch)]

    def _contents(self, url: str) -> list[list[UUID]]:
        batches = self._subjects()
        with psycopg.connect(url) as connection, connection.cursor() as cursor:
            rows = [(subject, f"https://news.example/{subject}") for batch in batches for subject in batch]
            cursor.executemany(
                "insert into contents (id, url, url_key) values (%s, %s, %s)", [(*row, row[1]) for row in rows]
            )
        return batches


def _database(server: EmbeddedPostgres, name: str, *, migrated: bool = True) -> str:
    create_database(server.url(), name)
    if migrated:
        migrate(server.url(name))
    return server.url(name)


def rows(told: Told, deadlocks: Mapping[tuple[str, int], int]) -> list[dict[str, Any]]:
    """Return what the rounds of each way came to, by crowd."""
    return [_row(name, crowd, rounds, deadlocks[name, crowd]) for (name, crowd), rounds in sorted(told.items())]


def _row(name: str, crowd: int, rounds: Sequence[Round], deadlocks: int) -> dict[str, Any]:
    p99 = [done.p99_ms for done in rounds if done.p99_ms is not None]
    return {
        "way": name,
        "at once": crowd,
        "made /s": round(median(done.jobs / done.enqueue_s for done in rounds)),
        "worked /s": round(median(done.worked_per_s for done in rounds)),
        "made and worked /s": round(median(done.per_s for done in rounds)),
        "p99 ms": round(median(p99), 1) if p99 else "-",
        "deadlocks": deadlocks,
    }


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
                for name, beside in ((OURS, PEER), (OURS, LOOP), (CONTENTS, PEER), (SQS, PEER))
                if {(name, crowd), (beside, crowd)} <= told.keys()
            },
        }


if __name__ == "__main__":
    main()
