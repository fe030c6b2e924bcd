"""Make all vectors anew with another model while the old ones serve: ``make reindex``. ``DRY_RUN=1`` only counts.

``TO`` is a model folder, ``s3://bucket/prefix`` of one or ``api:<model>``; without it the model that the settings name.
Where that is the model whose vectors count already, Qdrant's collection is built again from PostgreSQL's vectors.
"""

import argparse
import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager

from pydantic import ValidationError

from infra.local.answer import run
from siftline.analyze import reindex_store
from siftline.analyze.reindex import Measured, Plan, Progress, Reindex, ReindexRunningError, rebuild
from siftline.kit.db import Database, SingleConnection
from siftline.kit.errors import SiftlineError
from siftline.models import embedding_store
from siftline.models.embedder import Embedder, OnnxEmbedder
from siftline.models.embedding_api import PricedEmbedder
from siftline.models.embedding_models import EmbeddingModels, Opened
from siftline.operate.set_up_error import SetUpError, settings_fault
from siftline.schedule.reconcile import drop_outdated
from siftline.settings.functions import AnalyzeSettings

_TELL_EVERY_S = 2.0


class Telling:
    """Prints how far a run is, every few seconds."""

    def __init__(self) -> None:
        self._next = time.monotonic() + _TELL_EVERY_S

    def __call__(self, progress: Progress) -> None:
        """Print a line if it is time."""
        if time.monotonic() < self._next:
            return
        self._next = time.monotonic() + _TELL_EVERY_S
        pace = progress.made / max(progress.seconds, 1e-9)
        left_s = progress.wanting / max(pace, 1e-9)
        print(f"{progress.made:>8}  done, {progress.wanting} to go, {pace:.1f} per second, about {left_s:.0f} s left")


def _settings() -> AnalyzeSettings:
    try:
        return AnalyzeSettings()
    except ValidationError as error:
        raise settings_fault(error) from error


@contextmanager
def _alone(url: str) -> Iterator[None]:
    """Hold the lock of re-embedding, on a connection of its own: whoever is killed lets it go."""
    with closing(SingleConnection(url)) as own, own.transaction() as connection:
        if not reindex_store.try_lock(connection):
            raise ReindexRunningError("Another `make reindex` is already running.")
        yield


@contextmanager
def _closed(embedder: Embedder) -> Iterator[None]:
    """Close the connections of a model behind an API in the end."""
    try:
        yield
    finally:
        if isinstance(embedder, PricedEmbedder):
            embedder.api.close()


def _measured(new: Opened, texts: list[str]) -> Measured:
    """Embed a sample; a model behind an API is paid for it."""
    if isinstance(new.embedder, OnnxEmbedder) and texts:
        new.embedder.load()
    started, micro_usd, unusable = time.monotonic(), 0.0, 0
    if isinstance(new.embedder, PricedEmbedder):
        micro_usd, unusable = new.embedder.measured(texts)
    else:
        unusable = sum(vector is None for vector in new.embedder.embed_passages(texts))
    return Measured(len(texts), time.monotonic() - started, micro_usd, unusable)


def _told(plan: Plan, sample: Measured, old: str, new: Opened, settings: AnalyzeSettings) -> list[str]:
    paid = isinstance(new.embedder, PricedEmbedder)
    limit = f", at most {settings.embedding_api_usd_per_day:.2f} USD a day" if paid else ": it runs on this machine"
    return [
        f"from      {old}",
        f"to        {new.version.model_version}, {new.version.dimensions} dimensions",
        f"{plan.wanting:>8}  of {plan.contents} contents to embed",
        f"{plan.seconds:>8.0f}  seconds, estimated from a sample",
        f"{plan.usd:>8.4f}  USD{limit}",
        f"{sample.unusable:>8}  of {sample.texts} texts of the sample have no usable vector",
    ]


def _embed_anew(
    settings: AnalyzeSettings, database: Database, old: embedding_store.Version, new: Opened, *, dry: bool
) -> None:
    local = isinstance(new.embedder, OnnxEmbedder)
    work = Reindex(database, old, new.version, new.embedder, new.index, local=local, tell=Telling())
    sample = _measured(new, work.sample())
    plan = work.plan(sample)
    print("\n".join(_told(plan, sample, old.model_version, new, settings)), flush=True)
    work.check(plan, sample)
    if dry:
        return
    done = work.run()
    print(f"{done.made:>8}  done in {done.seconds:.0f} s, {done.refused} without a vector")
    print(f"{new.version.model_version} is now in use; the old vectors are kept for {settings.embedding_keep_old_s} s")


def _build_again(database: Database, active: Opened, *, dry: bool) -> None:
    version = active.version.model_version
    with database.transaction() as connection:
        kept, _ = reindex_store.counts(connection, version, version)
    print(f"{version} is already in use; Qdrant has {active.index.count()} of {kept} vectors", flush=True)
    if not dry:
        written = rebuild(database, version, active.index)
        print(f"{written:>8}  written to {active.index.collection}; nothing was embedded, cost 0 USD")


def reindex(settings: AnalyzeSettings, to: str, *, dry: bool) -> None:
    """Do it. Raises what the model, the vector store and PostgreSQL raise."""
    url = settings.database_url.get_secret_value()
    with closing(SingleConnection(url)) as database:
        models = EmbeddingModels(settings, database)
        new = models.named(to) if to else models.configured()
        with _alone(url), _closed(new.embedder):
            with database.transaction() as connection:
                embedding_store.adopt(connection, new.version)
                old = embedding_store.active(connection) or new.version
            if old.model_version == new.version.model_version:
                _build_again(database, new, dry=dry)
            else:
                _embed_anew(settings, database, old, new, dry=dry)
            dropped = [] if dry else drop_outdated(settings, database)
        for version in dropped:
            print(f"deleted the vectors of {version}")


def main(arguments: list[str]) -> int:
    """Do as the command line says; return the exit code."""
    parser = argparse.ArgumentParser(prog="make reindex", description="Recompute all vectors with another model.")
    parser.add_argument(
        "--to", default="", help="model folder, s3://bucket/prefix or api:<model>; default: the configured model"
    )
    parser.add_argument("--dry-run", action="store_true", help="only estimate time and cost")
    chosen = parser.parse_args(arguments)
    try:
        reindex(_settings(), chosen.to, dry=chosen.dry_run)
    except (SiftlineError, SetUpError) as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    run(main, beside=True)
