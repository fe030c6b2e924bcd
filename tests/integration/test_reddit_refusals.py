"""Sixty subreddits at a server that answers one request a minute and refuses the rest without a word of when."""

from collections.abc import Callable

import pytest

from siftline.fetch.kinds.readers import FeedReader
from tests.polling import rows
from tests.reddit_day import SUBREDDITS, reddit_day

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("status", [403, 503])
def test_refusals_of_a_host_that_answers_others_are_its_pace(
    make_database: Callable[..., str], feed_reader: FeedReader, status: int
) -> None:
    """Case T22: all are read in about an hour, and none is an error on the way."""
    with reddit_day(make_database, feed_reader, hours=1.5, status=status) as (reddit, database):
        assert len({path for _, path in reddit.allowed}) == SUBREDDITS
        assert rows(database, "select health, max(consecutive_failures) from sources group by health") == [
            {"health": "active", "max": 0}
        ]
        assert rows(database, "select from sources where fetch_status = 'ERROR' or last_success_at is null") == []
        assert rows(database, "select from jobs where job_type = 'fetch_source' and state = 'failed'") == []
        assert len(reddit.refused) <= SUBREDDITS


def test_json_that_is_refused_to_everybody_is_asked_for_as_atom_and_is_no_pace(
    make_database: Callable[..., str], feed_reader: FeedReader
) -> None:
    with reddit_day(make_database, feed_reader, hours=1.5, json=False) as (reddit, database):
        assert rows(database, "select from sources where fetch_status = 'ERROR'") == []
        assert len({path for _, path in reddit.allowed}) >= SUBREDDITS - 10
