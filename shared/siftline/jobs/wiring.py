"""Where the parts of a job's life are put together, the same for every function."""

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from siftline.contracts import JobType
from siftline.jobs.consume import BatchConsumer, SubjectMaker
from siftline.jobs.model import ClaimedJob, Done, Processor
from siftline.jobs.publish import Publisher
from siftline.jobs.queues import SqsQueues
from siftline.jobs.statistics import Statistics
from siftline.kit.aws import secret, sqs_client
from siftline.kit.clock import Clock, SystemClock
from siftline.kit.db import Connection, Database, open_database
from siftline.kit.errors import SiftlineError
from siftline.settings import ConsumerSettings, ProducerSettings


@dataclass(frozen=True, slots=True)
class Producer:
    """What a function that makes jobs works with."""

    database: Database
    queues: SqsQueues
    publisher: Publisher
    clock: Clock


class Lazily:
    """A processor put together at its first job: what cannot be opened is then an error of that job, not of the start.

    So a missing model opens its breaker and its jobs wait, where a function that does not start would burn receives.
    """

    def __init__(self, job_type: JobType, providers: frozenset[str], build: Callable[[], Processor]) -> None:
        self.job_type = job_type
        self.providers = providers
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


def producer(settings: ProducerSettings, *, sqs_timeout_s: float | None = None) -> Producer:
    """Open the database and the queues. Parking needs the dead-letter queues of ``ConsumerSettings``.

    With ``sqs_timeout_s`` somebody waits for the answer: SQS is asked once, and no longer than that; the sweep is then
    the retry.
    """
    database = open_database(secret(settings.database_url.get_secret_value()), settings.database_pool_size)
    clock = SystemClock()
    dead = settings.dead_letter_urls() if isinstance(settings, ConsumerSettings) else {}
    if sqs_timeout_s is None:
        queues = SqsQueues(sqs_client(), settings.queue_urls(), dead)
    else:
        queues = SqsQueues(sqs_client(sqs_timeout_s), settings.queue_urls(), dead, tries=1)
    return Producer(database, queues, Publisher(database, queues, settings), clock)


def statistics(settings: ProducerSettings, parts: Producer) -> Statistics:
    """Return what tells the queues' counts, under their real names."""
    names = {queue: url.rpartition("/")[2] for queue, url in settings.queue_urls().items()}
    return Statistics(parts.database, names, settings, parts.clock)


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
