"""A program of ours that the supervisor starts: with a log, a sign that it is ready, and an orderly end."""

import http.client
import os
import shutil
import signal
import subprocess
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import BinaryIO, Self

from infra.local.processes import end, tethered, wait_until
from siftline.operate.set_up_error import SetUpError

LOG_LIMIT_BYTES = 5_000_000
"""A log and the one put aside before it take at most about twice this."""


class Service(ABC):
    """A process that is started, watched and stopped: by the supervisor, or for the length of a ``with`` block."""

    _process: subprocess.Popen[bytes] | None = None
    log_file: Path
    """What it says."""

    @abstractmethod
    def launch(self) -> None:
        """Start it without waiting."""

    @abstractmethod
    def wait_ready(self) -> None:
        """Wait until it can be used. Raises ``SetUpError``."""

    @abstractmethod
    def stop(self) -> None:
        """End it and wait for the end."""

    @property
    def pid(self) -> int | None:
        """Its process id while it runs."""
        return self._process.pid if self._process else None

    @property
    def exit_code(self) -> int | None:
        """How it ended (minus the signal's number if by a signal); ``None`` while it runs or was never started."""
        return self._process.poll() if self._process else None

    def keep_log_short(self) -> None:
        """Put a long log aside as ``<name>.1`` while its writer goes on: it appends, wherever the end is then."""
        if self.log_file.exists() and self.log_file.stat().st_size > LOG_LIMIT_BYTES:
            shutil.copyfile(self.log_file, self.log_file.with_name(f"{self.log_file.name}.1"))
            os.truncate(self.log_file, 0)

    def start(self) -> None:
        """Start it; returns once it can be used. Raises ``SetUpError``."""
        self.launch()
        self.wait_ready()

    def __enter__(self) -> Self:
        """Start it."""
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Stop it."""
        self.stop()


class Program(Service):
    """A Python module run as a process of its own.

    It dies with the supervisor: the kernel sends it SIGTERM. ``stop`` sends SIGTERM, waits ``patience_s`` and kills.
    """

    def __init__(
        self,
        name: str,
        command: Sequence[str],
        *,
        folder: Path,
        environment: Mapping[str, str],
        log: Path,
        ready: Callable[[], bool] = lambda: True,
        start_s: float = 90.0,
        patience_s: float = 10.0,
    ) -> None:
        self.name = name
        self._command = list(command)
        self._folder = folder
        self._environment = dict(environment)
        self.log_file = log
        self._ready = ready
        self._start_s = start_s
        self.patience_s = patience_s

    def launch(self) -> None:
        """Start it without waiting, in a process group of its own: Ctrl-C goes to the supervisor alone."""
        with open_log(self.log_file) as log:
            self._process = subprocess.Popen(
                tethered(self._command),
                cwd=self._folder,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=self._environment,
                process_group=0,
            )

    def wait_ready(self) -> None:
        """Wait until it says it is ready. Raises ``SetUpError`` when it ends first, or takes too long."""
        wait_until(lambda: self.exit_code is not None or self._ready(), self._start_s)
        if self.exit_code is not None or not self._ready():
            self.stop()
            raise SetUpError(f"{beginning(self.name)} did not start; see {self.log_file}.")

    def stop(self) -> None:
        """End it and wait for the end."""
        if self._process is not None:
            end(self._process, [(signal.SIGTERM, self.patience_s)])
            self._process = None


def beginning(words: str) -> str:
    """Return words as they begin a sentence."""
    return words[:1].upper() + words[1:]


def open_log(path: Path) -> BinaryIO:
    """Open a log to append to; a long one is put aside as ``<name>.1`` first."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.exists() and path.stat().st_size > LOG_LIMIT_BYTES:
        path.replace(path.with_name(f"{path.name}.1"))
    return path.open("ab")


def answers(port: int, path: str, secret: str = "") -> bool:
    """Whether ``GET path`` on 127.0.0.1 is answered with 200, to who has the ``secret``."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=2)
    try:
        connection.request("GET", path, headers={"Authorization": f"Bearer {secret}"} if secret else {})
        return connection.getresponse().status == 200
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()
