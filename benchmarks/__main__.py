"""``python -m benchmarks``: all of them, one after the other; or those named: ``python -m benchmarks poll walk``."""

import argparse
import sys
from collections.abc import Callable, Mapping

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
}
_TAKES_OPTIONS: Mapping[str, Callable[[list[str]], object]] = {"kills": kills.main, "fairness": fairness.main}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="Measure; assert nothing.")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(_ALL)}; none for all")
    options, rest = parser.parse_known_args()
    chosen = options.names
    if unknown := sorted(set(chosen) - set(_ALL)):
        parser.error(f"there is no {unknown[0]}")
    if rest and len(chosen) == 1 and chosen[0] in _TAKES_OPTIONS:
        sys.exit(_TAKES_OPTIONS[chosen[0]](rest))
    if rest:
        parser.error(f"only {' and '.join(_TAKES_OPTIONS)} take options, by themselves; there is no {rest[0]}")
    for name in chosen or _ALL:
        _ALL[name]()


if __name__ == "__main__":
    main()
