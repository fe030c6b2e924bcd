"""P12: how long a search takes among 100,000 items of one user. ``python -m benchmarks.search``

Made-up texts (a hundred words out of 20,000, as often as in a language: Zipf's law) and made-up vectors in clusters.
Each query is a few words out of one text, and a vector near to it. Beside the product's search, from its call to rows
with highlights, stand in the same round the engine alone, in this process, and one SQL query that a full text search
cannot do without: match, rank, the first page with what is shown. The query's vector is given: what the shipped model
takes for one is told by itself.
"""

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from benchmarks import search_languages
from benchmarks.database import databases
from benchmarks.profile import profile_of
from benchmarks.report import Report, median_ms, ratio, timed
from infra.local.vectors import Service, Vectors
from infra.local.vectors_collection import Collection
from infra.local.wsgi import LoopbackServer
from siftline.api.search import Wanted
from siftline.kit.clock import SystemClock
from siftline.kit.db import Database
from siftline.kit.embedder import OnnxEmbedder
from siftline.kit.ids import new_id
from siftline.kit.models import ModelFolder
from siftline.kit.vectors import Vector, VectorIndex, collection_name
from siftline.rank.search import Meaning, Search

ITEMS = 100_000
DIMENSIONS = 384
VERSION = "made-up"
QUERIES = 60
WARM = 12
LIMIT = 50
REACH = 1.5
P50_MS = 50
_BATCH = 5_000
_VOCABULARY = 20_000
_MODEL = Path(".local/model")

_CONTENTS = """
insert into contents (id, url, url_key, status, lang, title, summary, text, sort_at)
select id, 'https://news.example/' || id, id::text, 'READY', 'en', title, summary, words, now() - age * interval '1 min'
from unnest(%(ids)b::uuid[], %(titles)b::text[], %(summaries)b::text[], %(texts)b::text[], %(ages)b::int[])
  as new (id, title, summary, words, age)
"""
_WORDS = """
insert into content_words (content_id, grammar, words)
select id, 'siftline_english', search_vector('siftline_english', title, summary, tags, description, text)
from contents where id = any(%(ids)b::uuid[])
"""
_REST = (
    """insert into search_spellings (word) select unnest(%(words)b::text[]) on conflict do nothing""",
    "insert into users (id, name) values (%(user_id)s, 'reader')",
    "insert into items (id, user_id, content_id) select gen_random_uuid(), %(user_id)s, id from contents",
)
_BARE = """
select i.id, i.content_id, c.title, c.url, c.lang, c.summary, c.topics, c.published_at, i.source_id,
  ts_rank(w.words, query) as score
from websearch_to_tsquery('siftline_english', %(query)s) as query
join content_words w on w.words @@ query join items i on i.content_id = w.content_id
join contents c on c.id = w.content_id
where i.user_id = %(user_id)s order by score desc limit %(limit)s
"""


@dataclass(frozen=True, slots=True)
class Filled:
    """What is searched."""

    user_id: UUID
    queries: list[str]
    vectors: dict[str, Vector]


class GivenEmbedder:
    """Knows the vectors of the queries."""

    model_version = VERSION

    def __init__(self, vectors: dict[str, Vector]) -> None:
        self._vectors = vectors

    def embed_query(self, text: str) -> Vector:
        """Return the query's vector."""
        return self._vectors[text]


def main() -> None:
    report = Report("search")
    report.open(f"search over {ITEMS:,} items of one user, {QUERIES} queries, {LIMIT} answers each")
    with databases("search") as [database], _engine() as (vectors, url):
        filled_s, filled = timed(lambda: _fill(database, vectors))
        collection = vectors.get(collection_name(VERSION))
        report.tell({"filled in s": round(filled_s), "vectors in a graph": collection.info()["indexed_vectors_count"]})
        index = VectorIndex(url, model_version=VERSION, dimensions=DIMENSIONS)
        search = Search(database, lambda _: Meaning(GivenEmbedder(filled.vectors), index), SystemClock())
        ours, engine, bare = _rounds(database, collection, search, filled)
        floor = [one + other for one, other in zip(engine, bare, strict=True)]
        report.table(
            f"one search, medians; reach: {P50_MS} ms and at most {REACH} x the sum",
            [
                {"what": "hybrid search", "ms": median_ms(ours), "ratio": ratio(ours, floor)},
                {"what": "engine alone", "ms": median_ms(engine), "ratio": ratio(engine, floor)},
                {"what": "one SQL query", "ms": median_ms(bare), "ratio": ratio(bare, floor)},
            ],
        )
        report.tell({"95th percentile": f"{1_000 * float(np.quantile(ours, 0.95)):.1f} ms"})
        if ratio(ours, floor) > REACH or median_ms(ours) > P50_MS:
            report.table("why above: what one such search costs", [_profile(database, search, filled)])
        if (_MODEL / "manifest.json").is_file():
            report.tell({"embedding a query, shipped model": f"{_embedding_ms(filled.queries)} ms"})
            report.table("queries and articles in several languages", search_languages.compared(_MODEL))
        index.close()
    report.keep()


