"""What the system runs against, whether its functions are emulated or deployed."""

from collections.abc import Iterator

import pytest

from infra.local.samples import SampleServer
from tests.vectors import serving_vectors


@pytest.fixture(scope="module")
def qdrant_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Qdrant's engine on loopback."""
    with serving_vectors(tmp_path_factory.mktemp("vectors")) as url:
        yield url


@pytest.fixture(scope="module")
def samples() -> Iterator[SampleServer]:
    """Pages written for this project: what the sample events' addresses stand for."""
    server = SampleServer().start()
    yield server
    server.stop()
