"""Three hundred jobs at one host, handed out forty at a time: the real outbox, leases and pace under simulated time."""

import heapq
import logging
from bisect import bisect_left
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from itertools import count, pairwise

import pytest

from siftline.contracts import JobType, Queue
from siftline.jobs import jobs_store
from siftline.jobs.consume import BatchConsumer
from siftline.jobs.job_model import ClaimedJob, Done, NewJob
from siftline.jobs.publish import Publisher
from siftline.kit.db import Connection, Database
from siftline.kit.errors import SiftlineError
from siftline.kit.ids import new_id
from siftline.net.pacing import Pace
from siftline.settings.functions import JobSettings, PacingSettings
from tests.factories import FakeContext, make_content, sqs_event
from tests.fakes import FakeSender
from tests.polling import rows
from tests.simulated_time import SimulatedTime, simulated_time

pytestmark = pytest.mark.slow

JOBS, SHARE, EVERY_S, BURST = 300, 40, 0.5, 10
WORK_S, SWEEP_EVERY_S = 0.05, 300.0


class Asks:
    """Asks one host when its turn comes, and does no more."""

    job_type = JobType.INGEST_CONTENT
    providers: frozenset[str] = frozenset()

    def __init__(self, pace: Pace, time: SimulatedTime, meanwhile: Callable[[], object]) -> None:
        self._pace = pace
        self._meanwhile = meanwhile
        self._time = time
        self.asked: list[float] = []

    def process(self, job: ClaimedJob) -> Done:
        """Ask."""
        self._meanwhile()
        with self._pace.asking("https://slow.example/", job.requester(None)):
            self.asked.append(self._time.monotonic())
        return Done(lambda _: None)

    def on_failure(self, connection: Connection, job: ClaimedJob, error: SiftlineError) -> None:
        """Nothing is kept."""


class Line:
    """The queue, which gives each message when its delay is over, and one worker that takes a while for each."""

    def __init__(self, time: SimulatedTime, database: Database) -> None:
        self._time = time
        self._sender = FakeSender()
        settings = JobSettings(job_tenant_share=SHARE)
        self._publisher = Publisher(database, self._sender, settings)
        pacing = PacingSettings(host_requests_per_s=1 / EVERY_S, host_burst=BURST)
        self.asks = Asks(Pace(database, pacing, time, time.sleep, wait_s=0.0), time, self._other_workers)
        self._consumer = BatchConsumer(
            queues={"siftline-local-content-background-queue": Queue.CONTENT_BACKGROUND},
            database=database,
            publisher=self._publisher,
            sender=self._sender,
            processors=[self.asks],
            subjects={},
            settings=settings,
            clock=time,
        )

    def _other_workers(self) -> None:
        """Fill the place of what is being worked on, as other workers do at the end of their batches."""
        self._publisher.hand_out(Queue.CONTENT_BACKGROUND, limit=1)

    def run(self, seconds: float) -> None:
        """Work off what comes for so long."""
        order, due = count(), list[tuple[datetime, int, str]]()
        end, sweep = self._time.now() + timedelta(seconds=seconds), self._time.now()
        while (now := self._time.now()) < end:
            if now >= sweep:
                self._publisher.hand_out(Queue.CONTENT_BACKGROUND)
                sweep += timedelta(seconds=SWEEP_EVERY_S)
            sent, self._sender.sent[Queue.CONTENT_BACKGROUND] = self._sender.sent[Queue.CONTENT_BACKGROUND], []
            for envelope in sent:
                heapq.heappush(due, (now + timedelta(seconds=envelope.delay_s), next(order), envelope.body))
            if due and due[0][0] <= now:
                event = sqs_event("content-background", heapq.heappop(due)[2])
                assert self._consumer.handle(event, FakeContext()) == {"batchItemFailures": []}
                self._time.sleep(WORK_S)
            else:
                self._time.move_to(min([due[0][0], sweep, end] if due else [sweep, end]))


@pytest.fixture(scope="module")
def line(make_database: Callable[..., str]) -> Iterator[tuple[list[float], Database]]:
    with simulated_time(make_database) as (time, database):
        with database.transaction() as connection:
            contents = [make_content(connection, url=f"https://slow.example/{new_id()}") for _ in range(JOBS)]
            group, queue = "host:slow.example", Queue.CONTENT_BACKGROUND
            jobs_store.enqueue(
                connection, [NewJob(JobType.INGEST_CONTENT, one, group, queue=queue) for one in contents]
            )
            connection.execute("update jobs set due_at = %s", (time.now(),))
        logging.disable(logging.CRITICAL)
        line = Line(time, database)
        line.run(JOBS * EVERY_S * 3)
        logging.disable(logging.NOTSET)
        yield line.asks.asked, database


def test_the_host_is_asked_at_its_pace_and_never_idles_while_somebody_waits(line: tuple[list[float], Database]) -> None:
    asked, _ = line
    assert len(asked) == JOBS
    assert asked[-1] <= (JOBS - BURST) * EVERY_S * 1.1
    assert max(later - earlier for earlier, later in pairwise(asked)) <= 3
    assert max(bisect_left(asked, at + 10) - number for number, at in enumerate(asked)) <= BURST + 10 / EVERY_S


def test_each_is_sent_away_a_few_times_at_most(line: tuple[list[float], Database]) -> None:
    _, database = line
    [put_off] = rows(database, "select count(*) as times from job_events where event = 'deferred'")
    assert put_off["times"] < 3 * JOBS
