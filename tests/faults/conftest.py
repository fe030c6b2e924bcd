"""What the fault tests share: workers in a blink, a tiny model, a machine for each file."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from infra.local.queues import sqs_client
from siftline.kit.db import Pool
from tests.faults.machine import FaultMachine
from tests.faults.nursery import Nursery
from tests.faults.pages import Site
from tests.models import tiny_model
from tests.servers import serving

if TYPE_CHECKING:
    from mypy_boto3_sqs import SQSClient


@pytest.fixture(scope="session")
def nursery(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Nursery]:
    nursery = Nursery(tmp_path_factory.mktemp("nursery") / "log")
    yield nursery
    nursery.close()


@pytest.fixture(scope="session")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_model(tmp_path_factory.mktemp("model"))


@pytest.fixture(scope="session")
def shared_sqs(sqs_endpoint: str) -> Iterator["SQSClient"]:
    client = sqs_client(sqs_endpoint)
    yield client
    client.close()


@pytest.fixture(scope="module")
def _machine(
    tmp_path_factory: pytest.TempPathFactory,
    nursery: Nursery,
    make_database: Callable[[], str],
    shared_sqs: "SQSClient",
    model: Path,
) -> Iterator[FaultMachine]:
    """A system of this file's own."""
    url = make_database()
    database = Pool(url, size=4)
    with serving() as server:
        machine = FaultMachine(
            tmp_path_factory.mktemp("machine"),
            nursery=nursery,
            database=database,
            database_url=url,
            sqs=shared_sqs,
            model=model,
            site=Site(server),
            settings={},
        )
        with machine.running():
            yield machine
    database.close()


@pytest.fixture
def machine(_machine: FaultMachine) -> FaultMachine:
    """This file's system, with every wire whole."""
    _machine.mend()
    return _machine


@pytest.fixture
def pages(_machine: FaultMachine, pytestconfig: pytest.Config) -> list[str]:
    """New pages, as many as the run is large."""
    return _machine.site.add_pages(pytestconfig.getoption("--fault-items"))
