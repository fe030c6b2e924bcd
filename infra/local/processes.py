"""Programs this stack starts: they die with their starter, and are ended only if surely ours."""

import ctypes
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path

_PR_SET_PDEATHSIG = 1
_LIBC = ctypes.CDLL(None, use_errno=True) if sys.platform == "linux" else None


def dies_with_parent(signal_number: int = signal.SIGTERM) -> Callable[[], None]:
    """Return a ``preexec_fn`` that has the kernel send ``signal_number`` to the child when this process is gone.

    The kernel ties it to the starting *thread* (prctl(2), PR_SET_PDEATHSIG): start children from one that stays.
    """
    parent = os.getpid()

    def prepare() -> None:
        if _LIBC is not None:
            _LIBC.prctl(_PR_SET_PDEATHSIG, signal_number, 0, 0, 0)
        if os.getppid() != parent:  # it died before the call above
            os._exit(1)

    return prepare


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


def write_pid_file(path: Path, pid: int) -> None:
    """Record a process as ``<pid>`` and, on a second line, its start time."""
    path.write_text(f"{pid}\n{started_at(pid) or ''}\n", encoding="ascii")


def read_pid_file(path: Path) -> int | None:
    """Return the recorded process if it still runs and is the very one that was recorded, else ``None``."""
    try:
        pid, started = path.read_text(encoding="ascii").split()[:2]
        alive = started_at(int(pid)) == started
    except (OSError, ValueError):
        return None
    return int(pid) if alive else None


def end_recorded(path: Path, signals: Iterable[tuple[int, float]]) -> bool:
    """End what a pid file names, if it is surely that process, and remove the file. Returns whether there was one."""
    pid = read_pid_file(path)
    if pid is not None:
        end_pid(pid, signals)
    path.unlink(missing_ok=True)
    return pid is not None


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
