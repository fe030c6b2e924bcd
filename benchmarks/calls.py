"""Whose code the time of a call and of an import goes to, told by Python's own profilers."""

import cProfile
import pstats
import subprocess
import sys
from collections import defaultdict
from collections.abc import Callable, Mapping
from typing import Any

from infra.local.machine import ROOT
from siftline.settings.functions import process_environment

CALLS = 300
_PARTS = {
    "/aws_lambda_powertools/event_handler/openapi": "validation",
    "/aws_lambda_powertools/event_handler/middlewares": "validation",
    "/pydantic": "validation",
    "/aws_lambda_powertools/": "routing and events",
    "/siftline/": "ours",
    "/functions/": "ours",
}


def split(way: Callable[[], object]) -> dict[str, float]:
    """Return the shares (0 to 1) of one call's time by whose code runs; what is built in counts as its caller's.

    Python's profiler weighs many small calls more than they cost, so shares only.
    """
    profile = cProfile.Profile()
    profile.enable()
    for _ in range(CALLS):
        way()
    profile.disable()
    told: dict[str, float] = defaultdict(float)
    stats: Mapping[Any, Any] = pstats.Stats(profile).stats  # type: ignore[attr-defined]  # typeshed does not know it  # typeshed leaves it out
    for (file, _, _), (_, _, own_s, _, callers) in stats.items():
        if file == "~" and callers:
            for (caller, _, _), (_, _, share_s, _) in callers.items():
                told[_part(caller)] += share_s
        else:
            told[_part(file)] += own_s
    whole = sum(told.values())
    return {
        name: round(told[name] / whole, 2)
        for name in ("validation", "routing and events", "ours", "Python and the rest")
    }


def busiest(work: Callable[[], object], *, most: int = 8) -> list[tuple[str, float]]:
    """Return the functions in whose own code a piece of work spends most, with their seconds, the largest first."""
    profile = cProfile.Profile()
    profile.enable()
    work()
    profile.disable()
    stats: Mapping[Any, Any] = pstats.Stats(profile).stats  # type: ignore[attr-defined]  # typeshed leaves it out
    named = ((f"{name} ({file.rpartition('/')[2]})", told[2]) for (file, _, name), told in stats.items())
    return sorted(named, key=lambda pair: -pair[1])[:most]


def packages(program: str) -> Mapping[str, float]:
    """Return the milliseconds that each package's own modules took to import, in a fresh interpreter."""
    command = [sys.executable, "-X", "importtime", "-c", program]
    environment = {**process_environment(), "PYTHONPATH": f"{ROOT / 'shared'}:{ROOT}"}
    told = subprocess.run(command, env=environment, check=True, capture_output=True, cwd=ROOT, text=True).stderr
    found: dict[str, float] = defaultdict(float)
    for line in told.splitlines():
        columns = line.removeprefix("import time:").split("|")
        if len(columns) == 3 and columns[0].strip().isdigit():
            name = columns[2].strip().partition(".")[0]
            found[name.removesuffix("_core") if name.startswith("pydantic") else name] += int(columns[0]) / 1000
    return found


def _part(file: str) -> str:
    return next((part for piece, part in _PARTS.items() if piece in file), "Python and the rest")
