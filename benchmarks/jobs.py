"""P5: jobs that do nothing, made, claimed and completed by two workers. ``python -m benchmarks.jobs``

The job store alone, and the same through the batch loop and an SQS endpoint; beside them, in the same run on the same
server, procrastinate and a loop written by hand. All work the same number of jobs in turn, round after round. A job of
the store leaves more than the loop's: a lease that others see, a timeline of three lines, counts by queue and state;
where its time goes is measured step by step in the same run.
"""

import tempfile
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from statistics import median
from typing import Any
from uuid import UUID

import psycopg

from benchmarks.queueing import loop, ours
from benchmarks.queueing.procrastinate import Procrastinate
from benchmarks.queueing.round import WORKERS, Round, Work, round_of
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

JOBS = 1_000
BATCH = 100
"""Jobs that are made in one commit."""
ROUNDS = 5
OURS, CONTENTS, LOOP, PEER, SQS = "store", "store, with contents", "hand-written loop", "procrastinate", "through SQS"


def main() -> None:
    report = Report("jobs")
    report.open(f"{JOBS:,} no-op jobs, {WORKERS} workers, {ROUNDS} rounds")
    with tempfile.TemporaryDirectory(prefix="siftline-bench-") as folder, ExitStack() as stack:
        Path(folder).chmod(0o711)  # PostgreSQL runs as another user when this one is root
        server = stack.enter_context(EmbeddedPostgres(Path(folder) / "postgres"))
        aws = stack.enter_context(MiniStack(ministack_python(ROOT / ".local" / "ministack"), Path(folder) / "aws"))
        pool = stack.enter_context(ProcessPoolExecutor(WORKERS, get_context("spawn"), ours.keep_quiet))
        with psycopg.connect(server.url()) as connection:
            report.tell(durability(connection))
        peer = Procrastinate(_database(server, "peer", migrated=False), Path(folder))
        report.tell({"peer": peer.version})
        crew = _Crew(pool)
        ways: Mapping[str, Callable[[], Round]] = {
            OURS: partial(crew.store, _database(server, "ours"), JobType.CLUSTER_USER),
            LOOP: partial(crew.loop, _database(server, "loop", migrated=False)),
            PEER: partial(peer.round, JOBS, BATCH),
            CONTENTS: partial(crew.store, _database(server, "contents"), JobType.ANALYZE_CONTENT),
            SQS: partial(crew.sqs, _database(server, "sqs"), aws.endpoint),
        }
        rounds: dict[str, list[Round]] = {name: [] for name in ways}
        for number in range(ROUNDS + 1):
            for name, work in ways.items():
                done = work()
                assert done.jobs == JOBS, (name, done)
                if number:  # the first one warms up
                    rounds[name].append(done)
        steps, shares, why = tell(*(_database(server, name, migrated=name == "steps") for name in ("steps", "floor")))
    report.table("jobs a second, medians; p99 from claim to completion", [_row(name, rounds) for name in ways])
    report.table("reach: store >= 4 x procrastinate, >= 0.5 x the loop, p99 <= 2 x the loop's", [_reach(rounds)])
    report.table("where a job's time goes, by step on one connection", steps)
    report.table("what the server executes of it, by part", shares)
    report.tell({"why": why})
    report.keep()


class _Crew:
    """Two worker processes that stay warm; whoever makes the jobs is this process."""

    def __init__(self, pool: ProcessPoolExecutor) -> None:
        self._pool = pool
        self._queue_urls: dict[str, str] = {}

    def store(self, url: str, job_type: JobType) -> Round:
        """The job store alone."""
        batches = _contents(url) if job_type is JobType.ANALYZE_CONTENT else _subjects()
        enqueue_s, _ = timed(lambda: ours.enqueue(url, job_type, batches))
        return round_of(enqueue_s, self._shares(ours.work, url, job_type))

    def loop(self, url: str) -> Round:
        """The loop written by hand."""
        loop.connect(url).execute(loop.TABLE)
        enqueue_s, _ = timed(lambda: loop.enqueue(url, _subjects()))
        return round_of(enqueue_s, self._shares(loop.work, url))

    def sqs(self, url: str, endpoint: str) -> Round:
        """The job store, publisher and batch loop, through SQS."""
        if url not in self._queue_urls:
            self._queue_urls[url] = sqs_client(endpoint).create_queue(QueueName="bench-jobs")["QueueUrl"]
        place = (url, endpoint, self._queue_urls[url], JobType.CLUSTER_USER)
        enqueue_s, _ = timed(lambda: ours.enqueue_by_sqs(*place, _subjects()))
        return round_of(enqueue_s, self._shares(ours.work_by_sqs, *place))

    def _shares(self, work: Callable[..., Work], *place: Any) -> Sequence[Work]:
        return [share.result() for share in [self._pool.submit(work, *place) for _ in range(WORKERS)]]


def _subjects() -> list[list[UUID]]:
    return [[new_id() for _ in range(BATCH)] for _ in range(JOBS // BATCH)]


def _contents(url: str) -> list[list[UUID]]:
    batches = _subjects()
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


def _row(name: str, rounds: Mapping[str, Sequence[Round]]) -> dict[str, Any]:
    mine = rounds[name]
    p99 = [done.p99_ms for done in mine if done.p99_ms is not None]
    return {
        "way": name,
        "made /s": round(median(done.jobs / done.enqueue_s for done in mine)),
        "worked /s": round(median(done.worked_per_s for done in mine)),
        "made and worked /s": round(median(done.per_s for done in mine)),
        "p99 ms": round(median(p99), 1) if p99 else "-",
    }


def _reach(rounds: Mapping[str, Sequence[Round]]) -> dict[str, Any]:
    def rates(name: str) -> list[float]:
        return [done.per_s for done in rounds[name]]

    def slowest(name: str) -> list[float]:
        return [done.p99_ms or 0.0 for done in rounds[name]]

    return {
        "store / procrastinate": ratio(rates(OURS), rates(PEER)),
        "store / loop": ratio(rates(OURS), rates(LOOP)),
        "p99 store / loop": ratio(slowest(OURS), slowest(LOOP)),
        "with contents / procrastinate": ratio(rates(CONTENTS), rates(PEER)),
        "with contents / loop": ratio(rates(CONTENTS), rates(LOOP)),
        "through SQS / procrastinate": ratio(rates(SQS), rates(PEER)),
    }


if __name__ == "__main__":
    main()
