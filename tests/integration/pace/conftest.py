"""What the tests of paces and places share: one database for a module, under simulated time, without hosts to begin."""

from collections.abc import Callable, Iterator

import pytest

from siftline.kit.db import Database
from tests.simulated_time import SimulatedTime, simulated_time


@pytest.fixture(scope="module")
def simulated(make_database: Callable[..., str]) -> Iterator[tuple[SimulatedTime, Database]]:
    with simulated_time(make_database) as both:
        yield both


@pytest.fixture
def time(simulated: tuple[SimulatedTime, Database]) -> SimulatedTime:
    time, database = simulated
    with database.transaction() as connection:
        connection.execute("truncate fetch_hosts, fetch_turns")
    return time


@pytest.fixture
def database(simulated: tuple[SimulatedTime, Database]) -> Database:
    return simulated[1]
