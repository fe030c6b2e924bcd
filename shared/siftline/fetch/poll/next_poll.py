"""When a source is asked again, and why: by its subscribers' wish or the feed's rhythm, never before its server wants.

A feed's rhythm is how often it brings something, as its entries' dates tell, and when it wants to be left alone.
Pure: it is handed the time. Source of ``ttl``, ``skipHours`` and ``skipDays``: RSS 2.0; of for how long an answer stays
fresh: RFC 9111, sections 4.2 and 5.2.2.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import pairwise
from statistics import median
from typing import Any, Self
from uuid import UUID

from siftline.fetch.feed.feeds import Entry, Feed
from siftline.kit.stored import all_readable, readable
from siftline.net.http_model import http_date
from siftline.text.instants import claimed

# So many of the newest entries tell a rhythm, and at least so many.
_ENTRIES_MAX = 20
_ENTRIES_MIN = 3
# What was published within this came together: a feed that brings ten entries at once each day is asked daily.
_TOGETHER = timedelta(minutes=15)

# A feed is asked twice in the time in which it usually brings something; one that fell silent ever more rarely.
_ASKED_TWICE = 2
_SILENCE_RATIO = 0.25
# A feed without dates: asked sooner after it brought something, later after it did not.
_SOONER_RATIO = 0.5
_LATER_RATIO = 1.25
# All that were added together shall not be asked together for ever.
_SPREAD_RATIO = 0.1
FLOOR_MAX_MINUTES = 1_440
"""A server's Cache-Control or Expires, or a feed's ttl, may keep it from being polled for a day: some say a year."""
_HOUR = timedelta(hours=1)
_WEEK_HOURS = 7 * 24


@dataclass(frozen=True, slots=True)
class Rhythm:
    """What a whole feed says of its rhythm; kept for polls that bring nothing."""

    gap_minutes: int | None = None
    """Between two times at which it brought something, usually; ``None``: too little is dated."""
    newest_at: datetime | None = None
    ttl_minutes: int | None = None
    skip_hours: tuple[int, ...] = ()
    """0 to 23, in UTC."""
    skip_days: tuple[int, ...] = ()
    """0 to 6, Monday first."""

    @classmethod
    def of(cls, feed: Feed, now: datetime) -> Self:
        """Read it off a feed."""
        times = _times(feed.entries, now)
        gaps_s = [(later - earlier).total_seconds() for later, earlier in pairwise(times)]
        return cls(
            gap_minutes=round(median(gaps_s) / 60) if len(times) >= _ENTRIES_MIN else None,
            newest_at=times[0] if times else None,
            ttl_minutes=feed.ttl_minutes,
            skip_hours=tuple(sorted(feed.skip_hours)),
            skip_days=tuple(sorted(feed.skip_days)),
        )

    @classmethod
    def loaded(cls, stored: Mapping[str, Any]) -> Self:
        """Return what ``stored`` made, without what cannot have been made by it."""
        return cls(
            gap_minutes=readable(int, stored.get("gap_minutes")),
            newest_at=claimed(readable(str, stored.get("newest_at"))).at,
            ttl_minutes=readable(int, stored.get("ttl_minutes")),
            skip_hours=tuple(all_readable(int, stored.get("skip_hours"))),
            skip_days=tuple(all_readable(int, stored.get("skip_days"))),
        )

    def stored(self) -> dict[str, Any]:
        """Return it as JSON can keep it."""
        return {
            "gap_minutes": self.gap_minutes,
            "newest_at": self.newest_at.isoformat() if self.newest_at else None,
            "ttl_minutes": self.ttl_minutes,
            "skip_hours": list(self.skip_hours),
            "skip_days": list(self.skip_days),
        }


def _times(entries: Iterable[Entry], now: datetime) -> list[datetime]:
    """Return the newest times at which the feed brought something, newest first; not those in the future."""
    dated = sorted((at for entry in entries if (at := entry.published_at) and at <= now), reverse=True)
    times: list[datetime] = []
    for at in dated:
        if not times or times[-1] - at > _TOGETHER:
            times.append(at)
    return times[:_ENTRIES_MAX]


@dataclass(frozen=True, slots=True)
class Wishes:
    """What the subscribers of a source want, all together."""

    every_minutes: int | None = None
    """The most frequent wish; ``None``: as the rhythm says."""
    min_minutes: int | None = None
    max_minutes: int | None = None


@dataclass(frozen=True, slots=True)
class Plan:
    """When a source is asked again."""

    wait: timedelta
    reason: str
    """For the people who follow it."""
    every_minutes: int
    """The interval in force, without what only this answer asked for."""
    fresh: timedelta
    """For how long the server wants not to be asked, whatever anybody wishes."""


@dataclass(frozen=True, slots=True)
class _Choice:
    minutes: float
    reason: str


def plan(
    source_id: UUID,
    *,
    now: datetime,
    wishes: Wishes,
    rhythm: Rhythm,
    before_minutes: int,
    changed: bool,
    headers: Mapping[str, str],
    bounds_minutes: tuple[int, int],
) -> Plan:
    """Decide when a source that has just been polled is asked again.

    ``before_minutes`` is the interval that was in force, ``changed`` whether the poll brought a feed other than before,
    ``headers`` are the answer's. ``bounds_minutes`` are the least and the most where no subscriber says otherwise.
    """
    limits = _limits(wishes, bounds_minutes)
    chosen = _wished(wishes) or _dated(rhythm, now, limits) or _undated(before_minutes, limits, changed=changed)
    floor = _floor(rhythm, headers, now)
    minutes, reason = chosen.minutes, chosen.reason
    if floor is not None and floor.minutes > minutes:
        minutes, reason = floor.minutes, f"{floor.reason} ({reason})" if wishes.every_minutes else floor.reason
    if wishes.every_minutes is None:
        minutes *= 1 + _SPREAD_RATIO * _fraction(source_id)
    wait = timedelta(minutes=minutes)
    silent = _silence(now + wait, rhythm)
    if silent:
        reason += "; after the hours the feed asks to skip"
    fresh = timedelta(minutes=floor.minutes) if floor is not None else timedelta()
    return Plan(wait + silent, reason, round(chosen.minutes), fresh)


def spoken(minutes: float) -> str:
    """Return a length of time in words: ``45 minutes``, ``2.5 hours``, ``2 days``."""
    if minutes < 120:
        number, unit = f"{minutes:.0f}", "minute"
    elif minutes < 10 * 60:
        number, unit = f"{minutes / 60:.1f}".removesuffix(".0"), "hour"
    elif minutes < 48 * 60:
        number, unit = f"{minutes / 60:.0f}", "hour"
    else:
        number, unit = f"{minutes / 1440:.0f}", "day"
    return f"{number} {unit}{'' if number == '1' else 's'}"


def fresh_for_s(headers: Mapping[str, str], now: datetime) -> float | None:
    """Return the seconds for which an answer stays fresh as its server says, ``None`` where it says nothing.

    ``max-age`` goes before ``Expires``, which counts from the answer's own ``Date``; the time that the answer has lain
    in caches (``Age``) is over already. ``no-cache`` and ``no-store`` make it stale at once.
    """
    directives = dict(_directives(headers.get("cache-control", "")))
    if "no-store" in directives or "no-cache" in directives:
        return 0.0
    max_age = directives.get("max-age", "")
    if max_age.isascii() and max_age.isdigit():
        lifetime_s = float(max_age[:12])
    elif (expires := http_date(headers.get("expires", ""))) is not None:
        lifetime_s = (expires - (http_date(headers.get("date", "")) or now)).total_seconds()
    else:
        return None
    age = headers.get("age", "").strip()
    return max(lifetime_s - (float(age[:12]) if age.isascii() and age.isdigit() else 0.0), 0.0)


def _wished(wishes: Wishes) -> _Choice | None:
    if wishes.every_minutes is None:
        return None
    return _Choice(wishes.every_minutes, f"polling requested every {spoken(wishes.every_minutes)}")


def _dated(rhythm: Rhythm, now: datetime, limits: tuple[int, int]) -> _Choice | None:
    if rhythm.gap_minutes is None or rhythm.newest_at is None:
        return None
    silence_minutes = (now - rhythm.newest_at) / timedelta(minutes=1)
    gap_minutes = max(rhythm.gap_minutes, silence_minutes * _SILENCE_RATIO, 1.0)
    return _within(limits, gap_minutes / _ASKED_TWICE, _frequency(gap_minutes))


def _undated(before_minutes: int, limits: tuple[int, int], *, changed: bool) -> _Choice:
    if changed:
        return _within(limits, before_minutes * _SOONER_RATIO, "new entries found")
    return _within(limits, before_minutes * _LATER_RATIO, "no new entries")


def _limits(wishes: Wishes, bounds_minutes: tuple[int, int]) -> tuple[int, int]:
    least = wishes.min_minutes or bounds_minutes[0]
    most = min(wishes.max_minutes or bounds_minutes[1], bounds_minutes[1])
    return least, max(most, least)


def _within(limits: tuple[int, int], minutes: float, why: str) -> _Choice:
    minutes = min(max(minutes, limits[0]), limits[1])
    return _Choice(minutes, f"{why}: every {spoken(minutes)}")


def _frequency(gap_minutes: float) -> str:
    """Return how often something comes, however much at once: ``new entries about 4 times a day``."""
    for unit, length in (("an hour", 60), ("a day", 1440), ("a week", 7 * 1440), ("a month", 30 * 1440)):
        if (count := round(length / gap_minutes)) >= 1:
            return f"new entries about {'once' if count == 1 else f'{count} times'} {unit}"
    return "new entries less than once a month"


def _floor(rhythm: Rhythm, headers: Mapping[str, str], now: datetime) -> _Choice | None:
    """Return the server's or the feed's own wait, the longer of both, up to the cap."""
    fresh_minutes, ttl_minutes = (fresh_for_s(headers, now) or 0.0) / 60, rhythm.ttl_minutes or 0
    asked_minutes = max(fresh_minutes, ttl_minutes)
    if asked_minutes <= 0:
        return None
    if fresh_minutes >= ttl_minutes:
        reason = f"the server says its answer is fresh for {spoken(fresh_minutes)}"
    else:
        reason = f"the feed asks for {spoken(ttl_minutes)} between polls"
    if asked_minutes > FLOOR_MAX_MINUTES:
        return _Choice(FLOOR_MAX_MINUTES, f"{reason}, limited to {spoken(FLOOR_MAX_MINUTES)}")
    return _Choice(asked_minutes, reason)


def _directives(value: str) -> Iterable[tuple[str, str]]:
    for part in value.lower().split(","):
        name, _, argument = part.partition("=")
        yield name.strip(), argument.strip(' "')


def _silence(at: datetime, rhythm: Rhythm) -> timedelta:
    """Return how much later than ``at`` the feed may be asked again; a feed that never may is not obeyed."""
    open_at = at
    for _ in range(_WEEK_HOURS):
        if open_at.hour not in rhythm.skip_hours and open_at.weekday() not in rhythm.skip_days:
            return open_at - at
        open_at = open_at.replace(minute=0, second=0, microsecond=0) + _HOUR
    return timedelta()


def _fraction(source_id: UUID) -> float:
    """Return a number from 0 to 1 that stays the same for a source."""
    return source_id.int % 1_000_003 / 1_000_003
