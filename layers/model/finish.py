"""From an exported float32 graph to a checked model folder: optimised, int8 per channel, compared, described."""

import hashlib
import json
import re
import shutil
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import onnxruntime as ort  # type: ignore[import-untyped] # has no types
from numpy.typing import NDArray
from onnxruntime.quantization import QuantType, quantize_dynamic  # type: ignore[import-untyped] # has no types

from layers.model.golden import ASKED, GOLDEN
from layers.model.wheel import AssemblyError
from siftline.analyze.topics.cascade import Cascade
from siftline.analyze.topics.topic_list import shipped_hypotheses, shipped_labels
from siftline.models.model_folders import Manifest, ModelFolder, facts_of, write_manifest
from siftline.models.onnx_model import OnnxModel

Task = Literal["embedding", "nli", "token"]
TEMPLATE = "This text is about {}."
COSINE_MIN = 0.95
"""The vectors of the quantised graph must lie so near to those of the float32 one."""
SAME_MIN = 0.9
"""Of other models so many answers must be the same."""
GOLDEN_MIN = 0.7
"""A model for the second pass must give so many golden texts to their topic."""
APART_MIN = 0.2
"""And so much more entailment to a text's own topic than to the others."""
_TOKENS_MAX = 512
_GRAPH = "model.onnx"


@dataclass(frozen=True, slots=True)
class Wish:
    """What a model is to be: its name, its task, and whether it must prove that it can do it."""

    model_id: str
    task: Task | None = None
    """By the exported model's architecture, if not given."""
    proven: bool = True
    reduce_range: bool = False
    """For processors without VNNI, where int8 products of the full range saturate."""


def task_of(config: dict[str, Any]) -> Task:
    """Return the task of an exported model by the name of its architecture."""
    names = " ".join(config.get("architectures") or [])
    if "SequenceClassification" in names:
        return "nli"
    return "token" if "TokenClassification" in names else "embedding"


def finish(raw: Path, out: Path, wish: Wish, tell: Callable[[str], None]) -> Manifest:
    """Make the model folder ``out`` of what optimum left in ``raw``; raises ``AssemblyError`` where it is unfit."""
    config = json.loads((raw / "config.json").read_text(encoding="utf-8"))
    wish = replace(wish, task=wish.task or task_of(config))
    out.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=out.parent, prefix=".model-") as scratch:
        fresh, exact = Path(scratch) / "model", Path(scratch) / "exact"
        for folder in (fresh, exact):
            folder.mkdir()
            shutil.copyfile(raw / "tokenizer.json", folder / "tokenizer.json")
        tell("optimising the graph")
        _optimise(raw / _GRAPH, exact / _GRAPH)
        tell("quantising its weights to int8, a scale each channel")
        quantize_dynamic(
            exact / _GRAPH,
            fresh / _GRAPH,
            per_channel=True,
            reduce_range=wish.reduce_range,
            weight_type=QuantType.QInt8,
            extra_options={"EnableSubgraph": False},
        )
        manifest = _manifest(fresh, config, raw, wish)
        for folder in (fresh, exact):
            write_manifest(folder, manifest.model_copy(update={"files": _files(folder)}))
        tell("comparing it with the float32 graph")
        report = _report(_open(exact), _open(fresh), manifest)
        sizes_mb = [(folder / _GRAPH).stat().st_size / 1e6 for folder in (exact, fresh)]
        tell("float32 {:.1f} MB, int8 {:.1f} MB".format(*sizes_mb))
        tell(f"agreement: {', '.join(f'{name} {value:.4g}' for name, value in report.items())}")
        _demand(report, wish)
        manifest = manifest.model_copy(update={"report": report})
        write_manifest(fresh, manifest)
        if out.exists():
            shutil.rmtree(out)
        fresh.rename(out)
    return manifest


def _optimise(source: Path, target: Path) -> None:
    options: Any = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_BASIC  # what runs on every processor
    options.optimized_model_filepath = str(target)
    options.log_severity_level = 3
    ort.InferenceSession(str(source), options, providers=["CPUExecutionProvider"])


def _manifest(folder: Path, config: dict[str, Any], raw: Path, wish: Wish) -> Manifest:
    labels = tuple(
        str(name) for _, name in sorted((config.get("id2label") or {}).items(), key=lambda pair: int(pair[0]))
    )
    lower = [label.lower() for label in labels]
    nli = wish.task == "nli"
    if nli and "entailment" not in lower:
        raise AssemblyError(f"Its outputs are {', '.join(labels) or 'unnamed'}: none of them is entailment.")
    name = re.sub(r"[^a-z0-9]+", "-", wish.model_id.lower()).strip("-")[:80]
    digest = hashlib.sha256((folder / _GRAPH).read_bytes()).hexdigest()
    return Manifest(
        model_id=wish.model_id,
        model_version=f"{name}-int8-{digest[:8]}",
        task=wish.task or "embedding",
        dimensions=int(config["hidden_size"]) if wish.task == "embedding" else 0,
        labels=() if wish.task == "embedding" else labels,
        entailment=lower.index("entailment") if nli else None,
        contradiction=lower.index("contradiction") if nli and "contradiction" in lower else None,
        hypothesis_template=TEMPLATE if nli else "{}",
        max_tokens=_tokens(config, raw),
        origin=wish.model_id,
        files=_files(folder),
    )


