"""What tests of functions and of search share: a tiny model, Qdrant's engine, queues of one's own."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from siftline.kit.aws import sqs_client
from siftline.kit.ids import new_id
from siftline.settings import environment
from tests.functions import make_queues
from tests.models import tiny_model
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


@pytest.fixture
def queue_variables(sqs: "SQSClient", aws_environment: dict[str, str]) -> Iterator[dict[str, str]]:
    """The environment of functions that use SQS: queues of one's own. At the end their client is closed."""
    sqs_client.cache_clear()
    with environment(aws_environment):
        client = sqs_client()
    yield {**aws_environment, **make_queues(sqs, str(new_id()))}
    client.close()
    sqs_client.cache_clear()
