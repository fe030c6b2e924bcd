"""When an edition is due: once in each local day or week, by the reader's own clock. Pure: it is handed the time.

The declared rules:

- A **period** is a local day (``2026-11-28``) or an ISO week (``2026-W48``), named by its local date. It has one
  edition, due at the briefing's wall-clock time on that day, or on the week's day of the briefing.
- A time that a clock change leaves out is due at the **first instant after the gap**; one that comes twice is due the
  **first** time.
- **Catch-up:** after an outage only the newest missed period gets an edition, however many were missed; what the others
  would have told is in its window, which reaches back to the end of the edition before.
- What was due before a briefing was made, or before its time, day or zone was changed, is not missed.
- **How far a late edition reaches:** news of the last ``CATCH_UP``, however long the window is. Whoever comes back
  after forty days is told what is new, and how much that was older was left out.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from enum import StrEnum
from itertools import takewhile
from zoneinfo import ZoneInfo

_DAY = timedelta(days=1)
_WEEK = timedelta(weeks=1)
_SECOND = timedelta(seconds=1)
_LAST = date(9999, 12, 20)


class Frequency(StrEnum):
    """How often a briefing appears."""

    DAILY = "DAILY"
    WEEKLY = "WEEKLY"


LENGTH = {Frequency.DAILY: _DAY, Frequency.WEEKLY: _WEEK}
"""How long a period is, but for the clock changes."""
CATCH_UP = {Frequency.DAILY: 3 * _DAY, Frequency.WEEKLY: 2 * _WEEK}
"""How far before its end an edition begins to tell news, at most."""
_COUNTED_BACK = 4_000 * _DAY
_NEVER = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Rhythm:
    """When a briefing appears. ``weekday`` is ISO's (1 Monday, 7 Sunday) and counts only for weekly ones."""

    frequency: Frequency
    at: time
    """Wall-clock time, without a zone."""
    zone: ZoneInfo
    weekday: int = 1


@dataclass(frozen=True, slots=True, order=True)
class Period:
    """A local day or week: when it is due, aware and in UTC, and its name."""

    due_at: datetime
    key: str


def instant(day: date, at: time, zone: ZoneInfo) -> datetime:
    """Return when the clocks of ``zone`` show ``at`` on ``day``, in UTC.

    Of a time that comes twice the first; for one that is left out, the first instant after the gap (PEP 495 tells both
    by ``fold``).

    >>> instant(date(2026, 3, 8), time(2, 30), ZoneInfo("America/New_York")).isoformat()
    '2026-03-08T07:00:00+00:00'
    """
    local = datetime.combine(day, at.replace(tzinfo=None, fold=0), tzinfo=zone)
    first = local.astimezone(UTC)
    if first.astimezone(zone).replace(fold=0) == local:
        return first
    # In a gap: by the offset after it the wanted time lies before the change, by the offset before it after the change.
    before, after = local.replace(fold=1).astimezone(UTC), first
    offset = before.astimezone(zone).utcoffset()
    while after - before > _SECOND:
        middle = before + (after - before) // 2
        if middle.astimezone(zone).utcoffset() == offset:
            before = middle
        else:
            after = middle
    return after.replace(microsecond=0)


def latest(rhythm: Rhythm, now: datetime) -> Period:
    """Return the newest period that is due at ``now`` (aware)."""
    days = _days(rhythm, _around(rhythm, now, ahead=1), -1)
    return next(period for period in _periods(rhythm, days) if period.due_at <= now)


def following(rhythm: Rhythm, after: datetime) -> Period:
    """Return the first period that is due later than ``after`` (aware)."""
    days = _days(rhythm, _around(rhythm, after, ahead=-1), 1)
    return next(period for period in _periods(rhythm, days) if period.due_at > after)


def missed(rhythm: Rhythm, now: datetime, *, since: datetime, made: frozenset[str] = frozenset()) -> Period | None:
    """Return the period whose edition is to be made at ``now``: the newest that is due later than ``since``, unless it
    is ``made`` already.

    ``since`` is when the briefing began to have this rhythm, or when its newest edition was due.
    """
    period = latest(rhythm, now)
    return period if period.due_at > since and period.key not in made else None


def passed_over(rhythm: Rhythm, period: Period, *, since: datetime) -> int:
    """Return how many periods that were due later than ``since`` get no edition, as that of ``period`` covers them."""
    begin = max(since, _NEVER, period.due_at - _COUNTED_BACK)
    days = _days(rhythm, _around(rhythm, begin, ahead=-1), 1)
    before = takewhile(lambda one: one.due_at < period.due_at, _periods(rhythm, days))
    return sum(1 for one in before if one.due_at > begin)


def key_of(rhythm: Rhythm, day: date) -> str:
    """Return the name of the period that a local day is in."""
    if rhythm.frequency is Frequency.DAILY:
        return day.isoformat()
    year, week, _ = day.isocalendar()
    return f"{year:04}-W{week:02}"


def _periods(rhythm: Rhythm, days: Iterator[date]) -> Iterator[Period]:
    for day in days:
        yield Period(instant(day, rhythm.at, rhythm.zone), key_of(rhythm, day))


def _around(rhythm: Rhythm, moment: datetime, *, ahead: int) -> date:
    """Return a local day that surely lies on one side of ``moment``: a gap moves a time by up to a day."""
    local = moment.astimezone(rhythm.zone).date()
    return local + ahead * (_DAY if rhythm.frequency is Frequency.DAILY else _WEEK)


def _days(rhythm: Rhythm, day: date, step: int) -> Iterator[date]:
    """Yield the days on which the rhythm strikes, from ``day``'s period on."""
    stride = _DAY
    if rhythm.frequency is Frequency.WEEKLY:
        stride = _WEEK
        day += (rhythm.weekday - day.isoweekday()) * _DAY
    while day < _LAST:
        yield day
        day += step * stride
