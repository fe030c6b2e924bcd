"""What the peers have in common: where they are installed, how their programs find things, what their effects are."""

from collections.abc import Mapping
from urllib.parse import urlsplit

import psycopg

from benchmarks.killing.crew import Command
from infra.local.locked_environment import locked_python
from infra.local.machine import ROOT
from siftline.settings.functions import process_environment


class Peer:
    """A tool in an environment of its own, made from its lock on first use. Raises ``SetUpError``."""

    pool = False

    def __init__(self, lock: str) -> None:
        pins = ROOT / "infra" / "locks" / f"{lock}.txt"
        python = locked_python(ROOT / ".local" / f"peers-{lock}", pins)
        self.version = next(line for line in pins.read_text("utf-8").splitlines() if line.startswith(f"{lock}=="))[:-2]
        self._python = str(python)
        self._module = lock
        self._database_url = ""

    def keepers(self) -> list[Command]:
        """Return nothing: a worker is all that the documentation asks to run."""
        return []

    def finished(self) -> int:
        """Return how many jobs left their effect."""
        with psycopg.connect(self._database_url) as connection:
            row = connection.execute("select count(distinct page) from effects").fetchone()
        assert row is not None
        return int(row[0])

    def returns(self) -> list[tuple[int, float]]:
        """Return nothing: it keeps no record of that."""
        return []

    def faults(self) -> None:
        """Return nothing: what its jobs left is looked at, not its own records."""
        return

    def _environment(self) -> Mapping[str, str]:
        """Return variables by which libpq, and so psycopg, finds the database."""
        url = urlsplit(self._database_url)
        return {
            **process_environment(),
            "PGHOST": str(url.hostname),
            "PGPORT": str(url.port),
            "PGUSER": str(url.username),
            "PGPASSWORD": str(url.password),
            "PGDATABASE": url.path.removeprefix("/"),
            "PYTHONPATH": str(ROOT),
        }

    def _command(self, *arguments: str, module: str = "") -> Command:
        """Return a command of the tool's own, or a module of ours in its environment."""
        return Command([self._python, "-m", module or self._module, *arguments], self._environment(), ROOT)
