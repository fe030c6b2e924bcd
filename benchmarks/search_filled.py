"""What a search is measured over: texts, vectors and queries, and the engine in this process and in another."""

import subprocess
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from infra.local.ports import free_port
from infra.local.processes import wait_until
from infra.local.vectors import Vectors
from infra.local.vectors_collection import Collection
from siftline.kit.db import Database
from siftline.kit.ids import new_id
from siftline.models.unit_vector import Vector
from siftline.models.vectors import VectorIndex, VectorsUnavailableError
from siftline.models.vectors_store import collection_name
from tests.factories import make_user

ITEMS = 100_000
ASKED = 72
VERSION = "made-up"
DIMENSIONS = 384
_BATCH = 5_000
_VOCABULARY = 20_000

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
_INDEXES = (
    "select indexname, indexdef from pg_indexes where tablename = 'content_words' and indexdef like '%using gin%'"
)
_REST = (
    """insert into search_spellings (word) select unnest(%(words)b::text[]) on conflict do nothing""",
    "insert into items (id, user_id, content_id) select gen_random_uuid(), %(user_id)s, id from contents",
)


@dataclass(frozen=True, slots=True)
class Filled:
    """What is searched."""

    user_id: UUID
    queries: list[str]
    vectors: dict[str, Vector]


def fill(database: Database, folder: Path) -> Filled:
    """Make texts and vectors, and queries out of some of them: rows by the thousand, indexes at the end."""
    rng = np.random.default_rng(12)
    words = np.array(_words(rng))
    weights = 1.0 / np.arange(10, _VOCABULARY + 10)
    centres = _unit(rng.normal(size=(500, DIMENSIONS)))
    asked: dict[str, Vector] = {}
    with ExitStack() as stack:
        collection = stack.enter_context(engine(folder))
        connection = stack.enter_context(database.statement())
        beside = stack.enter_context(ThreadPoolExecutor(1))
        connection.execute("set statement_timeout = 0")
        connection.execute("set session_replication_role = replica")
        user_id = make_user(connection)
        indexes = connection.execute(_INDEXES).fetchall()
        for name, _ in indexes:
            connection.execute(f"drop index {name}")
        for start in range(0, ITEMS, _BATCH):
            drawn = rng.choice(words, size=(_BATCH, 100), p=weights / weights.sum())
            near = _unit(centres[rng.integers(0, 500, _BATCH)] + 0.08 * rng.normal(size=(_BATCH, DIMENSIONS)))
            ids = [new_id() for _ in range(_BATCH)]
            storing = beside.submit(_store, collection, ids, near)
            values = {
                "ids": ids,
                "titles": [" ".join(row[:8]) for row in drawn],
                "summaries": [" ".join(row[8:30]) for row in drawn],
                "texts": [" ".join(row) for row in drawn],
                "ages": [start + row for row in range(_BATCH)],
            }
            connection.execute(_CONTENTS, values)
            connection.execute(_WORDS, values)
            storing.result()
            for row in range(0, _BATCH, _BATCH // 4):
                query = " ".join(drawn[row][[1, 12, 40]][: 2 + row // 1_250 % 2])
                asked[query] = _unit(near[row][None] + 0.02 * rng.normal(size=(1, DIMENSIONS)))[0].astype(np.float32)
        for statement in _REST:
            connection.execute(statement, {"user_id": user_id, "words": words.tolist()})
        for _, definition in indexes:
            connection.execute(definition)
        connection.execute("vacuum analyze")
        connection.execute("reset session_replication_role")
        connection.execute("reset statement_timeout")
    return Filled(user_id, list(asked)[:ASKED], asked)


def _store(collection: Collection, ids: Sequence[UUID], near: NDArray[np.float64]) -> None:
    points = [{"id": str(one), "vector": row.tolist()} for one, row in zip(ids, near, strict=True)]
    for chunk in range(0, len(points), 1_000):
        collection.upsert({"points": points[chunk : chunk + 1_000]})


def _words(rng: np.random.Generator) -> list[str]:
    """Return words of two to four syllables."""
    syllables = [one + other for one in "bdfgklmnprstvz" for other in ("a", "e", "i", "o", "u", "an", "or")]
    made: dict[str, None] = {}
    while len(made) < _VOCABULARY:
        made["".join(rng.choice(syllables, size=rng.integers(2, 5)))] = None
    return list(made)


@contextmanager
def engine(folder: Path) -> Iterator[Collection]:
    """Open the engine's files in this process; the collection is made at the first time."""
    vectors = Vectors(folder)
    name = collection_name(VERSION)
    if name not in vectors.names():
        vectors.create(name, {"vectors": {"size": DIMENSIONS, "distance": "Cosine"}})
    try:
        yield vectors.get(name)
    finally:
        vectors.close()


@contextmanager
def service(folder: Path) -> Iterator[VectorIndex]:
    """Serve the engine from a process of its own, as ``make run`` does."""
    port = free_port()
    command = [sys.executable, "-m", "infra.local.vectors", "--folder", str(folder), "--port", str(port)]
    with subprocess.Popen(command) as process:
        index = VectorIndex(f"http://127.0.0.1:{port}", model_version=VERSION, dimensions=DIMENSIONS)
        try:
            wait_until(lambda: process.poll() is not None or _answers(index), 60)
            yield index
        finally:
            index.close()
            process.terminate()


def _answers(index: VectorIndex) -> bool:
    try:
        return index.count() > 0
    except VectorsUnavailableError:
        return False


def _unit(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    unit: NDArray[np.float64] = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    return unit
