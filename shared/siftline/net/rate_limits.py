"""What a server's rate-limit headers say of when it may be asked again.

Read are ``RateLimit`` (IETF draft-ietf-httpapi-ratelimit-headers: ``"default";r=0;t=30``, and before its eighth version
``limit=10, remaining=0, reset=30`` or one header each) and ``X-RateLimit-Remaining`` and ``-Reset`` as Reddit (seconds)
and GitHub (seconds since 1970) send them.
"""

import re
from collections.abc import Mapping
from datetime import datetime

from siftline.net.http_errors import RETRY_AFTER_MAX_S, http_date

_NUMBER = re.compile(r"[0-9]{1,12}(?:\.[0-9]{1,6})?")
_PART = re.compile(r"\b(r|t|remaining|reset)\s*=\s*([0-9]{1,12}(?:\.[0-9]{1,6})?)")
# From here on a number is a point in time, for no server makes anybody wait for 30 years.
_EPOCH_FROM_S = 1_000_000_000.0


def reset_s(headers: Mapping[str, str], now: datetime) -> float | None:
    """Return the seconds until requests are counted anew, or ``None`` where no header says so; at most two days."""
    value = _first(headers, ("x-ratelimit-reset", "ratelimit-reset"), ("t", "reset"))
    if value is None:
        return None
    if value >= _EPOCH_FROM_S:
        value -= (http_date(headers.get("date", "")) or now).timestamp()
    return min(max(value, 0.0), RETRY_AFTER_MAX_S)


def used_up(headers: Mapping[str, str]) -> bool:
    """Return whether the headers say that not one more request is left until the reset."""
    left = _first(headers, ("x-ratelimit-remaining", "ratelimit-remaining"), ("r", "remaining"))
    return left is not None and left < 1


def _first(headers: Mapping[str, str], names: tuple[str, str], keys: tuple[str, str]) -> float | None:
    for name in names:
        value = headers.get(name, "").strip()
        if _NUMBER.fullmatch(value):
            return float(value)
    for key, value in _PART.findall(headers.get("ratelimit", "")):
        if key in keys:
            return float(value)
    return None
