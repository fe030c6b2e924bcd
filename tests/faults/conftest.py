"""What the fault tests share: workers in a blink, a tiny model, a machine for each file."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from infra.local.queues import sqs_client
from siftline.kit.db import Pool
from tests.faults.machine import TEST, FaultMachine
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
def start_machine(
    tmp_path_factory: pytest.TempPathFactory, nursery: Nursery, shared_sqs: "SQSClient", model: Path
) -> Callable[[str], AbstractContextManager[FaultMachine]]:
    """Start a system over the database of a URL, for the length of a block."""

    @contextmanager
    def start(url: str) -> Iterator[FaultMachine]:
        database = Pool(f"{url}?application_name={TEST}", size=4)
        folder = tmp_path_factory.mktemp("machine")
        with serving() as server:
            site = Site(server)
            machine = FaultMachine(
                folder, nursery=nursery, database=database, database_url=url, sqs=shared_sqs, model=model, site=site
            )
            with machine.running():
                yield machine
        database.close()

    return start


@pytest.fixture(scope="module")
def _machine(
    make_database: Callable[[], str], start_machine: Callable[[str], AbstractContextManager[FaultMachine]]
) -> Iterator[FaultMachine]:
    """A system of this file's own."""
    with start_machine(make_database()) as machine:
        yield machine


@pytest.fixture
def machine(_machine: FaultMachine) -> FaultMachine:
    """This file's system, with every wire whole."""
    _machine.mend()
    return _machine


@pytest.fixture
def pages(_machine: FaultMachine, pytestconfig: pytest.Config) -> list[str]:
    """New pages, as many as the run is large."""
    return _machine.site.add_pages(pytestconfig.getoption("--fault-items"))
