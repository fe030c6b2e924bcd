"""The BERT encoder of multilingual-e5-small, or another BERT's, as a page of ONNX nodes; no torch, no tracing.

In: ``input_ids`` and ``attention_mask`` (int64, [batch, tokens]). Out: ``embedding`` (float32, [batch, hidden]): the
masked mean of the last layer at unit length (Devlin et al. 2019 for the encoder, Wang et al. 2024 for the pooling).
"""

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

from layers.model.packed import BLOCK, Blocks, Shape

CONTRIB = "com.microsoft"


class Matrix(Protocol):
    """A weight matrix; ``Blocks`` is one that stays in 4 bits where it is looked up."""

    def floats(self) -> NDArray[np.float32]:
        """Return it in float32."""
        ...


class Weights(Protocol):
    """A BERT's weights by name; ``layers.model.packed.Packed`` is one."""

    @property
    def shape(self) -> Shape:
        """The sizes of the encoder."""
        ...

    def floats(self, name: str, *shape: int) -> NDArray[np.float32]:
        """Return a float32 tensor of this shape."""
        ...

    def blocks(self, name: str, rows: int, columns: int) -> Matrix:
        """Return a matrix."""
        ...


class Nodes:
    """Collects nodes and constants under fresh names."""

    def __init__(self) -> None:
        self.nodes: list[onnx.NodeProto] = []
        self.constants: dict[str, onnx.TensorProto] = {}

    def constant(self, name: str, values: NDArray[Any] | np.generic) -> str:
        """Add a constant once and return its name."""
        if name not in self.constants:
            self.constants[name] = numpy_helper.from_array(np.ascontiguousarray(values), name)
        return name

    def tensor(self, tensor: onnx.TensorProto) -> str:
        """Add a ready tensor and return its name."""
        self.constants[tensor.name] = tensor
        return tensor.name

    def integers(self, *values: int) -> str:
        """Add a vector of int64 and return its name."""
        return self.constant("int_" + "_".join(map(str, values)), np.array(values, np.int64))

    def node(self, kind: str, *inputs: str, out: str | None = None, domain: str = "", **attributes: Any) -> str:
        """Add a node with one output and return the output's name."""
        out = out or f"{kind.lower()}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, list(inputs), [out], domain=domain, **attributes))
        return out


Dense = Callable[[Nodes, Weights, str, str, int, int], str]
"""Adds ``x @ weight.T + bias``: (nodes, packed, x, tensor name, rows, columns) -> output name."""


def float_dense(nodes: Nodes, packed: Weights, x: str, name: str, rows: int, columns: int) -> str:
    """Multiply in float32: the yardstick."""
    weight = packed.blocks(f"{name}.w", rows, columns).floats()
    product = nodes.node("MatMul", x, nodes.constant(f"{name}.w", weight.T))
    return nodes.node("Add", product, nodes.constant(f"{name}.b", packed.floats(f"{name}.b", rows)))


# Two products of a byte and a weight must fit 16 bits, or processors without VNNI saturate: 2 x 255 x 64 < 32768.
_INT8_REACH = 64


def int8_dense(nodes: Nodes, packed: Weights, x: str, name: str, rows: int, columns: int) -> str:
    """Multiply in int8: weights symmetric with one scale an output channel, activations by their range in the run."""
    weight = packed.blocks(f"{name}.w", rows, columns).floats()
    scales = np.maximum(np.abs(weight).max(axis=1), np.finfo(np.float32).tiny) / np.float32(_INT8_REACH)
    codes = np.clip(np.rint(weight / scales[:, None]), -_INT8_REACH, _INT8_REACH).astype(np.int8)
    return nodes.node(
        "DynamicQuantizeMatMul",
        x,
        nodes.constant(f"{name}.w8", codes.T),
        nodes.constant(f"{name}.s8", scales.astype(np.float32)),
        "",
        nodes.constant(f"{name}.b", packed.floats(f"{name}.b", rows)),
        domain=CONTRIB,
    )


