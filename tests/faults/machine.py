"""A small real system to do harm to: PostgreSQL, SQS and Qdrant behind proxies, worker processes, a site, a clock.

The worker is ``python -m siftline.worker`` over ``template.yaml``; the clock is a second one that has the schedules and
no queue, as on AWS, so that killing the worker leaves the sweep running. The sweep comes each second, the rules are
those of production. A lease is long enough that no busy machine lets it run out by itself: only that of a killed or
paused worker does, and at once, as if its time had passed.
"""

import os
import secrets
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import UUID

import psycopg

from infra.local.aws import CREDENTIALS
from infra.local.processes import wait_until
from infra.local.vectors import Service, Vectors
from infra.local.wsgi import LoopbackServer as WsgiServer
from siftline.contracts import JobType, Priority
from siftline.ingest.saving import save_url
from siftline.jobs import jobs_store
from siftline.jobs.credits_store import grant
from siftline.jobs.job_model import NewJob
from siftline.jobs.publish import Publisher
from siftline.kit.db import Database, DatabaseUnavailableError
from siftline.models.vectors import open_collections
from siftline.schedule.reconcile import remove_from
from siftline.settings.functions import JobSettings, environment
from tests.factories import make_source, make_user
from tests.faults.audit import restless, stored_vectors, violations
from tests.faults.http_proxy import HttpProxy
from tests.faults.nursery import Nursery, kill
from tests.faults.pages import Site
from tests.faults.parts import MachineQueues, write_templates
from tests.faults.postgres_proxy import PostgresProxy

if TYPE_CHECKING:
    from mypy_boto3_sqs import SQSClient

TEST = "fault-test"
"""The application name of what a test does in PostgreSQL itself."""
QUIET_S = 2
SHORT = {
    "JOB_LEASE_S": "15",
    "JOB_QUIET_S": str(QUIET_S),
    "JOB_BACKOFF_S": "[1, 1, 2]",
    "HTTP_RETRIES": "0",
    "HTTP_READ_S": "25",
    "WORKER_POLL_S": "1",
    "WORKER_DRAIN_S": "5",
}
VISIBILITY_S = 6
_PATIENCE_S = 600.0
_LAPSE = """
update jobs set lease_until = now()
where id in (select id from jobs where state = 'processing' and claimed_at < %s and lease_until > now()
  for update skip locked)
"""


