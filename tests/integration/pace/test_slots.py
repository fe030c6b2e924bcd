"""The concurrency slots that one owner's hosts have for requests in work, in a real database under simulated time."""

import threading
import time as real
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from typing import Any

import pytest

from siftline.kit.db import Database, DatabaseUnavailableError
from siftline.kit.ids import new_id
from siftline.net.http_model import RateLimiter, Requester
from siftline.net.pacing import HostBusyError, Pace
from siftline.settings.functions import PacingSettings
from tests.polling import rows
from tests.simulated_time import SimulatedTime

URL = "https://pit.example.org/a"
FAST = {"host_requests_per_s": 100.0, "host_burst": 1_000}


@pytest.fixture
def pace(time: SimulatedTime, database: Database) -> Callable[..., Pace]:
    return lambda **settings: Pace(database, PacingSettings(**{**FAST, **settings}), time, time.sleep, wait_s=0.0)


def wait_s(pace: Pace, url: str = URL, requester: Requester | None = None) -> float:
    """Ask, and be answered at once; returns the seconds until the turn, 0 for who was let through."""
    try:
        with pace.asking(url, requester or Requester()):
            return 0.0
    except HostBusyError as error:
        return round(error.retry_after_s or 0.0, 3)


def redirected(pace: Pace, url: str, target: str) -> None:
    """Ask, and be sent on."""
    with pace.asking(url, Requester()) as admitted:
        limiter(admitted).onward(target)


def limiter(admitted: Requester) -> RateLimiter:
    assert admitted.rate_limiter is not None
    return admitted.rate_limiter


def holding(stack: ExitStack, pace: Pace, *urls: str, queue: str = "any") -> None:
    """Ask, and wait for answers until the stack is left."""
    for url in urls:
        stack.enter_context(pace.asking(url, Requester(queue=queue)))


class TestCap:
    def test_a_host_has_two_requests_in_work_and_no_third(self, pace: Callable[..., Pace]) -> None:
        with ExitStack() as stack:
            holding(stack, pace(), URL, URL)
            with pytest.raises(HostBusyError, match=r"2 requests to example\.org are already in progress") as busy:
                holding(stack, pace(), URL)
            assert busy.value.in_turn
            assert (busy.value.retry_after_s or 0) > 0
            assert wait_s(pace(), "https://other.example/") == 0
        assert wait_s(pace()) == 0

    def test_all_that_one_owner_runs_counts_together(self, pace: Callable[..., Pace]) -> None:
        with ExitStack() as stack:
            holding(stack, pace(), "https://a.example.org/", "http://b.example.org:8080/")
            assert wait_s(pace(), "https://c.example.org/") > 0
            holding(stack, pace(), "https://[2606:4700::1]/", "https://[2606:4700::2]/")
            assert wait_s(pace(), "https://[2606:4700::3]/") > 0
            assert wait_s(pace(), "https://[2606:4700:0:1::3]/") == 0

    def test_work_of_each_queue_has_slots_of_its_own(self, pace: Callable[..., Pace]) -> None:
        with ExitStack() as stack:
            for queue in ("content-background", "content-processing", "fetch"):
                holding(stack, pace(), URL, URL, queue=queue)
                assert wait_s(pace(), requester=Requester(queue=queue)) > 0

    def test_never_more_under_sixteen_threads_than_there_are_slots(self, pace: Callable[..., Pace]) -> None:
        lock, in_work, most, let_through = threading.Lock(), 0, 0, 0
        asker = pace(host_at_once=3)

        def ask(number: int) -> None:
            nonlocal in_work, most, let_through
            for turn in range(30):
                try:
                    with asker.asking(f"https://{number}.{turn}.example.org/", Requester()):
                        with lock:
                            in_work += 1
                            let_through += 1
                            most = max(most, in_work)
                        real.sleep(0.005)
                        with lock:
                            in_work -= 1
                except HostBusyError:
                    continue

        with ThreadPoolExecutor(16) as threads:
            list(threads.map(ask, range(16)))
        assert 0 < most <= 3  # how many meet is the scheduler's; more must not
        assert let_through > 3

    def test_who_holds_a_slot_keeps_it_for_redirects_and_repeats(self, pace: Callable[..., Pace]) -> None:
        with ExitStack() as stack:
            holding(stack, pace(), URL)
            given = limiter(stack.enter_context(pace().asking(URL, Requester())))
            given.onward("https://www.example.org/moved")
            assert given.again(URL)
            given.onward("https://other.example/")
            holding(stack, pace(), "https://other.example/")
            assert wait_s(pace(), "https://other.example/") > 0
        assert [wait_s(pace()), wait_s(pace(), "https://other.example/")] == [0, 0]

    def test_a_redirect_to_a_host_without_a_slot_is_put_off_and_gives_back_what_it_has(
        self, pace: Callable[..., Pace]
    ) -> None:
        asker = pace(host_at_once=1)
        with ExitStack() as stack:
            holding(stack, asker, URL)
            with pytest.raises(HostBusyError):
                redirected(asker, "https://short.example/", URL)
            assert wait_s(asker, "https://short.example/") == 0

    def test_who_has_a_slot_and_no_turn_gives_it_back(self, pace: Callable[..., Pace], database: Database) -> None:
        asker = pace(host_requests_per_s=0.1, host_burst=1)
        assert [wait_s(asker), wait_s(asker)] == [0, 10]
        assert rows(database, "select scope from fetch_hosts where in_work <> '{}'") == []


