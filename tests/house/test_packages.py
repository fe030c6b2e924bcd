"""What is deployed runs by itself: packed functions import with nothing but their layers, and fit Lambda."""

import json
import os
import platform
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from infra.package import AWS_SERVICES, KEPT
from tests.house.reading import FUNCTION_NAMES, FUNCTIONS, ROOT, document, function_resources, reachable

# Code and layers of a function, unzipped (AWS Lambda quotas).
UNZIPPED_MAX_BYTES = 250 * 1024 * 1024
HERE = f"python{sys.version_info.major}.{sys.version_info.minor}"
PROCESSOR = {"x86_64": "x86_64", "AMD64": "x86_64", "aarch64": "arm64", "arm64": "arm64"}[platform.machine()]
LAYERS = ("RuntimeLayer", "InferenceLayer")
pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("packages"), pytest.mark.timeout(600)]


def _build(logical_id: str, folder: Path, runtime: str) -> Path:
    """Run the target that ``sam build`` runs, and return the artifact folder."""
    artifacts = folder / logical_id
    command = [
        "make",
        "--no-print-directory",
        f"build-{logical_id}",
        f"ARTIFACTS_DIR={artifacts}",
        f"RUNTIME={runtime}",
    ]
    variables = [f"ARCHITECTURE={PROCESSOR}", f"BUILD_PYTHON={sys.executable}"]
    done = subprocess.run([*command, *variables], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return artifacts


@pytest.fixture(scope="module")
def packages() -> Iterator[Mapping[str, Path]]:
    """Return every layer and function of the template by logical id, packed for this interpreter."""
    KEPT.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=KEPT) as folder:  # on the file system of the kept trees: linked, not copied
        names = [*LAYERS, *(logical_id for logical_id, _ in function_resources().values())]
        yield {name: _build(name, Path(folder), HERE) for name in names}


def _parts(name: str, packages: Mapping[str, Path]) -> list[Path]:
    """Return what Lambda would put together for a function: its own folder first, then its layers."""
    logical_id, properties = function_resources()[name]
    return [packages[logical_id], *(packages[layer["Ref"]] for layer in properties["Layers"])]


def _size_bytes(folder: Path) -> int:
    return sum(path.lstat().st_size for path in folder.rglob("*") if path.is_file())


@pytest.mark.parametrize("name", FUNCTION_NAMES)
def test_a_packed_function_imports_with_nothing_but_its_layers(name: str, packages: Mapping[str, Path]) -> None:
    code, *layers = _parts(name, packages)
    paths = [str(code), *(str(layer / "python") for layer in layers)]
    modules = sorted(_module(path) for path in reachable(FUNCTIONS / name / "app.py"))  # late imports included
    program = f"""
import sys
sys.path[:0] = {paths!r}
import importlib
for module in {modules!r}:
    importlib.import_module(module)
files = [getattr(module, "__file__", None) for module in sys.modules.values()]
import json; print(json.dumps([file for file in files if file]))
"""
    clean = {"PATH": os.defpath, "POWERTOOLS_SERVICE_NAME": name}
    command = [sys.executable, "-I", "-S", "-W", "ignore::SyntaxWarning", "-B", "-c", program]  # -S: no site-packages
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=clean, cwd=code)

    assert done.returncode == 0, done.stderr
    foreign = [file for file in json.loads(done.stdout) if "site-packages" in file or str(ROOT / "shared") in file]
    assert not foreign


def _module(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(part for part in parts if part not in {"shared", "__init__"})


@pytest.mark.parametrize("name", FUNCTION_NAMES)
def test_a_packed_function_fits_lambda(name: str, packages: Mapping[str, Path]) -> None:
    size_bytes = sum(map(_size_bytes, _parts(name, packages)))

    assert size_bytes < UNZIPPED_MAX_BYTES, f"{size_bytes / 1e6:.0f} MB"


@pytest.mark.parametrize("name", FUNCTION_NAMES)
def test_a_packed_function_holds_its_own_handler_and_no_other(name: str, packages: Mapping[str, Path]) -> None:
    code = _parts(name, packages)[0]

    assert [path.name for path in (code / "functions").iterdir()] == [name]
    assert not [path for path in code.rglob("*") if path.suffix == ".pyc" or path.name in {".env", "tests"}]


def test_the_runtime_layer_describes_only_the_aws_services_that_are_called(packages: Mapping[str, Path]) -> None:
    data = packages["RuntimeLayer"] / "python" / "botocore" / "data"

    assert {path.name for path in data.iterdir() if path.is_dir()} == AWS_SERVICES


def test_this_machine_packs_for_the_runtime_of_the_template_whatever_its_own_python(tmp_path: Path) -> None:
    runtime = document()["Parameters"]["Runtime"]["Default"]

    compiled = list(_build("RuntimeLayer", tmp_path, runtime).rglob("*.so"))

    assert compiled
    tag = runtime.replace("python", "cpython-").replace(".", "")
    tagged = [path.name for path in compiled if "cpython-" in path.name]
    assert tagged
    assert all(tag in name for name in tagged)
