"""PostgreSQL of a benchmark: the embedded server as ``make run`` starts it, in a folder of its own, commits durable."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psycopg

from benchmarks.report import Report
from infra.local.postgres import EmbeddedPostgres
from siftline.kit.db import SingleConnection
from siftline.operate.migrate import create_database, migrate

_DURABILITY = ("server_version", "fsync", "synchronous_commit", "wal_sync_method", "full_page_writes")


@contextmanager
def new_folder() -> Iterator[Path]:
    """Make a folder for the length of a block, which PostgreSQL, another user when this one is root, may enter."""
    with tempfile.TemporaryDirectory(prefix="siftline-bench-") as name:
        folder = Path(name)
        folder.chmod(0o711)
        yield folder


@dataclass(frozen=True)
class Server:
    """A running server, and the folder in which its data and whatever else a benchmark writes are kept."""

    postgres: EmbeddedPostgres
    folder: Path

    def database(self, name: str, *, migrated: bool = True) -> str:
        """Make a database and return its URL."""
        create_database(self.postgres.url(), name)
        if migrated:
            migrate(self.postgres.url(name))
        return self.postgres.url(name)


@contextmanager
def server(report: Report) -> Iterator[Server]:
    """Run a server for the length of a block; the report says whether its commits are durable."""
    with new_folder() as folder, EmbeddedPostgres(folder / "postgres") as postgres:
        report.tell(durability(postgres.url()))
        yield Server(postgres, folder)


@contextmanager
def databases(report: Report, *names: str) -> Iterator[list[SingleConnection]]:
    """Run a server and yield a connection to one migrated, empty database a name."""
    with server(report) as running:
        opened = [SingleConnection(running.database(name)) for name in names]
        try:
            yield opened
        finally:
            for database in opened:
                database.close()


def durability(url: str) -> dict[str, str]:
    """Return PostgreSQL's version and whether, and how, a commit waits for the disk."""
    with psycopg.connect(url) as connection:
        rows = [connection.execute("select current_setting(%s)", [name]).fetchone() for name in _DURABILITY]
    return {name: str(row[0]) for name, row in zip(_DURABILITY, rows, strict=True) if row}


def count(url: str, query: str) -> int:
    """Return the one number that a query answers."""
    with psycopg.connect(url) as connection:
        row = connection.execute(query).fetchone()
    assert row is not None
    return int(row[0])
