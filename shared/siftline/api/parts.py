"""What the API works with: the same for all its resources, put together once a process."""

from collections.abc import Callable, Sequence
from typing import Protocol
from uuid import UUID

from aws_lambda_powertools import Logger

from siftline.api.http.authorize import WrongTokens
from siftline.api.http.limits import RequestLimit
from siftline.api.http.routing import Resource
from siftline.api.items.items_store import ScoreRule
from siftline.contracts import Queue
from siftline.jobs import jobs_store as jobs
from siftline.jobs.dead_letters import DeadLetterQueues
from siftline.jobs.job_model import NewJob
from siftline.jobs.publish import Publisher
from siftline.jobs.queues import Depth
from siftline.kit.clock import Clock
from siftline.kit.db import Connection, Database
from siftline.kit.errors import TransientError
from siftline.settings.functions import ApiSettings


class Depths(Protocol):
    """Knows how deep a queue is (``siftline.jobs.queues.SqsQueues``)."""

    def depth(self, queue: Queue) -> Depth:
        """Return SQS's approximate counts. Raises ``QueueUnavailableError``."""
        ...


class Outbox:
    """Makes jobs: enqueued in the transaction of what they are for, and published after its commit."""

    def __init__(self, publisher: Publisher, log: Logger, *, max_attempts: int) -> None:
        self._publisher = publisher
        self._log = log
        self._max_attempts = max_attempts

    def enqueue(self, connection: Connection, *wanted: NewJob) -> list[UUID]:
        """Enqueue jobs; returns what to publish after the commit."""
        return jobs.enqueue(connection, wanted, max_attempts=self._max_attempts)

    def publish(self, job_ids: Sequence[UUID]) -> None:
        """Publish committed jobs, and never fail the request by it: the sweep sends what waits."""
        if not job_ids:
            return
        try:
            self._publisher.publish(job_ids)
        except TransientError as error:
            self._log.warning("jobs_not_published", jobs=len(job_ids), error_code=error.error_code)


class Parts:
    """What the API works with."""

    def __init__(
        self,
        settings: ApiSettings,
        log: Logger,
        clock: Clock,
        *,
        database: Database,
        publisher: Publisher,
        queues: Depths,
        dead_letter_queues: DeadLetterQueues,
        check_vectors: Callable[[], object],
    ) -> None:
        """``check_vectors`` raises one of our errors where Qdrant does not answer."""
        self.settings = settings
        self.log = log
        self.clock = clock
        self.database = database
        self.queues = queues
        self.dead_letter_queues = dead_letter_queues
        self.check_vectors = check_vectors
        self.outbox = Outbox(publisher, log, max_attempts=settings.job_max_attempts)
        self.wrong_tokens = WrongTokens(log, clock)
        self.limit = RequestLimit(database, clock, per_minute=settings.requests_per_minute)
        self.score_rule = ScoreRule(settings.score_freshness_weight, settings.score_half_life_h * 3_600)
        self.public_url = settings.public_url.rstrip("/")


class Routes(Resource):
    """Routes of the API, made of its parts."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._database = parts.database
        self._outbox = parts.outbox
