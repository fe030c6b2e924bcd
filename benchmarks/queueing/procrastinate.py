"""procrastinate in its own environment: jobs deferred in batches, worked off by its workers as documented."""

from urllib.parse import urlsplit

import psycopg

from benchmarks.peer import Peer
from benchmarks.queueing.round import Round

_TASKS = "benchmarks.queueing.procrastinate_tasks"
_COMMAND = ("procrastinate", f"--app={_TASKS}.app")
# Its own timeline: the workers' start-up counts for nothing.
_TIMES = """
select extract(epoch from max(done.at) - min(started.at))::float8 as work_s,
  1000 * percentile_cont(0.99) within group (order by extract(epoch from done.at - started.at))::float8 as p99_ms,
  count(*) as jobs
from procrastinate_events started join procrastinate_events done using (job_id)
where started.type = 'started' and done.type = 'succeeded'
"""
_EMPTY = "truncate procrastinate_jobs, procrastinate_events cascade"


class Procrastinate:
    """The peer over an empty database, with its schema. Raises ``SetUpError``."""

    def __init__(self, database_url: str) -> None:
        self._peer = Peer("procrastinate")
        self._database_url = database_url
        url = urlsplit(database_url)
        self._variables = {  # by which libpq, and so psycopg, finds the database
            "PGHOST": str(url.hostname),
            "PGPORT": str(url.port),
            "PGUSER": str(url.username),
            "PGPASSWORD": str(url.password),
            "PGDATABASE": url.path.removeprefix("/"),
        }
        self._peer.run(*_COMMAND, "schema", "--apply", more=self._variables)

    @property
    def version(self) -> str:
        """Return its name and version."""
        return self._peer.version("procrastinate")

    def round(self, jobs: int, batch: int, crowd: int) -> Round:
        """Let so many programs defer so many jobs in all, and then as many workers work them off."""
        with psycopg.connect(self._database_url) as connection:
            connection.execute(_EMPTY)
        shares = [jobs // batch // crowd + (place < jobs // batch % crowd) for place in range(crowd)]
        deferring = [self._peer.start(_TASKS, str(share * batch), str(batch), more=self._variables) for share in shares]
        enqueue_s = max(float(one.communicate()[0]) for one in deferring)
        workers = [self._peer.start(*_COMMAND, "worker", "--one-shot", more=self._variables) for _ in range(crowd)]
        for worker in workers:
            worker.communicate()
        with psycopg.connect(self._database_url) as connection:
            row = connection.execute(_TIMES).fetchone()
        assert row is not None
        assert (row[2], *[worker.returncode for worker in workers]) == (jobs, *[0] * crowd), row
        return Round(jobs, enqueue_s, row[0], row[1])
