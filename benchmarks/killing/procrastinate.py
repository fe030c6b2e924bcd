"""procrastinate under the killer: its worker as documented, its schema in the run's own database."""

import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from benchmarks.killing.crew import Command
from benchmarks.killing.peer import Peer
from benchmarks.killing.trial import SLOTS, WORKERS, Plan

_TASKS = "benchmarks.killing.procrastinate_tasks"
_APP = f"--app={_TASKS}.app"


class Procrastinate(Peer):
    """A tool of the trial. Stalled jobs are left to it: its default retries none of them."""

    name = "procrastinate"

    def __init__(self) -> None:
        super().__init__("procrastinate")

    @contextmanager
    def open(self, plan: Plan, folder: Path, database_url: str) -> Iterator[None]:  # noqa: ARG002  -- the protocol's
        """Apply its schema."""
        self._database_url = database_url
        _done(self._command(_APP, "schema", "--apply"))
        yield

    def workers(self) -> Sequence[Command]:
        """Return its workers."""
        return [
            self._command(_APP, "worker", f"--name=worker-{number}", f"--concurrency={SLOTS}")
            for number in range(WORKERS)
        ]

    def enqueue(self, urls: Sequence[str]) -> None:
        """Defer a job a page."""
        _done(self._command(*urls, module=_TASKS))


def _done(command: Command) -> None:
    subprocess.run(command.arguments, env=command.environment, cwd=command.folder, check=True, capture_output=True)
