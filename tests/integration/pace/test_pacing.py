"""The pace of hosts, in a real database under simulated time."""

from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest

from siftline.kit.db import Database
from siftline.kit.ids import new_id
from siftline.net import pacing_store
from siftline.net.http_model import RateLimiter, Refusal, Requester, StatusTransientError, status_error
from siftline.net.pacing import INTERVAL_MAX_S, HostBusyError, Pace
from siftline.settings.functions import PacingSettings
from tests.simulated_time import START, SimulatedTime

URL = "https://feeds.example.org/a"
SLOW = {"host_requests_per_s": 0.1, "host_burst": 1, "host_at_once": 100}
"""One request each ten seconds, and no lack of slots."""


@dataclass
class Asking:
    """Asks under a pace, as jobs do: whoever is sent away comes back at their turn."""

    pace: Pace
    time: SimulatedTime

    def wait_s(self, url: str = URL, who: UUID | None = None, *, first: bool = False) -> float:
        """Ask once; returns the seconds until the turn, 0 for who was let through."""
        try:
            with self.pace.asking(url, Requester(id=who or new_id(), first=first)):
                return 0.0
        except HostBusyError as error:
            return round(error.retry_after_s or 0.0, 3)

    def all(self, count: int) -> tuple[list[float], int]:
        """Let so many ask until each was let through; returns when each was, and how often they were sent away."""
        began = self.time.now()
        due = [(began, new_id()) for _ in range(count)]
        let_through, sent_away = [], 0
        while due:
            at, who = min(due)
            due.remove((at, who))
            self.time.move_to(at)
            if wait_s := self.wait_s(who=who):
                sent_away += 1
                due.append((self.time.now() + timedelta(seconds=wait_s), who))
            else:
                let_through.append(round((self.time.now() - began).total_seconds(), 3))
        return let_through, sent_away


@pytest.fixture
def asking(time: SimulatedTime, database: Database) -> Callable[..., Asking]:
    def make(*, wait_s: float = 0.0, interval_max_s: float = INTERVAL_MAX_S, **settings: Any) -> Asking:
        paced = PacingSettings(**{**SLOW, **settings})
        return Asking(Pace(database, paced, time, time.sleep, wait_s=wait_s, interval_max_s=interval_max_s), time)

    return make


def refusal(headers: Mapping[str, str] | None = None, status: int = 429) -> StatusTransientError:
    error = status_error(status, headers or {}, START)
    assert isinstance(error, StatusTransientError)
    return error


def limiter(admitted: Requester) -> RateLimiter:
    assert admitted.rate_limiter is not None
    return admitted.rate_limiter


def learned(database: Database) -> list[tuple[str, float]]:
    with database.transaction() as connection:
        rows = connection.execute("select scope, learned_s from fetch_hosts where learned_s is not null").fetchall()
    return [(scope, round(seconds, 3)) for scope, seconds in rows]


