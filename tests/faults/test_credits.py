"""Fault 37: credit reaches 0 under twenty parallel pages while workers are killed and messages come again."""

import json
from typing import Any, Literal

import pytest

from siftline.contracts import Queue
from siftline.jobs import credits_store
from tests.credits import credit_violations
from tests.factories import make_user
from tests.faults.machine import FaultMachine
from tests.faults.postgres_proxy import Commit
from tests.faults.table import Told

PAGES, CREDITS = 20, 7
RESERVES = ("insert into credit_entries",)
SETTLES = ("update credit_entries", "'settled'")


def _audit(machine: FaultMachine) -> None:
    machine.audit()
    with machine.database.transaction() as connection:
        assert credit_violations(connection) == []


def _counts(machine: FaultMachine, user_id: Any) -> tuple[int, int, int]:
    """Return the user's credits, how many of their analyses are settled, and how many pages wait for credit."""
    [(left, settled, waiting)] = machine.ask(
        "select credits, (select count(*) from credit_entries where user_id = users.id and kind = 'analysis'"
        " and state = 'settled'), (select count(*) from contents join items on items.content_id = contents.id"
        " where items.user_id = users.id and contents.status = 'NEW' and contents.notice_code = 'no_credit')"
        " from users where id = %s",
        user_id,
    )
    return int(left), int(settled), int(waiting)


@pytest.mark.parametrize(("step", "when"), [(RESERVES, "after"), (SETTLES, "before")], ids=["reserved", "settled"])
def test_seven_credits_pay_for_seven_of_twenty_pages_whoever_is_killed(
    machine: FaultMachine, step: tuple[str, ...], when: Literal["before", "after"], fault_round: int, healing: Told
) -> None:
    with machine.database.transaction() as connection:
        user_id = make_user(connection)
        credits_store.grant(connection, user_id, CREDITS)

    def matches(commit: Commit) -> bool:
        return commit.says(*step)

    trap = machine.postgres.on_commit(matches, when, machine.kill_worker)
    contents = machine.save(machine.site.add_pages(PAGES), user_id)
    trap.await_sprung()
    took = machine.heal(trap.at)
    _audit(machine)
    healing(f"37 killed {when} a credit is {'reserved' if step is RESERVES else 'settled'}", took)
    assert _counts(machine, user_id) == (0, CREDITS, PAGES - CREDITS)

    knocks = [{"job_type": "analyze_content", "shared_content_id": str(content)} for content in contents]
    machine.queues.send(Queue.ANALYSIS, *(json.dumps(knock) for knock in knocks))
    machine.drained()
    machine.rest()
    _audit(machine)
    assert _counts(machine, user_id) == (0, CREDITS, PAGES - CREDITS)

    with machine.database.transaction() as connection:
        credits_store.grant(connection, user_id, 5)
    machine.see(lambda: _counts(machine, user_id) == (0, CREDITS + 5, PAGES - CREDITS - 5))
    machine.rest()
    _audit(machine)
