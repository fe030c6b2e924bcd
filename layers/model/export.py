"""Make a model folder of any model that optimum can export: ``make export-model MODEL=<hub id or folder>``.

Two environments, so that torch is never beside the product: optimum writes the float32 graph in ``.local/export``
(``infra/locks/export.txt``); it is optimised, quantised, compared and described here, with what the product runs on.
"""

import argparse
import json
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from layers.model.wheel import AssemblyError

if TYPE_CHECKING:
    from layers.model.finish import Task

ROOT = Path(__file__).resolve().parents[2]
OPTIMUM = ROOT / ".local" / "export" / "bin" / "optimum-cli"
# How the hub's client and transformers end when there is no model of this name, or it cannot be reached.
_UNLOADED = re.compile(r"^(?:[\w.]+\.)?(?:HFValidationError|RepositoryNotFoundError|OSError): (.+)", re.MULTILINE)
_AS_OPTIMUM = {"nli": "text-classification", "token": "token-classification", "embedding": "feature-extraction"}


def main(arguments: Sequence[str] | None = None) -> int:
    """Export; returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", required=True, help="hub id, or a folder in the same layout")
    parser.add_argument("--out", type=Path, help="model folder; default: .local/models/<name>")
    parser.add_argument("--task", choices=sorted(_AS_OPTIMUM), help="default: from its architecture")
    parser.add_argument("--reduce-range", action="store_true", help="for processors without VNNI")
    parser.add_argument("--unproven", action="store_true", help="keep it even if it fails the golden set")
    options = parser.parse_args(arguments)
    name = Path(options.model).name
    out = options.out or ROOT / ".local" / "models" / name
    try:
        export(options.model, out, options.task, proven=not options.unproven, reduce_range=options.reduce_range)
    except AssemblyError as error:
        print(f"export: {error}", file=sys.stderr)
        return 1
    return 0


def export(model: str, out: Path, task: "Task | None", *, proven: bool = True, reduce_range: bool = False) -> None:
    """Export a model into ``out``; raises ``AssemblyError``."""
    from layers.model import finish  # noqa: PLC0415 - loads onnx, which --help does not need

    started = time.monotonic()
    if task is None and (Path(model) / "config.json").is_file():
        task = finish.task_of(json.loads((Path(model) / "config.json").read_text(encoding="utf-8")))
    with tempfile.TemporaryDirectory(prefix="siftline-export-") as scratch:
        raw = Path(scratch) / "raw"
        _tell(f"exporting {model} with optimum")
        _optimum(model, raw, task)
        wish = finish.Wish(Path(model).name if Path(model).exists() else model, task, proven, reduce_range)
        manifest = finish.finish(raw, out, wish, _tell)
    _tell(f"{manifest.model_version} is ready in {out}, {time.monotonic() - started:.0f} s")


def _optimum(model: str, raw: Path, task: str | None) -> None:
    command = [str(OPTIMUM), "export", "onnx", "--model", model, "--library", "transformers"]
    command += ["--task", _AS_OPTIMUM[task]] if task else []
    try:
        done = subprocess.run([*command, str(raw)], capture_output=True, text=True, check=False)  # noqa: S603 - its own
    except FileNotFoundError as error:
        raise AssemblyError("optimum is not in .local/export: `make export-model` installs it.") from error
    if done.returncode and (unloaded := _UNLOADED.findall(done.stderr)):
        raise AssemblyError(f"{model} cannot be loaded: {unloaded[-1]}")
    if done.returncode or not (raw / "model.onnx").is_file():
        raise AssemblyError(f"optimum could not export it:\n{done.stderr.strip()[-2_000:]}")
    if not (raw / "tokenizer.json").is_file():
        raise AssemblyError("It has no fast tokenizer (tokenizer.json), which is all that is loaded at run time.")


def _tell(line: str) -> None:
    print(f"export: {line}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
