"""``python -m benchmarks``: all of them, one after the other; or those named: ``python -m benchmarks poll walk``.

``--quick`` only shows that they work: next to nothing is measured. The exit code is that of the first one that found
something wrong.
"""

import argparse
import importlib
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path

from benchmarks.quick import SIZES, make_quick

_ALL = tuple(SIZES)
"""Modules of this folder, in the order of a run of all. One is loaded when it runs: some load half of PyPI."""


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="Measure; assert nothing.")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(_ALL)}; none for all")
    parser.add_argument("--quick", action="store_true", help="only show that they work")
    parser.add_argument("--minutes", type=float, help="minutes of mixed load")
    options = parser.parse_args()
    if unknown := sorted(set(options.names) - set(_ALL)):
        sys.exit(f"There is no benchmark {unknown[0]}, only {' '.join(sorted(_ALL))}.")
    for name in options.names or _ALL:
        with ExitStack() as stack:
            if options.quick:
                make_quick(name, Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="siftline-quick-"))))
            module = importlib.import_module(f"benchmarks.{name}")
            if options.minutes is not None and name == "mixed":
                vars(module)["MINUTES"] = options.minutes
            if code := module.main():
                sys.exit(code)


if __name__ == "__main__":
    main()
