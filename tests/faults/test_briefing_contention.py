"""Many who want editions at once, and change what they want, as workers make them."""

import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import pairwise

import psycopg

from siftline.kit.clock import SystemClock
from siftline.kit.db import Database, Pool
from tests.api_client import World
from tests.briefing import Desk

ASKERS, TIMES = 24, 2
PENDING = "select id, subject_id from jobs where job_type = 'run_briefing' and state = 'pending'"

LIVE = ["pending", "processing"]


@contextmanager
def working(desk: Desk, world: World) -> Iterator[None]:
    """Let two workers do what is due, until nothing is left at the end."""
    over = threading.Event()

    def work() -> None:
        while not over.is_set():
            for job_id, briefing_id in world.sql(PENDING):
                desk.deliver(briefing_id, job_id)
            time.sleep(0.005)

    with ThreadPoolExecutor(2) as workers:
        done = [workers.submit(work) for _ in range(2)]
        try:
            yield
            ends_at = time.monotonic() + 120
            while live := world.sql("select state, attempts, error_code from jobs where state = any(%s)", LIVE):
                assert time.monotonic() < ends_at, live
                time.sleep(0.05)
        finally:
            over.set()
        for one in done:
            one.result()


def deadlocks(database_url: str) -> int:
    """Return how many there were, once all who met one have told so: by their end at the latest."""
    with psycopg.connect(database_url) as connection:
        connection.execute("select pg_stat_clear_snapshot()")
        row = connection.execute("select deadlocks from pg_stat_database where datname = current_database()").fetchone()
    assert row is not None
    return int(row[0])


def test_twenty_four_who_want_editions_and_change_them_never_deadlock_with_the_workers(
    database: Database, database_url: str
) -> None:
    """Each is answered, each wish is met, and no job keeps its lease."""
    before = deadlocks(database_url)
    pool = Pool(database_url, size=30)
    world, desk = World(pool), Desk(pool, SystemClock())
    user = world.user()
    made = user.post("/v1/briefings", {"name": "Morning", "frequency": "DAILY", "at": "07:00", "on_empty": "say"})
    path = f"/v1/briefings/{made.json['id']}"

    def ask(number: int) -> list[int]:
        answers = []
        for time_ in range(TIMES):
            answers.append(user.post(f"{path}/run").status)
            answers.append(user.patch(path, {"name": f"Morning {number} {time_}"}).status)
        return answers

    with working(desk, world), ThreadPoolExecutor(ASKERS) as askers:
        answers = {status for many in askers.map(ask, range(ASKERS)) for status in many}
    [(wish, states)] = world.sql("select asked_at, (select array_agg(distinct state) from jobs) from briefings")
    editions = world.sql("select period_key, window_from, window_until from editions order by window_until")
    pool.close()
    assert answers == {200, 202}
    assert deadlocks(database_url) == before
    assert (wish, states) == (None, ["completed"])
    assert 0 < len(editions) <= ASKERS * TIMES
    assert len({key for key, _, _ in editions}) == len(editions)
    assert all(one[2] == other[1] for one, other in pairwise(editions))
