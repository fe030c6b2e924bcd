"""One run: jobs that each read a slow page and leave one effect, workers killed in mid-work, then what became of it."""

import time
from collections import Counter
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

import psycopg

from benchmarks.killing.crew import Command, Crew, Kill, Killer
from benchmarks.killing.pages import SlowPages

WORKERS = 2
SLOTS = 2
"""Jobs that one worker has in work at a time, whoever the worker is."""
_LOOK_EVERY_S = 0.1

# What a job leaves: a row for every time that its effect was committed. No key: nothing but the tool keeps it single.
EFFECTS = "create table effects (page integer not null, at timestamptz not null default clock_timestamp())"
_EFFECTS = "select page, extract(epoch from at)::float8 from effects order by at"


@dataclass(frozen=True, slots=True)
class Plan:
    """How large a run is. ``seed`` decides the pages' times, who is killed and when."""

    jobs: int = 300
    kills: int = 6
    lease_s: int = 20
    sweep_s: int = 5
    slow_s: tuple[float, float] = (0.2, 0.5)
    patience_s: float = 120.0
    """A run is over when nothing more happened for so long."""
    seed: int = 1

    def numbered(self, run: int) -> "Plan":
        """Return the plan of the run of this number: the same for every tool, another for every run."""
        return replace(self, seed=self.seed * 1000 + run)


SMALL = Plan(jobs=40, kills=2, lease_s=5, sweep_s=1, slow_s=(0.5, 1.0), patience_s=20.0, seed=26)
"""A run of half a minute: a look at whether all of it works."""


class Tool(Protocol):
    """What brings jobs to workers: Siftline, or a peer."""

    name: str
    pool: bool
    """Whether a worker is a process with a pool of others."""

    def open(self, plan: Plan, folder: Path, database_url: str) -> AbstractContextManager[None]:
        """Prepare an empty database, and whatever else it stands on, for the length of a block."""
        ...

    def workers(self) -> Sequence[Command]:
        """Return the workers' commands; each says its number to the pages' server."""
        ...

    def keepers(self) -> Sequence[Command]:
        """Return what runs beside the workers and is not killed."""
        ...

    def enqueue(self, urls: Sequence[str]) -> None:
        """Make a job a page."""
        ...

    def finished(self) -> int:
        """Return how many jobs are over, well or badly."""
        ...

    def returns(self) -> Sequence[tuple[int, float]]:
        """Return when (Unix time) which page's job was handed out again, as far as the tool records it."""
        ...

    def faults(self) -> Sequence[str] | None:
        """Return what the tool's own records say against it, one clause a kind; ``None`` where nobody looks."""
        ...


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a run's jobs."""

    kills: int
    cut_off: int
    """Jobs in work at a worker when it was killed."""
    completed: int
    stranded: int
    twice: int
    """Jobs whose effect was committed more than once."""
    repeated: int
    """Jobs whose page was read more than once: what a far side sees of a crash."""
    back_s: float | None
    """The longest from a kill until a job that it had cut off was handed out again, where the tool records it."""
    done_s: float | None
    """The longest from a kill to the effect of a job that it had cut off, of those that came back."""
    healed_s: float | None
    """From the last kill until the last effect of all."""
    wall_s: float
    faults: Sequence[str] | None
    """What the tool's own records say against it; ``None`` where nobody looked."""


def run(tool: Tool, plan: Plan, folder: Path, database_url: str) -> Outcome:
    """Run once, in a database of its own; returns when all is done or the plan's patience is over."""
    pages = SlowPages(plan.jobs, slow_s=plan.slow_s, seed=plan.seed)
    with pages.open(), tool.open(plan, folder, database_url):
        _lay_out(database_url)
        workers = Crew(tool.workers(), folder / "workers.log")
        keepers = Crew(tool.keepers(), folder / "keepers.log")
        killer = Killer(workers, pages, plan.jobs, plan.kills, plan.seed, pool=tool.pool)
        started = time.time()
        try:
            workers.start()
            keepers.start()
            tool.enqueue([pages.url(page) for page in range(plan.jobs)])
            _watch(tool, plan, workers, killer, pages)
            time.sleep(plan.sweep_s + 1)  # whoever would do a thing a second time has the time for it
        finally:
            workers.stop()
            keepers.stop()
        return _outcome(tool, pages, killer.done, _effects(database_url), started)


def _watch(tool: Tool, plan: Plan, workers: Crew, killer: Killer, pages: SlowPages) -> None:
    seen, since = (-1, -1), time.monotonic()
    while time.monotonic() - since < plan.patience_s:
        workers.mend()
        killed = killer.look(len(pages.answered))
        finished = tool.finished()
        if finished == plan.jobs:
            return
        if killed or seen != (finished, sum(pages.asked.values())):
            seen, since = (finished, sum(pages.asked.values())), time.monotonic()
        time.sleep(_LOOK_EVERY_S)


def _outcome(
    tool: Tool, pages: SlowPages, kills: Sequence[Kill], effects: Sequence[tuple[int, float]], started: float
) -> Outcome:
    times = Counter(page for page, _ in effects)
    first = dict(reversed(effects))
    cut_off = [(kill.at, page) for kill in kills for page in kill.pages if first.get(page, kill.at) >= kill.at]
    returns = tool.returns()
    back_s = [
        min(at for page, at in returns if page == lost and at > killed_at) - killed_at
        for killed_at, lost in cut_off
        if any(page == lost and at > killed_at for page, at in returns)
    ]
    return Outcome(
        kills=len(kills),
        cut_off=len(cut_off),
        completed=len(times),
        stranded=pages.count - len(times),
        twice=sum(count > 1 for count in times.values()),
        repeated=sum(count > 1 for count in pages.asked.values()),
        back_s=max(back_s, default=None),
        done_s=max((first[page] - killed_at for killed_at, page in cut_off if page in first), default=None),
        healed_s=max(first.values()) - kills[-1].at if first and kills else None,
        wall_s=max(first.values(), default=started) - started,
        faults=tool.faults(),
    )


def _lay_out(database_url: str) -> None:
    with psycopg.connect(database_url) as connection:
        connection.execute(EFFECTS)


def _effects(database_url: str) -> list[tuple[int, float]]:
    with psycopg.connect(database_url) as connection:
        return connection.execute(_EFFECTS).fetchall()
