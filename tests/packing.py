"""Packs the layers and functions of the template for this interpreter, by the targets that ``sam build`` calls."""

import platform
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from infra.package import KEPT
from siftline.worker.template import load

ROOT = Path(__file__).resolve().parents[1]
RUNTIME = f"python{sys.version_info.major}.{sys.version_info.minor}"
ARCHITECTURE = {"x86_64": "x86_64", "AMD64": "x86_64", "aarch64": "arm64", "arm64": "arm64"}[platform.machine()]


def build(logical_id: str, folder: Path, runtime: str = RUNTIME) -> Path:
    """Pack one layer or function into a folder below ``folder``; return the artifact folder."""
    artifacts = folder / logical_id
    command = ["make", "--no-print-directory", f"build-{logical_id}", f"ARTIFACTS_DIR={artifacts}"]
    command += [f"RUNTIME={runtime}", f"ARCHITECTURE={ARCHITECTURE}", f"BUILD_PYTHON={sys.executable}"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return artifacts


@contextmanager
def packed(names: Iterable[str]) -> Iterator[Mapping[str, list[Path]]]:
    """Pack functions by name with their layers; give the folders that Lambda imports from: code first, then layers."""
    resources = load(ROOT / "template.yaml")["Resources"]
    functions = {name: f"{name.title()}Function" for name in names}
    layers = {
        name: [layer["Ref"] for layer in resources[id_]["Properties"]["Layers"]] for name, id_ in functions.items()
    }
    KEPT.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=KEPT) as place:  # on the kept trees' file system: files are linked, not copied
        folder = Path(place)
        built = {
            layer: build(layer, folder) / "python" for layer in {name for used in layers.values() for name in used}
        }
        yield {
            name: [build(logical_id, folder), *(built[layer] for layer in layers[name])]
            for name, logical_id in functions.items()
        }
