"""For how long an answer stays fresh, as its server says (RFC 9111, sections 4.2 and 5.2.2)."""

from collections.abc import Iterable, Mapping
from datetime import datetime

from siftline.net.http_errors import http_date


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


def _directives(value: str) -> Iterable[tuple[str, str]]:
    for part in value.lower().split(","):
        name, _, argument = part.partition("=")
        yield name.strip(), argument.strip(' "')
