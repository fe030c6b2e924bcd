"""What ``make run`` keeps in ``.local``: the lock, the processes it started, the token, the logs."""

import fcntl
import json
import shlex
import signal
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path

from infra.local.processes import end_pid, started_at
from siftline.operate.set_up_error import SetUpError

_USUAL = Path(__file__).resolve().parents[2] / ".local"
RUN = "make run"
SAMPLES_PORT = "samples.port"
"""The file in a folder that says where its samples are served."""


class State:
    """One folder of state; at most one supervisor holds it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder.absolute()
        self.folder.mkdir(parents=True, exist_ok=True)
        self.logs = private_folder(self.folder / "log")
        self.worker_pid_file = self.folder / "worker.pid"
        self.token_file = self.folder / "token"
        self._address_file = self.folder / "address"
        self._processes_file = self.folder / "processes.json"
        self._processes: dict[str, tuple[int, str]] = {}
        self._lock = (self.folder / "run.lock").open("a+")

    def close(self) -> None:
        """Let the folder go, as the end of the process does."""
        self._lock.close()

    def take(self, command: str = RUN) -> bool:
        """Take the folder for this process's life; ``False`` when another has it. ``command`` is told to others."""
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        self._lock.truncate(0)
        self._lock.write(command)
        self._lock.flush()
        return True

    def refuse_others(self) -> None:
        """Raise ``SetUpError`` where it is another command than ``make run`` that has the folder."""
        self._lock.seek(0)
        command = self._lock.read()
        if command not in {"", RUN}:  # nothing stands there for the moment between lock and name
            raise SetUpError(f"{command} is using {self.folder}: wait until it has ended.")

    @property
    def address(self) -> str:
        """Where the supervisor that has the folder answers, or will."""
        return self._address_file.read_text(encoding="utf-8") if self._address_file.exists() else ""

    def set_address(self, address: str) -> None:
        """Tell others where this supervisor answers."""
        self._address_file.write_text(address, encoding="utf-8")

    def forget_address(self) -> None:
        """Tell others that nobody answers any longer."""
        self._address_file.unlink(missing_ok=True)

    def remember(self, name: str, pid: int | None) -> None:
        """Record a process by id and start time, so that a later start knows it for sure."""
        started = started_at(pid) if pid else None
        if pid and started:
            self._processes[name] = (pid, started)
        else:
            self._processes.pop(name, None)
        self._processes_file.write_text(json.dumps(self._processes), encoding="utf-8")

    def end_leftovers(self) -> list[str]:
        """End what a killed supervisor left running, if it is surely that process; return its names."""
        try:
            recorded = json.loads(self._processes_file.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return []
        alive = {name: pid for name, (pid, started) in recorded.items() if started_at(pid) == started}
        for pid in alive.values():
            end_pid(pid, [(signal.SIGTERM, 5.0)])
        self._processes_file.unlink()
        self.worker_pid_file.unlink(missing_ok=True)
        return list(alive)

    def token(self) -> str | None:
        """Return the kept token."""
        return self.token_file.read_text(encoding="ascii").strip() if self.token_file.exists() else None

    def keep_token(self, token: str) -> None:
        """Keep a token where only its owner can read it."""
        write_private(self.token_file, f"{token}\n")

    def keep_environment(self, variables: Mapping[str, str]) -> None:
        """Keep what the programs were given, for commands by hand: ``set -a; . .local/environment``."""
        lines = [f"{name}={shlex.quote(value)}\n" for name, value in sorted(variables.items())]
        write_private(self.folder / "environment", "".join(lines))


def kept_environment(folder: Path) -> dict[str, str]:
    """Return what ``State.keep_environment`` kept in a folder. Raises ``SetUpError`` where nothing ever ran there."""
    kept = folder / "environment"
    if not kept.exists():
        raise SetUpError(f"Siftline never ran in {folder}: start `{run_command(folder)}` in another terminal first.")
    pairs = (word.partition("=") for word in shlex.split(kept.read_text(encoding="utf-8")))
    return {name: value for name, _, value in pairs}


def running_environment(folder: Path) -> dict[str, str]:
    """Return what the programs that run in a folder were given. Raises ``SetUpError`` where none run."""
    kept = kept_environment(folder)
    with closing(State(folder)) as state:
        if state.take("another command"):
            raise SetUpError(
                f"{RUN} is not running in {folder}: start it in another terminal (`{run_command(folder)}`) first."
            )
        state.refuse_others()
    return kept


def run_command(folder: Path) -> str:
    """Return what to type so that Siftline runs in a folder."""
    return RUN + folder_argument(folder)


def folder_argument(folder: Path) -> str:
    """Return what has to be added to a command so that it is for this folder: nothing for the usual one."""
    return "" if folder.resolve() == _USUAL.resolve() else f" FOLDER={shlex.quote(str(folder))}"


def private_folder(path: Path) -> Path:
    """Make a folder that only its owner can enter, or close one that others could."""
    path.mkdir(mode=0o700, parents=True, exist_ok=True)
    path.chmod(0o700)
    return path


def write_private(path: Path, text: str) -> None:
    """Write a file that only its owner can read."""
    path.touch(mode=0o600)
    path.chmod(0o600)
    path.write_text(text, encoding="utf-8")
