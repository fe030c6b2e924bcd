"""Text to vector, with an ONNX model on the processor: one session a process, two threads, one text at a time.

One at a time, because a quantised model's vectors depend a little on their batch-mates, and because batching gains
nothing on the processors this runs on. Importing this module imports ``onnxruntime`` and ``tokenizers``.

A text that is longer than what a model reads at a time may be read in several chunks. Its vector is then the mean of
the chunks' unit vectors, each weighing its tokens and the first, which has the title, twice as much; at unit length
again.
"""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from tokenizers import Encoding

from siftline.models.model_folders import Manifest, ModelFolder
from siftline.models.onnx_model import ModelUnfitError, OnnxModel
from siftline.models.unit_vector import UnusableVectorError, Vector, unit_vector

FIRST_CHUNK_WEIGHT = 2.0
"""What a token of the first chunk weighs beside one of a later chunk."""


class Embedder(Protocol):
    """Turns texts into vectors of one model version; vectors of two versions are never compared."""

    @property
    def model_id(self) -> str:
        """The model's name."""
        ...

    @property
    def model_version(self) -> str:
        """Names everything that changes the vectors; part of the vector collection's name."""
        ...

    @property
    def dimensions(self) -> int:
        """The length of every vector."""
        ...

    def embed_passage(self, text: str) -> Vector:
        """Return the unit vector of a text that is kept and found. Raises ``UnusableVectorError``."""
        ...

    def embed_query(self, text: str) -> Vector:
        """Return the unit vector of what somebody looks for. Raises ``UnusableVectorError``."""
        ...


class OnnxEmbedder:
    """An embedder over a model folder; the files are fetched and loaded at the first text.

    ``tokens_max`` cuts texts shorter than the model itself would: time grows with the tokens. Of a passage at most
    ``chunks`` times as many are read, in as many runs.
    """

    def __init__(
        self, folder: ModelFolder, *, tokens_max: int | None = None, threads: int = 2, chunks: int = 1
    ) -> None:
        self.folder = folder
        self.chunks = chunks
        self._manifest: Manifest = folder.manifest
        if self._manifest.task != "embedding":
            raise ModelUnfitError(f"MODEL_URI is a model for {self._manifest.task}, not for embeddings.")
        self._model = OnnxModel(folder, tokens_max=tokens_max, threads=threads)

    @property
    def model_id(self) -> str:
        """The model's name, from its manifest."""
        return self._manifest.model_id

    @property
    def model_version(self) -> str:
        """The model's version, from its manifest; how many chunks it reads is a part of it, where it is not one."""
        version = self._manifest.model_version
        return version if self.chunks == 1 else f"{version}+chunks-{self.chunks}"

    @property
    def dimensions(self) -> int:
        """The length of every vector."""
        return self._manifest.dimensions

    def embed_passage(self, text: str) -> Vector:
        """Return the unit vector of a text that is kept and found."""
        prefix = self._manifest.passage_prefix
        if self.chunks == 1:
            return self._embed(prefix + text)[0]
        return pooled(list(self._windows(prefix, text)))

    def embed_passages(self, texts: Sequence[str]) -> list[Vector | None]:
        """Return the vectors of texts, one after the other; ``None`` where the model makes none."""
        return [self._or_none(text) for text in texts]

    def embed_query(self, text: str) -> Vector:
        """Return the unit vector of what somebody looks for."""
        return self._embed(self._manifest.query_prefix + text)[0]

    def load(self) -> None:
        """Fetch and load the model now rather than at the first text."""
        self._model.load()

    def _or_none(self, text: str) -> Vector | None:
        with suppress(UnusableVectorError):
            return self.embed_passage(text)
        return None

    def _windows(self, prefix: str, text: str) -> Iterator[tuple[Vector, int]]:
        """Yield the vectors of a text's chunks, one after the other, each with its number of tokens."""
        rest = text.encode("utf-8", "ignore").decode()
        for _ in range(self.chunks):
            vector, encoding = self._embed(prefix + rest)
            yield vector, len(encoding.ids)
            read = max((end for _, end in encoding.offsets), default=0) - len(prefix)
            rest = rest[max(read, 0) :].lstrip()
            if not rest or read <= 0:
                return

    def _embed(self, text: str) -> tuple[Vector, Encoding]:
        encoding = self._model.encode(text)
        return _sentence(self._model.run(encoding), self.dimensions), encoding


@cache
def open_embedder(
    model_uri: str, cache_folder: str, *, tokens_max: int | None = None, threads: int = 2, chunks: int = 1
) -> OnnxEmbedder:
    """Return this process's embedder for a model: its manifest is read now, its files at the first text."""
    folder = ModelFolder(model_uri, Path(cache_folder))
    return OnnxEmbedder(folder, tokens_max=tokens_max, threads=threads, chunks=chunks)


def pooled(chunks: Sequence[tuple[Vector, int]]) -> Vector:
    """Return one vector for a text read in chunks (their unit vectors and tokens), as this module's head says."""
    weights = [tokens * (FIRST_CHUNK_WEIGHT if place == 0 else 1.0) for place, (_, tokens) in enumerate(chunks)]
    total = np.sum([weight * vector for weight, (vector, _) in zip(weights, chunks, strict=True)], axis=0)
    return unit_vector(total)


def _sentence(output: NDArray[Any], dimensions: int) -> Vector:
    """Return the sentence vector of a run, pooled by mean where the model gives one vector a token."""
    vector = output.astype(np.float32)
    if vector.ndim == 2:
        vector = vector.mean(axis=0)
    if vector.shape != (dimensions,):
        raise ModelUnfitError(f"The model returned {vector.shape} instead of {dimensions} dimensions.")
    return unit_vector(vector)
