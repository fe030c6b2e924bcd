"""P10: what a cold start imports, from functions as they are packed. ``python -m benchmarks imports``

Each function of the template, packed for this interpreter: the import of its handler with the packed bytecode and
without any, and of the third-party modules that it loads, by a script without a line of ours. In turn, each in a fresh
interpreter with warm files, an empty environment and nothing but the packed folders (``-I -S -B``). Lambda's disk is
read-only (AWS Lambda Developer Guide, "Lambda runtimes"), so nothing is compiled for the next one here either.

Sizes in MB (1 MB = 1,000,000 bytes; Lambda takes 262 unzipped), times in CPU seconds of user and system, all threads.
"""

import json
import math
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.report import Report
from infra.package import KEPT
from tests.house.reading import FUNCTION_NAMES
from tests.packing import packed

Packages = Mapping[str, Sequence[Path]]
FUNCTIONS: Sequence[str] = FUNCTION_NAMES
REPETITIONS = 5
REACH = 1.2
# Reads its folders and modules; says the CPU seconds, and which modules came from the folders without being ours.
_PROGRAM = """
import importlib, json, sys, time
folders, modules = json.loads(sys.argv[1])
sys.path[:0] = folders
began_s = time.process_time()
for module in modules:
    importlib.import_module(module)
taken_s = time.process_time() - began_s
others = [
    name for name, module in sys.modules.items()
    if (getattr(module, "__file__", None) or "").startswith(tuple(folders))
    and module.__spec__ is not None and module.__spec__.name == name
    and name.partition(".")[0] not in ("functions", "siftline")
]
print(json.dumps([taken_s, others]))
"""


def main() -> None:
    report = Report("imports")
    report.open(f"handlers of {len(FUNCTIONS)} packed functions, minimum of {REPETITIONS} imports in turn")
    with packed(FUNCTIONS) as packages, tempfile.TemporaryDirectory(dir=KEPT) as place:
        folders = {folder for used in packages.values() for folder in used}
        bare = {folder: _bare(folder, Path(place) / str(number)) for number, folder in enumerate(folders)}
        report.table("MB of code and layers", _sizes(packages, Path(place)))
        title = f"CPU seconds of an import, reach: handler <= {REACH} x its libraries"
        report.table(title, _imports(packages, bare))
        assert not [*Path(place).rglob("*.pyc")], "what was measured without bytecode got some"
    report.keep()


def _sizes(packages: Packages, place: Path) -> list[dict[str, Any]]:
    folders = {folder for used in packages.values() for folder in used}
    unzipped = {folder: _unzipped_bytes(folder) for folder in folders}
    zipped = {folder: _zipped_bytes(folder, place) for folder in folders}
    return [
        {
            "function": name,
            "code": _mb([unzipped[code]]),
            "layers": _mb([unzipped[layer] for layer in layers]),
            "all": _mb([unzipped[folder] for folder in (code, *layers)]),
            "zipped code": _mb([zipped[code]]),
            "zipped layers": _mb([zipped[layer] for layer in layers]),
        }
        for name, (code, *layers) in packages.items()
    ]


def _imports(packages: Packages, bare: Mapping[Path, Path]) -> list[dict[str, Any]]:
    works: dict[tuple[str, str], tuple[Sequence[Path], Sequence[str]]] = {}
    for name, folders in packages.items():
        handler = [f"functions.{name}.app"]
        works[name, "handler"] = folders, handler
        works[name, "no bytecode"] = [bare[folder] for folder in folders], handler
        works[name, "libraries"] = folders, _imported(folders, handler)[1]
    least_s = dict.fromkeys(works, math.inf)
    for _ in range(REPETITIONS):
        for which, (folders, modules) in works.items():
            least_s[which] = min(least_s[which], _imported(folders, modules)[0])
    return [
        {
            "function": name,
            **{way: round(least_s[name, way], 3) for way in ("handler", "no bytecode", "libraries")},
            "no bytecode / handler": round(least_s[name, "no bytecode"] / least_s[name, "handler"], 2),
            "handler / libraries": round(least_s[name, "handler"] / least_s[name, "libraries"], 2),
        }
        for name in packages
    ]


def _imported(folders: Sequence[Path], modules: Sequence[str]) -> tuple[float, list[str]]:
    """Import modules in a fresh interpreter; return the CPU seconds, and the third-party modules in their order."""
    asked = json.dumps([[str(folder) for folder in folders], modules])
    command = [sys.executable, "-I", "-S", "-B", "-c", _PROGRAM, asked]
    done = subprocess.run(command, env={"PATH": os.defpath}, cwd=folders[0], check=True, stdout=subprocess.PIPE)
    taken_s, libraries = json.loads(done.stdout)
    return taken_s, libraries


def _bare(folder: Path, copy: Path) -> Path:
    """Return a copy of a packed folder, by links, without its bytecode; Python's own keeps its, as on Lambda."""
    return shutil.copytree(folder, copy, ignore=shutil.ignore_patterns("__pycache__"), copy_function=os.link)


def _unzipped_bytes(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def _zipped_bytes(folder: Path, place: Path) -> int:
    """Return the size of a folder as ``sam deploy`` uploads it: a zip, deflated."""
    file = Path(shutil.make_archive(str(place / "upload"), "zip", folder))
    return file.stat().st_size


def _mb(sizes_bytes: Sequence[int]) -> float:
    return round(sum(sizes_bytes) / 1e6, 1)
