"""Peers: each runs in an environment of its own, made from its lock on first use, beside nothing of ours."""

import subprocess
from collections.abc import Mapping
from pathlib import Path

from infra.local.locked_environment import locked_python
from infra.local.machine import ROOT
from siftline.settings.functions import process_environment


class Peer:
    """The environment of a lock (``infra/locks/<lock>.txt``). Raises ``SetUpError``."""

    def __init__(self, lock: str) -> None:
        self._lock = ROOT / "infra" / "locks" / f"{lock}.txt"
        self.python: Path = locked_python(ROOT / ".local" / f"peers-{lock}", self._lock)

    def version(self, package: str) -> str:
        """Return what the lock says of a package: ``reader==3.27``."""
        lines = self._lock.read_text("utf-8").splitlines()
        return next(line.split()[0] for line in lines if line.startswith(f"{package}=="))

    def start(self, *arguments: str, more: Mapping[str, str] | None = None) -> subprocess.Popen[str]:
        """Start ``python -m`` with these arguments and more variables; its input and output are pipes."""
        return subprocess.Popen(
            [str(self.python), "-m", *arguments],
            env={**process_environment(), "PYTHONPATH": str(ROOT), **(more or {})},
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )

    def run(self, *arguments: str, given: str = "", more: Mapping[str, str] | None = None) -> str:
        """Run ``python -m`` with these arguments and ``given`` as its input; return what it prints."""
        process = self.start(*arguments, more=more)
        printed, _ = process.communicate(given)
        if process.returncode:
            raise subprocess.CalledProcessError(process.returncode, arguments)
        return printed
