"""Schedules: when one is due (``rate(…)`` and ``cron(…)`` as EventBridge reads them), and its ticks.

See the EventBridge User Guide, "Scheduled rules". Of cron's wildcards ``L``, ``W`` and ``#`` are not served.
"""

import json
import re
import threading
import time
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

from siftline.kit.clock import Clock
from siftline.kit.log import logger
from siftline.worker.hosting import HostedFunction, InvocationError
from siftline.worker.template import Schedule, TemplateError

_RATE = re.compile(r"rate\((\d+) (second|minute|hour|day)s?\)")
_CRON = re.compile(r"cron\((\S+) (\S+) (\S+) (\S+) (\S+) (\S+)\)")
_MONTH_NAMES = ("JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC")
_MONTHS = {name: n for n, name in enumerate(_MONTH_NAMES, 1)}
_WEEKDAYS = {name: n for n, name in enumerate(("SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"), 1)}
_DAYS_AHEAD = 366 * 5  # a leap day is never farther away
_log = logger("worker")


@dataclass(frozen=True, slots=True)
class Rate:
    """Every so often, beginning at once."""

    every: timedelta

    def first(self, now: datetime) -> datetime:
        """Return ``now``: a program that starts runs it at once."""
        return now

    def after(self, moment: datetime) -> datetime:
        """Return ``moment`` and one period."""
        return moment + self.every


@dataclass(frozen=True, slots=True)
class Cron:
    """At times of a calendar in a time zone. A local time that a clock change skips or repeats happens once."""

    minutes: frozenset[int]
    hours: frozenset[int]
    days: frozenset[int]
    months: frozenset[int]
    weekdays: frozenset[int]
    years: frozenset[int]
    zone: ZoneInfo

    def first(self, now: datetime) -> datetime:
        """Return the first time after ``now``, for a program that starts then."""
        return self.after(now)

    def after(self, moment: datetime) -> datetime:
        """Return the first time after ``moment``. Raises ``TemplateError`` if there is none within five years."""
        today = moment.astimezone(self.zone).date()
        for ahead in range(_DAYS_AHEAD):
            day = today + timedelta(days=ahead)
            if not self._on(day):
                continue
            times = [
                datetime(day.year, day.month, day.day, hour, minute, tzinfo=self.zone).astimezone(UTC)
                for hour in sorted(self.hours)
                for minute in sorted(self.minutes)
            ]
            later = [time for time in times if time > moment]
            if later:
                return min(later)
        raise TemplateError("The schedule never comes due.")

    def _on(self, day: date) -> bool:
        return (
            day.year in self.years
            and day.month in self.months
            and day.day in self.days
            and day.isoweekday() % 7 + 1 in self.weekdays
        )


Timetable = Rate | Cron


def timetable(expression: str, time_zone: str = "UTC") -> Timetable:
    """Read a schedule expression. Raises ``TemplateError``."""
    rate = _RATE.fullmatch(expression)
    if rate and int(rate[1]) > 0:
        return Rate(timedelta(**{f"{rate[2]}s": int(rate[1])}))
    cron = _CRON.fullmatch(expression)
    if not cron:
        raise TemplateError(f"The schedule {expression} is not supported.")
    minutes, hours, days, months, weekdays, years = cron.groups()
    return Cron(
        minutes=_field(minutes, 0, 59),
        hours=_field(hours, 0, 23),
        days=_field(days, 1, 31),
        months=_field(months, 1, 12, _MONTHS),
        weekdays=_field(weekdays, 1, 7, _WEEKDAYS),
        years=_field(years, 1970, 2199),
        zone=ZoneInfo(time_zone),
    )


def _field(text: str, low: int, high: int, names: dict[str, int] | None = None) -> frozenset[int]:
    def number(one: str) -> int:
        value = (names or {}).get(one.upper())
        value = int(one) if value is None else value
        if not low <= value <= high:
            raise ValueError(one)
        return value

    found: set[int] = set()
    try:
        for part in text.split(","):
            span, _, step = part.partition("/")
            if span in ("*", "?"):
                start, end = low, high
            elif "-" in span:
                start, end = (number(one) for one in span.split("-"))
            else:
                start = number(span)
                end = high if step else start
            found |= set(range(start, end + 1, int(step or 1)))
    except ValueError as error:
        raise TemplateError(f"{text} is not supported in a cron schedule.") from error
    return frozenset(found)


class Ticker:
    """Runs one schedule: the same constant event again and again, one at a time. A failing one never stops the next.

    Ticks missed while one ran, or while nothing ran, are not made up for.
    """

    def __init__(self, schedule: Schedule, hosted: HostedFunction, *, clock: Clock, stop: threading.Event) -> None:
        self.schedule = schedule
        self._hosted = hosted
        self._clock = clock
        self._stop = stop
        self._event = json.loads(schedule.input)
        self._timetable = timetable(schedule.expression, schedule.time_zone)
        self.busy = 0
        self.done = 0
        self.failed = 0

    def run(self) -> None:
        """Tick until told to stop."""
        due = self._timetable.first(self._clock.now())
        while not self._wait_until(due):
            self._tick()
            now = self._clock.now()
            due = self._timetable.after(due)
            if due < now:
                due = self._timetable.after(now)

    def _wait_until(self, due: datetime) -> bool:
        """Wait, and return whether to stop. Looks at the clock again and again: a laptop may have slept."""
        while not self._stop.is_set():
            left_s = (due - self._clock.now()) / timedelta(seconds=1)
            if left_s <= 0:
                return False
            self._stop.wait(min(left_s, 30.0))
        return True

    def _tick(self) -> None:
        started = time.monotonic()
        self.busy = 1
        try:
            answer = self._hosted.invoke(self._event)
        except InvocationError as error:
            self.failed += 1
            _log.warning("tick_failed", schedule=self.schedule.name, error_code=error.error_code, detail=error.detail)
        else:
            self.done += 1
            duration_ms = round((time.monotonic() - started) * 1000)
            _log.info("tick_done", schedule=self.schedule.name, duration_ms=duration_ms, result=answer)
        finally:
            self.busy = 0
