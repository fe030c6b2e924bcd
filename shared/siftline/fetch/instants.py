"""The moments that feeds name: RFC 3339 as Atom has it, RFC 822 as RSS has it, each as loosely as feeds write it.

The common forms are read here, quickly and with their offsets kept; the rest is left to feedparser's forty.
"""

import re
from datetime import UTC, datetime, timedelta

_MONTHS = {
    "jan": 1, "feb": 2, "mar": 3, "apr": 4, "may": 5, "jun": 6, "jul": 7, "aug": 8, "sep": 9, "oct": 10, "nov": 11,
    "dec": 12,
}  # fmt: skip
# Hours from UTC of the zones that RFC 822 (section 5.1) names, and of those that mean UTC.
_ZONES = {
    "": 0, "z": 0, "ut": 0, "utc": 0, "gmt": 0, "edt": -4, "est": -5, "cdt": -5, "cst": -6, "mdt": -6, "mst": -7,
    "pdt": -7, "pst": -8,
}  # fmt: skip
_DAY_MIN = 24 * 60
# What nearly all of RSS writes, and what its months are in ISO 8601.
_USUAL = re.compile(r"[A-Z][a-z]{2}, (\d\d) ([A-Z][a-z]{2}) (\d{4}) (\d\d:\d\d:\d\d) (GMT|[+-]\d{4})", re.ASCII)
_USUAL_MONTHS = {name.title(): f"{number:02}" for name, number in _MONTHS.items()}
_RFC_3339 = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)(?:[Tt ](\d\d):(\d\d)(?::(\d\d)(?:\.\d+)?)? ?(?:([Zz])|([+-])(\d\d):?(\d\d))?)?",
    re.ASCII,
)
_RFC_822 = re.compile(
    r"(?:[A-Za-z]{3,9},? )?(\d{1,2}) ([A-Za-z]{3})[a-z]{0,6} (\d{4}) (\d\d):(\d\d)(?::(\d\d))?"
    r"(?: (?:([A-Za-z]{1,3})|([+-])(\d\d):?(\d\d)))?",
    re.ASCII,
)


def instant(text: str) -> datetime | None:
    """Return the moment that ``text`` names, in UTC and to the second; ``None`` for an unusual form.

    Without an offset, or without a time of day, it counts as UTC.
    """
    if text[4:5] == "-" and text[10:11] == "T":
        moment = _strictly(text)
    elif (match := _USUAL.fullmatch(text)) and (month := _USUAL_MONTHS.get(match[2])):
        day, _, year, time, zone = match.groups()
        moment = _strictly(f"{year}-{month}-{day}T{time}{'Z' if zone == 'GMT' else zone}")
    else:
        moment = None
    if moment is not None:
        return moment
    return _loosely(" ".join(text.split()))


def _strictly(text: str) -> datetime | None:
    try:
        moment = datetime.fromisoformat(text)
        if moment.microsecond or moment.tzinfo is None:
            moment = moment.replace(microsecond=0, tzinfo=moment.tzinfo or UTC)
        return moment if moment.tzinfo is UTC else moment.astimezone(UTC)
    except (ValueError, OverflowError):
        return None


def _loosely(text: str) -> datetime | None:
    match = _RFC_3339.fullmatch(text) if text[4:5] == "-" else None
    if match:
        year, month, day, hour, minute, second, _, sign, hours, minutes = match.groups()
        offset_min = int(hours) * 60 + int(minutes) if sign else 0
        month_number = int(month)
    else:
        match = _RFC_822.fullmatch(text)
        if not match:
            return None
        day, month, year, hour, minute, second, zone, sign, hours, minutes = match.groups()
        zone_hours = _ZONES.get((zone or "").lower())
        if zone_hours is None or month.lower() not in _MONTHS:
            return None
        month_number = _MONTHS[month.lower()]
        offset_min = int(hours) * 60 + int(minutes) if sign else abs(zone_hours) * 60
        sign = sign or ("-" if zone_hours < 0 else "+")
    if offset_min >= _DAY_MIN:
        return None
    if sign == "-":
        offset_min = -offset_min
    try:
        moment = datetime(
            int(year), month_number, int(day), int(hour or 0), int(minute or 0), int(second or 0), tzinfo=UTC
        )
        return moment - timedelta(minutes=offset_min) if offset_min else moment
    except (ValueError, OverflowError):
        return None
