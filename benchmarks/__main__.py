"""``python -m benchmarks``: all of them, one after the other; or those named: ``python -m benchmarks poll walk``."""

import argparse

from benchmarks import poll, stories, walk

_ALL = {"poll": poll.main, "walk": walk.main, "stories": stories.main}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="Measure; assert nothing.")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(_ALL)}; none for all")
    chosen = parser.parse_args().names
    if unknown := sorted(set(chosen) - set(_ALL)):
        parser.error(f"there is no {unknown[0]}")
    for name in chosen or _ALL:
        _ALL[name]()


if __name__ == "__main__":
    main()
