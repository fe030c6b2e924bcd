"""Faults of Qdrant: away, slow, gone in the moment after it took a point."""

import threading

import pytest

from tests.faults.http_proxy import After, Asked, Before, HangUpError, Reply
from tests.faults.machine import FaultMachine
from tests.faults.table import Told

SLOW_S = 30.0
OVER = threading.Event()
"""Set when a slow answer need not be waited for any longer."""


def upserts(asked: Asked) -> bool:
    return asked.method == "PUT" and asked.path.partition("?")[0].endswith("/points")


def away(_: Asked) -> Reply:
    return Reply(503)


def hung_up(_: Asked) -> Reply:
    raise HangUpError


def slow(_: Asked) -> None:
    OVER.wait(SLOW_S)


def lost(_: Asked, reply: Reply) -> Reply:
    assert reply.status == 200
    raise HangUpError


FAULTS: dict[str, tuple[Before | None, After | None, int]] = {
    "answers 503": (away, None, 3),
    "hangs up": (hung_up, None, 3),
    "is 30 s slow": (slow, None, 1),
    "is lost after it took a point": (None, lost, 2),
}


@pytest.fixture(autouse=True)
def _not_over() -> None:
    OVER.clear()


@pytest.mark.parametrize("fault", FAULTS)
def test_a_vector_store_in_trouble_costs_time_and_no_item(
    machine: FaultMachine, healing: Told, pages: list[str], fault: str, fault_round: int
) -> None:
    """Fault 16: Qdrant down, 30 s slow, lost after upsert."""
    before, after, times = FAULTS[fault]
    trap = machine.qdrant_wire.trap(upserts, before=before, after=after, times=times)
    contents = machine.save(pages)
    trap.await_sprung()
    healing(f"16 Qdrant {fault}", machine.heal(trap.at))
    OVER.set()
    assert machine.statuses(contents) == ["READY"] * len(contents)
    machine.audit()
