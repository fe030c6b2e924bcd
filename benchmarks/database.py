"""PostgreSQL of a benchmark: the embedded server as ``make run`` starts it, in a folder of its own, commits durable."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from infra.local.migrate import create_database, migrate
from infra.local.postgres import EmbeddedPostgres
from siftline.kit.db import SingleConnection


@contextmanager
def databases(*names: str) -> Iterator[list[SingleConnection]]:
    """Start a server and yield one migrated, empty database a name, alike in everything."""
    with tempfile.TemporaryDirectory(prefix="siftline-bench-") as folder:
        Path(folder).chmod(0o711)  # PostgreSQL runs as another user when this one is root
        with EmbeddedPostgres(Path(folder) / "postgres") as server:
            opened = []
            for name in names:
                create_database(server.url(), name)
                migrate(server.url(name))
                opened.append(SingleConnection(server.url(name)))
            try:
                yield opened
            finally:
                for database in opened:
                    database.close()
