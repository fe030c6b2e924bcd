"""Polls that meet deletions in the making, and edits of the same pages by another feed, on a real PostgreSQL."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any
from uuid import UUID

import psycopg
import pytest

from infra.local.processes import wait_until
from siftline.fetch.kinds.readers import FeedReader
from siftline.kit.db import Database
from tests.api_client import World
from tests.polling import Poller, follow, held, item, rows, rss
from tests.servers import Answer, LoopbackServer, serving

PATIENCE_S = 300
WAITING = "select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'"
TWO = rss(item(0), item(1))


@pytest.fixture
def server() -> Iterator[LoopbackServer]:
    with serving() as running:
        running.answers |= {"/feed": Answer(TWO), "/other": Answer(rss(item(1), item(0)))}
        yield running


@pytest.fixture
def world(database: Database) -> World:
    return World(database, http_allow_loopback=True)


@pytest.fixture
def poller(database: Database, feed_reader: FeedReader) -> Poller:
    return Poller(database, feed_reader)


@contextmanager
def polling(poller: Poller, world: World, source_id: UUID) -> Iterator[Any]:
    """Poll in a thread; the block begins once the poll waits for a lock, and yields what it will come to."""
    with ThreadPoolExecutor(1) as pool:
        poll = pool.submit(poller.poll, source_id)
        assert wait_until(lambda: poll.done() or bool(rows(world.database, WAITING)), PATIENCE_S)
        assert not poll.done(), poll.result()
        yield poll


def test_a_page_that_is_deleted_while_it_comes_again_is_made_anew(
    world: World, server: LoopbackServer, poller: Poller, database_url: str
) -> None:
    first, second = world.user(), world.user()
    poller.poll(follow(first, server))
    source_id = follow(second, server, "/other")
    with psycopg.connect(database_url) as deleting:
        deleting.execute("select from contents where url_key like '%/0' for update")
        with polling(poller, world, source_id) as poll:
            deleting.execute("delete from items using contents c where c.id = content_id and c.url_key like '%/0'")
            deleting.execute("delete from contents where url_key like '%/0'")
            deleting.commit()
        poll.result(PATIENCE_S)
    assert (held(first), held(second)) == (["Entry 1"], ["Entry 0", "Entry 1"])
    jobless = (
        "select from contents where status = 'PENDING' and not exists (select from jobs where subject_id = contents.id)"
    )
    assert rows(world.database, jobless) == []
    assert len(rows(world.database, "select from jobs where job_type = 'ingest_content' and state = 'pending'")) >= 2


def test_what_all_who_follow_have_deleted_is_not_made_again(
    world: World, server: LoopbackServer, poller: Poller
) -> None:
    user, later = world.user(), world.user()
    poller.poll(follow(user, server))
    [one] = [one for one in user.get("/v1/items").json["items"] if one["title"] == "Entry 0"]
    assert user.delete(f"/v1/items/{one['id']}").status == 204
    world.sql("update item_tombstones set deleted_at = deleted_at - interval '1 hour'")
    source_id = follow(user, server, "/other")
    poller.poll(source_id)
    contents = "select url from contents"
    assert [row["url"] for row in rows(world.database, contents)] == ["https://news.example/1"]
    # WHEN somebody follows who did not delete it
    world.sql("update jobs set state = 'completed', finished_at = now() where state = 'pending'")
    world.sql("update subscriptions set created_at = created_at - interval '30 minutes'")
    assert follow(later, server, "/other") == source_id
    assert poller.poll(source_id)["returned"] == 1
    # THEN it is there for them, and for nobody else
    assert (held(user), held(later)) == (["Entry 1"], ["Entry 0", "Entry 1"])
    assert len(rows(world.database, contents)) == 2


def test_a_user_who_is_deleted_while_a_feed_comes_in_costs_the_others_nothing(
    world: World, server: LoopbackServer, poller: Poller, database_url: str
) -> None:
    gone, stays = world.user(), world.user()
    source_id = follow(gone, server)
    follow(stays, server)
    with psycopg.connect(database_url) as deleting:
        deleting.execute("delete from users where id = %s", (gone.user_id,))
        with polling(poller, world, source_id) as poll:
            deleting.commit()
        assert poll.result(PATIENCE_S)["new"] == 2
    assert held(stays) == ["Entry 0", "Entry 1"]


def test_edits_of_the_same_pages_take_them_in_one_order(
    world: World, server: LoopbackServer, poller: Poller, database_url: str
) -> None:
    own = [item(number, link=f"/{number}") for number in (1, 0)]
    server.answers["/feed"] = Answer(rss(*own))
    source_id = follow(world.user(), server)
    poller.poll(source_id)
    pages = rows(world.database, "select id, title from contents order by url_key")
    ids, titles = [page["id"] for page in pages], [page["title"] for page in reversed(pages)]
    numbers = [title.removeprefix("Entry ") for title in titles]
    edited = rss(
        *(item(number, link=f"/{number}", description=f"Quite another text of {number}") for number in numbers)
    )
    server.answers["/feed"] = Answer(edited)
    with psycopg.connect(database_url) as other:
        other.execute("select from contents where id = %s for no key update", (ids[0],))
        # WHEN the poll, whose feed lists it last, waits for the first page
        with polling(poller, world, source_id) as poll:
            # THEN it holds none of those that come after
            other.execute("select from contents where id = %s for no key update nowait", (ids[1],))
            other.rollback()
        assert poll.result(PATIENCE_S)["edited"] == 2
