"""The time a page claims to have been published, from the forms that pages write it in."""

import re
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

_EARLIEST = datetime(1990, 1, 1, tzinfo=UTC)
_LATEST = datetime(2200, 1, 1, tzinfo=UTC)
_DATE = re.compile(r"(?<!\d)(\d{4})[-/.]?(\d{2})[-/.]?(\d{2})(?!\d)")
# Only a path part of its own: /2026/11/27/ or /2026-11-27-title.
_IN_PATH = re.compile(r"/(?:(\d{4})/(\d{1,2})/(\d{1,2})|(\d{4})-(\d{2})-(\d{2}))(?=[/_-]|$)")


def parse_time(text: str | None) -> datetime | None:
    """Return the aware time that ``text`` writes, in UTC; ``None`` when it is none or not of this age.

    ISO 8601 and RFC 5322 forms; without an offset it is taken as UTC, without a time as midnight.
    """
    text = (text or "").strip()[:64]
    if not text:
        return None
    for read in (_iso, _internet, _date_alone):
        try:
            time = read(text)
        except (ValueError, IndexError, OverflowError, TypeError):
            continue
        if time is not None:
            return _plausible(time)
    return None


def time_in_path(path: str) -> datetime | None:
    """Return midnight of the day that an address's path names, if it names one."""
    match = _IN_PATH.search(path)
    if match is None:
        return None
    year, month, day = (int(part) for part in match.groups() if part is not None)
    try:
        return _plausible(datetime(year, month, day, tzinfo=UTC))
    except ValueError:
        return None


def _iso(text: str) -> datetime | None:
    return datetime.fromisoformat(re.sub(r"\s+(?=(?:Z|[+-]\d\d:?\d\d)$)", "", text))


def _internet(text: str) -> datetime | None:
    return parsedate_to_datetime(text)


def _date_alone(text: str) -> datetime | None:
    match = _DATE.search(text)
    return datetime(int(match[1]), int(match[2]), int(match[3]), tzinfo=UTC) if match else None


def _plausible(time: datetime) -> datetime | None:
    try:
        time = time.replace(tzinfo=UTC) if time.tzinfo is None else time.astimezone(UTC)
    except (ValueError, OverflowError):
        return None
    return time if _EARLIEST <= time < _LATEST else None
