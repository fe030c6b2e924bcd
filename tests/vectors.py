"""Qdrant's engine for tests."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from infra.local.vectors import Service, Vectors
from infra.local.wsgi import LoopbackServer


@contextmanager
def serving_vectors(folder: Path) -> Iterator[str]:
    """Serve the engine over a folder on loopback for the length of a block; hands out its URL."""
    vectors = Vectors(folder)
    with LoopbackServer(Service(vectors)) as server:
        yield server.url
    vectors.close()
