"""Subreddits over hours, at a server that allows one request a minute: the real schedule, jobs and polls."""

import heapq
import json
import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial
from itertools import count

from siftline.contracts import JobType, Queue, Tick
from siftline.fetch.kinds.readers import FeedReader
from siftline.fetch.poll import health_store
from siftline.jobs.consume import BatchConsumer
from siftline.jobs.publish import Publisher
from siftline.kit.db import Database
from siftline.kit.ids import new_id
from tests.factories import FakeContext, make_source, make_user, sqs_event
from tests.open_client import OpenClient
from tests.polling import Poller, poll_settings
from tests.servers import Answer, LoopbackServer, Request, serving
from tests.simulated_time import SimulatedTime, simulated_time
from tests.ticks import make_schedule, schedule_settings

SUBREDDITS = 60
ALLOWED_EVERY_S = 60.0
DUE_EVERY_S, SWEEP_EVERY_S = 300.0, 600.0


@dataclass
class Reddit:
    """Lets one request a minute through and answers the others ``status``; keeps a log of simulated times.

    429 says when to come back, others say nothing.
    """

    time: SimulatedTime
    status: int = 429
    allowed: list[tuple[float, str]] = field(default_factory=list)
    refused: list[float] = field(default_factory=list)

    def atom(self, request: Request) -> Answer:
        """Answer one request for Atom."""
        answer = self.answer(request)
        if answer.status != 200:
            return answer
        feed = b"<feed xmlns='http://www.w3.org/2005/Atom'><title>r</title><entry><id>t3_1</id><title>A</title></entry></feed>"
        return Answer(feed, headers={"Content-Type": "application/atom+xml"})

    def answer(self, request: Request) -> Answer:
        """Answer one request."""
        now = self.time.monotonic()
        left_s = self.allowed[-1][0] + ALLOWED_EVERY_S - now if self.allowed else 0.0
        if left_s > 0:
            self.refused.append(now)
            told = {"Retry-After": str(int(left_s) + 1)} if self.status == 429 else {}
            return Answer(status=self.status, headers=told)
        self.allowed.append((now, request.path))
        newest = int(now // (6 * 3_600))
        posts = [
            {
                "name": f"t3_{number}",
                "title": f"Post {number}",
                "url": f"https://news.example/{number}",
                "permalink": f"{request.path.partition('.')[0]}/comments/{number}/",
                "created_utc": 1_764_000_000 + number,
            }
            for number in range(newest, newest + 3)
        ]
        body = json.dumps({"data": {"children": [{"kind": "t3", "data": post} for post in posts]}}).encode()
        return Answer(body, headers={"Content-Type": "application/json"})


class Day:
    """The schedule, the queue and a worker, on one simulated time: what happens next is what is due first."""

    def __init__(
        self, time: SimulatedTime, database: Database, server: LoopbackServer, reader: FeedReader, hours: float
    ) -> None:
        self._time = time
        self._hours = hours
        self._schedule, self._sender = make_schedule(database, clock=time)
        settings = schedule_settings()
        self._http = OpenClient(clock=time, sleep=time.sleep)
        pace_of_reddit = {"reddit.com": 10.0}
        polling = poll_settings(first_import="skip", reddit_url=server.url(""), host_per_minute=pace_of_reddit)
        poller = Poller(database, reader, polling, clock=time, sleep=time.sleep, wait_s=1.0)
        self._consumer = BatchConsumer(
            queues={"siftline-local-fetch-queue": Queue.FETCH},
            database=database,
            publisher=Publisher(database, self._sender, settings),
            sender=self._sender,
            processors=[poller.processor(self._http)],
            subjects={JobType.FETCH_SOURCE: health_store.subject},
            settings=settings,
            clock=time,
        )
        self._order = count()
        self._due: list[tuple[datetime, int, Callable[[], None]]] = []

    def run(self) -> None:
        """Let the time pass."""
        end = self._time.now() + timedelta(hours=self._hours)
        self._every(DUE_EVERY_S, Tick.DUE_SOURCES)
        self._every(SWEEP_EVERY_S, Tick.SWEEP)
        while self._due[0][0] < end:
            at, _, happen = heapq.heappop(self._due)
            self._time.move_to(at)
            happen()
            self._deliver()
        self._http.close()

    def _every(self, seconds: float, tick: Tick) -> None:
        def happen() -> None:
            self._schedule.run(tick)
            self._at(self._time.now() + timedelta(seconds=seconds), happen)

        self._at(self._time.now(), happen)

    def _deliver(self) -> None:
        """Hand what was sent to the worker, each message when its delay is over."""
        sent, self._sender.sent[Queue.FETCH] = self._sender.sent[Queue.FETCH], []
        for envelope in sent:
            at = self._time.now() + timedelta(seconds=envelope.delay_s)
            self._at(at, partial(self._work, envelope.body))

    def _work(self, body: str) -> None:
        answer = self._consumer.handle(sqs_event("fetch", body), FakeContext())
        assert answer == {"batchItemFailures": []}

    def _at(self, at: datetime, happen: Callable[[], None]) -> None:
        heapq.heappush(self._due, (at, next(self._order), happen))


@contextmanager
def reddit_day(
    make_database: Callable[..., str], feed_reader: FeedReader, *, hours: float, status: int = 429, json: bool = True
) -> Iterator[tuple[Reddit, Database]]:
    """Let subreddits be followed for so many hours; without ``json`` that is refused to everybody."""
    with simulated_time(make_database) as (time, database), serving() as server:
        reddit = Reddit(time, status)
        with database.transaction() as connection:
            user_id = make_user(connection)
            for number in range(SUBREDDITS):
                path = f"/r/sub{number}"
                listing = reddit.answer if json else Answer(status=403)
                server.answers[f"{path}.json?raw_json=1&limit=100"] = listing
                server.answers[f"{path}/.rss?limit=100"] = reddit.atom
                url = f"https://www.reddit.com{path}/"
                source_id = make_source(connection, kind="reddit", url=url, wished_minutes=30, next_fetch_at=time.now())
                connection.execute(
                    "insert into subscriptions (id, user_id, source_id) values (%s, %s, %s)",
                    (new_id(), user_id, source_id),
                )
        logging.disable(logging.CRITICAL)  # what hours log, nobody reads
        try:
            Day(time, database, server, feed_reader, hours).run()
        finally:
            logging.disable(logging.NOTSET)
        yield reddit, database
