"""When a schedule is due."""

from datetime import UTC, datetime, timedelta

import pytest

from siftline.worker.schedules import timetable
from siftline.worker.template import TemplateError

NOON = datetime(2026, 3, 27, 12, 0, tzinfo=UTC)  # a Friday


def test_a_rate_begins_at_once_and_keeps_its_period():
    rate = timetable("rate(5 minutes)")
    assert rate.first(NOON) == NOON
    assert rate.after(NOON) == NOON + timedelta(minutes=5)


@pytest.mark.parametrize(
    ("expression", "due"),
    [
        ("cron(0 3 * * ? *)", datetime(2026, 3, 28, 3, 0, tzinfo=UTC)),
        ("cron(0/20 12 * * ? *)", datetime(2026, 3, 27, 12, 20, tzinfo=UTC)),
        ("cron(15,45 * * * ? *)", datetime(2026, 3, 27, 12, 15, tzinfo=UTC)),
        ("cron(0 9 ? * MON-FRI *)", datetime(2026, 3, 30, 9, 0, tzinfo=UTC)),
        ("cron(0 9 ? * 1 *)", datetime(2026, 3, 29, 9, 0, tzinfo=UTC)),
        ("cron(30 8 1 JAN ? 2028)", datetime(2028, 1, 1, 8, 30, tzinfo=UTC)),
        ("cron(0 0 29 2 ? *)", datetime(2028, 2, 29, 0, 0, tzinfo=UTC)),
    ],
)
def test_a_calendar_schedule_is_due_at_its_next_time(expression, due):
    assert timetable(expression).first(NOON) == due


def test_a_calendar_schedule_follows_its_time_zone_through_a_clock_change():
    berlin = timetable("cron(30 2 * * ? *)", "Europe/Berlin")
    times = [berlin.first(datetime(2026, 3, 27, 12, tzinfo=UTC))]
    times += [berlin.after(times[-1])]
    times += [berlin.after(times[-1])]
    assert times == [
        datetime(2026, 3, 28, 1, 30, tzinfo=UTC),
        datetime(2026, 3, 29, 1, 30, tzinfo=UTC),  # 02:30 does not exist that night
        datetime(2026, 3, 30, 0, 30, tzinfo=UTC),
    ]


@pytest.mark.parametrize(
    "expression", ["rate(0 minutes)", "rate(x)", "at(2026-01-01T00:00:00)", "cron(0 25 * * ? *)", "cron(0 3 L * ? *)"]
)
def test_a_schedule_that_is_not_understood_is_refused(expression):
    with pytest.raises(TemplateError, match="not supported"):
        timetable(expression)


def test_a_schedule_that_never_comes_is_refused():
    with pytest.raises(TemplateError, match="never"):
        timetable("cron(0 3 30 2 ? *)").first(NOON)