class TestLease:
    def test_a_killed_workers_slot_comes_back_after_its_lease(
        self, pace: Callable[..., Pace], time: SimulatedTime
    ) -> None:
        asker = pace(host_at_once=1, host_lease_s=60.0)
        killed = asker.asking(URL, Requester())
        killed.__enter__()  # and never left
        assert wait_s(asker) > 0
        time.sleep(61)
        assert wait_s(asker) == 0

    def test_who_outlives_the_lease_takes_nobodys_slot_by_ending(
        self, pace: Callable[..., Pace], time: SimulatedTime
    ) -> None:
        asker = pace(host_at_once=1, host_lease_s=60.0)
        with ExitStack() as late:
            holding(late, asker, URL)
            time.sleep(61)
            with ExitStack() as stack:
                holding(stack, asker, URL)
                late.close()
                assert wait_s(asker) > 0

    def test_a_slot_that_cannot_be_given_back_costs_the_work_nothing(
        self, pace: Callable[..., Pace], time: SimulatedTime, database: Database
    ) -> None:
        away = Away(database)
        with Pace(away, PacingSettings(host_at_once=1), time, time.sleep, wait_s=0.0).asking(URL, Requester()):
            away.is_away = True
        assert wait_s(pace(host_at_once=1)) > 0
        time.sleep(121)
        assert wait_s(pace(host_at_once=1)) == 0


class TestLine:
    def test_those_who_wait_come_back_one_by_one_as_slots_are_expected_to_become_free(
        self, pace: Callable[..., Pace], time: SimulatedTime
    ) -> None:
        asker = pace()
        with ExitStack() as stack:
            holding(stack, asker, URL, URL)
            time.sleep(30)
        with ExitStack() as stack:
            holding(stack, asker, URL, URL)
            time.sleep(10)
            assert [wait_s(asker) for _ in range(5)] == [20, 35, 50, 65, 80]

    def test_a_newcomer_does_not_take_the_slot_of_who_is_about_to_come(
        self, pace: Callable[..., Pace], time: SimulatedTime
    ) -> None:
        asker, first = pace(host_at_once=1), Requester()
        with ExitStack() as stack:
            holding(stack, asker, URL)
            time.sleep(4)
            soon = wait_s(asker, requester=first)
            assert soon == 2
        assert wait_s(asker) > soon
        time.sleep(soon)
        assert wait_s(asker, requester=first) == 0

    def test_everybody_is_let_through_in_the_end_and_is_sent_away_a_few_times_at_most(
        self, pace: Callable[..., Pace], time: SimulatedTime
    ) -> None:
        begun = time.monotonic()
        order, sent_away = work_off(pace(), time, jobs=40, takes_s=30.0)
        assert len(order) == 40
        assert time.monotonic() - begun <= 40 / 2 * 30 * 1.25
        assert sent_away <= 4 * 40
        assert all(abs(place - number) <= 8 for place, number in enumerate(order))


def work_off(pace: Pace, time: SimulatedTime, *, jobs: int, takes_s: float) -> tuple[list[int], int]:
    """Let these all ask at once, each again at its turn; returns in which order they were let through."""
    begun = time.monotonic()
    due = [(begun + number * 0.01, number, new_id()) for number in range(jobs)]
    ends: list[tuple[float, ExitStack]] = []
    order, sent_away = list[int](), 0
    while due or ends:
        at, stack = min(ends, key=lambda end: end[0], default=(float("inf"), ExitStack()))
        if not due or at <= min(due)[0]:
            time.sleep(max(at - time.monotonic(), 0))
            stack.close()
            ends.remove((at, stack))
            continue
        at, number, who = min(due)
        due.remove((at, number, who))
        time.sleep(max(at - time.monotonic(), 0))
        stack = ExitStack()
        try:
            stack.enter_context(pace.asking(URL, Requester(id=who)))
        except HostBusyError as error:
            sent_away += 1
            due.append((time.monotonic() + float(int((error.retry_after_s or 0.0) + 0.999)), number, who))
        else:
            order.append(number)
            ends.append((time.monotonic() + takes_s, stack))
    return order, sent_away


class Away:
    """A database that goes away."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self.is_away = False

    def __getattr__(self, name: str) -> Any:
        if self.is_away:
            raise DatabaseUnavailableError("The database could not be reached.")
        return getattr(self._database, name)
