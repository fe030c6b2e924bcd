"""How long scoring, listing and the feed take for one user of 50,000 unread items. ``python -m benchmarks score``

The items have made-up vectors (384 numbers) and come from 200 sources; the user has interests and a history. The first
scoring makes the profile and judges everything; then nothing, a few new items, and everything anew after a star. Beside
it stands the floor: reading the same vectors out of PostgreSQL and writing one number to each item, which no scoring
can do without. Then, a third of the items in stories: the first page of both orders of the list; and of the feed the
first page (everything is read, ordered and kept for the pages behind), later pages, what a feed reader is given, and
the size of one kept order.
"""

import resource
from collections.abc import Callable, Mapping
from datetime import timedelta
from time import process_time
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from benchmarks.database import databases
from benchmarks.report import Report, timed
from siftline.api.feed.feed import feed_item_of, first_places, later_places
from siftline.api.items import items_store
from siftline.api.items.items_store import Listed, ScoreRule
from siftline.contracts import JobType
from siftline.kit.clock import SystemClock
from siftline.kit.db import Database
from siftline.kit.ids import new_id
from siftline.rank.scoring import ScoreUser, ScoringRule
from tests.factories import claimed, make_source, make_user

ITEMS = 50_000
AT_ONCE = 5_000
"""Items that are made by one statement."""
DIMENSIONS = 384
VERSION = "made-up"
STARS = 200
SOURCES, STORIES = 200, 4_000
FAR = 10_000
"""Place of a late page of the feed."""

_MAKE = """
with made as (
  insert into contents (id, url, url_key, status, lang, title, topics, sort_at)
  select id, 'https://news.example/' || id, id::text, 'READY', lang, 'Made up', topics::jsonb, now() - age
  from unnest(%(ids)b::uuid[], %(langs)b::text[], %(topics)b::text[], %(ages)b::interval[])
    as new (id, lang, topics, age)
  returning id),
held as (
  insert into items (id, user_id, content_id, source_id)
  select gen_random_uuid(), %(user_id)s, new.id, new.source_id
  from unnest(%(ids)b::uuid[], %(sources)b::uuid[]) as new (id, source_id) join made using (id))
insert into embeddings (content_id, model_version, dimensions, vector)
select new.id, %(version)s, %(dimensions)s, new.vector
from unnest(%(ids)b::uuid[], %(vectors)b::bytea[]) as new (id, vector)
"""
_TELL = """
with story as (
  insert into stories (id, user_id, model_version, centroid, size, first_at, last_at)
  select gen_random_uuid(), %(user_id)s, 'm', '', 1, now(), now() from generate_series(1, %(stories)s) returning id),
told as (select id, row_number() over () as n from story),
held as (select content_id, row_number() over (order by content_id) as n from items where user_id = %(user_id)s)
insert into story_items (user_id, content_id, story_id, distance)
select %(user_id)s, held.content_id, told.id, 0.1
from held join told on told.n = 1 + held.n %% %(stories)s where held.n %% 3 = 0
"""


class MadeUp:
    """Directions of made-up vectors: no mean, and a random direction for each phrase."""

    model_version = VERSION

    def mean(self, language: str | None) -> NDArray[np.float32]:  # noqa: ARG002 - the same for all
        return np.zeros(DIMENSIONS, dtype=np.float32)

    def phrase(self, text: str) -> tuple[NDArray[np.float32], Mapping[str, float]]:
        return _unit(np.random.default_rng(len(text)).normal(size=(1, DIMENSIONS)))[0], {"energy": 0.6}


def main() -> None:
    report = Report("score")
    report.open(f"{ITEMS:,} items of one user: scoring, lists, feed")
    with databases(report, "score") as [database]:
        user_id = _fill(database)
        work = ScoreUser(database, MadeUp, SystemClock(), ScoringRule(work_s=600.0))
        before_mib = _peak_mib()
        floor_s, _ = timed(lambda: _floor(database, user_id))
        rows = []
        changes: dict[str, Callable[[], None]] = {
            "first: profile and everything": lambda: None,
            "nothing is due": lambda: None,
            "one new item": lambda: _due(database, user_id, 1),
            "a hundred new items": lambda: _due(database, user_id, 100),
            "everything anew after a star": lambda: _starred(database, user_id),
        }
        for name, prepare in changes.items():
            prepare()
            spent_s, done = timed(lambda: work.process(claimed(user_id, JobType.SCORE_USER)))
            rows.append(
                {
                    "what": name,
                    "items": done.result["scored"],
                    "seconds": round(spent_s, 3),
                    "of the floor": round(spent_s / floor_s, 2),
                }
            )
        report.table("scoring", rows)
        report.tell({"floor": f"{floor_s:.2f} s", "peak memory added": f"{_peak_mib() - before_mib:.0f} MiB"})
        _pages(report, database, user_id)
    report.keep()