def _tokens(config: dict[str, Any], raw: Path) -> int:
    said = [config.get("max_position_embeddings")]
    if (raw / "tokenizer_config.json").is_file():
        said.append(json.loads((raw / "tokenizer_config.json").read_text(encoding="utf-8")).get("model_max_length"))
    return min([int(number) for number in said if number and 2 < number < 100_000], default=_TOKENS_MAX)


def _files(folder: Path) -> dict[str, Any]:
    return {name: facts_of(folder / name) for name in (_GRAPH, "tokenizer.json")}


def _open(folder: Path) -> OnnxModel:
    return OnnxModel(ModelFolder(str(folder), folder))


def _report(exact: OnnxModel, close: OnnxModel, manifest: Manifest) -> dict[str, float]:
    """Compare two graphs on the golden texts; for inference each text is paired with each topic's sentence."""
    pairs = _pairs() if manifest.task == "nli" else [(golden.text, None) for golden in GOLDEN]
    said, meant = ([model.run(model.encode(*pair)).astype(np.float64) for pair in pairs] for model in (close, exact))
    if any(not np.isfinite(output).all() for output in said):
        raise AssemblyError("The quantised graph does not return numbers on this processor: try REDUCE_RANGE=1.")
    report = {"pairs": float(len(pairs)), "cosine_min": min(map(_cosine, said, meant))}
    if manifest.task == "embedding":
        return report
    close_p, exact_p = _softmax(said), _softmax(meant)
    report["difference_max"] = max(
        float(np.abs(one - other).max()) for one, other in zip(close_p, exact_p, strict=True)
    )
    same = [(one.argmax(-1) == other.argmax(-1)).mean() for one, other in zip(close_p, exact_p, strict=True)]
    report["same_answer"] = float(np.mean(same))
    if manifest.task == "nli" and manifest.entailment is not None:
        report |= _golden(np.array([answer[manifest.entailment] for answer in close_p]))
    return report


def _pairs() -> list[tuple[str, str | None]]:
    cascade = Cascade(shipped_labels().labels, shipped_hypotheses(), None)
    return [(golden.text, cascade.hypothesis(topic, golden.language, TEMPLATE)) for golden in GOLDEN for topic in ASKED]


def _golden(entailment: NDArray[np.float64]) -> dict[str, float]:
    """Return how many golden texts get their topic, and by how much their own topic is told apart from the others."""
    table = entailment.reshape(len(GOLDEN), len(ASKED))
    own = np.array([ASKED.index(golden.topic) for golden in GOLDEN])
    right = table[np.arange(len(GOLDEN)), own]
    others = (table.sum(axis=1) - right) / (len(ASKED) - 1)
    return {"golden": float((table.argmax(axis=1) == own).mean()), "apart": float((right - others).mean())}


def _demand(report: dict[str, float], wish: Wish) -> None:
    if not wish.proven:
        return
    measure, least = ("cosine_min", COSINE_MIN) if wish.task == "embedding" else ("same_answer", SAME_MIN)
    if not report[measure] >= least:
        raise AssemblyError(
            f"The quantised graph differs from the float32 one ({measure} {report[measure]:.4f}, at least {least} is "
            "required): try REDUCE_RANGE=1."
        )
    if "golden" in report and not (report["golden"] >= GOLDEN_MIN and report["apart"] >= APART_MIN):
        raise AssemblyError(
            f"It gives {report['golden']:.0%} of the golden texts to their topic and tells topics apart by "
            f"{report['apart']:.2f}; {GOLDEN_MIN:.0%} and {APART_MIN} are required. "
            "UNPROVEN=1 keeps it all the same."
        )


def _cosine(one: NDArray[np.float64], other: NDArray[np.float64]) -> float:
    one, other = one.ravel(), other.ravel()
    return float(one @ other / max(float(np.linalg.norm(one) * np.linalg.norm(other)), 1e-12))


def _softmax(outputs: Sequence[NDArray[np.float64]]) -> list[NDArray[np.float64]]:
    risen = [np.exp(output - output.max(-1, keepdims=True)) for output in outputs]
    return [output / output.sum(-1, keepdims=True) for output in risen]
