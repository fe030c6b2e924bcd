"""Briefings while the clocks change, the reader moves, and the scheduler fires twice or not at all: moved time."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, time, timedelta
from uuid import UUID

import pytest

from siftline.contracts import JobType, Tick
from tests.delivering import DeliveryDesk, FakeSes
from tests.servers import LoopbackServer, serving
from tests.simulated_time import simulated_time
from tests.ticks import make_schedule

_STEP = timedelta(minutes=30)


class Days:
    """Lets time pass with the schedule firing twice at once every half hour, and all work done."""

    def __init__(self, desk: DeliveryDesk, ses: FakeSes) -> None:
        self.desk = desk
        self.ses = ses
        self.schedule, _ = make_schedule(desk.database, clock=desk.clock)

    def until(self, text: str) -> None:
        """Go on to a time in UTC."""
        end = datetime.fromisoformat(text).replace(tzinfo=UTC)
        while self.desk.clock.now() < end:
            self.desk.wait(min(end - self.desk.clock.now(), _STEP).total_seconds())
            self.tick()

    def tick(self) -> None:
        """Fire twice at once, and work off what comes of it."""
        with ThreadPoolExecutor(2) as pool:
            list(pool.map(self.schedule.run, [Tick.DUE_BRIEFINGS] * 2))
        self.desk.work(JobType.RUN_BRIEFING)
        self.desk.work(JobType.DELIVER_BRIEFING)

    def periods(self, briefing: UUID) -> list[tuple[str, str]]:
        """Return each edition's period and when it was due, in UTC."""
        return [
            (one["period_key"], f"{one['due_at'].astimezone(UTC):%d %H:%M}") for one in self.desk.editions(briefing)
        ]


@pytest.fixture
def site() -> Iterator[LoopbackServer]:
    with serving() as server:
        yield server


@pytest.fixture
def days(make_database, site) -> Iterator[Days]:
    with simulated_time(make_database) as (clock, database):
        ses = FakeSes(site)
        desk = DeliveryDesk(database, clock, ses.endpoint)
        desk.confirm("reader@news.example")
        yield Days(desk, ses)
        desk.close()


def briefing(days: Days, at: time, zone: str | None) -> UUID:
    return days.desk.brief(
        at=at,
        time_zone=zone,
        on_empty="say",
        channel="email",
        destination="reader@news.example",
        rhythm_since=days.desk.clock.now(),
    )


def test_a_day_without_the_briefings_time_and_one_that_has_it_twice_have_one_edition_each(days):
    """Fault 28, with fault 36: Berlin has no 2:30 on 28 March 2027, and two of them on 31 October."""
    days.desk.at("2027-03-27 00:00")
    daily = briefing(days, time(2, 30), "Europe/Berlin")
    days.until("2027-03-29 03:00")
    assert days.periods(daily) == [
        ("2027-03-27", "27 01:30"), ("2027-03-28", "28 01:00"), ("2027-03-29", "29 00:30")
    ]  # fmt: skip
    days.desk.at("2027-10-30 00:00")
    days.tick()
    before = len(days.periods(daily))
    days.until("2027-11-01 03:00")
    assert days.periods(daily)[before:] == [
        ("2027-10-30", "30 00:30"), ("2027-10-31", "31 00:30"), ("2027-11-01", "01 01:30")
    ]  # fmt: skip
    assert len(days.ses.taken) == len({mail["X-Edition-Id"] for mail in days.ses.taken}) == len(days.periods(daily))


def test_a_reader_who_moves_has_one_edition_of_each_local_day(days):
    """Fault 28: from Berlin to Tokyo in the morning, and on to Honolulu, where it is the day before."""
    daily = briefing(days, time(7), None)
    zones = {"2026-11-28 08:00": "Asia/Tokyo", "2026-11-29 12:00": "Pacific/Honolulu"}
    with days.desk.database.transaction() as connection:
        connection.execute("update users set time_zone = 'Europe/Berlin'")
    for until, zone in zones.items():
        days.until(until)
        with days.desk.database.transaction() as connection:
            connection.execute("update users set time_zone = %s", [zone])
    days.until("2026-12-01 00:00")
    keys = [key for key, _ in days.periods(daily)]
    assert keys == ["2026-11-28", "2026-11-29", "2026-11-30"]
    assert len(days.ses.taken) == len(keys)


def test_three_days_without_the_scheduler_end_in_one_edition_and_one_mail(days):
    """Fault 36: it misses days; the newest one's edition tells of all."""
    daily = briefing(days, time(7), "Europe/Berlin")
    days.until("2026-11-28 08:00")
    days.desk.item("While nobody looked")
    days.desk.at("2026-12-01 12:10")
    for _ in range(3):
        days.tick()
    assert [key for key, _ in days.periods(daily)] == ["2026-11-28", "2026-12-01"]
    assert [mail["Subject"] for mail in days.ses.taken] == ["Morning: nothing new", "Morning: While nobody looked"]


def test_a_delivery_whose_job_is_lost_is_made_again_and_one_whose_job_failed_is_closed(days):
    days.desk.mailed()
    with days.desk.database.transaction() as connection:
        connection.execute("delete from jobs where job_type = 'deliver_briefing'")
    days.tick()
    assert days.ses.taken == []  # its job may be a moment longer in coming
    days.desk.clock.sleep(900)
    assert days.schedule.run(Tick.DUE_BRIEFINGS)["recovered"] == 1
    assert days.schedule.run(Tick.DUE_BRIEFINGS)["recovered"] == 0
    days.tick()
    assert len(days.ses.taken) == 1

    days.desk.mailed(name="Evening")
    with days.desk.database.transaction() as connection:
        connection.execute("update deliveries set begun = 1, unanswered = 1 where state = 'pending'")
        connection.execute(
            "update jobs set state = 'failed', error_code = 'worker_lost', error_message = 'Lost.',"
            " finished_at = now() where job_type = 'deliver_briefing' and state = 'pending'"
        )
    days.desk.clock.sleep(900)
    assert days.schedule.run(Tick.DUE_BRIEFINGS)["recovered"] == 0
    states = {row["state"]: row["error_code"] for row in days.desk.rows("select state, error_code from deliveries")}
    assert states == {"sent": None, "unconfirmed": "worker_lost"}