def _rounds(
    database: Database, collection: Collection, search: Search, filled: Filled
) -> tuple[list[float], list[float], list[float]]:
    """Time the three ways of each query, one after the other."""
    ours: list[float] = []
    engine: list[float] = []
    bare: list[float] = []
    for number, query in enumerate(filled.queries):
        body = {"query": filled.vectors[query].tolist(), "limit": LIMIT}
        values = {"query": query, "user_id": filled.user_id, "limit": LIMIT}

        times = (
            timed(partial(search.search, filled.user_id, query, Wanted(), limit=LIMIT))[0],
            timed(partial(collection.query, body))[0],
            timed(partial(_bare, database, values))[0],
        )
        if number >= WARM:
            for kept, spent_s in zip((ours, engine, bare), times, strict=True):
                kept.append(spent_s)
    return ours, engine, bare


def _bare(database: Database, values: dict[str, object]) -> None:
    with database.statement() as connection:
        connection.execute(_BARE, values).fetchall()


def _fill(database: Database, vectors: Vectors) -> Filled:
    """Make texts and vectors, and queries out of some of them."""
    rng = np.random.default_rng(12)
    words = np.array(_words(rng))
    weights = 1.0 / np.arange(10, _VOCABULARY + 10)
    centres = _unit(rng.normal(size=(500, DIMENSIONS)))
    name = collection_name(VERSION)
    vectors.create(name, {"vectors": {"size": DIMENSIONS, "distance": "Cosine"}})
    collection = vectors.get(name)
    user_id = new_id()
    asked: dict[str, Vector] = {}
    for start in range(0, ITEMS, _BATCH):
        drawn = rng.choice(words, size=(_BATCH, 100), p=weights / weights.sum())
        near = _unit(centres[rng.integers(0, 500, _BATCH)] + 0.08 * rng.normal(size=(_BATCH, DIMENSIONS)))
        ids = [new_id() for _ in range(_BATCH)]
        values = {
            "ids": ids,
            "titles": [" ".join(row[:8]) for row in drawn],
            "summaries": [" ".join(row[8:30]) for row in drawn],
            "texts": [" ".join(row) for row in drawn],
            "ages": [start + row for row in range(_BATCH)],
        }
        with database.transaction() as connection:
            connection.execute("set local session_replication_role = replica")
            connection.execute(_CONTENTS, values)
            connection.execute(_WORDS, values)
        points = [{"id": str(one), "vector": row.tolist()} for one, row in zip(ids, near, strict=True)]
        for chunk in range(0, _BATCH, 1_000):
            collection.upsert({"points": points[chunk : chunk + 1_000]})
        for row in range(0, _BATCH, _BATCH // 4):
            query = " ".join(drawn[row][[1, 12, 40]][: 2 + row // 1_250 % 2])
            asked[query] = _unit(near[row][None] + 0.02 * rng.normal(size=(1, DIMENSIONS)))[0].astype(np.float32)
    with database.statement() as connection:
        for statement in _REST:
            connection.execute(statement, {"user_id": user_id, "words": words.tolist()})
        connection.execute("vacuum analyze")
    vectors.flush()
    return Filled(user_id, list(asked)[: QUERIES + WARM], asked)


def _profile(database: Database, search: Search, filled: Filled) -> dict[str, object]:
    """Return where the time of the last query's search goes."""
    with database.statement() as connection:
        return dict(
            profile_of(connection, lambda: search.search(filled.user_id, filled.queries[-1], Wanted(), limit=LIMIT))
        )


def _embedding_ms(queries: Sequence[str]) -> float:
    embedder = OnnxEmbedder(ModelFolder(str(_MODEL), _MODEL), tokens_max=192, threads=2)
    return median_ms([timed(partial(embedder.embed_query, query))[0] for query in queries])


def _words(rng: np.random.Generator) -> list[str]:
    """Return words of two to four syllables."""
    syllables = [one + other for one in "bdfgklmnprstvz" for other in ("a", "e", "i", "o", "u", "an", "or")]
    made: dict[str, None] = {}
    while len(made) < _VOCABULARY:
        made["".join(rng.choice(syllables, size=rng.integers(2, 5)))] = None
    return list(made)


@contextmanager
def _engine() -> Iterator[tuple[Vectors, str]]:
    with tempfile.TemporaryDirectory(prefix="siftline-bench-") as folder:
        vectors = Vectors(Path(folder))
        with LoopbackServer(Service(vectors)) as server:
            yield vectors, server.url
        vectors.close()


def _unit(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    unit: NDArray[np.float64] = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    return unit


if __name__ == "__main__":
    main()