class TestLine:
    def test_who_must_wait_comes_back_one_by_one(self, asking: Callable[..., Asking]) -> None:
        let_through, sent_away = asking().all(60)
        assert let_through == [10.0 * number for number in range(60)]
        assert sent_away == 59

    def test_a_burst_is_let_through_and_then_an_even_pace(self, asking: Callable[..., Asking]) -> None:
        let_through, _ = asking(host_burst=4).all(7)
        assert let_through == [0, 0, 0, 0, 10, 20, 30]

    def test_a_rest_allows_the_burst_again(self, asking: Callable[..., Asking], time: SimulatedTime) -> None:
        ask = asking(host_burst=3)
        ask.all(3)
        time.sleep(1_000)
        assert ask.all(4)[0] == [0, 0, 0, 10]

    def test_a_newcomer_stands_behind_those_who_wait(self, asking: Callable[..., Asking], time: SimulatedTime) -> None:
        ask, waiting = asking(), [new_id() for _ in range(3)]
        assert [ask.wait_s(who=who) for who in (new_id(), *waiting)] == [0, 10, 20, 30]
        time.sleep(10)
        assert ask.wait_s() == 30
        assert ask.wait_s(who=waiting[0]) == 0

    def test_who_comes_a_moment_late_does_not_push_the_others_back(
        self, asking: Callable[..., Asking], time: SimulatedTime
    ) -> None:
        ask, waiting = asking(), [new_id() for _ in range(3)]
        assert [ask.wait_s(who=who) for who in (new_id(), *waiting)] == [0, 10, 20, 30]
        time.sleep(10.4)
        assert ask.wait_s(who=waiting[0]) == 0
        time.sleep(9.6)
        assert [ask.wait_s(who=who) for who in waiting[1:]] == [0, 10]

    def test_who_asks_again_early_keeps_their_turn(self, asking: Callable[..., Asking], time: SimulatedTime) -> None:
        ask, waiting = asking(), [new_id() for _ in range(3)]
        assert [ask.wait_s(who=who) for who in (new_id(), *waiting)] == [0, 10, 20, 30]
        time.sleep(4)
        assert [ask.wait_s(who=who) for who in reversed(waiting)] == [26, 16, 6]

    def test_those_who_come_back_late_and_together_make_no_burst(
        self, asking: Callable[..., Asking], time: SimulatedTime
    ) -> None:
        ask, waiting = asking(), [new_id() for _ in range(20)]
        for who in waiting:
            ask.wait_s(who=who)
        time.sleep(7_200)
        assert [ask.wait_s(who=who) for who in waiting] == [10.0 * number for number in range(20)]

    def test_who_never_comes_back_is_not_waited_for(self, asking: Callable[..., Asking], time: SimulatedTime) -> None:
        ask = asking()
        for _ in range(4):
            ask.wait_s()
        time.sleep(700)
        assert [ask.wait_s(), ask.wait_s()] == [0, 10]

    def test_a_turn_within_the_wait_is_waited_for_in_the_process(
        self, asking: Callable[..., Asking], time: SimulatedTime
    ) -> None:
        ask, began = asking(host_requests_per_s=1.0, wait_s=1.0), time.now()
        assert [ask.wait_s() for _ in range(4)] == [0, 0, 0, 0]
        assert time.now() - began == timedelta(seconds=3)

    def test_twenty_at_once_get_the_burst_and_a_turn_of_their_own_each(
        self, asking: Callable[..., Asking], database: Database
    ) -> None:
        ask = asking(host_burst=5)
        with ThreadPoolExecutor(20) as threads:
            waits = sorted(threads.map(lambda _: ask.wait_s(), range(20)))
        assert waits == [0.0] * 5 + [10.0 * number for number in range(1, 16)]

    def test_loopback_is_paced_only_where_a_setting_says_so(self, asking: Callable[..., Asking]) -> None:
        for url in ("http://127.0.0.1:8000/", "http://localhost/", "http://[::1]/"):
            assert [asking().wait_s(url) for _ in range(3)] == [0, 0, 0]
            assert asking(host_pace_loopback=True).wait_s(url) == 0
            assert asking(host_pace_loopback=True).wait_s(url) == 10


class TestBuckets:
    def test_each_host_has_its_own_pace(self, asking: Callable[..., Asking]) -> None:
        urls = [URL, "https://www.example.org/", "http://feeds.example.org:8080/b", "https://other.example/"]
        assert [asking().wait_s(url) for url in urls] == [0, 0, 10, 0]

    def test_all_of_reddit_is_one(self, asking: Callable[..., Asking]) -> None:
        urls = [
            f"https://{host}/r/a.rss" for host in ("www.reddit.com", "old.reddit.com", "reddit.com", "notreddit.com")
        ]
        assert [asking().wait_s(url) for url in urls] == [0, 6, 12, 0]

    @pytest.mark.parametrize(
        "host", ["1572395042", "0x5db8d822", "0135.0270.0330.042", "93.12113954", "[::ffff:93.184.216.34]",
                 "[64:ff9b::5db8:d822]", "93.184.216.34."]
    )  # fmt: skip
    def test_an_address_is_one_however_it_is_spelled(self, asking: Callable[..., Asking], host: str) -> None:
        assert [asking().wait_s(f"http://{spelled}/") for spelled in ("93.184.216.34", host)] == [0, 10]


