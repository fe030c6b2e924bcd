"""A model folder run on the processor: its tokenizer and its ONNX graph, fetched and loaded when first asked.

One session a process, one text at a time: a quantised model's answers depend a little on their batch-mates, and
batching gains nothing on the processors this runs on. Importing this module imports ``onnxruntime`` and ``tokenizers``.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime as ort  # type: ignore[import-untyped] # has no types
from numpy.typing import NDArray
from tokenizers import Encoding, Tokenizer

from siftline.kit.errors import ConfigurationError
from siftline.kit.trace import span
from siftline.models.model_folders import ModelDamagedError, ModelFolder, ModelMissingError, ModelUnavailableError

_INPUTS = frozenset({"input_ids", "attention_mask", "token_type_ids"})
_CHARS_PER_TOKEN = 8  # no language has more on average; what lies beyond is cut before the tokenizer sees it


class ModelUnfitError(ConfigurationError):
    """The model's files cannot be loaded, or it takes or gives something else than a model of its task."""

    code = "model_unfit"
    provider = "model"


class OnnxModel:
    """Tokenizer and graph of a model folder.

    ``tokens_max`` cuts texts shorter than the model itself would: time grows with the tokens.
    """

    def __init__(self, folder: ModelFolder, *, tokens_max: int | None = None, threads: int = 2) -> None:
        self.folder = folder
        self.tokens_max = min(tokens_max or folder.manifest.max_tokens, folder.manifest.max_tokens)
        self._threads = threads
        self._loaded: tuple[Tokenizer, ort.InferenceSession, frozenset[str]] | None = None
        self._lock = threading.Lock()

    def load(self) -> None:
        """Fetch and load the model now rather than at the first text."""
        self._parts()

    def encode(self, text: str, pair: str | None = None) -> Encoding:
        """Return the tokens of a text, or of a text and what is asked of it: of two the longer is cut first."""
        tokenizer, _, _ = self._parts()
        return tokenizer.encode(self._clean(text), None if pair is None else self._clean(pair))

    def run(self, encoding: Encoding) -> NDArray[Any]:
        """Return the graph's first output for one text, without the dimension of the batch."""
        _, session, wanted = self._parts()
        ids = np.array([encoding.ids], dtype=np.int64)
        types = np.array([encoding.type_ids], dtype=np.int64)
        offered = {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": types}
        with span("ONNX model", remote=False):
            output: NDArray[Any] = np.asarray(session.run(None, {name: offered[name] for name in wanted})[0])[0]
        return output

    def _clean(self, text: str) -> str:
        return text[: self.tokens_max * _CHARS_PER_TOKEN].encode("utf-8", "ignore").decode()

    def _parts(self) -> tuple[Tokenizer, ort.InferenceSession, frozenset[str]]:
        with self._lock:
            if self._loaded is None:
                with span("ONNX model load", remote=False):
                    path = self.folder.path()
                    self._loaded = (self._open_tokenizer(path), *self._open_session(path))
            return self._loaded

    def _open_tokenizer(self, path: Path) -> Tokenizer:
        try:
            tokenizer = Tokenizer.from_file(str(path / "tokenizer.json"))
        except Exception as error:  # the library has no exceptions of its own
            raise ModelUnfitError("The model's tokenizer.json cannot be read.") from error
        tokenizer.no_padding()
        tokenizer.enable_truncation(self.tokens_max)
        return tokenizer

    def _open_session(self, path: Path) -> tuple[ort.InferenceSession, frozenset[str]]:
        try:
            session = open_session(path / "model.onnx", threads=self._threads)
        except Exception as error:  # the library's exceptions have no common base
            raise ModelUnfitError("The model's model.onnx cannot be loaded.") from error
        wanted = frozenset(item.name for item in session.get_inputs())
        if not wanted <= _INPUTS:
            raise ModelUnfitError(f"The model needs unsupported inputs: {', '.join(sorted(wanted))}.")
        return session, wanted


@contextmanager
def model_errors_as(
    unfit: type[ModelUnfitError], unavailable: type[ModelUnavailableError], name: str
) -> Iterator[None]:
    """Give a model's errors the provider of its own, so that no other model's jobs wait for it."""
    try:
        yield
    except unfit:
        raise
    except (ModelMissingError, ModelDamagedError, ModelUnfitError) as error:
        raise unfit(f"{name}: {error.detail}", code=error.error_code) from error
    except ModelUnavailableError as error:
        raise unavailable(error.detail) from error


def open_session(model: Path | bytes, *, threads: int) -> ort.InferenceSession:
    """Return a session on the processor that leaves it alone while idle (no spinning threads)."""
    options: Any = ort.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    source = model if isinstance(model, bytes) else str(model)
    return ort.InferenceSession(source, options, providers=["CPUExecutionProvider"])
