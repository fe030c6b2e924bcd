"""``python -m benchmarks``: all of them, one after the other; or those named: ``python -m benchmarks poll walk``.

``--quick`` only shows that they work: next to nothing is measured.
"""

import argparse
import importlib
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from benchmarks.quick import SIZES, make_quick

_ALL = (
    "poll",
    "sync",
    "parse",
    "hostile",
    "jobs",
    "million",
    "handlers",
    "http",
    "fairness",
    "walk",
    "cost",
    "extraction",
    "entities",
    "stories",
    "score",
    "feed",
    "search",
    "topics",
    "reindex",
    "quality",
    "kills",
    "mixed",
)
"""Modules of this folder, in the order of a run of all. One is loaded when it runs: some load half of PyPI."""
_TAKES_OPTIONS = ("kills", "fairness", "mixed")
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
        sys.exit(_run(chosen[0], [*rest, "--quick"] if options.quick else rest))
    if rest:
        parser.error(f"only {' and '.join(_TAKES_OPTIONS)} take options, by themselves; there is no {rest[0]}")
    if options.quick:
        _quickly(chosen or list(_ALL))
        return
    for name in chosen or _ALL:
        _run(name)


def _run(name: str, *arguments: Sequence[str]) -> int | None:
    """Run a benchmark, with its own arguments where it takes some; return its exit code, if it tells one."""
    code: int | None = importlib.import_module(f"benchmarks.{name}").main(*arguments)
    return code


def _quickly(names: list[str]) -> None:
    for name in names:
        if not SIZES[name] and name not in _TAKES_OPTIONS:
            print(f"\n== {name}: its small form stands among the tests")
            continue
        with tempfile.TemporaryDirectory(prefix="siftline-quick-") as results:
            make_quick(name, Path(results))
            code = _run(name, _QUICK_OPTIONS[name]) if name in _TAKES_OPTIONS else _run(name)
        if code:
            sys.exit(f"{name} ended with {code}")


if __name__ == "__main__":
    main()
