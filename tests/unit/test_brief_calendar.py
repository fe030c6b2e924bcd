"""When editions are due: every zone, every local day of eleven years, and the odd days one by one."""

from collections.abc import Hashable
from datetime import UTC, date, datetime, time, timedelta
from functools import cache
from importlib import resources
from itertools import pairwise
from zoneinfo import ZoneInfo

import pytest

from siftline.brief.edition_times import Frequency, Rhythm, following, instant, key_of, latest, missed, passed_over
from siftline.kit.zones import UnknownZoneError, zone, zone_names

FIRST, LAST = date(2020, 1, 1), date(2030, 12, 31)
DAYS = [FIRST + timedelta(days=n) for n in range((LAST - FIRST).days + 1)]
MIDNIGHTS = [datetime.combine(day, time(0)) for day in DAYS]
WEEKS = list(dict.fromkeys(f"{day.isocalendar().year}-W{day.isocalendar().week:02}" for day in DAYS))
TIMES = (time(0, 0), time(0, 30), time(2, 30), time(7, 0), time(23, 59))
SECOND, HOUR = timedelta(seconds=1), timedelta(hours=1)
SHARDS = 6


def zones() -> list[ZoneInfo]:
    """One zone of each table: the other names are links to it."""
    tables: dict[bytes, str] = {}
    for name in sorted(zone_names()):
        tables.setdefault(resources.files("tzdata.zoneinfo").joinpath(*name.split("/")).read_bytes(), name)
    return [zone(name) for name in tables.values()]


def offsets(one: ZoneInfo) -> Hashable:
    """All that a zone's clocks show in these years: where they change within a day, by quarters of an hour."""
    daily = [one.utcoffset(midnight) for midnight in MIDNIGHTS]
    changed = [day for day, (before, after) in zip(MIDNIGHTS, pairwise(daily), strict=False) if before != after]
    return daily[0], *((day, *(one.utcoffset(day + n * HOUR / 4) for n in range(96))) for day in changed)


@cache
def cases() -> list[tuple[ZoneInfo, time]]:
    """A time for each zone; of zones that differ in other years only, none is tried twice at one time."""
    timed = [(one, TIMES[n % len(TIMES)]) for n, one in enumerate(zones())]
    return list({(offsets(one), at): (one, at) for one, at in timed}.values())


def shard_of(shard: int) -> list[tuple[ZoneInfo, time]]:
    return cases()[shard::SHARDS]


