"""Text to vector, with an ONNX model on the processor: one session a process, two threads, one text at a time.

One at a time, because a quantised model's vectors depend a little on their batch-mates, and because batching gains
nothing on the processors this runs on. Importing this module imports ``onnxruntime`` and ``tokenizers``.
"""

import threading
from functools import cache
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import onnxruntime as ort  # type: ignore[import-untyped] # has no types
from numpy.typing import NDArray
from tokenizers import Tokenizer

from siftline.kit.errors import ConfigurationError, PermanentError
from siftline.kit.models import Manifest, ModelFolder

Vector = NDArray[np.float32]
"""float32, unit length, shape [dimensions]."""
_CHARS_PER_TOKEN = 8  # no language has more on average; what lies beyond is cut before the tokenizer sees it


class UnusableVectorError(PermanentError):
    """The model made a vector without direction: all zero, or with a component that is not a finite number."""

    code = "unusable_vector"


class ModelUnfitError(ConfigurationError):
    """The model's files cannot be loaded, or it takes or gives something else than an embedding model."""

    code = "model_unfit"
    provider = "model"


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
        self._tokens_max = min(tokens_max or self._manifest.max_tokens, self._manifest.max_tokens)
        self._threads = threads
        self._loaded: tuple[Tokenizer, ort.InferenceSession, frozenset[str]] | None = None
        self._lock = threading.Lock()

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
        self._parts()

    def _embed(self, text: str) -> Vector:
        tokenizer, session, wanted = self._parts()
        clean = text[: self._tokens_max * _CHARS_PER_TOKEN].encode("utf-8", "ignore").decode()
        ids = np.array([tokenizer.encode(clean).ids], dtype=np.int64)
        offered = {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": np.zeros_like(ids)}
        outputs = session.run(None, {name: offered[name] for name in wanted})
        return _unit(np.asarray(outputs[0]), self.dimensions)

    def _parts(self) -> tuple[Tokenizer, ort.InferenceSession, frozenset[str]]:
        with self._lock:
            if self._loaded is None:
                path = self.folder.path()
                self._loaded = (self._open_tokenizer(path), *self._open_session(path))
            return self._loaded

    def _open_tokenizer(self, path: Path) -> Tokenizer:
        try:
            tokenizer = Tokenizer.from_file(str(path / "tokenizer.json"))
        except Exception as error:  # the library has no exceptions of its own
            raise ModelUnfitError("The model's tokenizer.json cannot be read.") from error
        tokenizer.no_padding()
        tokenizer.enable_truncation(self._tokens_max)
        return tokenizer

    def _open_session(self, path: Path) -> tuple[ort.InferenceSession, frozenset[str]]:
        try:
            session = open_session(path / "model.onnx", threads=self._threads)
        except Exception as error:  # the library's exceptions have no common base
            raise ModelUnfitError("The model's model.onnx cannot be loaded.") from error
        wanted = frozenset(item.name for item in session.get_inputs())
        if not wanted <= {"input_ids", "attention_mask", "token_type_ids"}:
            raise ModelUnfitError(f"The model asks for inputs that we cannot give: {', '.join(sorted(wanted))}.")
        return session, wanted


def open_session(model: Path | bytes, *, threads: int) -> ort.InferenceSession:
    """Return a session on the processor that leaves it alone while idle (no spinning threads)."""
    options: Any = ort.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    source = model if isinstance(model, bytes) else str(model)
    return ort.InferenceSession(source, options, providers=["CPUExecutionProvider"])


@cache
def open_embedder(
    model_uri: str, cache_folder: str, *, tokens_max: int | None = None, threads: int = 2
) -> OnnxEmbedder:
    """Return this process's embedder for a model: its manifest is read now, its files at the first text."""
    return OnnxEmbedder(ModelFolder(model_uri, Path(cache_folder)), tokens_max=tokens_max, threads=threads)


def _unit(output: NDArray[Any], dimensions: int) -> Vector:
    """Return the sentence vector of a run, pooled by mean where the model gives one vector a token."""
    vector = output[0].astype(np.float32)
    if vector.ndim == 2:
        vector = vector.mean(axis=0)
    if vector.shape != (dimensions,):
        raise ModelUnfitError(f"The model gives {vector.shape} instead of {dimensions} numbers.")
    length = float(np.linalg.norm(vector))
    if not np.isfinite(length) or length < 1e-9:
        raise UnusableVectorError("The model found no meaning in this text.")
    unit: Vector = vector / np.float32(length)
    return unit
