"""Stand-ins on the same interfaces, for what a test does not mean to exercise."""

from collections import defaultdict
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from siftline.contracts import JobType, Queue
from siftline.jobs.dead_letters import Letter, Visitor
from siftline.jobs.job_model import ClaimedJob, Done
from siftline.jobs.queues import Envelope
from siftline.kit.db import Connection
from siftline.kit.errors import SiftlineError
from siftline.settings.functions import Settings

NOWHERE = {
    "database_url": "postgresql:///unused",
    "qdrant_url": "http://127.0.0.1:1",
    **{
        f"{queue.name.lower()}_{kind}_url": f"http://127.0.0.1:1/000000000000/siftline-local-{queue}-{kind}"
        for queue in Queue
        for kind in ("queue", "dlq")
    },
}
"""The settings without a default, for functions whose parts a test hands in."""


def nowhere(settings: type[Settings]) -> dict[str, Any]:
    """Return those of ``NOWHERE`` that a class of settings has."""
    return {name: value for name, value in NOWHERE.items() if name in settings.model_fields}


class FakeSender:
    """Keeps what would be sent; refuses what ``refuse`` says."""

    def __init__(self, refuse: Callable[[Envelope], bool] = lambda _: False) -> None:
        self.sent: dict[Queue, list[Envelope]] = defaultdict(list)
        self.dead: dict[Queue, list[Envelope]] = defaultdict(list)
        self.refuse = refuse

    def send(self, queue: Queue, envelopes: Sequence[Envelope]) -> set[str]:
        """Keep and accept."""
        return self._keep(self.sent[queue], envelopes)

    def park(self, queue: Queue, envelopes: Sequence[Envelope]) -> set[str]:
        """Keep and accept."""
        return self._keep(self.dead[queue], envelopes)

    def parked_attributes(self, queue: Queue) -> list[dict[str, str]]:
        """Return the attributes of each message that was parked."""
        return [dict(envelope.attributes or {}) for envelope in self.dead[queue]]

    def _keep(self, kept: list[Envelope], envelopes: Sequence[Envelope]) -> set[str]:
        accepted = [envelope for envelope in envelopes if not self.refuse(envelope)]
        kept.extend(accepted)
        return {envelope.key for envelope in accepted}


class NoDeadLetters:
    """Dead-letter queues on which nothing lies."""

    def visit(self, queue: Queue, visitor: Visitor, *, budget_s: float, messages_max: int) -> bool:
        """Show nothing."""
        return True

    def delete(self, queue: Queue, letters: Sequence[Letter]) -> int:
        """Delete nothing."""
        return 0

    def send_back(self, queue: Queue, letters: Sequence[Letter]) -> set[str]:
        """Move nothing."""
        return set()

    def move_all(self, queue: Queue) -> bool:
        """Move nothing."""
        return False


class FakeProcessor:
    """Does what the test says for each job."""

    def __init__(
        self,
        work: Callable[[ClaimedJob], Done],
        job_type: JobType = JobType.ANALYZE_CONTENT,
        providers: frozenset[str] = frozenset(),
    ) -> None:
        self._work = work
        self.providers = providers
        self._job_type = job_type
        self.worked: list[ClaimedJob] = []
        self.failures: list[str] = []

    @property
    def job_type(self) -> JobType:
        """The job type it does."""
        return self._job_type

    def process(self, job: ClaimedJob) -> Done:
        """Note the job and do the test's work."""
        self.worked.append(job)
        return self._work(job)

    def on_failure(self, connection: Connection, job: ClaimedJob, error: SiftlineError) -> None:
        """Note the error's code."""
        self.failures.append(error.error_code)


class FakeClock:
    """Stands still until moved."""

    def __init__(self, start: datetime = datetime(2026, 11, 27, 12, tzinfo=UTC)) -> None:
        self.time = start

    def now(self) -> datetime:
        """Return the set time."""
        return self.time

    def monotonic(self) -> float:
        """Return the set time in seconds."""
        return self.time.timestamp()

    def move(self, seconds: float) -> None:
        """Go forward."""
        self.time += timedelta(seconds=seconds)
