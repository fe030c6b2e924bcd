"""The benchmarks, and the sizes at which each only shows that it works: ``python -m benchmarks poll --quick``.

A constant that is named here and is not there any longer is an error, so that what rots is seen.
"""

import importlib
import tempfile
from collections.abc import Mapping
from pathlib import Path

from benchmarks import report

_NOWHERE = Path("/nonexistent")
_KEPT = Path(tempfile.gettempdir()) / "siftline-quick"

SIZES: Mapping[str, Mapping[str, object]] = {
    "poll": {"poll.ROUNDS": {50: 1}, "poll.KNOWN": 5, "poll.FRESH": 10, "poll.POLLS": 1},
    "sync": {"sync.FEEDS": 3, "sync.ENTRIES": 5, "sync.ROUNDS": 1},
    "parse": {"parse.ROUNDS": {20: 1, 40: 1}},
    "hostile": {"hostile.HOSTILE": {"small": lambda: b"<rss><channel><item><title>A</item>"}},
    "jobs": {"jobs.JOBS": 20, "jobs.BATCH": 5, "jobs.ROUNDS": 1, "jobs.CROWDS": (1, 2)},
    "million": {
        "million.JOBS": 10_000,
        "million.SOURCES": 500,
        "million.FOLLOWED": 20,
        "million.OLD": 100,
        "million.ROUNDS": 1,
        "million.WARM": 1,
    },
    "handlers": {"handlers.CALLS": 5, "handlers.WARM": 1, "handlers.STARTS": 1, "handlers.FUNCTIONS": ("authorize",)},
    "imports": {"imports.REPETITIONS": 1, "imports.FUNCTIONS": ("authorize",)},
    "http": {"http.REQUESTS": 3, "http.ROUNDS": 1},
    "fairness": {
        "fairness.FEEDS": 2,
        "fairness.ENTRIES": 3,
        "fairness.IDLE": 1,
        "fairness.SAVES": 1,
        "fairness._LOOK_EVERY_S": 0.5,
    },
    "walk": {"walk.ENOUGH": 0.05},
    "cost": {"walk.ENOUGH": 0.05},
    "extraction": {"extraction.CORPUS": _NOWHERE, "extraction.ROUNDS": 1},
    "entities": {"entities._LANGUAGES": ("en",), "entities._PEERS": {}},
    "stories": {"stories.MOST": 50, "stories.KEPT": _KEPT, "stories.GROWTH": (100, 200)},
    "score": {"score.ITEMS": 1_000, "score.AT_ONCE": 1_000, "score.STARS": 20, "score.FAR": 400},
    "search": {
        "search.ITEMS": 500,
        "search.ASKED": 14,
        "search.WARM": 1,
        "search_filled.ITEMS": 500,
        "search_filled.ASKED": 14,
        "search._MODEL": _NOWHERE,
    },
    "topics": {"topics.SETS": {}, "topics.ARTICLES": 4},
    "reindex": {"reindex.ITEMS": 64},
    "mixed": {"mixed.MINUTES": 0.1, "mixed._ENTRIES": 4, "mixed.SETTINGS": {"JOB_LEASE_S": "20", "JOB_QUIET_S": "20"}},
}
"""Constants by benchmark, in the order of a run of all."""


def make_quick(name: str, results: Path) -> None:
    """Let a benchmark of this process measure next to nothing, and keep its report elsewhere than the true ones."""
    report.RESULTS = results
    for place, value in SIZES[name].items():
        module_name, _, constant = place.rpartition(".")
        module = importlib.import_module(f"benchmarks.{module_name}")
        if not hasattr(module, constant):
            raise AttributeError(
                f"benchmarks.{place} is not there: say in benchmarks/quick.py how {name} is made quick"
            )
        setattr(module, constant, value)
