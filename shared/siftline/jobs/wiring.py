"""Where the parts of a job's life are put together, the same for every function."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from siftline.contracts import JobType
from siftline.jobs.consume import BatchConsumer, SubjectMaker
from siftline.jobs.model import Processor
from siftline.jobs.publish import Publisher
from siftline.jobs.queues import SqsQueues
from siftline.kit.aws import secret, sqs_client
from siftline.kit.clock import Clock, SystemClock
from siftline.kit.db import Database, open_database
from siftline.settings import ConsumerSettings, ProducerSettings


@dataclass(frozen=True, slots=True)
class Producer:
    """What a function that makes jobs works with."""

    database: Database
    queues: SqsQueues
    publisher: Publisher
    clock: Clock


def producer(settings: ProducerSettings) -> Producer:
    """Open the database and the queues. Parking needs the dead-letter queues of ``ConsumerSettings``."""
    database = open_database(secret(settings.database_url.get_secret_value()), settings.database_pool_size)
    clock = SystemClock()
    dead = settings.dead_letter_urls() if isinstance(settings, ConsumerSettings) else {}
    queues = SqsQueues(sqs_client(), settings.queue_urls(), dead)
    return Producer(database, queues, Publisher(database, queues, settings, clock), clock)


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
