"""What every benchmark says about itself: the machine, the versions, a table, and a file with all of it.

Absolute times hold for one machine in one minute; what counts are ratios within one run.
"""

import json
import math
import os
import platform
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib.metadata import version
from itertools import pairwise
from pathlib import Path
from typing import Any, TypeVar

RESULTS = Path(__file__).parent / "results"
_PACKAGES = ("httpx", "numpy", "onnxruntime", "psycopg", "pydantic", "scikit-learn")
_T = TypeVar("_T")


@dataclass
class Report:
    """One benchmark's report: said line by line while it runs, kept as ``results/<name>-<time>.json`` at its end.

    Only the last one of each name is kept.
    """

    name: str
    facts: dict[str, Any] = field(default_factory=dict)
    tables: dict[str, list[dict[str, Any]]] = field(default_factory=dict)

    def open(self, title: str) -> None:
        """Say what is measured, where."""
        self.facts = machine()
        print(f"\n== {self.name}: {title}")
        self.tell(self.facts)

    def tell(self, facts: Mapping[str, Any]) -> None:
        """Say facts and keep them."""
        self.facts |= facts
        print("   " + " · ".join(f"{name} {value}" for name, value in facts.items()), flush=True)

    def table(self, title: str, rows: Sequence[Mapping[str, Any]]) -> None:
        """Print rows of the same columns and keep them."""
        self.tables[title] = [dict(row) for row in rows]
        names = list(rows[0])
        cells = [names, *([_text(row[name]) for name in names] for row in rows)]
        widths = [max(len(line[column]) for line in cells) for column in range(len(names))]
        print(f"\n{title}")
        for line in cells:
            print("   " + "  ".join(cell.rjust(width) for cell, width in zip(line, widths, strict=True)))
        print(flush=True)

    def keep(self) -> Path:
        """Write the report's file and say where it is."""
        RESULTS.mkdir(exist_ok=True)
        file = RESULTS / f"{self.name}-{datetime.now(UTC):%Y%m%dT%H%M%SZ}.json"
        whole = {"benchmark": self.name, "facts": self.facts, "tables": self.tables}
        earlier = {*RESULTS.glob(f"{self.name}-*.json")} - {file}
        file.write_text(json.dumps(whole, indent=2, default=str) + "\n", encoding="utf-8")
        for old in earlier:
            old.unlink()
        print(f"   kept in {file.relative_to(Path.cwd()) if file.is_relative_to(Path.cwd()) else file}")
        return file


def machine() -> dict[str, Any]:
    """Return what a figure depends on: processors and how busy they are, and the versions of what runs."""
    return {
        "processor": _processor(),
        "cores": os.cpu_count(),
        "load": f"{os.getloadavg()[0]:.1f}",
        "python": platform.python_version(),
        **{name: version(name) for name in _PACKAGES},
    }


def timed(work: Callable[[], _T]) -> tuple[float, _T]:
    """Return the seconds that ``work`` took, and what it returned."""
    started = time.perf_counter()
    result = work()
    return time.perf_counter() - started, result


def in_turn(
    works: Mapping[str, Callable[[], object]],
    rounds: int,
    *,
    warm: int = 1,
    clock: Callable[[], float] = time.perf_counter,
) -> dict[str, list[float]]:
    """Do all works in turn, round after round; return the seconds of each by ``clock``, a value a round.

    The first ``warm`` rounds are not counted. Every second round goes backwards, so that nobody always comes first.
    """
    seconds: dict[str, list[float]] = {name: [] for name in works}
    for number in range(rounds + warm):
        for name in works if number % 2 else reversed(list(works)):
            started = clock()
            works[name]()
            spent_s = clock() - started
            if number >= warm:
                seconds[name].append(spent_s)
    return seconds


def median_ms(seconds: Sequence[float], digits: int = 1) -> float:
    """Return the median of times in seconds as milliseconds."""
    return round(statistics.median(seconds) * 1000, digits)


def ratio(ours: Sequence[float], floor: Sequence[float]) -> float:
    """Return the median of the ratios of what ran right after each other: it bears a busy machine best."""
    return round(statistics.median(a / b for a, b in zip(ours, floor, strict=True)), 2)


def exponents(seconds: Mapping[int, float]) -> dict[str, float]:
    """Return p where time grows as n to the p, from each size n to the next."""
    return {
        f"{small:,} to {large:,}": round(math.log(seconds[large] / seconds[small]) / math.log(large / small), 2)
        for small, large in pairwise(seconds)
    }


def _text(value: Any) -> str:
    return f"{value:,}" if isinstance(value, int | float) else str(value)


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.machine()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()
