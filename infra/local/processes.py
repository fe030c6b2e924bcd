"""Programs this stack starts: they die with their starter, and are ended only if surely ours."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

_TETHERED = Path(__file__).with_name("tethered.py")


def tethered(
    command: Sequence[str], *, signal_number: int = signal.SIGTERM, user: tuple[int, int] | None = None
) -> list[str]:
    """Return a command that becomes ``command`` and gets ``signal_number`` when this process is gone.

    ``user`` is the (uid, gid) to run it as. ``command[0]`` is the program's full path.
    """
    uid, gid = user or ("-", "-")
    script = [sys.executable, "-I", "-S", str(_TETHERED)]
    return [*script, str(os.getpid()), str(int(signal_number)), str(uid), str(gid), *command]


def end(process: subprocess.Popen[bytes], signals: Iterable[tuple[int, float]]) -> int:
    """Send each signal in turn, waiting its seconds for the process to go; finally SIGKILL. Returns the exit code."""
    for signal_number, wait_s in signals:
        if process.poll() is None:
            process.send_signal(signal_number)
            try:
                return process.wait(wait_s)
            except subprocess.TimeoutExpired:
                continue
    if process.poll() is None:
        process.kill()
    return process.wait()


def started_at(pid: int) -> str | None:
    """Return the kernel's start time of a process (proc(5), field 22), which tells it from a later one with its id."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    fields = stat.rpartition(")")[2].split()
    return None if fields[0] == "Z" else fields[19]


def command_line(pid: int) -> list[str]:
    """Return the arguments a process was started with; empty when it is gone."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_text(encoding="utf-8", errors="replace").split("\0")[:-1]
    except OSError:
        return []


@dataclass(frozen=True, slots=True)
class Make:
    """The ``make`` that started this process.

    Ctrl-C reaches both, but ``kill -INT`` of make alone does not: GNU make then waits for us, without passing it on. It
    also stops catching the signal, which proc(5) shows.
    """

    pid: int
    identity: str

    @classmethod
    def starter(cls) -> "Make | None":
        """Return it, if make started this process and catches SIGINT."""
        pid = os.getppid()
        identity = started_at(pid)
        name = Path(command_line(pid)[0]).name if command_line(pid) else ""
        is_make = name in ("make", "gmake") and identity is not None and _catches(pid, signal.SIGINT)
        return cls(pid, identity) if is_make and identity else None

    def interrupted(self) -> bool:
        """Whether it was interrupted, or is gone."""
        return started_at(self.pid) != self.identity or not _catches(self.pid, signal.SIGINT)


def _catches(pid: int, number: signal.Signals) -> bool:
    try:
        status = Path(f"/proc/{pid}/status").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return False
    caught = next((line.split()[1] for line in status.splitlines() if line.startswith("SigCgt:")), "0")
    return bool(int(caught, 16) >> (number - 1) & 1)


def end_pid(pid: int, signals: Iterable[tuple[int, float]]) -> None:
    """End a process that is not our child: each signal in turn with its seconds, finally SIGKILL."""
    identity = started_at(pid)
    for signal_number, wait_s in [*signals, (signal.SIGKILL, 5.0)]:
        if identity is None or started_at(pid) != identity:
            return
        try:
            os.kill(pid, signal_number)
        except ProcessLookupError:
            return
        wait_until(lambda: started_at(pid) != identity, wait_s)


def wait_until(condition: Callable[[], bool], wait_s: float, *, step_s: float = 0.02) -> bool:
    """Poll a condition for at most ``wait_s`` seconds; return whether it came true."""
    deadline = time.monotonic() + wait_s
    while not condition():
        if time.monotonic() >= deadline:
            return False
        time.sleep(step_s)
    return True
