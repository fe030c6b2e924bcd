"""Starts workers in a blink: imports once all that they import, and forks one whenever it is told to.

``python -m tests.faults.nursery`` reads a line of JSON for each worker, ``{"arguments": […], "environment": {…}, "log":
…}``, and answers with its process id. What it forks is ``python -m siftline.worker`` itself, by its own ``main``; it is
killed with SIGKILL by the tests, and by the kernel when the nursery ends (when its input does).
"""

import ctypes
import gc
import importlib
import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

from infra.local.processes import started_at, tethered, wait_until
from siftline.settings.functions import process_environment
from siftline.worker.__main__ import main as worker_main

_PR_SET_PDEATHSIG = 1
_ROOT = Path(__file__).resolve().parents[2]
_FUNCTIONS = ("fetch", "ingest", "analyze", "cluster", "brief", "schedule")


class Nursery:
    """The program, seen from a test."""

    def __init__(self, log: Path) -> None:
        self._lock = threading.Lock()
        paths = f"{_ROOT / 'shared'}:{_ROOT}"
        with log.open("ab") as errors:
            self._process = subprocess.Popen(
                tethered([sys.executable, "-m", "tests.faults.nursery"], signal_number=signal.SIGKILL),
                cwd=_ROOT,
                env={**process_environment(), "PYTHONPATH": paths},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
            )

    def fork(self, arguments: list[str], variables: dict[str, str], log: Path) -> int:
        """Start a worker and return its process id."""
        wanted = {"arguments": arguments, "environment": variables, "log": str(log)}
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None
        assert stdout is not None
        with self._lock:
            stdin.write(json.dumps(wanted).encode() + b"\n")
            stdin.flush()
            return int(stdout.readline())

    def close(self) -> None:
        """End it, and with it every worker."""
        self._process.communicate(timeout=30)


def kill(pid: int) -> None:
    """SIGKILL a worker and wait until it is gone."""
    os.kill(pid, signal.SIGKILL)
    assert wait_until(lambda: started_at(pid) is None, 300)


def _child(wanted: dict[str, Any]) -> int:
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0)
    with Path(wanted["log"]).open("ab") as log, Path(os.devnull).open("rb") as nothing:
        os.dup2(nothing.fileno(), 0)
        os.dup2(log.fileno(), 1)
        os.dup2(log.fileno(), 2)
    sys.argv = ["siftline.worker", *wanted["arguments"]]
    os.environ.update(wanted["environment"])  # noqa: TID251 - what a new process would have been started with
    return worker_main()


def _main() -> None:
    for name in _FUNCTIONS:
        importlib.import_module(f"functions.{name}.app")
    gc.freeze()  # the workers share these objects' pages
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for the dead
    for line in sys.stdin:
        pid = os.fork()
        if pid == 0:
            code = 70
            try:
                signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                code = _child(json.loads(line))
            finally:
                sys.stdout.flush()
                os._exit(code)
        sys.stdout.write(f"{pid}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    _main()