class TestOneRequestAsMany:
    """Redirects and repeats: each goes to some host, and takes a turn of it."""

    TARGET = "https://target.example/full"

    def onward(self, ask: Asking, who: UUID, *urls: str) -> float:
        """Be redirected through these; returns the seconds until the turn that is missing."""
        try:
            with ask.pace.asking("https://asked.example/", Requester(id=who)) as admitted:
                for url in urls:
                    limiter(admitted).onward(url)
        except HostBusyError as error:
            return round(error.retry_after_s or 0.0, 3)
        return 0.0

    def test_a_redirect_waits_for_the_turn_of_where_it_leads(
        self, asking: Callable[..., Asking], time: SimulatedTime
    ) -> None:
        ask = asking(host_per_minute={"asked.example": 60_000.0}, wait_s=0.1)
        who = [new_id() for _ in range(4)]
        waits = [self.onward(ask, one, self.TARGET) for one in who] + [ask.wait_s(self.TARGET)]
        assert waits == pytest.approx([0, 10, 20, 30, 40], abs=0.1)
        time.sleep(10)
        assert [self.onward(ask, one, self.TARGET) for one in who[1:]] == pytest.approx([0, 10, 20], abs=0.1)

    def test_who_comes_back_for_a_redirect_arrives_and_those_behind_wait_longer(
        self, asking: Callable[..., Asking], time: SimulatedTime
    ) -> None:
        ask, late = asking(host_per_minute={"asked.example": 60_000.0}), new_id()
        assert [ask.wait_s(self.TARGET), self.onward(ask, late, self.TARGET)] == [0, 10]
        time.sleep(60)
        assert [ask.wait_s(self.TARGET), self.onward(ask, late, self.TARGET), ask.wait_s(self.TARGET)] == [0, 0, 20]

    def test_a_redirect_within_a_host_is_not_sent_back_and_costs_a_turn(self, asking: Callable[..., Asking]) -> None:
        ask, who = asking(), new_id()
        assert self.onward(ask, who, "https://asked.example/moved") == 0
        assert ask.wait_s("https://asked.example/") == 20

    def test_a_redirect_to_a_host_that_refused_waits_until_it_may(self, asking: Callable[..., Asking]) -> None:
        ask = asking()
        ask.pace.told(self.TARGET, refusal({"retry-after": "300"}))
        assert self.onward(ask, new_id(), self.TARGET) == 300

    def test_nothing_is_asked_again_without_a_turn(self, asking: Callable[..., Asking]) -> None:
        ask = asking(host_burst=2)
        with ask.pace.asking(URL, Requester()) as admitted:
            assert [limiter(admitted).again(URL) for _ in range(3)] == [True, False, False]
        assert ask.wait_s() == 10


