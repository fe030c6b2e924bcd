"""A tiny embedding model of the real one's shape, made on the spot: texts that share words get vectors that are alike.

Its weights are random but for the word embeddings, which nothing overrides: one layer of small weights leaves a text
near the mean of its words. ``tiny_wheel`` packs it as the wheel that the real weights come from, so that assembling,
checking and loading it run the same code.
"""

import string
import struct
import zipfile
import zlib
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from layers.model.build import build
from layers.model.cases import Cases
from layers.model.packed import BLOCK
from layers.model.wheel import WEIGHTS, read_weights
from siftline.models.embedder import OnnxEmbedder
from siftline.models.model_folders import ModelFolder

HIDDEN, LAYERS, HEADS, FEED_FORWARD, POSITIONS = 64, 1, 2, 128, 128
CORPUS = (
    "the striker scored a goal and the football team won the match",
    "the central bank raised interest rates as inflation grew",
    "doctors test a vaccine against malaria in two hospitals",
    "the film won a prize at the festival and the actors sang",
    "query passage sport economy health entertainment player coach price money patient nurse music song",
)
CASES = Cases(
    passages=CORPUS[:4],
    queries=(
        ("football match goal", 0),
        ("interest rates of the central bank", 1),
        ("malaria vaccine", 2),
        ("festival prize film", 3),
    ),
)


_REAL = Path(__file__).resolve().parent.parent / ".local" / "model"


class WordEmbedder:
    """An embedder for tests of what is done with vectors: the mean of its words' random vectors, in any language.

    Like a real one it puts all texts near one point, so that nothing is told apart before the mean is subtracted.
    """

    model_id = "words"
    model_version = "words-1"
    dimensions = 128

    def __init__(self) -> None:
        self.texts: list[str] = []

    def embed_passage(self, text: str) -> NDArray[np.float32]:
        """Return the vector of a text, and note that it was asked for."""
        self.texts.append(text)
        vector = np.full(self.dimensions, 1.0)
        words = [word.strip(".,:;!?") for word in text.lower().split()]
        for word in words:
            vector += 4 * np.random.default_rng(zlib.crc32(word.encode())).normal(size=self.dimensions) / len(words)
        return (vector / np.linalg.norm(vector)).astype(np.float32)

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """Return the vector of a query: that of a passage."""
        return self.embed_passage(text)


def real_model() -> Path:
    """Return the folder of the real model; fails where it has not been assembled."""
    if not (_REAL / "manifest.json").is_file():
        pytest.fail("The embedding model is not in .local/model: `make test` assembles it there before the tests.")
    return _REAL


def tiny_model(folder: Path) -> Path:
    """Assemble the tiny model into ``folder / "model"`` and return that."""
    folder.mkdir(parents=True, exist_ok=True)
    out = folder / "model"
    build(read_weights(tiny_wheel(folder)), out, tell=lambda _: None, cases=CASES)
    return out


def tiny_embedder(folder: Path, *, tokens_max: int = 64) -> OnnxEmbedder:
    """Return an embedder over a model folder, with one thread."""
    return OnnxEmbedder(ModelFolder(str(folder), folder), tokens_max=tokens_max, threads=1)


def tiny_wheel(folder: Path) -> Path:
    """Write a wheel that holds the tiny model's packed weights and return it."""
    wheel = folder / "tiny-1-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr(WEIGHTS, tiny_weights())
    return wheel


def tiny_weights() -> bytes:
    """Return the tiny model in the container format that ``layers/model/packed.py`` reads."""
    rng = np.random.default_rng(7)
    pieces = _pieces()
    tensors: dict[str, tuple[int, int, bytes]] = {}

    def blocks(name: str, rows: int, columns: int, scale: float) -> None:
        values = rng.integers(0, 16, (rows * columns // BLOCK, BLOCK), dtype=np.uint8)
        packed = np.zeros(len(values), [("scale", "<f2"), ("nibbles", "u1", BLOCK // 2)])
        packed["scale"] = scale
        packed["nibbles"] = values[:, : BLOCK // 2] | (values[:, BLOCK // 2 :] << 4)
        tensors[name] = (1, rows * columns, packed.tobytes())

    def floats(name: str, values: NDArray[np.float64]) -> None:
        tensors[name] = (0, values.size, values.astype("<f4").tobytes())

    def norm(name: str) -> None:
        floats(f"{name}.w", np.ones(HIDDEN))
        floats(f"{name}.b", np.zeros(HIDDEN))

    vocabulary = -(-len(pieces) // BLOCK) * BLOCK
    blocks("emb.word", vocabulary, HIDDEN, 0.1)
    floats("emb.pos", np.zeros((POSITIONS, HIDDEN)))
    floats("emb.type", np.zeros((2, HIDDEN)))
    norm("emb.ln")
    for layer in range(LAYERS):
        for name, rows, columns in (
            ("q", HIDDEN, HIDDEN),
            ("k", HIDDEN, HIDDEN),
            ("v", HIDDEN, HIDDEN),
            ("ao", HIDDEN, HIDDEN),
            ("fi", FEED_FORWARD, HIDDEN),
            ("fo", HIDDEN, FEED_FORWARD),
        ):
            blocks(f"l{layer}.{name}.w", rows, columns, 0.002)
            floats(f"l{layer}.{name}.b", np.zeros(rows))
        norm(f"l{layer}.aln")
        norm(f"l{layer}.oln")
    return _container(vocabulary, pieces, tensors)


def _pieces() -> list[tuple[str, float]]:
    """Return a unigram vocabulary: the corpus' words, and letters so dear that words win over them."""
    special = [("<s>", 0.0), ("<pad>", 0.0), ("</s>", 0.0), ("<unk>", 0.0)]
    words = sorted({f"▁{word}" for line in CORPUS for word in line.split()})
    letters = [f"▁{letter}" for letter in string.ascii_lowercase if f"▁{letter}" not in words]
    letters += ["▁", *string.ascii_letters, *string.digits, *".,:;!?'-"]
    return [*special, *((word, -1.0) for word in words), *((letter, -8.0) for letter in letters), ("<mask>", 0.0)]


def _container(vocabulary: int, pieces: list[tuple[str, float]], tensors: dict[str, tuple[int, int, bytes]]) -> bytes:
    texts = [piece.encode() for piece, _ in pieces]
    offsets = np.cumsum([0, *map(len, texts)]).astype("<u4")
    table = struct.pack("<IBI", 0x0B, 0, 0)[:5] + struct.pack("<IBI", 0x09, 1, 0x20)
    head = b"E5S1" + struct.pack("<I", 1)
    head += struct.pack("<7ifi", HIDDEN, LAYERS, HEADS, FEED_FORWARD, vocabulary, POSITIONS, 2, 1e-12, BLOCK)
    head += struct.pack("<i4iQ", len(pieces), 0, 2, 1, 3, sum(map(len, texts))) + offsets.tobytes()
    head += np.array([score for _, score in pieces], "<f4").tobytes() + b"".join(texts)
    head += struct.pack("<iI", 2, len(table)) + table
    size = len(head) + 4 + sum(2 + len(name) + struct.calcsize("<BIQQ") for name in tensors)
    directory, data = struct.pack("<i", len(tensors)), b""
    for name, (kind, count, raw) in tensors.items():
        start = size + len(data)
        padding = -start % 4
        data += b"\0" * padding + raw
        directory += struct.pack("<H", len(name)) + name.encode()
        directory += struct.pack("<BIQQ", kind, count, start + padding, len(raw))
    return head + directory + data
