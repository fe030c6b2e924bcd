"""Where the parts of a job's life are put together, the same for every function; those of the loop: ``consume``."""

from dataclasses import dataclass

from siftline.jobs.publish import Publisher
from siftline.jobs.queues import SqsQueues
from siftline.jobs.statistics import Statistics
from siftline.kit.aws import sqs_client
from siftline.kit.clock import Clock, SystemClock
from siftline.kit.db import Database, open_database
from siftline.settings.functions import ConsumerSettings, ProducerSettings


@dataclass(frozen=True, slots=True)
class Producer:
    """What a function that makes jobs works with."""

    database: Database
    queues: SqsQueues
    publisher: Publisher
    clock: Clock


def producer(settings: ProducerSettings, *, sqs_timeout_s: float | None = None) -> Producer:
    """Open the database and the queues. Parking needs the dead-letter queues of ``ConsumerSettings``.

    With ``sqs_timeout_s`` somebody waits for the answer: SQS is asked once, and no longer than that; the sweep is then
    the retry.
    """
    database = open_database(settings.database_url.get_secret_value(), settings.database_pool_size)
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
    return Statistics(parts.database, names, parts.clock)
