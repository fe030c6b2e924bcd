"""RabbitMQ on loopback: Debian's packages unpacked into a folder of ours, so that nothing on the machine changes."""

import platform
import secrets
import shutil
import signal
import socket
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Self

from infra.local.errors import SetUpError
from infra.local.machine import ROOT
from infra.local.postgres import free_port
from infra.local.processes import end, tethered, wait_until

_FOLDER = ROOT / ".local" / "peers-rabbitmq"
_ERLANG = "/usr/lib/erlang"
_START_WAIT_S = 60.0
_ADVICE = "Celery is left out: its default broker, RabbitMQ, comes from Debian's packages"


def rabbitmq_root() -> Path:
    """Return the folder with the unpacked packages, made on first use with ``apt-get download``.

    apt checks the packages' signatures. Raises ``SetUpError`` where there is no apt or it has no such packages.
    """
    root = _FOLDER / "root"
    if root.exists():
        return root
    if platform.system() != "Linux" or not all(map(shutil.which, ("apt-get", "apt-cache", "dpkg"))):
        raise SetUpError(f"{_ADVICE}, and this machine has no apt.")
    downloads, new = _FOLDER / "packages", _FOLDER / "new"
    for folder in (downloads, new):
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
    switches = [f"--no-{kind}" for kind in ("recommends", "suggests", "conflicts", "breaks", "replaces", "enhances")]
    listed = _said(["apt-cache", "depends", "--recurse", *switches, "rabbitmq-server"], downloads)
    packages = sorted({line for line in listed.splitlines() if line.startswith(("erlang-", "rabbitmq-server"))})
    _said(["apt-get", "download", "--quiet", *packages], downloads)
    for package in downloads.glob("*.deb"):
        _said(["dpkg", "-x", str(package), str(new)], downloads)
    starter = new / _ERLANG[1:] / "bin" / "erl"
    starter.write_text(starter.read_text(encoding="utf-8").replace(_ERLANG, "$ERL_ROOTDIR"), encoding="utf-8")
    new.rename(root)
    return root


def rabbitmq_version(root: Path) -> str:
    """Return the version of what was unpacked."""
    return _installed(root).name.partition("-")[2]


def _installed(root: Path) -> Path:
    return next((root / "usr/lib/rabbitmq/lib").glob("rabbitmq_server-*"))


def _said(command: Sequence[str], folder: Path) -> str:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        last = done.stderr.strip().rpartition("\n")[2]
        raise SetUpError(f"{_ADVICE}, and they could not be had ({last}); apt-get update may help.")
    return done.stdout


class RabbitMq:
    """One node with default settings; a context manager. Everything that it keeps is in ``home``."""

    def __init__(self, root: Path, home: Path) -> None:
        self._root = root
        self._home = home
        self._port, self._distribution_port, self._names_port = free_port(), free_port(), free_port()
        self._stack = ExitStack()

    @property
    def url(self) -> str:
        """Where it answers, for its default user."""
        return f"amqp://guest:guest@127.0.0.1:{self._port}//"

    def __enter__(self) -> Self:
        """Start the node and what tells its name, all on loopback. Raises ``SetUpError``."""
        self._home.mkdir()
        names = ["-address", "127.0.0.1", "-port", str(self._names_port)]
        self._start([str(self._root / _ERLANG[1:] / "bin" / "epmd"), *names])
        process = self._start([str(_installed(self._root) / "sbin" / "rabbitmq-server")])
        wait_until(lambda: process.poll() is not None or self._answers(), _START_WAIT_S)
        if process.poll() is not None or not self._answers():
            self._stack.close()
            raise SetUpError("RabbitMQ does not start.")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop both."""
        self._stack.close()

    def _start(self, command: Sequence[str]) -> subprocess.Popen[bytes]:
        with (self._home / "log").open("ab") as log:
            process = subprocess.Popen(
                tethered(command),
                cwd=self._home,
                env=self._environment(),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        self._stack.callback(end, process, [(signal.SIGTERM, 20.0)])
        return process

    def _answers(self) -> bool:
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self._port)) == 0

    def _environment(self) -> Mapping[str, str]:
        return {
            "PATH": f"{self._root / _ERLANG[1:] / 'bin'}:/usr/sbin:/usr/bin:/sbin:/bin",
            "HOME": str(self._home),
            "ERL_ROOTDIR": str(self._root / _ERLANG[1:]),
            "LANG": "C.UTF-8",
            "ERL_EPMD_ADDRESS": "127.0.0.1",
            "ERL_EPMD_PORT": str(self._names_port),
            "RABBITMQ_CONF_ENV_FILE": "/dev/null",
            "RABBITMQ_ENABLED_PLUGINS_FILE": str(self._home / "plugins"),
            "RABBITMQ_LOG_BASE": str(self._home / "logs"),
            "RABBITMQ_MNESIA_BASE": str(self._home / "mnesia"),
            "RABBITMQ_NODENAME": f"kills-{secrets.token_hex(4)}@localhost",
            "RABBITMQ_NODE_IP_ADDRESS": "127.0.0.1",
            "RABBITMQ_NODE_PORT": str(self._port),
            "RABBITMQ_DIST_PORT": str(self._distribution_port),
            "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS": "-kernel inet_dist_use_interface {127,0,0,1}",
        }
