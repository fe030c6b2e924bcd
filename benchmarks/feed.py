"""How long it takes to order all that one user has not read. ``python -m benchmarks.feed``

A user with 50,000 unread items from 200 sources, a third of them in stories: the first page of the feed (everything is
read, ordered and kept for the pages behind), later pages, the list by score without stories beside it, what a feed
reader is given, and the memory that one order takes.
"""

import resource
from collections.abc import Callable
from time import process_time
from uuid import UUID

from benchmarks.database import databases
from benchmarks.report import Report, timed
from siftline.api.feed.feed_service import FeedService
from siftline.api.feed.feed_views import feed_item_of
from siftline.api.items.listing_store import Listed, best_items
from siftline.api.items.scores import ScoreRule
from siftline.kit.clock import SystemClock
from siftline.kit.db import Database
from siftline.kit.ids import new_id

ITEMS = 50_000
_MAKE = """
with source as (
  insert into sources (id, kind, url, url_key)
  select gen_random_uuid(), 'rss', 'https://feeds.example/' || n, n::text
  from generate_series(1, 200) as n returning id),
numbered as (select id, row_number() over () as n from source),
story as (
  insert into stories (id, user_id, model_version, centroid, size, first_at, last_at)
  select gen_random_uuid(), %(user_id)s, 'm', '', 1, now(), now() from generate_series(1, 4000) returning id),
told as (select id, row_number() over () as n from story),
made as (
  insert into contents (id, url, url_key, status, lang, title, summary, topics, sort_at)
  select gen_random_uuid(), 'https://news.example/' || n, n::text, 'READY', 'en', 'Title ' || n,
    repeat('Said so. ', 40), '[{"topic": "energy", "score": 0.7}]'::jsonb, now() - n * interval '3 minutes'
  from generate_series(1, %(items)s) as n
  returning id, title),
held as (
  insert into items (id, user_id, content_id, source_id, score, score_reasons)
  select gen_random_uuid(), %(user_id)s, made.id, numbered.id, random(),
    '[{"code": "source", "weight": 1, "value": 0.5, "known": true, "saved": true}]'
  from made join numbered on numbered.n = 1 + substring(made.title from 7)::int %% 200 returning content_id)
select count(*) from held
"""
_TELL = """
with told as materialized (select id, row_number() over () as n from stories)
insert into story_items (user_id, content_id, story_id, distance)
select items.user_id, items.content_id, told.id, 0.1
from (select user_id, content_id, row_number() over (order by content_id) as n from items) as items
join told on told.n = 1 + items.n %% 4000 where items.n %% 3 = 0 and items.user_id = %(user_id)s
"""


def main() -> None:
    report = Report("feed")
    report.open(f"the feed of {ITEMS} unread items of one user")
    with databases("feed") as [database]:
        user_id = _fill(database)
        feeds = FeedService(database, ScoreRule())
        before_mib = _peak_mib()
        rows = [
            _row("first page of 50, order kept", lambda: _page(feeds, user_id)),
            _row(
                "first 50, as a feed reader gets them",
                lambda: feeds.first(user_id, Listed(unread=True), 50, keep=False),
            ),
        ]
        added_mib = _peak_mib() - before_mib
        order_id = feeds.first(user_id, Listed(unread=True), 50).order_id
        assert order_id is not None
        rows += [
            _row("second page", lambda: feeds.following(user_id, order_id, 50, 50)),
            _row("page at place 10,000", lambda: feeds.following(user_id, order_id, 10_000, 50)),
            _row("list by score, no stories: the floor", lambda: _best(database, user_id)),
        ]
        report.table("pages", rows)
        with database.transaction() as connection:
            [(kept,)] = connection.execute("select max(length(item_ids) + length(places)) from feed_orders").fetchall()
        report.tell({"peak memory added": f"{added_mib:.0f} MiB", "one kept order": f"{kept / 1_024:.0f} KiB"})
    report.keep()


def _fill(database: Database) -> UUID:
    user_id = new_id()
    with database.transaction() as connection:
        connection.execute("insert into users (id, name) values (%s, 'reader')", (user_id,))
        connection.execute(_MAKE, {"user_id": user_id, "items": ITEMS})
    with database.statement() as connection:
        connection.execute("vacuum analyze")
        connection.execute(_TELL, {"user_id": user_id})
        connection.execute("vacuum analyze")
    return user_id


def _page(feeds: FeedService, user_id: UUID) -> None:
    stretch = feeds.first(user_id, Listed(unread=True), 50)
    for shown in stretch.shown:
        feed_item_of(shown, stretch.freshness, feeds.factor(shown.place.nth))


def _best(database: Database, user_id: UUID) -> None:
    with database.transaction() as connection:
        best_items(connection, user_id, Listed(unread=True), ScoreRule().freshness(SystemClock().now()), None, 51)


def _row(name: str, ask: Callable[[], object]) -> dict[str, object]:
    """Time it, and the processor's time of this process without PostgreSQL's, which waits for nobody else's work."""
    before_s = process_time()
    spent = sorted(timed(ask)[0] for _ in range(5))
    own_ms = round(1_000 * (process_time() - before_s) / 5, 1)
    return {"what": name, "median ms": round(1_000 * spent[2], 1), "own processor ms": own_ms}


def _peak_mib() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1_024


if __name__ == "__main__":
    main()
