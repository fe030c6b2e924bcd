"""How long it takes to score all that one user holds. ``python -m benchmarks.score``

A user with 50,000 items of made-up vectors (384 numbers), interests and a history: the first scoring makes the profile
and judges everything; then nothing, a few new items, and everything anew after a star. Beside it stands the floor:
reading the same vectors out of PostgreSQL and writing one number to each item, which no scoring can do without. Then
the first page of both orders of the list.
"""

import resource
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from benchmarks.database import databases
from benchmarks.report import Report, timed
from siftline.api.items import listing_store
from siftline.api.items.items_store import Freshness
from siftline.api.items.listing_store import Listed
from siftline.contracts import JobType
from siftline.kit.clock import SystemClock
from siftline.kit.db import Database
from siftline.kit.ids import new_id
from siftline.rank.scoring import ScoreUser, ScoringRule
from tests.factories import claimed

ITEMS = 50_000
DIMENSIONS = 384
VERSION = "made-up"
STARS = 200

_MAKE = """
with made as (
  insert into contents (id, url, url_key, status, lang, title, topics, sort_at)
  select id, 'https://news.example/' || id, id::text, 'READY', lang, 'Made up', topics::jsonb, now() - age
  from unnest(%(ids)b::uuid[], %(langs)b::text[], %(topics)b::text[], %(ages)b::interval[])
    as new (id, lang, topics, age)
  returning id),
held as (
  insert into items (id, user_id, content_id) select gen_random_uuid(), %(user_id)s, id from made)
insert into embeddings (content_id, model_version, dimensions, vector)
select new.id, %(version)s, %(dimensions)s, new.vector
from unnest(%(ids)b::uuid[], %(vectors)b::bytea[]) as new (id, vector)
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
    report.open(f"scoring {ITEMS} items of one user")
    with databases("score") as [database]:
        user_id = _fill(database)
        work = ScoreUser(database, MadeUp, SystemClock(), ScoringRule(work_s=600.0))
        before_mib = _peak_mib()
        floor_s, _ = timed(lambda: _floor(database, user_id))
        rows = []
        for name, prepare in (
            ("first: profile and everything", lambda: None),
            ("nothing is due", lambda: None),
            ("one new item", lambda: _due(database, user_id, 1)),
            ("a hundred new items", lambda: _due(database, user_id, 100)),
            ("everything anew after a star", lambda: _starred(database, user_id)),
        ):
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
        report.table("lists", _lists(database, user_id))
    report.keep()


def _fill(database: Database) -> UUID:
    """Make a user who holds everything and has starred some of it."""
    user_id, rng = new_id(), np.random.default_rng(7)
    with database.transaction() as connection:
        connection.execute(
            "insert into users (id, name, interests) values (%s, 'reader', 'solar energy, chess, opera, old maps')",
            (user_id,),
        )
    for start in range(0, ITEMS, 5_000):
        vectors = _unit(rng.normal(size=(5_000, DIMENSIONS)))
        values = {
            "ids": [new_id() for _ in vectors],
            "langs": ["en", "fr"] * 2_500,
            "topics": ['[{"topic": "energy", "score": 0.7}]', '[{"topic": "sport", "score": 0.5}]'] * 2_500,
            "ages": [timedelta(minutes=start + row) for row in range(5_000)],
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


def _lists(database: Database, user_id: UUID) -> list[dict[str, object]]:
    """Time the first page of both orders."""
    freshness = Freshness(datetime.now(UTC), 0.15, 259_200.0)
    rows: list[dict[str, object]] = []
    for name, ask in (("newest first", listing_store.list_items), ("best first", listing_store.best_items)):

        def listed(ask: Callable[..., object] = ask) -> None:
            with database.transaction() as connection:
                ask(connection, user_id, Listed(), freshness, None, 51)

        rows.append({"order": name, "ms": round(1_000 * min(timed(listed)[0] for _ in range(5)), 1)})
    return rows


def _peak_mib() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1_024


def _unit(rows: NDArray[np.float64]) -> NDArray[np.float32]:
    unit: NDArray[np.float32] = (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)
    return unit


if __name__ == "__main__":
    main()
