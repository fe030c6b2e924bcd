"""P12: how long a search takes among 100,000 items of one user. ``python -m benchmarks.search``

Made-up texts (a hundred words out of 20,000, as often as in a language: Zipf's law) and made-up vectors in clusters.
Each query is a few words out of one text, and a vector near to it. Beside the product's search, from its call to rows
with highlights, stand in the same round the engine alone, in this process, and one SQL query that a full text search
cannot do without: match, rank, the first page with what is shown. As in the product the vectors are another process's;
the engine alone opens a copy of its files. The query's vector is given: what the shipped model takes for one is told by
itself. The parts of a search are timed by themselves, right behind it; in it words and vectors are found at once.
"""

import shutil
from collections import defaultdict
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import numpy as np

from benchmarks import search_filled, search_languages
from benchmarks.database import databases
from benchmarks.profile import profile_of
from benchmarks.report import Report, median_ms, ratio, timed
from benchmarks.search_filled import ASKED, ITEMS, VERSION, Filled
from infra.local.vectors_collection import Collection
from siftline.api.search.search_routes import Wanted
from siftline.kit.clock import SystemClock
from siftline.kit.db import Database
from siftline.models.embedder import OnnxEmbedder
from siftline.models.model_folders import ModelFolder
from siftline.models.vectors import Vector, VectorIndex
from siftline.rank.nearest import nearest_held
from siftline.rank.query import parse
from siftline.rank.search import Held, Meaning, Search, fused
from siftline.rank.wording import Wording

WARM = 12
LIMIT = 50
DEPTH = 60
REACH = 1.5
P50_MS = 50
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
    with databases("search") as [database], search_filled.folders() as (alone, served):
        filled_s, filled = timed(lambda: search_filled.fill(database, alone))
        shutil.copytree(alone, served, dirs_exist_ok=True)
        with search_filled.engine(alone) as collection, search_filled.service(served) as index:
            held = collection.info()["indexed_vectors_count"]
            report.tell({"filled in s": round(filled_s), "vectors in a graph": held})
            _measured(report, database, collection, index, filled)
        if (_MODEL / "manifest.json").is_file():
            report.tell({"embedding a query, shipped model": f"{_embedding_ms(filled.queries)} ms"})
            report.table("queries and articles in several languages", search_languages.compared(_MODEL))
    report.keep()


def _measured(report: Report, database: Database, collection: Collection, index: VectorIndex, filled: Filled) -> None:
    search = Search(database, lambda _: Meaning(GivenEmbedder(filled.vectors), index), SystemClock())
    told = _rounds(database, collection, index, search, filled)
    ours, engine, bare = told.pop("hybrid search"), told["engine alone"], told["one SQL query"]
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
    over_http = [one - other for one, other in zip(told["vectors, over HTTP"], engine, strict=True)]
    told["of these HTTP and client"] = over_http
    parts = [
        {"part": name, "ms": median_ms(spent), "mean": round(1_000 * float(np.mean(spent)), 1)}
        for name, spent in told.items()
    ]
    report.table("parts, each by itself", parts)
    if ratio(ours, floor) > REACH or median_ms(ours) > P50_MS:
        report.table("why above: what one such search costs", [_profile(database, search, filled)])


def _rounds(
    database: Database, collection: Collection, index: VectorIndex, search: Search, filled: Filled
) -> dict[str, list[float]]:
    """Time the three ways of each query and the parts of ours, one after the other; by what was done, in seconds."""
    told: dict[str, list[float]] = defaultdict(list)
    for number, query in enumerate(filled.queries):
        body = {"query": filled.vectors[query].tolist(), "limit": LIMIT}
        values = {"query": query, "user_id": filled.user_id, "limit": LIMIT}
        ways: dict[str, Callable[[], object]] = {
            "hybrid search": partial(search.search, filled.user_id, query, Wanted(), limit=LIMIT),
            "engine alone": partial(collection.query, body),
            "one SQL query": partial(_bare, database, values),
        }
        times = {name: timed(way)[0] for name, way in ways.items()} | _parts(database, index, search, filled, query)
        if number >= WARM:
            for name, spent_s in times.items():
                told[name].append(spent_s)
    return told


def _parts(database: Database, index: VectorIndex, search: Search, filled: Filled, query: str) -> dict[str, float]:
    """Return the seconds of the parts of a search."""
    wording, asked, user_id = Wording(database), parse(query), filled.user_id
    reading_s, terms = timed(partial(wording.terms, asked))
    finding_s, worded = timed(partial(wording.find, user_id, Wanted(), asked, terms, limit=DEPTH))
    vectors_s, _ = timed(partial(index.search, filled.vectors[query], DEPTH))
    nearest_s, hits = timed(
        partial(nearest_held, index, filled.vectors[query], DEPTH, Held(database, user_id, Wanted(), terms.bounds))
    )

    def shown() -> object:
        scores = dict(list(fused([hit.id for hit in hits], worded.telling).items())[:LIMIT])
        return search._shown(user_id, Wanted(), scores, terms.bounds, worded)  # noqa: SLF001 - a part of it, timed

    return {
        "words: read the query, find": reading_s + finding_s,
        "vectors, over HTTP": vectors_s,
        "vectors: what is held of them": nearest_s - vectors_s,
        "fusion, rows, highlights": timed(shown)[0],
    }


def _bare(database: Database, values: dict[str, object]) -> None:
    with database.statement() as connection:
        connection.execute(_BARE, values).fetchall()


def _profile(database: Database, search: Search, filled: Filled) -> dict[str, object]:
    """Return where the time of the last query's search goes."""
    with database.statement() as connection:
        pass  # given back: who keeps it would wait for ever for the search's other thread
    return dict(
        profile_of(connection, lambda: search.search(filled.user_id, filled.queries[-1], Wanted(), limit=LIMIT))
    )


def _embedding_ms(queries: Sequence[str]) -> float:
    embedder = OnnxEmbedder(ModelFolder(str(_MODEL), _MODEL), tokens_max=192, threads=2)
    return median_ms([timed(partial(embedder.embed_query, query))[0] for query in queries])


if __name__ == "__main__":
    main()
