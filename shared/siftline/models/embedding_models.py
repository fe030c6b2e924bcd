"""Opens what makes the vectors that count, and where they are found again: the active version, whatever it was set to.

Which version is active says PostgreSQL, to all processes at once. A process asks before each text and each search, and
opens another model when another is active; the environment says where the model lies that it was set up with.
"""

import threading
import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from siftline.kit.aws import secret
from siftline.kit.clock import SystemClock
from siftline.kit.db import Database
from siftline.kit.errors import ConfigurationError
from siftline.models import embedding_store
from siftline.models.embedder import OnnxEmbedder, open_embedder
from siftline.models.embedding_api import PROVIDER, ApiModel, EmbeddingApi, PricedEmbedder
from siftline.models.embedding_store import SCHEME, Version
from siftline.models.model_folders import ModelFolder, ModelMissingError
from siftline.models.spending_store import Caps
from siftline.models.vectors import VectorIndex
from siftline.settings.functions import EmbeddingSettings


class ModelReplacedError(ConfigurationError):
    """Where the active model's vectors were made, another model lies now."""

    code = "model_replaced"
    provider = "model"


class EmbeddingPriceUnknownError(ConfigurationError):
    """Nobody says what the model costs or how long its vectors are, so it is not asked."""

    code = "embedding_price_unknown"
    provider = PROVIDER


@dataclass(frozen=True, slots=True)
class Opened:
    """A version's embedder, and the index of its vectors."""

    version: Version
    embedder: OnnxEmbedder | PricedEmbedder
    index: VectorIndex


class EmbeddingModels:
    """Opens versions and keeps what it opened: the active one, and the one this process was set up with."""

    def __init__(self, settings: EmbeddingSettings, database: Database, *, vectors_timeout_s: int = 10) -> None:
        self._settings = settings
        self._database = database
        self._vectors_timeout_s = vectors_timeout_s
        self._opened: tuple[Version | None, Opened] | None = None
        self._before: Opened | None = None
        self._lock = threading.Lock()

    def active(self) -> Opened:
        """Return the version whose vectors count; before the first vector it is the one of the settings.

        Raises ``ModelReplacedError`` and what opening a model raises.
        """
        with self._database.statement() as connection:
            version = embedding_store.active(connection)
        with self._lock:
            if self._opened is None or self._opened[0] != version:
                opened = self.open(version) if version else self.configured()
                if self._before is not None:  # the one before this may still be in use
                    self._before.index.close()
                self._before = None if self._opened is None else self._opened[1]
                self._opened = (version, opened)
            return self._opened[1]

    def configured(self) -> Opened:
        """Return the version that the settings name."""
        if self._settings.embedding_api_model:
            return self._over_api(self._settings.embedding_api_model, None)
        return self._local(self.local(), self._settings.model_uri)

    def local(self) -> OnnxEmbedder:
        """Return the model of ``MODEL_URI``."""
        return open_embedder(
            self._settings.model_uri,
            self._settings.model_cache_dir,
            tokens_max=self._settings.embedding_tokens,
            threads=self._settings.model_threads,
            chunks=self._settings.embedding_chunks,
        )

    def named(self, uri: str) -> Opened:
        """Return what a model folder, ``s3://bucket/prefix`` of one or ``api:<model>`` names, read as set up."""
        if uri.startswith(SCHEME):
            return self._over_api(uri.removeprefix(SCHEME), None)
        return self._local(self._folder(uri, self._settings.embedding_chunks), uri)

    def open(self, version: Version) -> Opened:
        """Return a version that was noted before."""
        if version.over_api:
            opened = self._over_api(version.uri.removeprefix(SCHEME), version.dimensions)
        else:
            opened = self._here(version) or self._local(self._folder(version.uri, version.chunks), version.uri)
        if opened.version.model_version != version.model_version:
            raise ModelReplacedError(
                f"The current vectors are from {version.model_version}, but its location now contains "
                f"{opened.version.model_version}. Restore the old model, or run `make reindex`."
            )
        return Opened(version, opened.embedder, opened.index)

    def _here(self, version: Version) -> Opened | None:
        """Return the model of the settings if it is that version, wherever the version was made."""
        try:
            embedder = self.local()
        except ModelMissingError:
            if not version.uri:
                raise
            return None
        same = embedder.model_version == version.model_version
        return self._local(embedder, self._settings.model_uri) if same or not version.uri else None

    def _folder(self, uri: str, chunks: int) -> OnnxEmbedder:
        return OnnxEmbedder(
            ModelFolder(uri, Path(self._settings.model_cache_dir)),
            tokens_max=self._settings.embedding_tokens,
            threads=self._settings.model_threads,
            chunks=chunks,
        )

    def _local(self, embedder: OnnxEmbedder, uri: str) -> Opened:
        version = Version(embedder.model_version, uri, embedder.chunks, embedder.dimensions)
        return Opened(version, embedder, self._index(version))

    def _over_api(self, model: str, dimensions: int | None) -> Opened:
        settings, known = self._settings, _priced().get(model, {})
        price = settings.embedding_api_usd_per_million
        price = known.get("usd_per_million") if price is None else price
        wanted = dimensions or settings.embedding_api_dimensions or known.get("dimensions")
        if price is None or wanted is None:
            raise EmbeddingPriceUnknownError(
                f"The price or the dimensions of the embedding model {model} are unknown. Set "
                "EMBEDDING_API_USD_PER_MILLION (0 for your own model) and EMBEDDING_API_DIMENSIONS."
            )
        api = EmbeddingApi(
            ApiModel(
                model,
                int(wanted),
                shortened=bool(known.get("shortens")) and wanted != known.get("dimensions"),
                query_prefix=settings.embedding_api_query_prefix,
                passage_prefix=settings.embedding_api_passage_prefix,
                chars_max=settings.embedding_api_chars,
            ),
            base_url=settings.embedding_api_base_url,
            api_key=lambda: secret(settings.embedding_api_key.get_secret_value()),
            timeout_s=settings.embedding_api_timeout_s,
            clock=SystemClock(),
        )
        caps = Caps.of_usd(settings.embedding_api_usd_per_day, settings.embedding_api_usd_per_user_per_day)
        embedder = PricedEmbedder(self._database, api, float(price), caps, SystemClock())
        version = Version(embedder.model_version, f"{SCHEME}{model}", 1, embedder.dimensions)
        return Opened(version, embedder, self._index(version))

    def _index(self, version: Version) -> VectorIndex:
        return VectorIndex(
            self._settings.qdrant_url,
            model_version=version.model_version,
            dimensions=version.dimensions,
            api_key=secret(self._settings.qdrant_api_key.get_secret_value()),
            timeout_s=self._vectors_timeout_s,
        )


@cache
def _priced() -> dict[str, dict[str, Any]]:
    text = (files("siftline.models") / "data" / "embedding_prices.toml").read_text(encoding="utf-8")
    models: dict[str, dict[str, Any]] = tomllib.loads(text)["models"]
    return models
