"""One paid call: what becomes of the money that is reserved for it, whichever model is asked."""

from contextlib import suppress
from typing import Any
from uuid import UUID

import pytest

from siftline.kit.db import Database
from siftline.kit.ids import new_id
from siftline.models import spending_store
from siftline.models.openai_client import CallFailedError, ModelBusyError, ModelUnavailableError
from siftline.models.paid_call import NotAskedError, PaidCalls
from siftline.models.spending_store import Caps
from tests.fakes import FakeClock

SUBJECT = new_id()
TO_MIDNIGHT_S = 12 * 3_600.0


def calls(database: Database) -> PaidCalls:
    return PaidCalls(database, "llm", "small-model", Caps(1_000), FakeClock())


def ask(asked: PaidCalls, error: Exception | None = None, **more: Any) -> None:
    with asked.reserved(300, SUBJECT, lambda _: None, **more):
        if error is not None:
            raise error


def states(database: Database) -> list[tuple[str, int]]:
    with database.transaction() as connection:
        return connection.execute("select state, micro_usd from spendings order by made_at, id").fetchall()


@pytest.mark.parametrize(
    ("error", "state"),
    [
        (CallFailedError(), ("released", 0)),
        (ModelUnavailableError("It answered 500.", billed=False), ("released", 0)),
        (ModelUnavailableError("It did not answer in time.", billed=True), ("reserved", 300)),
        (MemoryError(), ("reserved", 300)),
    ],
    ids=["refused", "failed", "billed", "unexpected"],
)
def test_only_what_surely_was_not_billed_is_given_back(database, error, state):
    with pytest.raises(type(error)):
        ask(calls(database), error)
    assert states(database) == [state]


def test_an_answer_is_settled_by_what_it_cost_in_the_transaction_that_keeps_it(database):
    with calls(database).reserved(300, SUBJECT, lambda _: None) as spending:
        pass
    with suppress(RuntimeError), database.transaction() as connection:
        spending_store.settle(connection, spending.id, 120)
        raise RuntimeError
    assert states(database) == [("reserved", 300)]
    with database.transaction() as connection:
        spending_store.settle(connection, spending.id, 120)
    assert states(database) == [("settled", 120)]


def test_a_busy_provider_is_left_alone_by_all_and_no_other_provider_is(database):
    with pytest.raises(ModelBusyError):
        ask(calls(database), ModelBusyError("Later.", retry_after_s=600))
    with pytest.raises(NotAskedError) as paused:
        ask(calls(database))
    assert paused.value.reason == "paused"
    assert 0 < paused.value.retry_after_s <= 600
    ask(PaidCalls(database, "embedding", "small-model", Caps(1_000), FakeClock()))
    assert states(database) == [("released", 0), ("reserved", 300)]


def test_over_the_days_cap_nothing_is_reserved_until_the_next_day(database):
    asked = calls(database)
    for _ in range(3):
        ask(asked)
    with pytest.raises(NotAskedError) as over:
        ask(asked)
    assert (over.value.reason, over.value.retry_after_s) == ("over_budget", TO_MIDNIGHT_S)
    assert len(states(database)) == 3


@pytest.mark.parametrize(
    ("lost_per", "same_job", "another_job"),
    [("job", "answers_lost", None), ("subject", "answers_lost", "answers_lost"), (None, None, None)],
    ids=["a job", "a subject", "never"],
)
def test_after_two_lost_answers_no_other_is_paid_for(database, lost_per, same_job, another_job):
    asked = PaidCalls(database, "llm", "small-model", Caps(10_000), FakeClock(), lost_per)
    job_id, other_id = new_id(), new_id()
    for _ in range(2):
        ask(asked, job_id=job_id)  # and the worker dies before it settles
    assert _not_asked(asked, job_id) == same_job
    assert _not_asked(asked, other_id) == another_job


def _not_asked(asked: PaidCalls, job_id: UUID) -> str | None:
    try:
        ask(asked, job_id=job_id)
    except NotAskedError as error:
        return error.reason
    return None
