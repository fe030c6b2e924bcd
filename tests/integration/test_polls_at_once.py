"""People follow, leave, refresh and switch off the same sources while these are polled; nobody waits in a circle."""

import random
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from functools import partial
from uuid import UUID

from siftline.contracts import JobType
from siftline.jobs import jobs_store, lease_store
from siftline.jobs.job_model import ClaimedJob, NewJob
from siftline.kit.db import Connection, Database, SingleConnection, settled
from tests.api_client import World
from tests.deadlocks import deadlocks, tell
from tests.ticks import make_schedule

FEEDS = ["https://feeds.example/a.xml", "https://feeds.example/b.xml"]
PEOPLE, ROUNDS = 5, 30
FETCH = JobType.FETCH_SOURCE
WAITING = "select id from jobs where job_type = 'fetch_source' and state = 'pending'"
DUE = """
with mine as (select id from sources order by url_key for no key update skip locked)
update sources set next_fetch_at = now() - interval '1 minute' from mine where sources.id = mine.id
"""
OF_ONE_SOURCE = [
    ("DELETE", ""),
    ("PATCH", ""),
    ("POST", "/refresh"),
    ("POST", "/refresh"),
    ("POST", "/deactivate"),
    ("POST", "/reset-health"),
]


@contextmanager
def own(database_url: str) -> Iterator[Database]:
    """Lend a connection that has told of its deadlocks when it is closed."""
    with closing(SingleConnection(database_url)) as database:
        yield database
        with database.statement() as connection:
            tell(connection)


def use(database_url: str, number: int) -> set[int]:
    """Follow a source and do something with it, again and again; return the statuses of the answers."""
    chance, statuses = random.Random(number), set()
    with own(database_url) as mine:
        user = World(mine).user(name=f"user {number}")
        for _ in range(ROUNDS):
            url = chance.choice(FEEDS)
            if chance.random() < 0.3:
                body = f'<opml version="2.0"><body>{"".join(f"<outline xmlUrl={u!r}/>" for u in FEEDS)}</body></opml>'
                user.send("POST", "/v1/opml", body=body, headers={"content-type": "text/x-opml"})
            followed = user.post("/v1/sources", {"url": url})
            statuses.add(followed.status)
            for method, path in chance.sample(OF_ONE_SOURCE, 2):
                body_ = {"refresh_minutes": chance.randrange(15, 90)} if method == "PATCH" else None
                statuses.add(user.send(method, f"/v1/sources/{followed.json['id']}{path}", body=body_).status)
    return statuses


def poll(database_url: str, over: threading.Event) -> int:
    """Do what waits as the batch loop does, some of it asked for again meanwhile; return how much that was."""
    done = 0

    def end(connection: Connection, job: ClaimedJob) -> None:
        again = lease_store.completing(connection, job, {}, 0)().follow_id
        connection.execute("update sources set fetch_status = 'IDLE' where id = %s", (job.subject_id,))
        if done % 3 == 0:
            jobs_store.enqueue(connection, [NewJob(FETCH, job.subject_id, job.group_key)])
        lease_store.finished(connection, job, again)

    def claimed(job_id: UUID) -> ClaimedJob | None:
        claim = partial(lease_store.claim, job_id=job_id, job_type=FETCH, lease_s=600, grace_s=1)
        return settled(mine, claim, single=True)

    with own(database_url) as mine:
        while not over.is_set():
            with mine.statement() as connection:
                waiting = [job_id for (job_id,) in connection.execute(WAITING).fetchall()]
            for job_id in waiting:
                job = claimed(job_id)
                if job is None:
                    continue
                try:
                    settled(mine, partial(end, job=job))
                    done += 1
                except lease_store.LeaseLostError:
                    continue  # it was cancelled
    return done


def plan(database_url: str, over: threading.Event) -> None:
    """Let sources be due, and let the tick ask for their polls."""
    with own(database_url) as mine:
        schedule, _ = make_schedule(mine)
        while not over.is_set():
            with mine.statement() as connection:
                connection.execute(DUE)
            schedule.due_sources()


def test_whoever_changes_a_source_and_its_poll_waits_for_others_in_one_order(
    database: Database, database_url: str
) -> None:
    before, over = deadlocks(database_url), threading.Event()
    with ThreadPoolExecutor(PEOPLE + 3) as threads:
        pollers = [threads.submit(poll, database_url, over) for _ in range(2)]
        planner = threads.submit(plan, database_url, over)
        people = [threads.submit(use, database_url, number) for number in range(PEOPLE)]
        try:
            statuses = set().union(*(one.result(300) for one in people))
        finally:
            over.set()
        assert sum(one.result(60) for one in pollers) > 0
        planner.result(60)
    assert statuses <= {200, 202, 204, 404, 409}
    assert deadlocks(database_url) == before