class FaultMachine:
    """The system, its wires, and what a test does with it. ``database`` reaches PostgreSQL past the proxy."""

    def __init__(
        self,
        folder: Path,
        *,
        nursery: Nursery,
        database: Database,
        database_url: str,
        sqs: "SQSClient",
        model: Path,
        site: Site,
    ) -> None:
        self.folder = folder
        self.database = database
        self.sqs = sqs
        self.site = site
        self.model = model
        self._nursery = nursery
        self._settings = SHORT
        self._database_url = database_url
        self.stage = f"f{secrets.token_hex(5)}"
        self.queues = MachineQueues(sqs, self.stage, visibility_s=VISIBILITY_S)
        self.postgres = PostgresProxy(database_url)
        self.sqs_wire = HttpProxy(sqs.meta.endpoint_url)
        self.qdrant_wire: HttpProxy
        self._vectors_url = ""
        self._pids: dict[str, int] = {}
        self._lapsed_at: datetime | None = None
        """By PostgreSQL's clock: whatever was claimed before is nobody's any longer."""
        self._log_start = 0
        self._templates = write_templates(folder)

    @contextmanager
    def running(self) -> Iterator["FaultMachine"]:
        """Bring everything up for the length of a block."""
        vectors = Vectors(self.folder / "vectors")
        with WsgiServer(Service(vectors)) as qdrant, self.postgres.running(), self.sqs_wire.running():
            self._vectors_url = qdrant.url
            self.qdrant_wire = HttpProxy(qdrant.url)
            with self.qdrant_wire.running():
                self._start("clock")
                self.start_worker()
                yield self
                for pid in self._pids.values():
                    kill(pid)
        vectors.close()

    # --- what is done to it ---

    def start_worker(self, **settings: str) -> None:
        """Start the worker that the queues' messages go to."""
        self._start("worker", "--no-ticks", **settings)

    def kill_worker(self, **settings: str) -> None:
        """SIGKILL the worker; another starts at once, as a supervisor would have it."""
        self.end_worker()
        threading.Thread(target=lambda: self.start_worker(**settings), daemon=True).start()

    def pause_worker(self) -> Callable[[], None]:
        """Stop the worker in its tracks (SIGSTOP), start another, and return what lets the first go on."""
        pid = self._pids["paused"] = self._pids.pop("worker")
        os.kill(pid, signal.SIGSTOP)
        self.see(lambda: _is_stopped(pid))
        self.let_leases_lapse()
        self.start_worker()
        return lambda: os.kill(pid, signal.SIGCONT)

    def restart_worker(self, **settings: str) -> None:
        """Replace the worker by one with other settings."""
        self.end_worker()
        self.start_worker(**settings)

    def end_worker(self, which: str = "worker") -> None:
        """SIGKILL the worker, or the one that was ``paused``; none takes its place until one is started."""
        kill(self._pids.pop(which))
        if which == "worker":
            self.let_leases_lapse()

    def let_leases_lapse(self) -> None:
        """Let the time pass that ends the leases of all that is in work now; what waits for something sees to it."""
        [self._lapsed_at] = self.ask("select clock_timestamp()")

    def mend(self) -> None:
        """End every fault that a wire still has."""
        self._log_start = len(self.log())
        self.postgres.clear()
        self.sqs_wire.clear()
        self.qdrant_wire.clear()

    # --- what it is given to do ---

    def user(self, *, credit: int | None = None) -> UUID:
        """Make a user, metered or not."""
        with self.database.transaction() as connection:
            user_id = make_user(connection)
            if credit is not None:
                grant(connection, user_id, credit)
            return user_id

    def save(self, urls: Sequence[str], user_id: UUID | None = None, *, publish: bool = True) -> list[UUID]:
        """Save pages as a person does: one transaction each, the messages after it. Returns the contents."""
        contents, jobs = [], []
        user_id = user_id or self.user()
        for url in urls:
            with self.database.transaction() as connection:
                saved = save_url(connection, user_id, url)
                contents.append(saved.content_id)
                jobs += [
                    row[0]
                    for row in connection.execute(
                        "select id from jobs where subject_id = %s and state = 'pending'", (saved.content_id,)
                    )
                ]
        if publish:
            self.publisher.publish(jobs)
        return contents

    def follow(self, url: str) -> UUID:
        """Follow a feed: the next tick polls it."""
        with self.database.transaction() as connection:
            user_id = make_user(connection)
            source_id = make_source(connection, url=url)
            connection.execute(
                "insert into subscriptions (id, user_id, source_id) values (gen_random_uuid(), %s, %s)",
                (user_id, source_id),
            )
        return source_id

    def read_again(self, content_id: UUID) -> None:
        """Have a content's page read again."""
        with self.database.transaction() as connection:
            job = NewJob(JobType.INGEST_CONTENT, content_id, "user:test", Priority.SAVED)
            job_ids = jobs_store.enqueue(connection, [job])
        self.publisher.publish(job_ids)

    @property
    def publisher(self) -> Publisher:
        """What hands out jobs past the proxies."""
        return Publisher(self.database, self.queues.sender, self.job_settings)

    @property
    def job_settings(self) -> JobSettings:
        """The settings of the workers."""
        with environment({name: value for name, value in self._settings.items() if name.startswith("JOB_")}):
            return JobSettings()

    # --- what it says ---

    @property
    def worker_pid(self) -> int:
        """The process that does the work."""
        return self._pids["worker"]

    def worker_peak_bytes(self) -> int:
        """Return the most memory that the worker has held (``VmHWM``, proc(5)), its children aside."""
        status = Path(f"/proc/{self.worker_pid}/status").read_text()
        return int(status.partition("VmHWM:")[2].split()[0]) * 1024

    def ask(self, statement: str, *values: Any) -> list[Any]:
        """Return the rows of a query, or their only column's values."""
        with self.database.transaction() as connection:
            rows = connection.execute(statement, values).fetchall()
        return [row[0] if len(row) == 1 else row for row in rows]

    def statuses(self, contents: Sequence[UUID]) -> list[str]:
        """Return the contents' statuses, in order of id."""
        return self.ask("select status from contents where id = any(%s) order by id", list(contents))

    def log(self) -> str:
        """Return what the workers have logged."""
        file = self.folder / "worker.log"
        return file.read_text() if file.exists() else ""

    def log_since_mended(self) -> str:
        """Return what the workers have logged since all wires were last made whole."""
        return self.log()[self._log_start :]

    def see(self, look: Callable[[], Any], *, patience_s: float = _PATIENCE_S) -> None:
        """Wait until something is so."""
        assert self._comes_true(look, patience_s)

    def rest(self, *, patience_s: float = _PATIENCE_S) -> None:
        """Wait until no job is on its way; fails with those that are."""
        assert self._comes_true(lambda: not self._restless(), patience_s), self._restless()

    def heal(self, since: float, *, patience_s: float = _PATIENCE_S) -> float:
        """Wait for rest, audit, and return the seconds from ``since`` (``time.monotonic``) to rest."""
        self.rest(patience_s=patience_s)
        took = time.monotonic() - since
        self.audit()
        return took

    def audit(self) -> None:
        """Fail unless every invariant holds."""
        vectors = stored_vectors(self._vectors_url)
        depths = self.queues.depths()
        with self.database.transaction() as connection:
            assert violations(connection, depths, vectors=vectors, quiet_s=QUIET_S, away_s=60) == []

    def remove_ghosts(self) -> None:
        """Do the daily clean-up's part for vectors that a worker wrote after their content was deleted."""
        for index in open_collections(self._vectors_url):
            remove_from(index, self.database)

    def drained(self, *, patience_s: float = _PATIENCE_S) -> None:
        """Wait until no queue holds a message: every late knock has been answered."""
        assert wait_until(lambda: not any(self.queues.depths().values()), patience_s, step_s=0.2)

    def variables(self) -> dict[str, str]:
        """Return the environment of a worker: everything through the proxies."""
        return {
            **CREDENTIALS,
            **self.queues.variables,
            "AWS_ENDPOINT_URL": self.sqs_wire.url,
            "DATABASE_URL": self.postgres.url,
            "DATABASE_POOL_SIZE": "20",
            "QDRANT_URL": self.qdrant_wire.url,
            "MODEL_URI": str(self.model),
            "MODEL_CACHE_DIR": str(self.model.parent / "cache"),
            "MODEL_THREADS": "1",
            "FIRST_IMPORT": "all",
            "MAIL_FROM": "Siftline <news@siftline.example>",
            "HTTP_ALLOW_LOOPBACK": "true",
            "WEBHOOK_ALLOW_LOOPBACK": "true",
            "NO_PROXY": "127.0.0.1",
            **self._settings,
        }

    def _comes_true(self, look: Callable[[], Any], patience_s: float) -> bool:
        def looked() -> bool:
            self._lapse()
            return bool(look())

        return wait_until(looked, patience_s, step_s=0.05)

    def _lapse(self) -> None:
        """End the leases that have lapsed; those of a transaction that still hangs are met at the next look."""
        if self._lapsed_at is None:
            return
        with suppress(DatabaseUnavailableError, psycopg.Error), self.database.transaction() as connection:
            connection.execute(_LAPSE, (self._lapsed_at,))

    def _restless(self) -> list[str]:
        try:
            with self.database.transaction() as connection:
                return restless(connection)
        except (DatabaseUnavailableError, psycopg.Error) as error:
            return [str(error)]

    def _start(self, part: str, *arguments: str, **settings: str) -> None:
        variables = {**self.variables(), **settings}
        if part == "clock":  # no fault strikes the clock: what heals stands outside what it heals
            variables |= {
                "AWS_ENDPOINT_URL": self.sqs.meta.endpoint_url,
                "DATABASE_URL": self._database_url,
                "QDRANT_URL": self._vectors_url,
            }
        command = ["--template", str(self._templates[part]), *arguments]
        self._pids[part] = self._nursery.fork(command, variables, self.folder / f"{part}.log")


def _is_stopped(pid: int) -> bool:
    """Whether a process stands still by SIGSTOP (state ``T``, proc(5))."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "T"