class TestRefusals:
    def test_a_429_leaves_the_registrable_domain_alone_and_no_other(self, asking: Callable[..., Asking]) -> None:
        ask = asking()
        ask.pace.told("https://feeds.example.co.uk/a", refusal({"retry-after": "300"}))
        urls = ["https://feeds.example.co.uk/b", "https://www.example.co.uk/", "https://other.co.uk/"]
        assert [ask.wait_s(url) for url in urls] == [300, 300, 0]

    def test_who_waits_for_a_refusing_host_comes_back_one_by_one_after_it(
        self, asking: Callable[..., Asking], time: SimulatedTime
    ) -> None:
        ask, waiting = asking(), [new_id() for _ in range(4)]
        ask.pace.told(URL, refusal({"retry-after": "300"}))
        assert [ask.wait_s(who=who) for who in waiting] == [300, 320, 340, 360]

    def test_who_redirects_is_not_left_alone_for_what_the_target_answers(self, asking: Callable[..., Asking]) -> None:
        ask = asking()
        answer = Refusal(429, "https://target.example/full", {"retry-after": "300"})
        ask.pace.told(URL, StatusTransientError("Too often.", code="http_429", answer=answer, retry_after_s=300))
        assert [ask.wait_s(url) for url in (URL, "https://target.example/")] == [0, 300]

    @pytest.mark.parametrize(
        ("headers", "wait_s"),
        [
            ({}, 60),
            ({"retry-after": "7"}, 7),
            ({"x-ratelimit-reset": "323", "x-ratelimit-remaining": "0.0"}, 323),
            ({"retry-after": "Fri, 27 Nov 2026 10:10:00 GMT", "date": "Fri, 27 Nov 2026 10:00:00 GMT"}, 600),
        ],
    )
    def test_the_wait_is_what_the_answer_names_or_a_minute(
        self, asking: Callable[..., Asking], headers: dict[str, str], wait_s: float
    ) -> None:
        ask, error = asking(), refusal(headers)
        ask.pace.told(URL, error)
        assert (ask.wait_s(), error.retry_after_s) == (wait_s, wait_s)

    def test_a_shorter_wait_does_not_end_a_longer_one(self, asking: Callable[..., Asking]) -> None:
        ask = asking()
        for seconds in ("300", "20"):
            ask.pace.told(URL, refusal({"retry-after": seconds}))
        assert ask.wait_s() == 300

    def test_a_503_is_nothing_to_the_host(self, asking: Callable[..., Asking], database: Database) -> None:
        """Case F03: a 503 with Retry-After delays that address only."""
        ask = asking()
        ask.pace.told(URL, refusal({"retry-after": "1500"}, status=503))
        assert ask.wait_s() == 0

    def test_a_refusal_of_a_host_that_answers_others_is_its_pace(
        self, asking: Callable[..., Asking], database: Database
    ) -> None:
        """Case T22: whoever is refused asks again in turn; where many are, the pace widens and the host has a rest."""
        ask, who = asking(), [new_id() for _ in range(4)]
        ask.pace.answered(URL, who=who[0])
        waits = [busy.retry_after_s for one in who[1:3] if (busy := ask.pace.refused(URL, who=one))]
        assert (len(waits), learned(database)) == (2, [("feeds.example.org", 15.0)])
        assert ask.wait_s(who=who[3]) >= 60

    def test_a_refusal_of_a_host_that_answers_nobody_is_one(
        self, asking: Callable[..., Asking], time: SimulatedTime
    ) -> None:
        ask, who = asking(), new_id()
        assert ask.pace.refused(URL, who=who) is None
        ask.pace.answered("https://other.example/", who=new_id())
        assert ask.pace.refused(URL, who=who) is None
        ask.pace.answered(URL, who=new_id())
        time.sleep(2 * 3_600)
        assert ask.pace.refused(URL, who=who) is None

    def test_whoever_is_refused_again_and_again_is_meant_and_the_host_is_not_slowed_down_for_it(
        self, asking: Callable[..., Asking], database: Database, time: SimulatedTime
    ) -> None:
        ask, private = asking(), new_id()
        refusals = 0
        for _ in range(20):
            ask.pace.answered(URL, who=new_id())
            ask.pace.answered(URL, who=new_id())
            time.sleep(600)
            refusals += ask.pace.refused(URL, who=private) is not None
        assert (refusals, learned(database)) == (5, [])
        ask.pace.answered(URL, who=private)
        assert ask.pace.refused(URL, who=private) is None
        ask.pace.answered(URL, who=new_id())
        assert ask.pace.refused(URL, who=private) is not None

    def test_what_a_host_refuses_in_one_form_it_may_answer_in_another(self, asking: Callable[..., Asking]) -> None:
        ask, who = asking(), new_id()
        ask.pace.answered(URL, who=new_id(), form="atom")
        assert ask.pace.refused(URL, who=who, form="json") is None
        assert ask.pace.refused(URL, who=who, form="atom") is not None

    def test_an_answer_that_was_the_last_one_for_now_is_believed(self, asking: Callable[..., Asking]) -> None:
        ask = asking()
        ask.pace.heard(URL, {"x-ratelimit-remaining": "3.0", "x-ratelimit-reset": "90"})
        assert ask.wait_s() == 0
        ask.pace.heard(URL, {"x-ratelimit-remaining": "0.0", "x-ratelimit-reset": "90"})
        assert ask.wait_s() == 90

    def test_the_reason_is_told(self, asking: Callable[..., Asking]) -> None:
        ask = asking()
        ask.wait_s()
        with (
            pytest.raises(HostBusyError, match="limited to one every 10 s; this one waits its turn"),
            ask.pace.asking(URL, Requester()),
        ):
            pytest.fail("it was let through")
        ask.pace.told(URL, refusal())
        with (
            pytest.raises(HostBusyError, match="paused: it answered 429"),
            ask.pace.asking(URL, Requester()),
        ):
            pytest.fail("it was let through")


