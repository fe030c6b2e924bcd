"""Sixty subreddits for half a day, at a server that allows one request a minute: the real schedule, jobs and polls."""

from collections import Counter
from collections.abc import Callable, Iterator
from itertools import pairwise

import pytest

from siftline.fetch.kinds.readers import FeedReader
from siftline.kit.db import Database
from tests.polling import rows
from tests.reddit_day import ALLOWED_EVERY_S, SUBREDDITS, Reddit, reddit_day

pytestmark = pytest.mark.slow

HOURS = 12


@pytest.fixture(scope="module")
def day(make_database: Callable[..., str], feed_reader: FeedReader) -> Iterator[tuple[Reddit, Database]]:
    with reddit_day(make_database, feed_reader, hours=HOURS) as day:
        yield day


def test_no_source_goes_dead_and_no_job_fails(day: tuple[Reddit, Database]) -> None:
    _, database = day
    assert rows(database, "select health, max(consecutive_failures) from sources group by health") == [
        {"health": "active", "max": 0}
    ]
    ended = rows(database, "select distinct state from jobs where job_type = 'fetch_source'")
    assert {row["state"] for row in ended} <= {"completed", "pending"}


def test_the_server_refuses_a_few_while_the_pace_is_learned_and_then_none(day: tuple[Reddit, Database]) -> None:
    reddit, _ = day
    assert len(reddit.refused) <= 12
    assert [at for at in reddit.refused if at > 6 * 3_600] == []


def test_requests_come_evenly(day: tuple[Reddit, Database]) -> None:
    reddit, _ = day
    times = sorted([*(at for at, _ in reddit.allowed), *reddit.refused])
    late = [at for at in times if at > 6 * 3_600]
    gaps = [later - earlier for earlier, later in pairwise(late)]
    assert min(gaps) >= ALLOWED_EVERY_S
    assert max(gaps) < 5 * ALLOWED_EVERY_S


def test_every_subreddit_is_fetched_again_and_again_and_none_before_the_others(day: tuple[Reddit, Database]) -> None:
    reddit, _ = day
    fetched = Counter(path for _, path in reddit.allowed)
    assert len(fetched) == SUBREDDITS
    assert min(fetched.values()) >= 0.6 * HOURS
    assert max(fetched.values()) - min(fetched.values()) <= 3


def test_who_waits_is_not_woken_in_vain(day: tuple[Reddit, Database]) -> None:
    reddit, database = day
    [put_off] = rows(database, "select count(*) as times from job_events where event = 'deferred'")
    assert put_off["times"] <= 2 * len(reddit.allowed)
