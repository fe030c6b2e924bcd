"""Workers that are killed, and what starts them again at once, as ``make run``, a service manager or Lambda does."""

import os
import random
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from infra.local.processes import end, tethered


@dataclass(frozen=True, slots=True)
class Command:
    """How a process is started."""

    arguments: Sequence[str]
    environment: Mapping[str, str]
    folder: Path


class Readings(Protocol):
    """Tells which pages a worker reads at this moment, each with its process (``SlowPages``)."""

    def reading(self, worker: int) -> Mapping[int, int | None]:
        """Return them."""
        ...


@dataclass(frozen=True, slots=True)
class Kill:
    """A SIGKILL that hit a worker in mid-work: when (Unix time), and the pages it was reading."""

    at: float
    pages: frozenset[int]


@dataclass
class Crew:
    """One process group a command, numbered from 0; ``log`` takes what all of them say."""

    commands: Sequence[Command]
    log: Path
    starts: int = 0
    _processes: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def start(self) -> None:
        self._processes = [self._start(command) for command in self.commands]

    def mend(self) -> None:
        """Start what has ended again."""
        for number, process in enumerate(self._processes):
            if process.poll() is not None:
                _kill_group(process.pid)  # what a killed parent left behind goes with it, as a container's would
                self._processes[number] = self._start(self.commands[number])

    def pid(self, number: int) -> int:
        """Return a worker's own process id, which is its group's."""
        return self._processes[number].pid

    def stop(self) -> None:
        """End all of them, in order."""
        for process in self._processes:
            if process.poll() is None:
                process.terminate()
        for process in self._processes:
            end(process, [(signal.SIGTERM, 20.0)])
            _kill_group(process.pid)

    def _start(self, command: Command) -> subprocess.Popen[bytes]:
        self.starts += 1
        with self.log.open("ab") as log:
            return subprocess.Popen(
                tethered(command.arguments),
                cwd=command.folder,
                env=command.environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )


@dataclass
class Killer:
    """Kills at seeded points of the work, the same for whoever does it: which worker, and after how many pages.

    ``pool``: every second kill takes one process of the worker's pool (as the kernel does when memory is short), the
    others all of a worker's processes (as when its container or machine is gone). A worker of one process knows but
    one kind.
    """

    crew: Crew
    readings: Readings
    pages: int
    kills: int
    seed: int
    pool: bool = False
    done: list[Kill] = field(default_factory=list)
    _patience_s: float = 2.0

    def __post_init__(self) -> None:
        self._rng = random.Random(self.seed)
        part = 0.8 * self.pages / max(self.kills, 1)
        self._points = [round((number + self._rng.uniform(0.1, 0.9)) * part) for number in range(self.kills)]
        self._victims = [self._rng.randrange(len(self.crew.commands)) for _ in range(self.kills)]
        self._due_since: float | None = None

    def look(self, answered: int) -> bool:
        """Kill if it is time and the victim is in mid-work; return whether it did."""
        number = len(self.done)
        if number == self.kills or answered < self._points[number]:
            return False
        self._due_since = self._due_since or time.monotonic()
        victim = self._victims[number]
        if time.monotonic() - self._due_since > self._patience_s:  # it is not back yet, or has nothing to do
            victim = (victim + 1) % len(self.crew.commands)
        if not self.readings.reading(victim):
            return False
        time.sleep(self._rng.uniform(0.0, 0.1))
        if not (reading := self.readings.reading(victim)):
            return False
        pids = sorted({pid for pid in reading.values() if pid is not None})
        if self.pool and number % 2 and pids:
            chosen = self._rng.choice(pids)
            reading = {page: pid for page, pid in reading.items() if pid == chosen}
            os.kill(chosen, signal.SIGKILL)
        else:
            _kill_group(self.crew.pid(victim))
        self.done.append(Kill(time.time(), frozenset(reading)))
        self._due_since = None
        return True


def _kill_group(pid: int) -> None:
    try:
        os.killpg(pid, signal.SIGKILL)
    except ProcessLookupError:
        return