def encoder(packed: Weights, dense: Dense) -> onnx.ModelProto:
    """Return the whole graph, its matrix products made by ``dense``."""
    shape, nodes = packed.shape, Nodes()
    mask = nodes.node("Cast", "attention_mask", to=TensorProto.FLOAT)
    absent = nodes.node("Sub", nodes.constant("unit", np.float32(1)), mask)
    bias = nodes.node("Mul", absent, nodes.constant("lowest", np.float32(-1e9)))
    bias = nodes.node("Unsqueeze", bias, nodes.integers(1, 2))
    x = _embedded(nodes, packed)
    for layer in range(shape.layers):
        x = _layer(nodes, packed, dense, x, bias, f"l{layer}.")
    _pooled(nodes, x, mask)
    ids = [helper.make_tensor_value_info(n, TensorProto.INT64, ["b", "s"]) for n in ("input_ids", "attention_mask")]
    out = helper.make_tensor_value_info("embedding", TensorProto.FLOAT, ["b", shape.hidden])
    graph = helper.make_graph(nodes.nodes, "multilingual-e5-small", ids, [out], list(nodes.constants.values()))
    opsets = [helper.make_opsetid("", 21), helper.make_opsetid(CONTRIB, 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=10)


def _embedded(nodes: Nodes, packed: Weights) -> str:
    """Look tokens up (stored 4-bit blocks exactly by their values), add positions and the one token type."""
    shape = packed.shape
    word = _word(nodes, packed)
    positions = nodes.constant("position", packed.floats("emb.pos", shape.positions, shape.hidden))
    length = nodes.node("Shape", "input_ids", start=1, end=2)
    position = nodes.node("Slice", positions, nodes.integers(0), length)
    kind = nodes.constant("type", packed.floats("emb.type", shape.token_types, shape.hidden)[0])
    summed = nodes.node("Add", nodes.node("Add", word, position), kind)
    return _normalised(nodes, packed, summed, "emb.ln")


def _word(nodes: Nodes, packed: Weights) -> str:
    words = packed.blocks("emb.word", packed.shape.vocabulary, packed.shape.hidden)
    if not isinstance(words, Blocks):
        return nodes.node("Gather", nodes.constant("word", words.floats()), "input_ids", axis=0)
    signed = (words.codes[:, 0::2] | (words.codes[:, 1::2] << 4)) ^ 0x88
    codes = helper.make_tensor("word.q", TensorProto.INT4, words.codes.shape, signed.tobytes(), raw=True)
    return nodes.node(
        "GatherBlockQuantized",
        nodes.tensor(codes),
        "input_ids",
        nodes.constant("word.s", words.scales),
        domain=CONTRIB,
        block_size=BLOCK,
        gather_axis=0,
        quantize_axis=1,
    )


def _layer(nodes: Nodes, packed: Weights, dense: Dense, x: str, bias: str, at: str) -> str:
    shape = packed.shape
    width = shape.hidden // shape.heads
    split, merge = nodes.integers(0, 0, shape.heads, width), nodes.integers(0, 0, shape.hidden)

    def heads(name: str, order: list[int]) -> str:
        projected = dense(nodes, packed, x, at + name, shape.hidden, shape.hidden)
        return nodes.node("Transpose", nodes.node("Reshape", projected, split), perm=order)

    products = nodes.node("MatMul", heads("q", [0, 2, 1, 3]), heads("k", [0, 2, 3, 1]))
    scaled = nodes.node("Mul", products, nodes.constant("head_scale", np.float32(width**-0.5)))
    weights = nodes.node("Softmax", nodes.node("Add", scaled, bias), axis=-1)
    mixed = nodes.node("Transpose", nodes.node("MatMul", weights, heads("v", [0, 2, 1, 3])), perm=[0, 2, 1, 3])
    attended = dense(nodes, packed, nodes.node("Reshape", mixed, merge), at + "ao", shape.hidden, shape.hidden)
    x = _normalised(nodes, packed, nodes.node("Add", attended, x), at + "aln")
    inner = nodes.node("Gelu", dense(nodes, packed, x, at + "fi", shape.feed_forward, shape.hidden))
    outer = dense(nodes, packed, inner, at + "fo", shape.hidden, shape.feed_forward)
    return _normalised(nodes, packed, nodes.node("Add", outer, x), at + "oln")


def _normalised(nodes: Nodes, packed: Weights, x: str, name: str) -> str:
    hidden = packed.shape.hidden
    weight = nodes.constant(f"{name}.w", packed.floats(f"{name}.w", hidden))
    offset = nodes.constant(f"{name}.b", packed.floats(f"{name}.b", hidden))
    return nodes.node("LayerNormalization", x, weight, offset, axis=-1, epsilon=packed.shape.epsilon)


def _pooled(nodes: Nodes, x: str, mask: str) -> None:
    present = nodes.node("Unsqueeze", mask, nodes.integers(-1))
    total = nodes.node("ReduceSum", nodes.node("Mul", x, present), nodes.integers(1), keepdims=0)
    mean = nodes.node("Div", total, nodes.node("ReduceSum", present, nodes.integers(1), keepdims=0))
    nodes.node("Div", mean, nodes.node("ReduceL2", mean, nodes.integers(-1), keepdims=1), out="embedding")
