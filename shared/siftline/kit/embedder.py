"""Text to vector, with an ONNX model on the processor: one session a process, two threads, one text at a time.

One at a time, because a quantised model's vectors depend a little on their batch-mates, and because batching gains
nothing on the processors this runs on. Importing this module imports ``onnxruntime`` and ``tokenizers``.
"""

from functools import cache
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from siftline.kit.errors import PermanentError
from siftline.kit.models import Manifest, ModelFolder
from siftline.kit.onnx_model import ModelUnfitError, OnnxModel

Vector = NDArray[np.float32]
"""float32, unit length, shape [dimensions]."""


class UnusableVectorError(PermanentError):
    """The model made a vector without direction: all zero, or with a component that is not a finite number."""

    code = "unusable_vector"


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

    ``tokens_max`` cuts texts shorter than the model itself would: time grows with the tokens.
    """

    def __init__(self, folder: ModelFolder, *, tokens_max: int | None = None, threads: int = 2) -> None:
        self.folder = folder
        self._manifest: Manifest = folder.manifest
        if self._manifest.task != "embedding":
            raise ModelUnfitError(f"MODEL_URI names a model for {self._manifest.task}, not for embeddings.")
        self._model = OnnxModel(folder, tokens_max=tokens_max, threads=threads)

    @property
    def model_id(self) -> str:
        """The model's name, from its manifest."""
        return self._manifest.model_id

    @property
    def model_version(self) -> str:
        """The model's version, from its manifest."""
        return self._manifest.model_version

    @property
    def dimensions(self) -> int:
        """The length of every vector."""
        return self._manifest.dimensions

    def embed_passage(self, text: str) -> Vector:
        """Return the unit vector of a text that is kept and found."""
        return self._embed(self._manifest.passage_prefix + text)

    def embed_query(self, text: str) -> Vector:
        """Return the unit vector of what somebody looks for."""
        return self._embed(self._manifest.query_prefix + text)

    def load(self) -> None:
        """Fetch and load the model now rather than at the first text."""
        self._model.load()

    def _embed(self, text: str) -> Vector:
        return _unit(self._model.run(self._model.encode(text)), self.dimensions)


@cache
def open_embedder(
    model_uri: str, cache_folder: str, *, tokens_max: int | None = None, threads: int = 2
) -> OnnxEmbedder:
    """Return this process's embedder for a model: its manifest is read now, its files at the first text."""
    return OnnxEmbedder(ModelFolder(model_uri, Path(cache_folder)), tokens_max=tokens_max, threads=threads)


def _unit(output: NDArray[Any], dimensions: int) -> Vector:
    """Return the sentence vector of a run, pooled by mean where the model gives one vector a token."""
    vector = output.astype(np.float32)
    if vector.ndim == 2:
        vector = vector.mean(axis=0)
    if vector.shape != (dimensions,):
        raise ModelUnfitError(f"The model gives {vector.shape} instead of {dimensions} numbers.")
    length = float(np.linalg.norm(vector))
    if not np.isfinite(length) or length < 1e-9:
        raise UnusableVectorError("The model found no meaning in this text.")
    unit: Vector = vector / np.float32(length)
    return unit
