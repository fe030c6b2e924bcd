"""Re-embedding under test: tiny models, contents with their vectors, and a Qdrant that can be held up in mid-call."""

import json
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self
from uuid import UUID

from psycopg.types.json import Jsonb

from infra.local.vectors import Service, Vectors
from siftline.analyze import analyze_store
from siftline.kit.db import Database
from siftline.models import embedding_store
from siftline.models.embedding_models import EmbeddingModels, Opened
from siftline.models.model_folders import MANIFEST
from siftline.models.vectors import Point
from siftline.settings.functions import AnalyzeSettings, ConsumerSettings, process_environment
from tests.factories import make_content, make_item

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIEnvironment

ROOT = Path(__file__).resolve().parent.parent
_TEXTS = (
    "the striker scored a goal and the football team won",
    "the central bank raised interest rates",
    "doctors test a vaccine against malaria",
    "the film won a prize at the festival",
    "a song for the nurse and the patient",
)
QUEUES = {
    name: "http://127.0.0.1:1/queue"
    for name in ConsumerSettings.model_fields
    if name.endswith(("_queue_url", "_dlq_url"))
}


def other_model(model: Path, folder: Path, version: str = "tiny-other-1") -> Path:
    """Copy a model as one of another version, whose vectors are others: it wants nothing before a passage."""
    out = folder / version
    shutil.copytree(model, out)
    manifest = json.loads((out / MANIFEST).read_text())
    manifest |= {"model_version": version, "model_id": "tiny-other", "passage_prefix": "", "query_prefix": ""}
    (out / MANIFEST).write_text(json.dumps(manifest))
    return out


def settings_for(database_url: str, qdrant: str, model: Path, cache: Path, **more: Any) -> AnalyzeSettings:
    """Return the settings of ``make reindex``."""
    values = {"database_url": database_url, "qdrant_url": qdrant, "model_uri": str(model), **QUEUES, **more}
    return AnalyzeSettings(model_cache_dir=str(cache), **{"embedding_tokens": 64, "model_threads": 1, **values})


def environment_of(settings: AnalyzeSettings) -> dict[str, str]:
    """Return the same as a program's environment."""
    shown = {name: getattr(settings, name) for name in (*QUEUES, "qdrant_url", "model_uri", "model_cache_dir")}
    shown |= {name: getattr(settings, name) for name in ("embedding_tokens", "model_threads", "embedding_keep_old_s")}
    shown["database_url"] = settings.database_url.get_secret_value()
    return {**process_environment(), **{name.upper(): str(value) for name, value in shown.items()}}


def start_reindex(settings: AnalyzeSettings, *arguments: str) -> "subprocess.Popen[str]":
    """Start ``make reindex`` as a process of its own."""
    return subprocess.Popen(
        [sys.executable, "-m", "infra.local.reindex", *arguments],
        cwd=ROOT,
        env={**environment_of(settings), "PYTHONPATH": f"{ROOT / 'shared'}:{ROOT}"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


class Shelf:
    """Contents with the vectors of the model that counts, all held by one user."""

    def __init__(self, database: Database, settings: AnalyzeSettings, user_id: UUID) -> None:
        self.database = database
        self.models = EmbeddingModels(settings, database)
        self.user_id = user_id
        self.ids: list[UUID] = []

    def fill(self, count: int) -> None:
        """Add contents."""
        for number in range(count):
            self.add(f"{_TEXTS[number % len(_TEXTS)]} {number}")

    def add(self, text: str, *, vectors_of: Opened | None = None, **columns: Any) -> UUID:
        """Add a content as analysis leaves it: its point, then its vector, under the lock of who writes vectors."""
        opened = vectors_of or self.models.active()
        vector = opened.embedder.embed_passage(text)
        topics = [{"topic": "sport", "score": 0.9}]
        with self.database.transaction() as connection:
            values = {"title": text[:40], "text": text, "lang": "en", "status": "READY", "topics": Jsonb(topics)}
            content_id = make_content(connection, **{**values, **columns})
            make_item(connection, self.user_id, content_id)
            connection.execute(
                "insert into derivations (content_id, kind, model_id, model_version, input_sha256)"
                " values (%s, 'topics', 'tiny', 'tiny', '\\x00')",
                (content_id,),
            )
        opened.index.upsert([Point(content_id, vector, {}, 1)])
        with self.database.transaction() as connection:
            embedding_store.hold(connection, opened.version)
            analyze_store.embed(connection, content_id, opened.version.model_version, vector, 1)
        self.ids.append(content_id)
        return content_id

    def versions(self) -> dict[str, int]:
        """Return how many vectors there are, by the version of their model."""
        rows = self.rows("select model_version, count(*) from embeddings group by 1")
        return {str(row[0]): int(row[1]) for row in rows}

    def rows(self, statement: str) -> list[Any]:
        """Return what a statement finds."""
        with self.database.transaction() as connection:
            return connection.execute(statement).fetchall()


class Gate:
    """A Qdrant whose writes to a collection can be held up, before or after they are done."""

    def __init__(self, folder: Path) -> None:
        self.vectors = Vectors(folder)
        self._service = Service(self.vectors)
        self.reached, self.opened = threading.Event(), threading.Event()
        self._hold: tuple[str, int, bool] | None = None
        self._lock = threading.Lock()

    def hold(self, collection: str, number: int, *, after: bool) -> None:
        """Hold up the write of this number to a collection."""
        self._hold = (f"/collections/{collection}/points", number, after)

    def __call__(self, environ: "WSGIEnvironment", start_response: "StartResponse") -> Iterable[bytes]:
        """Answer, perhaps later."""
        held, after = self._held(environ)
        if held and not after:
            self._wait()
        answer = self._service(environ, start_response)
        if held and after:
            self._wait()
        return answer

    def _held(self, environ: Mapping[str, Any]) -> tuple[bool, bool]:
        with self._lock:
            if self._hold is None or environ["REQUEST_METHOD"] != "PUT" or environ["PATH_INFO"] != self._hold[0]:
                return False, False
            path, number, after = self._hold
            self._hold = (path, number - 1, after) if number > 1 else None
            return number == 1, after

    def _wait(self) -> None:
        self.reached.set()
        self.opened.wait(60)


class Searching:
    """Asks and asks in a thread, until the block ends; counts what was asked, what failed and what came back empty."""

    def __init__(self, ask: Callable[[], int]) -> None:
        self._ask = ask
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._go_on, name="searching", daemon=True)
        self.asked = self.failed = self.empty = 0
        self.failures: list[str] = []

    def __enter__(self) -> Self:
        """Begin."""
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """End."""
        self._over.set()
        self._thread.join()

    def _go_on(self) -> None:
        while not self._over.wait(0.02):
            self.asked += 1
            try:
                self.empty += self._ask() == 0
            except Exception as error:  # noqa: BLE001 - whatever it is, it is counted
                self.failed += 1
                self.failures.append(repr(error))
