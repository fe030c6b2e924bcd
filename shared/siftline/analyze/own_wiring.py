"""Where the comparing of contents with users' own topics is put together."""

from siftline.analyze.labelling import LabelUser
from siftline.analyze.wiring import open_reader
from siftline.kit.clock import SystemClock
from siftline.kit.db import Database
from siftline.kit.embedder import open_embedder
from siftline.settings import AnalyzeSettings


def open_labelling(settings: AnalyzeSettings, database: Database) -> LabelUser:
    """Return the work of ``label_user``; the model is this process's own, opened once."""
    embedder = open_embedder(
        settings.model_uri,
        settings.model_cache_dir,
        tokens_max=settings.embedding_tokens,
        threads=settings.model_threads,
    )
    reader = open_reader(settings, embedder)
    return LabelUser(database, reader.own_topics, SystemClock(), work_s=settings.analyze_text_s)
