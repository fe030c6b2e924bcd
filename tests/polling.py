"""Polls feeds as the batch loop does, and writes the feeds to be polled."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

import pytest
from psycopg.rows import dict_row

from siftline.contracts import JobType
from siftline.fetch.fetch_service import FetchSource
from siftline.fetch.fetch_wiring import source_fetchers
from siftline.fetch.kinds.readers import FeedReader, LinkReader
from siftline.jobs import jobs_store, lease_store
from siftline.jobs.job_model import ClaimedJob, NewJob
from siftline.kit.clock import Clock, SystemClock
from siftline.kit.db import Database
from siftline.kit.errors import SiftlineError
from siftline.kit.ids import new_id
from siftline.net.http import HttpClient
from siftline.net.pacing import Pace
from siftline.settings.functions import FetchSettings
from tests.api_client import ApiClient
from tests.factories import make_source, make_user
from tests.fakes import nowhere
from tests.open_client import OpenClient
from tests.servers import LoopbackServer


def poll_settings(**changes: Any) -> FetchSettings:
    """Return the settings of a poll; nothing is where they say."""
    here = {"first_import": "all", "reddit_url": "http://127.0.0.1:1", "host_per_minute": {}}
    return FetchSettings(**{**nowhere(FetchSettings), **here, **changes})


@dataclass
class Poller:
    """Polls a source as the batch loop does: one claimed job, its outcome in one transaction."""

    database: Database
    reader: FeedReader
    settings: FetchSettings = field(default_factory=poll_settings)
    pages: LinkReader = field(default_factory=LinkReader)
    clock: Clock = field(default_factory=SystemClock)
    sleep: Callable[[float], None] = time.sleep
    client: Callable[..., HttpClient] = OpenClient
    wait_s: float = 0.0

    def poll(self, source_id: UUID, meanwhile: Callable[[], object] = lambda: None) -> Mapping[str, Any]:
        """Poll once; returns the result's numbers, or raises what the poll raised after writing what it means.

        ``meanwhile`` happens when the feed is read and nothing is written yet.
        """
        job = self.claimed(source_id)
        http = self.client(sleep=lambda _: None)
        processor = self.processor(http)
        try:
            done = processor.process(job)
        except SiftlineError as error:
            with self.database.transaction() as connection:
                lease_store.fail(connection, job, error, duration_ms=0, park_id=None)
                processor.on_failure(connection, job, error)
            raise
        finally:
            http.close()
        meanwhile()
        with self.database.transaction() as connection:
            lease_store.completing(connection, job, done.result, 0)()
            told = done.write(connection) or ()
            jobs_store.enqueue(connection, [*done.follow, *told])
        return done.result

    def processor(self, http: HttpClient) -> FetchSource:
        """Return what does the jobs, over this client."""
        pace = Pace(self.database, self.settings, self.clock, self.sleep, wait_s=self.wait_s)
        fetchers = source_fetchers(http, http, self.reader, self.pages, pace, self.clock, self.settings)
        return FetchSource(self.database, fetchers, pace, self.clock, self.settings)

    def failing(self, source_id: UUID) -> str:
        """Poll once, expecting failure; returns the error's code."""
        with pytest.raises(SiftlineError) as caught:
            self.poll(source_id)
        return caught.value.error_code

    def claimed(self, source_id: UUID) -> ClaimedJob:
        """Take a poll's job."""
        with self.database.transaction() as connection:
            [job_id] = jobs_store.enqueue(connection, [NewJob(JobType.FETCH_SOURCE, source_id, "host:127.0.0.1")])
            job = lease_store.claim(connection, job_id, JobType.FETCH_SOURCE, lease_s=60, grace_s=1)
        assert job is not None
        return job


def subscribed(database: Database, server: LoopbackServer, path: str = "/feed", users: int = 1, **columns: Any) -> UUID:
    """Make a source at the server with this many subscribers."""
    with database.transaction() as connection:
        source_id = make_source(connection, url=server.url(path), **columns)
        for _ in range(users):
            connection.execute(
                "insert into subscriptions (id, user_id, source_id) values (%s, %s, %s)",
                (new_id(), make_user(connection), source_id),
            )
    return source_id


def follow(user: ApiClient, server: LoopbackServer, path: str = "/feed") -> UUID:
    """Follow a feed of the server through the API; returns the source's id."""
    answer = user.post("/v1/sources", {"url": server.url(path)})
    assert answer.status == 202, answer.text
    return UUID(answer.json["id"])


def held(user: ApiClient) -> list[str]:
    """Return the titles of a user's items, sorted."""
    return sorted(one["title"] for one in user.get("/v1/items").json["items"])


def rows(database: Database, query: str, *values: object) -> list[dict[str, Any]]:
    """Run a query."""
    with database.transaction() as connection, connection.cursor(row_factory=dict_row) as cursor:
        return cursor.execute(query, values).fetchall()


def source_of(database: Database, source_id: UUID) -> dict[str, Any]:
    """Return a source's row."""
    return rows(database, "select * from sources where id = %s", source_id)[0]


def counts(database: Database) -> tuple[int, int, int, int]:
    """Return how many contents, items, ledger rows and ingest jobs there are."""
    found = rows(
        database,
        "select (select count(*) from contents) c, (select count(*) from items) i,"
        " (select count(*) from source_entries) e, (select count(*) from jobs where job_type = 'ingest_content') j",
    )[0]
    return found["c"], found["i"], found["e"], found["j"]


def item(number: int | str, **parts: str | None) -> str:
    """Return an RSS item; a part set to ``None`` is left out."""
    values: dict[str, str | None] = {
        "title": f"Entry {number}",
        "link": f"https://news.example/{number}",
        "guid": f"tag:{number}",
        "description": f"Text of entry {number}.",
        **parts,
    }
    return "<item>" + "".join(f"<{name}>{value}</{name}>" for name, value in values.items() if value) + "</item>"


def rss(*items: str) -> bytes:
    """Return an RSS feed of these items."""
    return f"<rss version='2.0'><channel><title>News</title>{''.join(items)}</channel></rss>".encode()
