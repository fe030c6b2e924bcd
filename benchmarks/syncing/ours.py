"""Siftline's side: a worker's fetch function over PostgreSQL, as many jobs at a time as ``WORKER_THREADS`` has it."""

import gc
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager
from uuid import UUID

from siftline.contracts import JobType, Queue
from siftline.fetch.fetch_service import FetchSource
from siftline.fetch.fetch_wiring import source_fetchers
from siftline.fetch.kinds.readers import FeedReader, LinkReader
from siftline.jobs import jobs_store
from siftline.jobs.attempt import Attempts
from siftline.jobs.job_model import NewJob
from siftline.jobs.publish import Publisher
from siftline.kit.clock import SystemClock
from siftline.kit.db import Database, Pool, settled
from siftline.net.http import HttpClient
from siftline.net.pacing import Pace
from siftline.settings.functions import FetchSettings, WorkerSettings, environment
from tests.factories import make_source, make_subscription, make_user
from tests.fakes import FakeSender

_HERE = {
    "HTTP_ALLOW_LOOPBACK": "1",
    "FIRST_IMPORT": "all",
    # The pace is kept, and its price paid, but it holds up nobody: all feeds are of one host here.
    "HOST_PACE_LOOPBACK": "1",
    "HOST_REQUESTS_PER_S": "100",
    "HOST_BURST": "1000",
    "HOST_AT_ONCE": "100",
}


class Sync:
    """Follows feeds and polls them."""

    def __init__(self, database: Database, attempts: Attempts, threads: int) -> None:
        self._database = database
        self._attempts = attempts
        self._threads = ThreadPoolExecutor(threads)

    def follow(self, urls: Sequence[str]) -> list[UUID]:
        """Make a source of each address, with one subscriber."""
        with self._database.transaction() as connection:
            user_id = make_user(connection)
            sources = [make_source(connection, url=url) for url in urls]
            for source_id in sources:
                make_subscription(connection, user_id, source_id)
        return sources

    def poll(self, sources: Sequence[UUID]) -> float:
        """Enqueue a job for each source and work all of them off; returns the seconds it took."""
        began = time.perf_counter()
        with self._database.transaction() as connection:
            connection.execute("delete from fetch_hosts")
            jobs = jobs_store.enqueue(
                connection, [NewJob(JobType.FETCH_SOURCE, source, "host:bench") for source in sources]
            )
        list(self._threads.map(self._one, jobs))
        return time.perf_counter() - began

    def _one(self, job_id: UUID) -> None:
        claim = settled(
            self._database,
            lambda connection: self._attempts.claim(connection, job_id, JobType.FETCH_SOURCE),
            single=True,
        )
        assert claim is not None
        self._attempts.run(claim)

    def close(self) -> None:
        self._threads.shutdown()


@contextmanager
def syncing(database_url: str) -> Iterator[Sync]:
    """Put the function together as its ``build`` does, with a queue that only keeps what it is sent."""
    named = {f"{queue.name}_{kind}_URL": "http://127.0.0.1:1/q" for queue in Queue for kind in ("QUEUE", "DLQ")}
    with environment({**named, **_HERE, "DATABASE_URL": database_url}):
        settings, threads = FetchSettings(), WorkerSettings().worker_threads["fetch"]
    clock = SystemClock()
    with ExitStack() as stack:
        database = stack.enter_context(closing(Pool(database_url, size=threads)))
        http = stack.enter_context(closing(HttpClient.of(settings)))
        reader = stack.enter_context(FeedReader(timeout_s=settings.feed_parse_s))
        pages = stack.enter_context(LinkReader())
        pace = Pace(database, settings, clock)
        fetchers = source_fetchers(http, http, reader, pages, pace, clock, settings)
        fetch = FetchSource(database, fetchers, pace, clock, settings)
        attempts = Attempts(
            names={queue: queue.value for queue in Queue},
            database=database,
            publisher=Publisher(database, FakeSender(), settings),
            processors={JobType.FETCH_SOURCE: fetch},
            settings=settings,
            clock=clock,
        )
        sync = stack.enter_context(closing(Sync(database, attempts, threads)))
        gc.collect()
        gc.freeze()  # as the worker does
        yield sync
