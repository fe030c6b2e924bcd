"""How many threads one tenant's jobs hold at once, in one process."""

import threading
from contextlib import ExitStack
from datetime import UTC, datetime

import pytest

from siftline.contracts import JobType, Queue
from siftline.jobs.job_model import ClaimedJob
from siftline.jobs.tenants import TenantBusyError, Tenants
from siftline.kit.ids import new_id

SLOW_S = 3.0


class Time:
    """A clock that is moved by hand."""

    def __init__(self) -> None:
        self.at = 100.0

    def now(self) -> datetime:
        return datetime.fromtimestamp(self.at, UTC)

    def monotonic(self) -> float:
        return self.at


@pytest.fixture
def time() -> Time:
    return Time()


@pytest.fixture
def tenants(time: Time) -> Tenants:
    return Tenants(time, threads=2, slow_s=SLOW_S)


def job(group_key: str = "host:pit.example", queue: Queue = Queue.CONTENT_BACKGROUND) -> ClaimedJob:
    return ClaimedJob(
        id=new_id(),
        job_type=JobType.INGEST_CONTENT,
        queue=queue,
        subject_id=new_id(),
        group_key=group_key,
        payload={},
        priority=0,
        attempts=1,
        max_attempts=4,
        lease_token=new_id(),
        lease_until=datetime(2026, 11, 27, tzinfo=UTC),
        deferred_since=None,
    )


def hold(stack: ExitStack, tenants: Tenants, count: int, group_key: str = "host:pit.example") -> None:
    """Begin so many jobs, which end when the stack is left."""
    for _ in range(count):
        stack.enter_context(tenants.slot(job(group_key)))


def wait_s(tenants: Tenants) -> float:
    """Return for how long one more is put off."""
    with pytest.raises(TenantBusyError) as busy, tenants.slot(job()):
        pass
    return busy.value.retry_after_s or 0.0


def fail(tenants: Tenants) -> None:
    """Begin a job that comes to nothing."""
    with tenants.slot(job()):
        raise ValueError("broken")


def together(tenants: Tenants, count: int) -> None:
    """Have so many jobs in work at once, each of which ends at once when all have begun."""
    with ExitStack() as stack:
        hold(stack, tenants, count)


def test_slow_jobs_of_one_tenant_hold_two_threads_and_the_others_are_another_s(tenants: Tenants, time: Time) -> None:
    with ExitStack() as stack:
        hold(stack, tenants, 2)
        time.at += SLOW_S
        with pytest.raises(
            TenantBusyError, match="2 jobs for the same feed or user are already waiting for slow servers"
        ) as busy:
            hold(stack, tenants, 1)
        assert busy.value.in_turn
        hold(stack, tenants, 2, "user:another")
    hold(ExitStack(), tenants, 2)


def test_those_who_are_put_off_come_back_one_by_one(tenants: Tenants, time: Time) -> None:
    with ExitStack() as stack:
        hold(stack, tenants, 2)
        time.at += SLOW_S
        waits = [wait_s(tenants) for _ in range(300)]
    assert waits[:4] == [1.5, 3.0, 4.5, 6.0]
    assert waits == sorted(waits)
    assert max(waits) == 300


def test_how_long_slow_jobs_took_keeps_nobody_waiting_longer(tenants: Tenants, time: Time) -> None:
    with ExitStack() as stack:
        hold(stack, tenants, 2)
        time.at += 10 * SLOW_S
    with ExitStack() as stack:
        hold(stack, tenants, 2)
        time.at += SLOW_S
        assert [wait_s(tenants) for _ in range(3)] == [1.5, 3.0, 4.5]


def test_a_tenant_whose_jobs_end_quickly_earns_threads(tenants: Tenants, time: Time) -> None:
    for count in (2, 3, 4, 5):
        together(tenants, count)
    with ExitStack() as stack:
        hold(stack, tenants, 6)


def test_whoever_shows_nothing_yet_is_waited_for(tenants: Tenants) -> None:
    first, second, began = ExitStack(), ExitStack(), threading.Event()
    hold(first, tenants, 1)
    hold(second, tenants, 1)

    def third() -> None:
        with tenants.slot(job()):
            began.set()

    thread = threading.Thread(target=third)
    thread.start()
    assert not began.wait(0.05)
    first.close()
    assert began.wait(60)
    second.close()
    thread.join(60)


def test_whoever_was_waited_for_and_turns_out_to_be_slow_is_waited_for_no_longer(tenants: Tenants, time: Time) -> None:
    put_off = threading.Event()

    def third() -> None:
        wait_s(tenants)
        put_off.set()

    with ExitStack() as stack:
        hold(stack, tenants, 2)
        time.at += SLOW_S - 0.01
        thread = threading.Thread(target=third)
        thread.start()
        time.at += 0.01
        assert put_off.wait(60)
        thread.join(60)


def test_one_that_was_slow_costs_the_ends_of_ten(tenants: Tenants, time: Time) -> None:
    together(tenants, 2)
    with ExitStack() as stack:
        hold(stack, tenants, 1)
        time.at += SLOW_S
    for _ in range(5):
        together(tenants, 2)
    with ExitStack() as stack:
        hold(stack, tenants, 2)
        time.at += SLOW_S
        assert wait_s(tenants) > 0


def test_what_waits_for_no_stranger_is_not_held_back(tenants: Tenants, time: Time) -> None:
    with ExitStack() as stack:
        for _ in range(8):
            stack.enter_context(tenants.slot(job(queue=Queue.ANALYSIS)))
            time.at += SLOW_S


def test_a_job_that_fails_gives_its_thread_back(tenants: Tenants) -> None:
    for _ in range(3):
        with pytest.raises(ValueError, match="broken"):
            fail(tenants)
    hold(ExitStack(), tenants, 2)


def test_no_more_tenants_are_kept_in_mind_than_a_thousand(tenants: Tenants) -> None:
    with ExitStack() as stack:
        hold(stack, tenants, 1, "host:kept")
        for number in range(3_000):
            with tenants.slot(job(f"host:{number}")):
                pass
        assert len(tenants) <= 1_000