def utc(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def daily(name: str, at: time) -> Rhythm:
    return Rhythm(Frequency.DAILY, at, zone(name))


def weekly(name: str, at: time, weekday: int) -> Rhythm:
    return Rhythm(Frequency.WEEKLY, at, zone(name), weekday)


def changes(dues: list[datetime], span: timedelta) -> set[int]:
    """The places at which two dues lie farther apart or nearer than usual, with their neighbours."""
    odd = {n for n in range(1, len(dues)) if dues[n] - dues[n - 1] != span}
    return {n + near for n in odd for near in (-2, -1, 0, 1, 2) if 0 < n + near < len(dues) - 1}


def one_each(rhythm: Rhythm, dues: list[datetime], keys: list[str], span: timedelta) -> None:
    """A clock that asks at any moment comes to each of the periods, and to one at a time."""
    assert all(one < two for one, two in pairwise(dues)), rhythm
    for n in changes(dues, span) | set(range(1, len(dues) - 1, 97)):
        assert latest(rhythm, dues[n]).key == keys[n]
        assert latest(rhythm, dues[n] - SECOND).key == keys[n - 1]
        assert following(rhythm, dues[n] - SECOND).key == keys[n]
        assert following(rhythm, dues[n]) == following(rhythm, dues[n + 1] - SECOND)
        assert following(rhythm, dues[n]).key == keys[n + 1]


@pytest.mark.parametrize("shard", range(SHARDS))
def test_each_local_day_of_every_zone_has_one_daily_edition(shard):
    for one, at in shard_of(shard):
        dues = [instant(day, at, one) for day in DAYS]
        for day, due in zip(DAYS, dues, strict=True):
            local = due.astimezone(one)
            shown = local.replace(tzinfo=None)
            wanted = datetime.combine(day, at)
            if shown != wanted:  # left out: the clock showed less a second before, and shows more now
                assert (due - SECOND).astimezone(one).replace(tzinfo=None) < wanted < shown, (one, day)
            elif local.fold:
                raise AssertionError((one, day, "the second of two"))
        one_each(Rhythm(Frequency.DAILY, at, one), dues, [day.isoformat() for day in DAYS], timedelta(days=1))


@pytest.mark.parametrize("shard", range(SHARDS))
def test_each_iso_week_of_every_zone_has_one_weekly_edition(shard):
    for n, (one, at) in enumerate(shard_of(shard)):
        rhythm = Rhythm(Frequency.WEEKLY, at, one, weekday=1 + n % 7)
        days = [day for day in DAYS if day.isoweekday() == rhythm.weekday]
        keys = [key_of(rhythm, day) for day in days]
        assert keys == WEEKS[WEEKS.index(keys[0]) :][: len(keys)]
        assert len(WEEKS) - len(keys) <= 1  # the first or the last week reaches beyond the years
        one_each(rhythm, [instant(day, at, one) for day in days], keys, timedelta(weeks=1))


@pytest.mark.parametrize("name", ["America/New_York", "Australia/Lord_Howe", "Africa/Casablanca", "Asia/Kathmandu"])
def test_a_clock_that_runs_through_the_years_comes_to_each_day_once(name):
    """Cases D03, D05."""
    rhythm = daily(name, time(2, 15))
    found = []
    period = following(rhythm, instant(FIRST, time(0, 0), rhythm.zone) - SECOND)
    while period.key <= LAST.isoformat():
        found.append(period.key)
        period = following(rhythm, period.due_at)
    assert found == [day.isoformat() for day in DAYS]


def test_the_hour_that_comes_twice_counts_once_and_the_first_time():
    """Case D03."""
    rhythm = daily("America/New_York", time(1, 30))
    assert latest(rhythm, utc("2026-11-01 05:30")).key == "2026-11-01"
    assert latest(rhythm, utc("2026-11-01 05:29:59")).key == "2026-10-31"
    assert latest(rhythm, utc("2026-11-01 06:30")).due_at == utc("2026-11-01 05:30")
    assert following(rhythm, utc("2026-11-01 05:30")).key == "2026-11-02"


def test_a_time_that_is_left_out_is_due_when_the_clock_has_jumped():
    """Case D03."""
    rhythm = daily("America/New_York", time(2, 30))
    assert instant(date(2026, 3, 8), time(2, 30), rhythm.zone) == utc("2026-03-08 07:00")
    assert latest(rhythm, utc("2026-03-08 06:59:59")).key == "2026-03-07"
    assert latest(rhythm, utc("2026-03-08 07:00")).key == "2026-03-08"


def test_the_weekday_is_judged_where_the_reader_lives():
    """Case D01."""
    assert latest(weekly("Australia/Brisbane", time(5, 0), 6), utc("2026-11-27 19:00")).key == "2026-W48"
    friday = weekly("Australia/Brisbane", time(5, 0), 5)
    assert latest(friday, utc("2026-11-27 19:00")).due_at == utc("2026-11-26 19:00")


def test_a_week_with_a_short_day_is_no_week_late():
    """Case D05."""
    rhythm = weekly("Europe/Berlin", time(12, 0), 7)
    assert following(rhythm, utc("2022-03-24 12:00")).due_at == utc("2022-03-27 10:00")
    assert following(rhythm, utc("2022-03-27 10:00")).due_at == utc("2022-04-03 10:00")


def test_after_an_outage_only_the_newest_period_is_made():
    rhythm = daily("Europe/Berlin", time(7, 0))
    period = missed(rhythm, utc("2026-11-28 09:00"), since=utc("2026-11-25 06:00"))
    assert period is not None
    assert period.key == "2026-11-28"
    assert missed(rhythm, utc("2026-11-28 09:00"), since=period.due_at) is None


def test_what_was_due_before_a_briefing_was_made_is_not_missed():
    rhythm = daily("Europe/Berlin", time(7, 0))
    assert missed(rhythm, utc("2026-11-28 09:00"), since=utc("2026-11-28 08:59")) is None
    assert missed(rhythm, utc("2026-11-29 06:00"), since=utc("2026-11-28 08:59")) is not None


def test_a_day_that_comes_again_by_a_change_of_zone_has_no_second_edition():
    made = frozenset({"2026-11-28"})
    pacific = daily("America/Los_Angeles", time(7, 0))  # from Auckland, where the 28th was over
    assert missed(pacific, utc("2026-11-28 15:30"), since=utc("2026-11-28 09:00"), made=made) is None
    assert missed(pacific, utc("2026-11-29 15:30"), since=utc("2026-11-28 09:00"), made=made) is not None


def test_a_week_belongs_to_the_year_of_its_thursday():
    rhythm = weekly("UTC", time(0, 0), 1)
    assert key_of(rhythm, date(2027, 1, 3)) == "2026-W53"
    assert key_of(rhythm, date(2024, 12, 30)) == "2025-W01"


@pytest.mark.parametrize(
    "name", ["Mars/Olympus", "", "../etc/passwd", "/etc/localtime", "europe/berlin", "zones", "x" * 500]
)
def test_a_zone_that_is_none_is_refused_by_name(name):
    with pytest.raises(UnknownZoneError):
        zone(name)


@pytest.mark.parametrize(
    ("rhythm", "since", "now", "count"),
    [
        (daily("Europe/Berlin", time(7)), "2026-11-27 06:00", "2026-11-28 07:00", 0),
        (daily("Europe/Berlin", time(7)), "2026-11-27 06:00", "2026-11-30 07:00", 2),
        (daily("Europe/Berlin", time(7)), "2026-10-18 05:00", "2026-11-27 06:00", 39),  # an hour was repeated between
        (weekly("Asia/Tokyo", time(7), 5), "2026-11-26 22:00", "2026-12-31 22:00", 4),
        (daily("UTC", time(7)), "0001-01-01 00:00", "2026-11-27 07:00", 3_999),  # counted back so far, and no farther
    ],
)
def test_the_periods_that_an_edition_covers_beside_its_own_are_counted(rhythm, since, now, count):
    period = latest(rhythm, utc(now))
    assert passed_over(rhythm, period, since=utc(since)) == count
