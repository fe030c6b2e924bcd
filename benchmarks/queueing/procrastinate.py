"""procrastinate in its own environment: jobs deferred in batches, worked off by two of its workers as documented."""

import subprocess
from contextlib import ExitStack
from pathlib import Path
from typing import IO

import psycopg

from benchmarks.killing.crew import Command
from benchmarks.killing.peer import Peer
from benchmarks.queueing.round import WORKERS, Round

_TASKS = "benchmarks.queueing.procrastinate_tasks"
_APP = f"--app={_TASKS}.app"
# Its own timeline: the workers' start-up counts for nothing.
_TIMES = """
select extract(epoch from max(done.at) - min(started.at))::float8 as work_s,
  1000 * percentile_cont(0.99) within group (order by extract(epoch from done.at - started.at))::float8 as p99_ms,
  count(*) as jobs
from procrastinate_events started join procrastinate_events done using (job_id)
where started.type = 'started' and done.type = 'succeeded'
"""
_EMPTY = "truncate procrastinate_jobs, procrastinate_events cascade"


class Procrastinate(Peer):
    """The peer over a database. Raises ``SetUpError``."""

    def __init__(self, database_url: str, folder: Path) -> None:
        super().__init__("procrastinate")
        self._database_url = database_url
        self._log = folder / "procrastinate.log"
        self._start(self._command(_APP, "schema", "--apply"), subprocess.DEVNULL).wait()

    def round(self, jobs: int, batch: int) -> Round:
        """Work off so many jobs."""
        with psycopg.connect(self._database_url) as connection:
            connection.execute(_EMPTY)
        deferring = self._start(self._command(str(jobs), str(batch), module=_TASKS), subprocess.PIPE)
        enqueue_s = float(deferring.communicate()[0])
        with ExitStack() as stack:
            log = stack.enter_context(self._log.open("wb"))
            workers = [self._start(self._command(_APP, "worker", "--one-shot"), log) for _ in range(WORKERS)]
            codes = [worker.wait() for worker in workers]
        with psycopg.connect(self._database_url) as connection:
            row = connection.execute(_TIMES).fetchone()
        assert row is not None
        assert (row[2], *codes) == (jobs, *[0] * WORKERS), f"not all done: see {self._log}"
        return Round(jobs, enqueue_s, row[0], row[1])

    def _start(self, command: Command, output: int | IO[bytes]) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            command.arguments, env=command.environment, cwd=command.folder, stdout=output, stderr=subprocess.DEVNULL
        )