class TestLearning:
    def test_refusals_widen_the_pace_up_to_its_limit(
        self, asking: Callable[..., Asking], database: Database, time: SimulatedTime
    ) -> None:
        ask, seen = asking(interval_max_s=70.0), []
        for _ in range(4):
            ask.pace.told(URL, refusal())
            seen += learned(database)
            time.sleep(100)
        assert seen == [("feeds.example.org", seconds) for seconds in (20, 40, 70, 70)]

    def test_refusals_of_requests_under_way_together_widen_it_once(
        self, asking: Callable[..., Asking], database: Database
    ) -> None:
        ask = asking()
        for _ in range(8):
            ask.pace.told(URL, refusal())
        assert learned(database) == [("feeds.example.org", 20)]

    def test_what_was_learned_lets_no_burst_through(self, asking: Callable[..., Asking], time: SimulatedTime) -> None:
        ask = asking(host_burst=5)
        ask.pace.told(URL, refusal())
        time.sleep(3_600)
        assert ask.all(3)[0] == [0, 20, 39.6]

    def test_requests_that_go_well_narrow_it_slowly_but_not_to_what_was_refused_within_a_day(
        self, asking: Callable[..., Asking], database: Database, time: SimulatedTime
    ) -> None:
        ask = asking()
        for _ in range(2):
            ask.pace.told(URL, refusal())
            time.sleep(60)
        ask.all(10)
        assert dict(learned(database)) == pytest.approx({"feeds.example.org": 40 * 0.98**10}, abs=0.01)
        ask.all(100)
        assert dict(learned(database)) == pytest.approx({"feeds.example.org": 20 * 1.1})
        time.sleep(86_400)
        ask.all(60)
        assert learned(database) == []


def test_hosts_that_nothing_was_asked_of_for_long_are_forgotten(
    asking: Callable[..., Asking], database: Database, time: SimulatedTime
) -> None:
    ask = asking()
    ask.pace.told("https://blocked.example/", refusal({"retry-after": "172800"}))
    for _ in range(2):
        ask.wait_s()
    time.sleep(90_000)
    ask.wait_s("https://fresh.example/")
    with database.transaction() as connection:
        assert pacing_store.forget(connection, age_s=86_400, limit=10) == 2  # its pace and its slots
        kept = connection.execute("select scope from fetch_hosts order by scope").fetchall()
        assert connection.execute("select count(*) from fetch_turns").fetchall() == [(0,)]
    assert kept == [("blocked.example",), ("fresh.example",), ("fresh.example any",)]


class TestWhatAPersonWaitsFor:
    """It stands first in a host's line, whatever an import has asked for there; the host's pace is the same."""

    def test_it_is_asked_next_however_long_the_line_is(self, asking: Callable[..., Asking]) -> None:
        line = asking()
        assert [line.wait_s() for _ in range(20)] == [0, *range(10, 200, 10)]
        saver = new_id()
        assert line.wait_s(who=saver, first=True) == 10
        line.time.move_to(line.time.now() + timedelta(seconds=10))
        assert line.wait_s() > 0  # who is in no hurry does not take the turn
        assert line.wait_s(who=saver, first=True) == 0

    def test_several_stand_in_the_order_in_which_they_came(self, asking: Callable[..., Asking]) -> None:
        line = asking()
        for _ in range(10):
            line.wait_s()
        assert [line.wait_s(first=True) for _ in range(3)] == [10, 20, 30]

    def test_who_stood_in_line_stands_first_once_a_person_waits_for_it(self, asking: Callable[..., Asking]) -> None:
        line, page = asking(), new_id()
        for _ in range(10):
            line.wait_s()
        assert line.wait_s(who=page) == 100
        assert line.wait_s(who=page, first=True) == 10

    def test_the_rest_of_the_line_comes_through_one_by_one_behind_them(self, asking: Callable[..., Asking]) -> None:
        line = asking()
        savers = [new_id() for _ in range(2)]
        line.wait_s(first=True)
        waits = [line.wait_s(who=one, first=True) for one in savers]
        assert waits == [10, 20]
        line.time.move_to(line.time.now() + timedelta(seconds=10))
        assert line.wait_s(who=savers[0], first=True) == 0
        line.time.move_to(line.time.now() + timedelta(seconds=10))
        assert line.wait_s(who=savers[1], first=True) == 0
        line.time.move_to(line.time.now() + timedelta(seconds=10))
        let_through, _ = line.all(5)
        assert let_through == [0, 10, 20, 30, 40]
