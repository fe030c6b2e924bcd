"""Time zones by their IANA names, from the pinned package ``tzdata`` and not from the machine.

A machine's own tables are of any age, and on Lambda there may be none: two workers would then not agree on when a day
begins.
"""

from functools import lru_cache
from importlib import resources
from zoneinfo import ZoneInfo

from siftline.kit.errors import PermanentError

_PACKAGE = "tzdata.zoneinfo"


class UnknownZoneError(PermanentError):
    """There is no such time zone."""

    code = "unknown_time_zone"


@lru_cache(maxsize=1)
def zone_names() -> frozenset[str]:
    """Return the names of all zones, links included: some 600."""
    return frozenset(resources.files("tzdata").joinpath("zones").read_text("ascii").split())


@lru_cache(maxsize=1_000)
def zone(name: str) -> ZoneInfo:
    """Return a zone by its name, such as ``Europe/Berlin``; raises ``UnknownZoneError``."""
    if name not in zone_names():
        raise UnknownZoneError(f"There is no time zone {name[:60]!r} in the IANA database.")
    *folders, file = name.split("/")
    with resources.files(".".join([_PACKAGE, *folders])).joinpath(file).open("rb") as table:
        return ZoneInfo.from_file(table, key=name)
