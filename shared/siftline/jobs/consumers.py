"""Where the batch loop of a function that works jobs off is put together.

Apart from ``wiring``: who only makes jobs need not load the batch loop when it starts.
"""

import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from siftline.contracts import JobType
from siftline.jobs.consume import BatchConsumer, SubjectMaker
from siftline.jobs.job_model import ClaimedJob, Done, Processor
from siftline.jobs.jobs_wiring import Producer
from siftline.kit.db import Connection
from siftline.kit.errors import SiftlineError
from siftline.settings.functions import ConsumerSettings


class Kind(Protocol):
    """A processor's class: what it does, and what it cannot work without."""

    job_type: JobType
    providers: frozenset[str]


class Lazily:
    """A processor put together at its first job: what cannot be opened is then an error of that job, not of the start.

    So a missing model opens its breaker and its jobs wait, where a function that does not start would burn receives.
    """

    def __init__(self, kind: Kind, build: Callable[[], Processor]) -> None:
        self.job_type = kind.job_type
        self.providers = kind.providers
        self._build = build
        self._built: Processor | None = None
        self._lock = threading.Lock()

    def process(self, job: ClaimedJob) -> Done:
        """Do the work of one claimed job; raises what ``build`` and the processor raise."""
        with self._lock:
            self._built = self._built or self._build()
        return self._built.process(job)

    def on_failure(self, connection: Connection, job: ClaimedJob, error: SiftlineError) -> None:
        """Pass on what a failed try means; nothing, as long as there is no processor that could have tried."""
        if self._built is not None:
            self._built.on_failure(connection, job, error)


def consumer(
    settings: ConsumerSettings,
    parts: Producer,
    processors: Sequence[Processor],
    subjects: Mapping[JobType, SubjectMaker],
    *,
    reserve_s: float,
) -> BatchConsumer:
    """Return the batch loop over these processors; ``reserve_s`` is the longest that one job may take."""
    return BatchConsumer(
        queues={url.rpartition("/")[2]: queue for queue, url in settings.queue_urls().items()},
        database=parts.database,
        publisher=parts.publisher,
        sender=parts.queues,
        processors=processors,
        subjects=subjects,
        settings=settings,
        clock=parts.clock,
        reserve_s=reserve_s,
    )
