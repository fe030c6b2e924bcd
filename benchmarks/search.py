"""P12: how long a search takes among 100,000 items of one user. ``python -m benchmarks search``

Made-up texts (a hundred words out of 20,000, as often as in a language: Zipf's law) and made-up vectors in clusters.
Each query is a few words out of one text, and a vector near to it. Beside the product's search, from its call to rows
with highlights, stand in the same round the engine alone, in this process, and one SQL query that a full text search
cannot do without: match, rank, the first page with what is shown. As in the product the vectors are another process's;
the engine alone opens a copy of its files. The query's vector is given: what the shipped model takes for one is told by
itself. Last, with the shipped model: queries and articles in several languages.
"""

import shutil
from collections import defaultdict
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import cast

import numpy as np

from benchmarks import search_filled, search_languages
from benchmarks.database import databases, new_folder
from benchmarks.report import Report, median_ms, ratio, timed
from benchmarks.search_filled import ASKED, ITEMS, VERSION, Filled
from infra.local.vectors_collection import Collection
from siftline.api.search_routes import Wanted
from siftline.kit.clock import SystemClock
from siftline.kit.db import Database
from siftline.models.embedder import Embedder, OnnxEmbedder
from siftline.models.model_folders import ModelFolder
from siftline.models.unit_vector import Vector
from siftline.models.vectors import VectorIndex
from siftline.rank.search import Meaning, Search

WARM = 12
LIMIT = 50
P50_MS, P95_MS = 40, 100
_MODEL = Path(".local/model")

_BARE = """
select i.id, i.content_id, c.title, c.url, c.lang, c.summary, c.topics, c.published_at, i.source_id,
  ts_rank(w.words, query) as score
from websearch_to_tsquery('siftline_english', %(query)s) as query
join content_words w on w.words @@ query join items i on i.content_id = w.content_id
join contents c on c.id = w.content_id
where i.user_id = %(user_id)s order by score desc limit %(limit)s
"""


class GivenEmbedder:
    """Knows the vectors of the queries."""

    model_version = VERSION

    def __init__(self, vectors: dict[str, Vector]) -> None:
        self._vectors = vectors
        self.dimensions = len(next(iter(vectors.values())))

    def embed_query(self, text: str) -> Vector:
        """Return the query's vector."""
        return self._vectors[text]


def main() -> None:
    report = Report("search")
    report.open(f"search over {ITEMS:,} items of one user, {ASKED - WARM} queries, {LIMIT} answers each")
    with databases(report, "search") as [database], new_folder() as folder:
        alone, served = folder / "alone", folder / "served"
        filled_s, filled = timed(lambda: search_filled.fill(database, alone))
        shutil.copytree(alone, served)
        with search_filled.engine(alone) as collection, search_filled.service(served) as index:
            held = collection.info()["indexed_vectors_count"]
            report.tell({"filled in s": round(filled_s), "vectors in a graph": held})
            _measured(report, database, collection, index, filled)
        if (_MODEL / "manifest.json").is_file():
            report.tell({"embedding a query, shipped model": f"{_embedding_ms(filled.queries)} ms"})
            report.table("queries and articles in several languages", search_languages.compared(_MODEL))
    report.keep()


def _measured(report: Report, database: Database, collection: Collection, index: VectorIndex, filled: Filled) -> None:
    search = Search(database, lambda _: Meaning(cast("Embedder", GivenEmbedder(filled.vectors)), index), SystemClock())
    seconds: dict[str, list[float]] = defaultdict(list)
    for number, query in enumerate(filled.queries):
        body = {"query": filled.vectors[query].tolist(), "limit": LIMIT}
        values = {"query": query, "user_id": filled.user_id, "limit": LIMIT}
        ways: dict[str, Callable[[], object]] = {
            "hybrid search": partial(search.search, filled.user_id, query, Wanted(), limit=LIMIT),
            "engine alone": partial(collection.query, body),
            "one SQL query": partial(_bare, database, values),
        }
        times = {name: timed(way)[0] for name, way in ways.items()}
        if number >= WARM:
            for name, spent_s in times.items():
                seconds[name].append(spent_s)
    floor = [one + other for one, other in zip(seconds["engine alone"], seconds["one SQL query"], strict=True)]
    report.table(
        f"one search; reach: {P50_MS} ms, 95th percentile {P95_MS} ms; ratio to the sum of engine and SQL",
        [
            {
                "what": name,
                "median ms": median_ms(spent),
                "p95 ms": round(1_000 * float(np.quantile(spent, 0.95)), 1),
                "ratio": ratio(spent, floor),
            }
            for name, spent in seconds.items()
        ],
    )


def _bare(database: Database, values: dict[str, object]) -> None:
    with database.statement() as connection:
        connection.execute(_BARE, values).fetchall()


def _embedding_ms(queries: Sequence[str]) -> float:
    embedder = OnnxEmbedder(ModelFolder(str(_MODEL), _MODEL), tokens_max=192, threads=2)
    return median_ms([timed(partial(embedder.embed_query, query))[0] for query in queries])
