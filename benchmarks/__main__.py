"""``python -m benchmarks``: all of them, one after the other; or those named: ``python -m benchmarks poll walk``.

``--quick`` only shows that they work: next to nothing is measured.
"""

import argparse
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from benchmarks import (
    cost,
    entities,
    extraction,
    fairness,
    feed,
    handlers,
    hostile,
    http,
    jobs,
    kills,
    million,
    mixed,
    parse,
    poll,
    quality,
    reindex,
    score,
    search,
    stories,
    sync,
    topics,
    walk,
)
from benchmarks.quick import SIZES, make_quick

_ALL: Mapping[str, Callable[[], object]] = {
    "poll": poll.main,
    "sync": sync.main,
    "parse": parse.main,
    "hostile": hostile.main,
    "jobs": jobs.main,
    "million": million.main,
    "handlers": handlers.main,
    "http": http.main,
    "fairness": fairness.main,
    "walk": walk.main,
    "cost": cost.main,
    "extraction": extraction.main,
    "entities": entities.main,
    "stories": stories.main,
    "score": score.main,
    "feed": feed.main,
    "search": search.main,
    "topics": topics.main,
    "reindex": reindex.main,
    "quality": quality.main,
    "kills": kills.main,
    "mixed": mixed.main,
}
_TAKES_OPTIONS: Mapping[str, Callable[[Sequence[str]], int | None]] = {
    "kills": kills.main,
    "fairness": fairness.main,
    "mixed": mixed.main,
}
_QUICK_OPTIONS = {
    "kills": ("--quick", "--runs", "1", "--peer-runs", "0"),
    "fairness": ("--quick",),
    "mixed": ("--quick",),
}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="Measure; assert nothing.")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(_ALL)}; none for all")
    parser.add_argument("--quick", action="store_true", help="only show that they work")
    options, rest = parser.parse_known_args()
    chosen = options.names
    if unknown := sorted(set(chosen) - set(_ALL)):
        parser.error(f"there is no {unknown[0]}")
    if rest and len(chosen) == 1 and chosen[0] in _TAKES_OPTIONS:
        sys.exit(_TAKES_OPTIONS[chosen[0]]([*rest, "--quick"] if options.quick else rest))
    if rest:
        parser.error(f"only {' and '.join(_TAKES_OPTIONS)} take options, by themselves; there is no {rest[0]}")
    if options.quick:
        _quickly(chosen or list(_ALL))
        return
    for name in chosen or _ALL:
        _ALL[name]()


def _quickly(names: list[str]) -> None:
    for name in names:
        if not SIZES[name] and name not in _TAKES_OPTIONS:
            print(f"\n== {name}: its small form stands among the tests")
            continue
        with tempfile.TemporaryDirectory(prefix="siftline-quick-") as results:
            make_quick(name, Path(results))
            code = _TAKES_OPTIONS[name](_QUICK_OPTIONS[name]) if name in _TAKES_OPTIONS else _ALL[name]()
        if code:
            sys.exit(f"{name} ended with {code}")


if __name__ == "__main__":
    main()
