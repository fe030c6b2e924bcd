"""Celery under the killer: its prefork worker as documented, over RabbitMQ, its default broker."""

import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from benchmarks.killing.crew import Command
from benchmarks.killing.peer import Peer
from benchmarks.killing.rabbitmq import RabbitMq, rabbitmq_root, rabbitmq_version
from benchmarks.killing.trial import SLOTS, WORKERS, Plan

_TASKS = "benchmarks.killing.celery_tasks"


class Celery(Peer):
    """A tool of the trial; ``late``: the task is acknowledged when it is done, not when it begins."""

    pool = True

    def __init__(self, *, late: bool = False) -> None:
        super().__init__("celery")
        self.name = "Celery, acks_late" if late else "Celery"
        self._task = "read_late" if late else "read"
        self._rabbitmq = rabbitmq_root()
        self.version += f" over RabbitMQ {rabbitmq_version(self._rabbitmq)}"
        self._broker = ""

    @contextmanager
    def open(self, plan: Plan, folder: Path, database_url: str) -> Iterator[None]:  # noqa: ARG002  -- the protocol's
        """Run a RabbitMQ of its own."""
        self._database_url = database_url
        with RabbitMq(self._rabbitmq, folder / "rabbitmq") as broker:
            self._broker = broker.url
            yield

    def workers(self) -> Sequence[Command]:
        """Return its workers."""
        shared = ("-A", _TASKS, "-b", self._broker, "worker", f"--concurrency={SLOTS}", "--loglevel=WARNING")
        return [self._command(*shared, f"--hostname=worker-{number}@bench") for number in range(WORKERS)]

    def enqueue(self, urls: Sequence[str]) -> None:
        """Send a job a page."""
        command = self._command(self._broker, self._task, *urls, module=_TASKS)
        subprocess.run(command.arguments, env=command.environment, cwd=command.folder, check=True, capture_output=True)