def _fill(database: Database) -> UUID:
    """Make a user who holds everything and has starred some of it."""
    rng = np.random.default_rng(7)
    with database.transaction() as connection:
        user_id = make_user(connection)
        interests = "solar energy, chess, opera, old maps"
        connection.execute("update users set interests = %s where id = %s", (interests, user_id))
        sources = [make_source(connection) for _ in range(SOURCES)]
    for start in range(0, ITEMS, AT_ONCE):
        vectors = _unit(rng.normal(size=(AT_ONCE, DIMENSIONS)))
        values = {
            "ids": [new_id() for _ in vectors],
            "sources": [sources[row % SOURCES] for row in range(AT_ONCE)],
            "langs": ["en", "fr"] * (AT_ONCE // 2),
            "topics": ['[{"topic": "energy", "score": 0.7}]', '[{"topic": "sport", "score": 0.5}]'] * (AT_ONCE // 2),
            "ages": [timedelta(minutes=start + row) for row in range(AT_ONCE)],
            "vectors": [row.astype("<f4").tobytes() for row in vectors],
            "user_id": user_id,
            "version": VERSION,
            "dimensions": DIMENSIONS,
        }
        with database.transaction() as connection:
            connection.execute(_MAKE, values)
    with database.transaction() as connection:
        connection.execute(
            "update items set starred_at = now() where id in (select id from items order by id limit %s)", (STARS,)
        )
    with database.statement() as connection:
        connection.execute("vacuum analyze")
    return user_id


def _floor(database: Database, user_id: UUID) -> None:
    """Read every vector and write one number to each item, by the same blocks, and undo it."""
    after = UUID(int=0)
    while True:
        with database.transaction() as connection, connection.cursor(binary=True) as cursor:
            rows = cursor.execute(
                "select i.id, i.content_id, e.vector from items i join embeddings e on e.content_id = i.content_id"
                " where i.user_id = %s and i.content_id > %s order by i.content_id limit 2000",
                (user_id, after),
            ).fetchall()
            connection.execute("update items set score = 0.5 where id = any(%s::uuid[])", ([row[0] for row in rows],))
        if len(rows) < 2_000:
            return
        after = rows[-1][1]


def _due(database: Database, user_id: UUID, count: int) -> None:
    with database.transaction() as connection:
        connection.execute(
            "update items set score_wanted = score_wanted + 1 where id in"
            " (select id from items where user_id = %s limit %s)",
            (user_id, count),
        )


def _starred(database: Database, user_id: UUID) -> None:
    with database.transaction() as connection:
        connection.execute("update score_profiles set evidence = 1 where user_id = %s", (user_id,))


def _pages(report: Report, database: Database, user_id: UUID) -> None:
    """Time pages of the lists and of the feed."""
    with database.statement() as connection:
        connection.execute(_TELL, {"user_id": user_id, "stories": STORIES})
        connection.execute("vacuum analyze")
    rule, unread = ScoreRule(), Listed(unread=True)

    def first(*, keep: bool = True) -> UUID | None:
        stretch = first_places(database, rule, user_id, unread, 50, keep=keep)
        for shown in stretch.shown if keep else ():
            feed_item_of(shown, stretch.freshness)
        return stretch.order_id

    def listed(ask: Callable[..., object]) -> None:
        with database.transaction() as connection:
            ask(connection, user_id, unread, rule.freshness(SystemClock().now()), None, 51)

    order_id = first()
    assert order_id is not None

    def later(place: int) -> None:
        later_places(database, rule, user_id, order_id, place, 50)

    rows = [
        _row("feed: first page of 50, order kept", first),
        _row("feed: first 50, as a feed reader gets them", lambda: first(keep=False)),
        _row("feed: second page", lambda: later(50)),
        _row(f"feed: page at place {FAR:,}", lambda: later(FAR)),
        _row("list, newest first", lambda: listed(items_store.list_items)),
        _row("list, best first: the floor of the feed", lambda: listed(items_store.best_items)),
    ]
    report.table("pages", rows)
    with database.transaction() as connection:
        [(kept,)] = connection.execute("select max(length(item_ids) + length(places)) from feed_orders").fetchall()
    report.tell({"one kept order": f"{kept / 1_024:.0f} KiB"})


def _row(name: str, ask: Callable[[], object]) -> dict[str, object]:
    """Time it, and the processor's time of this process without PostgreSQL's, which waits for nobody else's work."""
    before_s = process_time()
    spent = sorted(timed(ask)[0] for _ in range(5))
    own_ms = round(1_000 * (process_time() - before_s) / 5, 1)
    return {"what": name, "median ms": round(1_000 * spent[2], 1), "own processor ms": own_ms}


def _peak_mib() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1_024


def _unit(rows: NDArray[np.float64]) -> NDArray[np.float32]:
    unit: NDArray[np.float32] = (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)
    return unit
