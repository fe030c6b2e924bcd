"""What an item waits for, in words."""

from dataclasses import replace
from datetime import UTC, datetime
from uuid import UUID

import pytest

from siftline.api.items.details_store import LiveJobRow
from siftline.api.items.item_messages import waiting_of, why_then

LATER = datetime(2026, 11, 28, 12, tzinfo=UTC)
PENDING = LiveJobRow(
    subject_id=UUID(int=1),
    state="pending",
    queue="analysis",
    due_at=LATER,
    put_off=False,
    next_at=LATER,
    deferred=False,
    published=False,
    lease_until=None,
    lease_expired=False,
    attempts=1,
    max_attempts=4,
    waits_for=None,
    error_message=None,
    outstanding=1_000,
)
LATE = replace(PENDING, put_off=True, error_message="The server answered.")
HELD = replace(PENDING, state="processing", lease_until=LATER)


def test_an_item_with_nothing_to_be_done_waits_for_nothing() -> None:
    assert waiting_of(None) is None
    assert waiting_of(None, notice_code="insufficient_content") is None


def test_without_credit_that_is_what_it_waits_for() -> None:
    waiting = waiting_of(None, notice_code="no_credit")
    assert waiting is not None
    assert (waiting.code, waiting.until) == ("no_credit", None)
    assert "credit" in waiting.reason


def test_in_work_it_names_the_end_of_the_lease_which_a_killed_workers_job_waits_for() -> None:
    waiting = waiting_of(HELD)
    assert waiting is not None
    assert (waiting.code, waiting.until) == ("in_work", LATER)
    assert "it is retried" in waiting.reason
    last = waiting_of(replace(HELD, attempts=4))
    assert last is not None
    assert "it fails" in last.reason


def test_after_the_lease_it_waits_for_the_sweep() -> None:
    waiting = waiting_of(replace(HELD, lease_expired=True))
    assert waiting is not None
    assert (waiting.code, waiting.until) == ("worker_lost", None)


def test_a_deferred_one_says_until_when_and_why() -> None:
    waiting = waiting_of(replace(PENDING, put_off=True, waits_for="http_429", error_message="The site asked to wait."))
    assert waiting is not None
    assert (waiting.code, waiting.until, waiting.reason) == ("http_429", LATER, "The site asked to wait.")
    plain = waiting_of(replace(PENDING, put_off=True))
    assert plain is not None
    assert (plain.code, plain.until) == ("put_off", LATER)


def test_one_that_is_not_handed_out_yet_says_how_much_is_out_before_it() -> None:
    waiting = waiting_of(PENDING)
    assert waiting is not None
    assert (waiting.code, waiting.until) == ("in_turn", None)
    assert "the queue analysis has 1000 messages outstanding" in waiting.reason


def test_one_that_is_handed_out_waits_for_a_worker() -> None:
    waiting = waiting_of(replace(PENDING, published=True))
    assert waiting is not None
    assert (waiting.code, waiting.until) == ("handed_out", None)


@pytest.mark.parametrize(
    ("job", "why"),
    [
        (PENDING, "fetch queued"),
        (HELD, "being fetched now"),
        (replace(LATE, waits_for="http_429", deferred=True), "the server asked us to wait until then (429)"),
        (replace(LATE, waits_for="http_500"), "retry after a failed attempt: The server answered."),
        (replace(LATE, waits_for="host_busy"), "The server answered."),
        (replace(LATE, waits_for="breaker_open", deferred=True), "The server answered."),
    ],
    ids=["queued", "in work", "deferred", "retry", "pace", "breaker"],
)
def test_a_source_says_why_it_is_asked_then(job: LiveJobRow, why: str) -> None:
    waiting = waiting_of(job)
    assert waiting is not None
    assert why_then(job, waiting) == why
