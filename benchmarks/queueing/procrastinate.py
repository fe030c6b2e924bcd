"""procrastinate in its own environment: jobs deferred in batches, worked off by its workers as documented."""

import subprocess
from contextlib import ExitStack
from pathlib import Path
from typing import IO

import psycopg

from benchmarks.killing.crew import Command
from benchmarks.killing.peer import Peer
from benchmarks.queueing.round import Round

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

    def round(self, jobs: int, batch: int, crowd: int) -> Round:
        """Let so many programs defer so many jobs in all, and then as many workers work them off."""
        with psycopg.connect(self._database_url) as connection:
            connection.execute(_EMPTY)
        shares = [jobs // batch // crowd + (place < jobs // batch % crowd) for place in range(crowd)]
        deferring = [
            self._start(self._command(str(share * batch), str(batch), module=_TASKS), subprocess.PIPE)
            for share in shares
        ]
        enqueue_s = max(float(one.communicate()[0]) for one in deferring)
        with ExitStack() as stack:
            log = stack.enter_context(self._log.open("wb"))
            workers = [self._start(self._command(_APP, "worker", "--one-shot"), log) for _ in range(crowd)]
            codes = [worker.wait() for worker in workers]
        with psycopg.connect(self._database_url) as connection:
            row = connection.execute(_TIMES).fetchone()
        assert row is not None
        assert (row[2], *codes) == (jobs, *[0] * crowd), f"not all done: see {self._log}"
        return Round(jobs, enqueue_s, row[0], row[1])

    def _start(self, command: Command, output: int | IO[bytes]) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            command.arguments, env=command.environment, cwd=command.folder, stdout=output, stderr=subprocess.DEVNULL
        )
