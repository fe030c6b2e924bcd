"""The real servers of one test run: started when a test first asks, shared by all its processes, gone with the run.

The controlling pytest process owns them. Under xdist, workers ask it over a Unix socket.
"""

import secrets
import shutil
import tempfile
import threading
from collections.abc import Callable
from contextlib import suppress
from functools import cached_property
from multiprocessing.connection import Client, Listener
from pathlib import Path
from typing import Protocol

from infra.local.aws import MiniStack
from infra.local.ministack_environment import ministack_python
from infra.local.postgres import EmbeddedPostgres
from siftline.operate.migrate import create_database, migrate
from tests.pooler import PgBouncer

MINISTACK = Path(__file__).resolve().parents[1] / ".local" / "ministack"
TEMPLATE_DATABASE = "siftline_template"


class Stack(Protocol):
    """Where the servers are."""

    def ask(self, service: str) -> str:
        """Return where a service is, started by now.

        ``postgres``: the migrated template's URL; ``pooler``: a URL without a database; ``aws``: an endpoint.
        """
        ...


class StackUnavailableError(Exception):
    """A server did not start; says why."""


class OwnStack:
    """Starts the servers, answers other processes, and stops everything at the end."""

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="siftline-tests-"))
        self.folder.chmod(0o711)  # PostgreSQL runs as another user when this one is root
        self.key = secrets.token_bytes(16)
        self._starts: dict[str, Callable[[], str]] = {
            "postgres": self._start_postgres,
            "pooler": self._start_pooler,
            "aws": self._start_aws,
        }
        self._addresses: dict[str, str] = {}
        self._stops: list[Callable[[], None]] = []
        self._lock = threading.Lock()
        self._closed = False

    def ask(self, service: str) -> str:
        """Return the service's address, starting it if this is the first call."""
        with self._lock:
            if service not in self._addresses:
                self._addresses[service] = self._starts[service]()
            return self._addresses[service]

    @cached_property
    def socket_path(self) -> str:
        """Where other processes ask; the first use begins to answer."""
        listener = Listener(str(self.folder / "stack.sock"), "AF_UNIX", authkey=self.key)
        # The servers are children of this one thread, which lasts as long as the process: they end with it.
        threading.Thread(target=self._answer, args=[listener], daemon=True, name="test-stack").start()
        self._stops.append(listener.close)
        return str(listener.address)

    def close(self) -> None:
        """Stop what was started, newest first, and remove its files."""
        self._closed = True
        for stop in reversed(self._stops):
            stop()
        shutil.rmtree(self.folder, ignore_errors=True)

    def _answer(self, listener: Listener) -> None:
        while not self._closed:
            with suppress(OSError, EOFError), listener.accept() as connection:
                service = connection.recv()
                try:
                    connection.send((self.ask(service), None))
                except Exception as error:  # noqa: BLE001  -- told to the asking process, which raises it
                    connection.send((None, f"{type(error).__name__}: {error}"))

    def _start_postgres(self) -> str:
        server = EmbeddedPostgres(self.folder / "postgres", fsync=False)
        server.start()
        self._stops.append(server.stop)
        create_database(server.url(), TEMPLATE_DATABASE)
        migrate(server.url(TEMPLATE_DATABASE))
        return server.url(TEMPLATE_DATABASE)

    def _start_pooler(self) -> str:
        url = self._addresses.get("postgres") or self._start_postgres()
        self._addresses["postgres"] = url
        pooler = PgBouncer(url, self.folder / "pgbouncer")
        pooler.start()
        self._stops.append(pooler.stop)
        return pooler.pooled(url).rpartition("/")[0]

    def _start_aws(self) -> str:
        server = MiniStack(ministack_python(MINISTACK), self.folder / "aws", persists=False)
        server.start()
        self._stops.append(server.stop)
        return server.endpoint


class RemoteStack:
    """The controlling process's stack, seen from an xdist worker."""

    def __init__(self, socket_path: str, key: bytes) -> None:
        self._socket_path = socket_path
        self._key = key

    def ask(self, service: str) -> str:
        """Return the service's address, started by now. Raises ``StackUnavailableError``."""
        with Client(self._socket_path, "AF_UNIX", authkey=self._key) as connection:
            connection.send(service)
            address, problem = connection.recv()
        if problem is not None:
            raise StackUnavailableError(problem)
        return str(address)
