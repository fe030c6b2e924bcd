"""How often a feed brings something, as its entries' dates tell, and when it wants to be left alone."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import pairwise
from statistics import median
from typing import Any, Self

from siftline.fetch.feed.feeds import Entry, Feed
from siftline.kit.stored import all_readable, readable
from siftline.text.instants import claimed

# So many of the newest entries tell a rhythm, and at least so many.
_ENTRIES_MAX = 20
_ENTRIES_MIN = 3
# What was published within this came together: a feed that brings ten entries at once each day is asked daily.
_TOGETHER = timedelta(minutes=15)


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
