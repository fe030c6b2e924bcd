"""What tests share: a tiny model, Qdrant's engine, queues of one's own, readers, a client and a server."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from siftline.fetch.kinds.readers import FeedReader, LinkReader
from siftline.ingest.page_child import PageReader
from siftline.kit.aws import sqs_client
from siftline.kit.ids import new_id
from siftline.net.http import HttpClient
from siftline.net.http_model import HttpLimits
from siftline.settings.functions import environment
from tests.functions import make_queues
from tests.models import tiny_model
from tests.open_client import OpenClient
from tests.servers import LoopbackServer, serving
from tests.vectors import serving_vectors

if TYPE_CHECKING:
    from mypy_boto3_sqs import SQSClient


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a tiny embedding model."""
    return tiny_model(tmp_path_factory.mktemp("model"))


@pytest.fixture
def qdrant(tmp_path: Path) -> Iterator[str]:
    """The URL of an empty Qdrant."""
    with serving_vectors(tmp_path / "vectors") as url:
        yield url


@pytest.fixture(scope="session")
def feed_reader() -> Iterator[FeedReader]:
    """What reads feeds, with its child process: the start of one costs as much as many tests, and it keeps nothing."""
    with FeedReader(timeout_s=120) as running:  # the machine may be busy with the other tests
        yield running


@pytest.fixture(scope="session")
def link_reader() -> Iterator[LinkReader]:
    """What reads which feeds and articles a page links, with its child process."""
    with LinkReader(timeout_s=120) as running:  # as above
        yield running


@pytest.fixture(scope="session")
def page_reader() -> Iterator[PageReader]:
    """What reads pages, with its child process."""
    with PageReader(page_read_s=60, memory_bytes=512 * 1024 * 1024) as running:  # as above
        yield running


@pytest.fixture(scope="module")
def once() -> Iterator[HttpClient]:
    """A client that reaches loopback and tries everything once."""
    client = OpenClient(limits=HttpLimits(retries=0))
    yield client
    client.close()


@pytest.fixture
def site() -> Iterator[LoopbackServer]:
    """A server of one's own."""
    with serving() as server:
        yield server


@pytest.fixture
def queue_variables(sqs: "SQSClient", aws_environment: dict[str, str]) -> Iterator[dict[str, str]]:
    """The environment of functions that use SQS: queues of one's own. At the end their client is closed."""
    sqs_client.cache_clear()
    with environment(aws_environment):
        client = sqs_client()
    yield {**aws_environment, **make_queues(sqs, str(new_id()))}
    client.close()
    sqs_client.cache_clear()
